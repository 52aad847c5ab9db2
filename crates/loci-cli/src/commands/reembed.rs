//! `loci reembed`: all vectors of a collection anew.

use std::fmt::Write as _;

use loci_palace::Error;
use serde_json::json;

use crate::args::ReembedArguments;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ReembedArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let Some(embedder) = palace.embedder(&arguments.model)? else {
        return Err(Error::invalid(
            "embedder `none`",
            "makes no vectors; name static, minilm or openai",
        )
        .into());
    };
    let bar = session.printer.steps();
    let done = palace.reembed(&arguments.collection, embedder.as_ref(), &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    })?;
    bar.finish_and_clear();
    let identity = embedder.identity();
    let answer = json!({
        "collection": arguments.collection,
        "embedder": identity,
        "before": done.before,
        "drawers": done.drawers,
        "made": done.made,
        "resumed": done.resumed,
    });
    let mut text = format!(
        "{} drawer(s) of `{}` now have vectors of {identity}",
        done.drawers, arguments.collection
    );
    if done.resumed > 0 {
        let _ = write!(text, "; {} were there from an earlier run", done.resumed);
    }
    Reply::new(&answer, text)
}
