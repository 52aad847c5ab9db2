//! `loci mine`: reads files and conversations into the palace, and prints a summary.

use std::time::Instant;

use loci_palace::{Error, MineOptions, Palace, Tree, mine, validate_collection_name};

use super::{mining, watch};
use crate::args::MineArguments;
use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

/// An empty temporary palace that is removed on drop.
struct Elsewhere {
    palace: Palace,
    _directory: tempfile::TempDir,
}

impl Elsewhere {
    fn make(session: &Session<'_>) -> Result<Self> {
        let directory = tempfile::tempdir()
            .map_err(|error| Error::io("cannot create", "a temporary directory", error))?;
        Ok(Self {
            palace: Palace::open(directory.path().join("palace"), &session.options(true))?,
            _directory: directory,
        })
    }
}

pub(crate) fn run(arguments: &MineArguments, session: &Session<'_>) -> Result<Reply> {
    validate_collection_name(&arguments.reading.collection)?;
    let paths = mining::paths(&arguments.paths, arguments.agents)?;
    if arguments.watch {
        return watch::follow(&paths, &arguments.reading, session);
    }
    // The paths are checked first: if one is missing, no palace is created.
    let mut reading = mining::reading(&arguments.reading, session)?;
    reading.explicit |= arguments.force;
    let tree = Tree::new(&paths, reading)?;
    let options = MineOptions {
        dry_run: arguments.dry_run,
        limit: arguments.limit,
        allow_again: arguments.reading.allow_again,
        chosen: mining::chosen(&arguments.reading),
        force: arguments.force,
        threads: None,
    };
    // A dry run creates no palace. If there is none yet, it uses an empty temporary one.
    let elsewhere;
    let palace = if arguments.dry_run {
        match session.existing() {
            Ok(palace)
                if palace
                    .collection(&arguments.reading.collection, false)
                    .is_ok() =>
            {
                palace
            }
            _ => {
                elsewhere = Elsewhere::make(session)?;
                &elsewhere.palace
            }
        }
    } else {
        session.created()?
    };
    let stop = mining::stop_on_signal();
    let since = Instant::now();
    let report = mining::with_progress(session.printer, |meter| {
        palace.mine(&mine::Request {
            collection: &arguments.reading.collection,
            source: &tree,
            options: &options,
            meter,
            stop: &stop,
        })
    })?;
    let text = mining::summary(session.printer, &report, since.elapsed());
    let mut reply = Reply::new(&report, text)?.warnings(&report.warnings);
    reply.note(mining::failures(&report));
    Ok(reply.exit_if(report.files.failed > 0 || report.stopped, Exit::Error))
}
