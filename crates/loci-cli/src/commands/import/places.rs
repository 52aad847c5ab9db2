//! Lists palaces of other programs in the usual places, with the command that imports each.

use std::fmt::Write as _;

use loci_palace::{path_text, shell_quoted};
use serde_json::json;

use crate::commands::doctor::{place_names, usual_places};
use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

/// Lists the palaces. Nothing is imported unless the user names it.
pub(super) fn run(session: &Session<'_>) -> Result<Reply> {
    let (mut found, mut text) = (Vec::new(), String::new());
    for one in usual_places()? {
        let place = path_text(&one.path);
        let quoted = session.printer.name(&shell_quoted(&one.path));
        let _ = writeln!(
            text,
            "{}: {}\n  check:  loci doctor {quoted}\n  import: loci import {quoted}",
            session.printer.strong(&place),
            session.printer.name(&one.words),
        );
        found.push(one.answer);
    }
    if found.is_empty() {
        let _ = writeln!(
            text,
            "found no palace of another program in the usual places ({}); name one: `loci import PATH`",
            place_names()
        );
    } else {
        text.push_str("nothing was imported; name one of them\n");
    }
    Ok(Reply::new(&json!({ "found": found }), text)?.exit_if(found.is_empty(), Exit::Nothing))
}
