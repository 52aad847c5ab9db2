//! `loci_mine` and `loci_runs`: mine files that the user names, list runs and undo them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_palace::{
    Capability, Chosen, DEFAULT_COLLECTION, Error, Meter, MineOptions, Palace, Reading, Result,
    SecretPolicy, Tree, mine, quoted, runs, undo,
};
use serde_json::json;

use crate::core::{arguments, masked_line, object};
use crate::drawer::name;
use crate::structured::structured;
use crate::tool::{Answer, Call, Kind, Tool, cancelled};

/// How often progress is reported.
const REPORTED: Duration = Duration::from_millis(200);
/// Default number of runs.
const LIMIT: u64 = 10;
const MOST_RUNS: u64 = 100;

pub(super) const MINE: Tool = Tool {
    name: "loci_mine",
    title: "Mine files",
    description: "Import files, folders or transcripts that the user named. A second run reads only changes. path is absolute and in a root that the owner allowed.",
    input: || {
        arguments(
            &[
                ("path", "string", "absolute path of a file or folder"),
                (
                    "wing",
                    "string",
                    "person or project; default: from the path",
                ),
                ("room", "string", "topic; default: from the path"),
            ],
            &["path"],
        )
    },
    output: || {
        object(
            &[("files", "object"), ("drawers", "object")],
            &["files", "drawers"],
        )
    },
    kind: Kind::Change { idempotent: true },
    needs: &[Capability::Mining],
    run: mine_path,
};

pub(super) const RUNS: Tool = Tool {
    name: "loci_runs",
    title: "Runs",
    description: "The last mining runs, newest first. undo: the number of a run to undo.",
    input: || {
        arguments(
            &[
                ("limit", "integer", "most runs, 10"),
                ("undo", "integer", "number of the run to undo"),
            ],
            &[],
        )
    },
    output: || json!({"type": "object"}),
    kind: Kind::Destroy,
    needs: &[Capability::Mining],
    run: list_or_undo,
};

fn mine_path(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let asked = PathBuf::from(arguments.required_text("path")?);
    if !asked.is_absolute() {
        return Err(Error::invalid(
            arguments.named("path"),
            "is not absolute; the server does not know your directory",
        ));
    }
    let chosen = Chosen {
        wing: arguments.text("wing")?.map(str::to_owned),
        room: arguments.text("room")?.map(str::to_owned),
    };
    let mut reading = Reading {
        chosen: chosen.clone(),
        allowed: call.mine_roots().allowed(),
        ..Reading::default()
    };
    reading.text_options.keep_secrets = call.secret_policy()? == SecretPolicy::Keep;
    // The path is checked first, so that a missing or forbidden path creates no palace.
    let real = call.mine_roots().resolve(&asked)?;
    let tree = Tree::new(&[real], reading)?;
    // The tree resolved the path again, and a link may have been placed in it since.
    for root in tree.roots() {
        call.mine_roots().check(root, &asked)?;
    }
    let options = MineOptions {
        chosen,
        ..MineOptions::default()
    };
    let palace = call.palace_to_write()?;
    let report = with_progress(call, &palace, &tree, &options)?;
    if report.stopped {
        return Err(cancelled());
    }
    Ok(Answer::new(
        structured(&report, &report.warnings)?,
        summary(&report),
    ))
}

/// Mines while another thread reports progress.
fn with_progress(
    call: &Call<'_>,
    palace: &Palace,
    tree: &Tree,
    options: &MineOptions,
) -> Result<mine::Answer> {
    let meter = Meter::default();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reporting = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let seen = meter.seen.load(Ordering::Relaxed);
                let drawers = meter.drawers.load(Ordering::Relaxed);
                // Progress must grow with every report.
                if seen + drawers > last {
                    last = seen + drawers;
                    let message = format!("{seen} files, {drawers} drawers");
                    call.progress(last as f64, None, message);
                }
                std::thread::park_timeout(REPORTED);
            }
        });
        let report = palace.mine(&mine::Request {
            collection: DEFAULT_COLLECTION,
            source: tree,
            options,
            meter: &meter,
            stop: call.stop(),
        });
        done.store(true, Ordering::Relaxed);
        reporting.thread().unpark();
        report
    })
}

fn summary(report: &mine::Answer) -> String {
    let (files, drawers) = (&report.files, &report.drawers);
    let mut text = format!(
        "mined {} file(s): {} new, {} updated, {} removed drawer(s); {} file(s) unchanged\n",
        files.read, drawers.new, drawers.updated, drawers.removed, files.unchanged
    );
    text.push_str(&masked_line(&report.masked));
    for failure in report.failures.iter().take(10) {
        let _ = writeln!(
            text,
            "failed: {}: {}",
            quoted(&failure.path),
            quoted(&failure.why)
        );
    }
    for wing in &report.wings {
        let _ = writeln!(text, "{wing}; `wing` chooses another");
    }
    if let Some(run) = report.run {
        let _ = writeln!(text, "run {run}; `loci_runs` with `undo` undoes it");
    }
    text
}

fn list_or_undo(call: &Call<'_>) -> Result<Answer> {
    let palace = call.palace()?;
    if let Some(run) = call.arguments.integer("undo", 0, u64::from(u32::MAX))? {
        let undone = palace.undo(&undo::Request {
            collection: DEFAULT_COLLECTION.to_owned(),
            run,
        })?;
        let text = format!(
            "undid run {run}: removed {} drawer(s), restored {}, left {}\n",
            undone.removed, undone.restored, undone.left
        );
        return Ok(Answer::new(structured(&undone, &[])?, text));
    }
    let limit = call.arguments.integer("limit", 1, MOST_RUNS)?;
    let answer = palace.runs(&runs::Request {
        collection: DEFAULT_COLLECTION.to_owned(),
        limit: limit.unwrap_or(LIMIT) as usize,
    })?;
    let mut text = String::new();
    for run in &answer.runs {
        let _ = writeln!(
            text,
            "run {}: {} {}, {} source(s), {}",
            run.run,
            name(run.kind.as_str()),
            name(run.state.as_str()),
            run.sources,
            run.started_at
        );
    }
    Ok(Answer::new(structured(&answer, &[])?, text))
}
