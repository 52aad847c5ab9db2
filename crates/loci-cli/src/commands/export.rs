//! `loci export`: JSON lines to stdout, or to a file that appears only when it is complete.

use std::io::{BufWriter, Write};
use std::path::Path;

use loci_palace::{Error, Palace};
use serde_json::json;

use crate::args::ExportArguments;
use crate::failure::{Failure, Result};
use crate::print;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ExportArguments, session: &Session<'_>) -> Result<Reply> {
    let collection = arguments.collection.as_deref();
    match &arguments.file {
        Some(file) if file != Path::new("-") => {
            let palace = session.existing()?;
            let exported = to_file(palace, collection, file, arguments.force)?;
            let text = format!("exported {exported} drawer(s) to `{}`", file.display());
            Reply::new(&json!({"exported": exported}), text)
        }
        _ => {
            session
                .existing()?
                .export(collection, &mut print::stdout())?;
            Ok(Reply::printed())
        }
    }
}

fn to_file(palace: &Palace, collection: Option<&str>, file: &Path, force: bool) -> Result<u64> {
    let exists = || {
        Failure::from(Error::Conflict {
            what: format!("`{}` exists; pass `--force` to replace it", file.display()),
        })
    };
    if !force && std::fs::symlink_metadata(file).is_ok() {
        return Err(exists());
    }
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let fail = |source| Error::io("cannot write", file, source);
    // Private (0600) from the first byte: an export holds everything.
    let temporary = tempfile::Builder::new()
        .prefix(".loci-export-")
        .tempfile_in(directory)
        .map_err(fail)?;
    let mut output = BufWriter::with_capacity(64 << 10, temporary);
    let exported = palace.export(collection, &mut output)?;
    output.flush().map_err(fail)?;
    let temporary = output
        .into_inner()
        .map_err(|error| fail(error.into_error()))?;
    temporary.as_file().sync_all().map_err(fail)?;
    let kept = if force {
        temporary.persist(file)
    } else {
        temporary.persist_noclobber(file)
    };
    match kept {
        Ok(_) => Ok(exported),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists()),
        Err(error) => Err(fail(error.error).into()),
    }
}
