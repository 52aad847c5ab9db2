//! Palaces of other programs in the usual places, and how to bring each home.

use std::fmt::Write as _;

use loci_palace::{recognise, usual_places};
use serde_json::json;

use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

/// Lists them. Nothing is imported that was not named.
pub(super) fn run(session: &Session<'_>) -> Result<Reply> {
    let mut found = Vec::new();
    for place in usual_places() {
        if let Some(known) = recognise(&place)? {
            found.push(known);
        }
    }
    let listed: Vec<_> = found
        .iter()
        .map(|known| {
            json!({
                "kind": known.kind,
                "path": known.path.to_string_lossy(),
                "command": format!("loci import '{}'", known.path.display()),
            })
        })
        .collect();
    let mut text = String::new();
    for known in &found {
        let path = session.printer.stored(&known.path.to_string_lossy());
        let _ = writeln!(
            text,
            "{}\n  look:   loci doctor '{path}'\n  import: loci import '{path}'",
            session.printer.strong(&path)
        );
    }
    if found.is_empty() {
        text.push_str(
            "no palace of another program is in the usual places; name one: `loci import PATH`\n",
        );
    }
    Ok(Reply::new(&json!({ "found": listed }), text)?.exit_if(found.is_empty(), Exit::Nothing))
}
