//! `loci backup` and `loci restore`.

use std::fmt::Write as _;

use loci_palace::{backup, path_text, restore};

use crate::args::{BackupArguments, RestoreArguments};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &BackupArguments, session: &Session<'_>) -> Result<Reply> {
    let answer = session.existing()?.backup(&backup::Request {
        target: arguments.file.clone(),
    })?;
    let file = path_text(&answer.backup);
    let text = format!("wrote {} bytes to `{file}`", answer.bytes);
    Reply::new(&answer, text)
}

pub(crate) fn restore(arguments: &RestoreArguments, session: &Session<'_>) -> Result<Reply> {
    let answer = session.named()?.restore(&restore::Request {
        backup: arguments.file.clone(),
        replace: arguments.replace,
    })?;
    let mut text = format!(
        "restored {} drawer(s) into the palace `{}`",
        answer.restored, answer.palace
    );
    if let Some(aside) = &answer.set_aside {
        let _ = write!(text, "\nthe old palace is kept as `{}`", path_text(aside));
    }
    Reply::new(&answer, text)
}
