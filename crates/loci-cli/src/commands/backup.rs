//! `loci backup` and `loci restore`.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::Path;

use loci_palace::{backup, directory_of, path_text, restore};

use crate::args::{BackupArguments, RestoreArguments};
use crate::failure::{Failure, Result};
use crate::reply::Reply;
use crate::session::Session;
use crate::units::{count, size};

pub(crate) fn run(arguments: &BackupArguments, session: &Session<'_>) -> Result<Reply> {
    match (&arguments.file, &arguments.into) {
        (Some(file), None) => to_file(file, session),
        (None, Some(folder)) => {
            let folder = directory_of("`--into`", folder)?;
            into_folder(&folder, arguments.keep, session)
        }
        _ => Err(Failure::usage(
            "there is no target",
            "name a file, or a folder with `--into`",
        )),
    }
}

fn to_file(file: &Path, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let working = session.printer.working("copying and checking the palace");
    let answer = palace.backup(&backup::Request {
        target: file.to_owned(),
    })?;
    drop(working);
    Ok(Reply::new(&answer, wrote(&answer))?.warnings(&answer.warnings))
}

fn into_folder(folder: &Path, keep: Option<u32>, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let working = session.printer.working("copying and checking the palace");
    let answer = palace.backup_into(&backup::into::Request {
        folder: folder.to_owned(),
        keep: keep.and_then(NonZeroU32::new),
    })?;
    drop(working);
    let mut text = wrote(&answer.made);
    for removed in &answer.removed {
        let _ = writeln!(text, "removed `{}`", path_text(removed));
    }
    let _ = writeln!(
        text,
        "{} of this palace in the folder",
        count(answer.kept as u64, "backup")
    );
    Ok(Reply::new(&answer, text)?.warnings(&answer.made.warnings))
}

fn wrote(answer: &backup::Answer) -> String {
    format!(
        "wrote {} with {} to `{}`, and checked it\n",
        size(answer.bytes),
        count(answer.drawers, "drawer"),
        path_text(&answer.backup)
    )
}

pub(crate) fn restore(arguments: &RestoreArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.named()?;
    let working = session.printer.working("checking and copying the backup");
    let answer = palace.restore(&restore::Request {
        backup: arguments.file.clone(),
        replace: arguments.replace,
    })?;
    drop(working);
    let mut text = format!(
        "restored {} drawer(s) into the palace `{}`",
        answer.restored, answer.palace
    );
    if let Some(aside) = &answer.set_aside {
        let _ = write!(text, "\nthe old palace is kept as `{}`", path_text(aside));
    }
    Reply::new(&answer, text)
}
