//! `loci bench`: measures search, hooks and wake-up through the same code that users run.

use loci_bench::HookOptions;

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
        details: arguments.details.clone(),
    };
    let bar = session.printer.steps();
    let report = loci_bench::measure(&arguments.dataset, &options, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    })?;
    bar.finish_and_clear();
    Reply::new(&report, report.to_text())
}

pub(crate) fn wake_up(arguments: &BenchWakeUpArguments, session: &Session<'_>) -> Result<Reply> {
    let bar = session.printer.steps();
    let details = arguments.details.as_deref();
    let report = loci_bench::measure_wake_up(&arguments.directory, details, &mut |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
    })?;
    bar.finish_and_clear();
    Reply::new(&report, report.to_text())
}
