//! `loci backup` and `loci restore`.

use std::fmt::Write as _;

use loci_palace::path_text;
use serde_json::json;

use crate::args::{BackupArguments, RestoreArguments};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &BackupArguments, session: &Session<'_>) -> Result<Reply> {
    let bytes = session.existing()?.backup(&arguments.file)?;
    let answer = json!({"backup": path_text(&arguments.file), "bytes": bytes});
    let text = format!("wrote {bytes} bytes to `{}`", path_text(&arguments.file));
    Reply::new(&answer, text)
}

pub(crate) fn restore(arguments: &RestoreArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.named()?;
    let restored = palace.restore(&arguments.file, arguments.replace)?;
    let answer = json!({
        "palace": palace.place().to_string(),
        "restored": restored.drawers,
        "set_aside": restored.set_aside.as_deref().map(path_text),
    });
    let mut text = format!(
        "restored {} drawer(s) into the palace `{}`",
        restored.drawers,
        palace.place()
    );
    if let Some(aside) = &restored.set_aside {
        let _ = write!(
            text,
            "\nwhat was there before is kept as `{}`",
            path_text(aside)
        );
    }
    Reply::new(&answer, text)
}
