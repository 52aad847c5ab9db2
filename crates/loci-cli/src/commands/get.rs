//! `loci get`: drawers by id, in the order asked for.

use std::fmt::Write as _;

use loci_palace::get::{Drawer, Request};

use crate::args::GetArguments;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &GetArguments, session: &Session<'_>) -> Result<Reply> {
    let answer = session.existing()?.get(&Request {
        ids: session.ids(arguments.collection.as_deref(), &arguments.ids)?,
        collection: arguments.collection.clone(),
        vectors: arguments.vectors,
        ..Request::default()
    })?;
    let mut text = String::new();
    for drawer in &answer.drawers {
        show(session.printer, drawer, &mut text);
    }
    let notes = answer
        .missing
        .iter()
        .map(|id| format!("no drawer `{}`", session.printer.name(id)));
    let mut reply = Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.drawers.is_empty(), Exit::Nothing);
    reply.note(notes);
    Ok(reply)
}

fn show(printer: Printer, drawer: &Drawer, text: &mut String) {
    let _ = writeln!(
        text,
        "{}  {}",
        printer.strong(&drawer.id),
        drawer.collection
    );
    if let Some(title) = &drawer.title {
        let _ = writeln!(text, "session {}", printer.title(title));
    }
    let metadata = drawer.metadata.as_ref();
    if let Some(metadata) = metadata.filter(|metadata| !metadata.0.is_empty()) {
        let _ = writeln!(text, "{}", printer.name(&metadata.to_json_text()));
    }
    if let Some(vector) = &drawer.embedding {
        let _ = writeln!(text, "{vector:?}");
    }
    let _ = writeln!(
        text,
        "{}\n",
        printer.stored(drawer.text.trim_end_matches('\n'))
    );
}
