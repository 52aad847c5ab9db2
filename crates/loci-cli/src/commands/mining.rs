//! Shared by `mine`, `watch`, `sync` and `search --in`: paths, reading, progress, the text of a
//! report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_palace::{
    AllowedRoots, Chosen, Error, FollowLinks, Meter, Reading, Rules, SecretPolicy, Size,
    TextOptions, describe_masked, mine,
};

use crate::args::{ReadingArguments, RuleArguments, SecretArguments};
use crate::failure::Result;
use crate::print::Printer;
use crate::session::Session;

/// Failures shown to people; JSON has more.
const SHOWN: usize = 20;
/// How often the progress is drawn.
const DRAWN: Duration = Duration::from_millis(100);

pub(super) fn rules(arguments: &RuleArguments) -> Rules {
    Rules {
        hidden: arguments.hidden,
        ignored: arguments.ignored,
        vendored: arguments.vendored,
        follow_links: follow_links(arguments.follow),
        ..Rules::default()
    }
}

/// The links that are followed, by `--follow`.
pub(super) fn follow_links(everywhere: bool) -> FollowLinks {
    if everywhere {
        FollowLinks::Everywhere
    } else {
        FollowLinks::Inside
    }
}

pub(super) fn reading(arguments: &ReadingArguments, session: &Session<'_>) -> Result<Reading> {
    session.secrets(SecretArguments {
        keep_secrets: arguments.keep_secrets,
    });
    let keep_secrets = session.secret_policy()? == SecretPolicy::Keep;
    Ok(Reading {
        rules: rules(&arguments.rules),
        text_options: TextOptions {
            size: Size {
                overlap: arguments.overlap.unwrap_or_default(),
                ..Size::default()
            },
            keep_secrets,
        },
        explicit: arguments.keep_secrets || arguments.overlap.is_some(),
        generated: arguments.generated,
        chosen: chosen(arguments),
        folder: None,
        allowed: AllowedRoots::default(),
    })
}

pub(super) fn chosen(arguments: &ReadingArguments) -> Chosen {
    Chosen {
        wing: arguments.place.wing.clone(),
        room: arguments.place.room.clone(),
    }
}

/// The given paths, and with `agents` the folders in which agents keep their transcripts.
pub(super) fn paths(named: &[PathBuf], agents: bool) -> Result<Vec<PathBuf>> {
    let mut paths = named.to_vec();
    if agents {
        let found = loci_palace::agent_folders();
        if found.is_empty() && paths.is_empty() {
            return Err(Error::invalid(
                "--agents",
                "found no transcripts of agents on this machine; name their folder instead",
            )
            .into());
        }
        paths.extend(found);
    }
    Ok(paths)
}

/// Set by Ctrl-C or SIGTERM. A second Ctrl-C ends the process at once.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let registered =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
        if let Err(error) = registered {
            tracing::debug!("cannot handle signal {signal}: {error}");
        }
    }
    stop
}

/// Does the work and shows its progress on a terminal.
pub(super) fn with_progress<T: Send>(printer: Printer, work: impl FnOnce(&Meter) -> T + Send) -> T {
    let meter = Meter::default();
    let bar = printer.spinner();
    if bar.is_hidden() {
        return work(&meter);
    }
    let since = Instant::now();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drawing = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                bar.set_message(progress(printer, &meter, since.elapsed()));
                bar.tick();
                std::thread::park_timeout(DRAWN);
            }
            bar.finish_and_clear();
        });
        let result = work(&meter);
        done.store(true, Ordering::Relaxed);
        drawing.thread().unpark();
        result
    })
}

fn progress(printer: Printer, meter: &Meter, elapsed: Duration) -> String {
    let seen = meter.seen.load(Ordering::Relaxed);
    let read = meter.read.load(Ordering::Relaxed);
    let drawers = meter.drawers.load(Ordering::Relaxed);
    let rate = drawers as f64 / elapsed.as_secs_f64().max(0.1);
    let current = meter.current();
    let name = Path::new(&current)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    format!(
        "{read} read of {seen} files, {drawers} drawers ({rate:.0}/s)  {}",
        printer.stored_line(&name, 40)
    )
}

/// One summary of a run.
pub(super) fn summary(printer: Printer, report: &mine::Answer, elapsed: Duration) -> String {
    let files = &report.files;
    let drawers = &report.drawers;
    let mut text = String::new();
    let verb = if report.dry_run {
        "would mine"
    } else {
        "mined"
    };
    let _ = writeln!(
        text,
        "{verb} {} file(s), {} in {:.1} s: {} new, {} updated, {} removed, {} kept drawer(s)",
        files.read,
        bytes(report.bytes),
        elapsed.as_secs_f64(),
        drawers.new,
        drawers.updated,
        drawers.removed,
        drawers.kept
    );
    let skipped: u64 = files.skipped.values().sum();
    let _ = writeln!(
        text,
        "files: {} read, {} unchanged, {} renamed, {skipped} skipped{}, {} failed",
        files.read,
        files.unchanged,
        files.renamed,
        counted(printer, &files.skipped),
        files.failed
    );
    if report.messages.read > 0 {
        let skipped: u64 = report.messages.skipped.values().sum();
        let _ = writeln!(
            text,
            "messages: {} read = {} filed + {skipped} skipped{}",
            report.messages.read,
            report.messages.filed,
            counted(printer, &report.messages.skipped)
        );
    }
    if let Some(masked) = describe_masked(&report.masked) {
        let _ = writeln!(text, "{masked}; --keep-secrets keeps them");
    }
    if report.forgotten_lines > 0 {
        let _ = writeln!(
            text,
            "left out {} forgotten line(s); --allow-again stores them",
            report.forgotten_lines
        );
    }
    if report.noise_lines > 0 {
        let _ = writeln!(
            text,
            "left out {} line(s) with nothing to read, such as encoded images",
            report.noise_lines
        );
    }
    for wing in &report.wings {
        text.push_str(&super::wings::distinct(printer, wing));
    }
    if files.gone > 0 {
        let _ = writeln!(
            text,
            "{} file(s) of earlier runs are gone, e.g. {}; `loci sync` shows them",
            files.gone,
            printer.stored_line(report.gone.first().map_or("", String::as_str), 60)
        );
    }
    if report.limited {
        text.push_str("stopped at the limit; the next run continues\n");
    }
    if report.stopped {
        text.push_str("stopped; every mined file is complete, and the next run continues\n");
    }
    if let Some(run) = report.run {
        let _ = writeln!(text, "run {run}; `loci undo {run}` undoes it");
    }
    text
}

/// The failures, as lines for stderr.
pub(super) fn failures(report: &mine::Answer) -> Vec<String> {
    let mut notes: Vec<String> = report
        .failures
        .iter()
        .take(SHOWN)
        .map(|failure| format!("failed: {}: {}", failure.path, failure.why))
        .collect();
    if report.files.failed > notes.len() as u64 {
        notes.push(format!(
            "failed: {} more; --json names them",
            report.files.failed - notes.len() as u64
        ));
    }
    notes
}

fn counted(printer: Printer, counts: &std::collections::BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let mut by_count: Vec<(&String, &u64)> = counts.iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown: Vec<String> = by_count
        .iter()
        .map(|(reason, count)| format!("{} {count}", printer.stored_line(reason, 60)))
        .collect();
    format!(" ({})", shown.join(", "))
}

pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
