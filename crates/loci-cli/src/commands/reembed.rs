//! `loci reembed`: recomputes all vectors of a collection.

use std::fmt::Write as _;

use loci_palace::{Error, reembed};

use crate::args::ReembedArguments;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ReembedArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let Some(embedder) = palace.embedder(&arguments.model)? else {
        return Err(Error::invalid(
            "embedder `none`",
            "computes no vectors; use static, minilm or openai",
        )
        .into());
    };
    let bar = session.printer.steps();
    let request = reembed::Request {
        collection: &arguments.collection,
        embedder: embedder.as_ref(),
    };
    let answer = palace.reembed(&request, &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    })?;
    bar.finish_and_clear();
    let mut text = format!(
        "{} drawer(s) of `{}` now have vectors of {}",
        answer.drawers, answer.collection, answer.embedder
    );
    if answer.resumed > 0 {
        let _ = write!(
            text,
            "; {} were complete from an earlier run",
            answer.resumed
        );
    }
    Reply::new(&answer, text)
}
