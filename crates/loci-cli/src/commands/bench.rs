//! `loci bench`: measures search and hooks through the same code that users run.

use loci_bench::HookOptions;

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
