//! `loci watch`: mines files as they change, until it is stopped.

use std::path::PathBuf;

use loci_palace::{MineOptions, WatchTiming, describe_masked, validate_collection_name, watch};
use serde_json::{Value, json};

use super::mining;
use crate::args::{ReadingArguments, WatchArguments};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &WatchArguments, session: &Session<'_>) -> Result<Reply> {
    let paths = mining::paths(&arguments.paths, arguments.agents)?;
    follow(&paths, &arguments.reading, session)
}

pub(super) fn follow(
    paths: &[PathBuf],
    arguments: &ReadingArguments,
    session: &Session<'_>,
) -> Result<Reply> {
    validate_collection_name(&arguments.collection)?;
    let reading = mining::reading(arguments, session)?;
    loci_palace::Tree::new(paths, reading.clone())?;
    let options = MineOptions {
        allow_again: arguments.allow_again,
        ..MineOptions::default()
    };
    let stop = mining::stop_on_signal();
    let palace = session.created()?;
    let request = watch::Request {
        collection: &arguments.collection,
        roots: paths,
        reading: &reading,
        options: &options,
        timing: WatchTiming::default(),
        stop: &stop,
    };
    let printer = session.printer;
    palace.watch(&request, &mut |event| {
        let (json, line) = lines(&event);
        printer.line(&json, &line);
    })?;
    printer.line(&json!({"stopped": true}), "stopped");
    Ok(Reply::printed())
}

fn lines(event: &watch::Event) -> (Value, String) {
    match event {
        watch::Event::Ready(report) => (
            json!({"ready": report}),
            format!(
                "watching; {} new, {} updated, {} removed drawer(s) since the last time",
                report.drawers.new, report.drawers.updated, report.drawers.removed
            ),
        ),
        watch::Event::Mined(report) => {
            let mut line = format!(
                "{} file(s): {} new, {} updated, {} removed drawer(s)",
                report.files.read + report.files.renamed,
                report.drawers.new,
                report.drawers.updated,
                report.drawers.removed
            );
            if let Some(masked) = describe_masked(&report.masked) {
                line.push_str("; ");
                line.push_str(&masked);
            }
            for failure in mining::failures(report) {
                line.push('\n');
                line.push_str(&failure);
            }
            (json!({"mined": report}), line)
        }
        watch::Event::Synced(swept) => {
            let line = match &swept.brake {
                Some(brake) => brake.clone(),
                None => format!(
                    "{} file(s) gone: {} drawer(s) removed",
                    swept.gone.len(),
                    swept.removed
                ),
            };
            (json!({"swept": swept}), line)
        }
        watch::Event::Rescan(why) => (json!({"rescan": why}), format!("checking all files: {why}")),
        watch::Event::Trouble(error) => (
            json!({"trouble": error.to_string()}),
            format!("trying again: {error}"),
        ),
    }
}
