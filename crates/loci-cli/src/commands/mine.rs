//! `loci mine`: files and conversations in, one summary out.

use std::time::Instant;

use loci_palace::{MineOptions, Tree, validate_collection_name};

use super::{mining, watch};
use crate::args::MineArguments;
use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &MineArguments, session: &Session<'_>) -> Result<Reply> {
    validate_collection_name(&arguments.reading.collection)?;
    let paths = mining::paths(&arguments.paths, arguments.agents)?;
    if arguments.watch {
        return watch::follow(&paths, &arguments.reading, session);
    }
    // The paths are looked at first: without them no palace is created.
    let tree = Tree::new(&paths, mining::reading(&arguments.reading))?;
    let options = MineOptions {
        dry_run: arguments.dry_run,
        limit: arguments.limit,
        allow_again: arguments.reading.allow_again,
        chosen: mining::chosen(&arguments.reading),
        force: arguments.force,
        threads: None,
    };
    let palace = session.created()?;
    let stop = mining::stop_on_signal();
    let since = Instant::now();
    let report = mining::with_progress(session.printer, |meter| {
        palace.mine(&arguments.reading.collection, &tree, &options, meter, &stop)
    })?;
    let text = mining::summary(session.printer, &report, since.elapsed());
    let mut reply = Reply::new(&report, text)?.warnings(&report.warnings);
    reply.notes.extend(mining::failures(&report));
    Ok(reply.exit_if(report.files.failed > 0 || report.stopped, Exit::Error))
}
