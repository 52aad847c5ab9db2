//! `loci bench`: measures search, hooks and wake-up through the same code that users run.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use loci_bench::HookOptions;
use loci_palace::Error;

use crate::args::{BenchHooksArguments, BenchWakeUpArguments, RetrievalArguments};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn retrieval(arguments: &RetrievalArguments, session: &Session<'_>) -> Result<Reply> {
    let options = loci_bench::Options {
        embedder: session.options(false).embedder,
        limit: arguments.limit,
        details: arguments.details.clone(),
        keep: None,
        together: arguments.together,
        distractors: arguments.distractors.clone(),
        baseline: arguments.baseline,
    };
    let bar = session.printer.steps();
    let report = loci_bench::run(&arguments.dataset, &options, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    })?;
    bar.finish_and_clear();
    Reply::new(&report, report.to_text())
}

pub(crate) fn hooks(arguments: &BenchHooksArguments, session: &Session<'_>) -> Result<Reply> {
    let options = HookOptions {
        limit: arguments.limit,
        prompts: arguments.prompts.clone(),
    };
    let mut details = Details::create(arguments.details.as_deref())?;
    let bar = session.printer.steps();
    let report = loci_bench::measure(
        &arguments.dataset,
        &options,
        &mut |progress| {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
        },
        &mut |row| details.write(row),
    )?;
    bar.finish_and_clear();
    details.finish()?;
    Reply::new(&report, report.to_text())
}

pub(crate) fn wake_up(arguments: &BenchWakeUpArguments, session: &Session<'_>) -> Result<Reply> {
    let mut details = Details::create(arguments.details.as_deref())?;
    let bar = session.printer.steps();
    let report = loci_bench::measure_wake_up(
        &arguments.directory,
        &mut |progress| {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
        },
        &mut |row| details.write(row),
    )?;
    bar.finish_and_clear();
    details.finish()?;
    Reply::new(&report, report.to_text())
}

/// A file with one line of JSON for each row, if one is wanted.
struct Details<'a> {
    file: Option<(&'a Path, BufWriter<File>)>,
    failed: Option<std::io::Error>,
}

impl<'a> Details<'a> {
    fn create(path: Option<&'a Path>) -> Result<Self> {
        let create = |path: &'a Path| {
            let file = File::create(path).map_err(|error| Error::io("cannot create", path, error));
            file.map(|file| (path, BufWriter::new(file)))
        };
        Ok(Self {
            file: path.map(create).transpose()?,
            failed: None,
        })
    }

    fn write(&mut self, row: &impl serde::Serialize) {
        if let Some((_, file)) = &mut self.file {
            let line = serde_json::to_string(row).unwrap_or_default();
            let error = writeln!(file, "{line}").err();
            self.failed = error.or(self.failed.take());
        }
    }

    fn finish(self) -> Result<()> {
        if let Some((path, mut file)) = self.file {
            let written = self.failed.map_or_else(|| file.flush(), Err);
            written.map_err(|error| Error::io("cannot write", path, error))?;
        }
        Ok(())
    }
}
