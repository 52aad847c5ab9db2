//! `loci bench`: measures search and hooks through the same code that users run.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use loci_bench::HookOptions;
use loci_palace::Error;

use crate::args::{BenchHooksArguments, RetrievalArguments};
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
    let created = arguments.details.as_ref().map(|path| {
        let file = File::create(path).map_err(|error| Error::io("cannot create", path, error))?;
        Ok::<_, Error>((path, BufWriter::new(file)))
    });
    let mut details = created.transpose()?;
    let mut failed = None;
    let bar = session.printer.steps();
    let report = loci_bench::measure(
        &arguments.dataset,
        &options,
        &mut |progress| {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
        },
        &mut |row| {
            if let Some((_, file)) = &mut details {
                let line = serde_json::to_string(row).unwrap_or_default();
                failed = writeln!(file, "{line}").err().or(failed.take());
            }
        },
    )?;
    bar.finish_and_clear();
    if let Some((path, mut file)) = details {
        let written = failed.map_or_else(|| file.flush(), Err);
        written.map_err(|error| Error::io("cannot write", path, error))?;
    }
    Reply::new(&report, report.to_text())
}
