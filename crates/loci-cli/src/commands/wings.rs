//! `loci wings` lists wings and their projects. `loci wings split` splits a wing that several
//! projects share.

use std::fmt::Write as _;

use loci_palace::wings::list::WingInfo;
use loci_palace::{DistinctWing, RenamedWing, wings};

use crate::args::{SplitArguments, WingsArguments, WingsCommand};
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Longer names are cut.
const WIDTH: usize = 100;
/// Rooms shown of a wing; JSON has more.
const ROOMS: usize = 8;

pub(crate) fn run(arguments: &WingsArguments, session: &Session<'_>) -> Result<Reply> {
    if let Some(WingsCommand::Split(arguments)) = &arguments.command {
        return split(arguments, session);
    }
    let answer = session.existing()?.list_wings(&wings::list::Request {
        collection: arguments.collection.clone(),
    })?;
    let lines = answer.wings.iter().map(|wing| line(session.printer, wing));
    let text = if answer.wings.is_empty() {
        "no wings yet\n".to_owned()
    } else {
        lines.collect()
    };
    Ok(Reply::new(&answer, text)?.exit_if(answer.wings.is_empty(), Exit::Nothing))
}

fn line(printer: Printer, info: &WingInfo) -> String {
    let day = info.changed_at.as_ref().and_then(|moment| moment.get(..10));
    let mut text = format!(
        "{:>7}  {}{}\n",
        info.drawers,
        printer.stored_line(&info.wing, WIDTH),
        day.map_or_else(String::new, |day| format!("  changed {day}")),
    );
    let mut rooms: Vec<String> = info
        .rooms
        .iter()
        .take(ROOMS)
        .map(|room| {
            format!(
                "{} {}",
                printer.stored_line(&room.room, WIDTH),
                room.drawers
            )
        })
        .collect();
    if info.rooms.len() > ROOMS {
        rooms.push(format!("{} more", info.rooms.len() - ROOMS));
    }
    if !rooms.is_empty() {
        let _ = writeln!(text, "         rooms: {}", rooms.join(", "));
    }
    for project in &info.projects {
        let folder = printer.stored_line(&project.path, WIDTH);
        let _ = match &project.remote {
            Some(remote) => writeln!(
                text,
                "         {} in {folder}",
                printer.stored_line(remote, WIDTH)
            ),
            None => writeln!(text, "         {folder}"),
        };
    }
    text
}

fn split(arguments: &SplitArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let working = session.printer.working("reading the drawers of the wing");
    let split = palace.split_wing(&wings::split::Request {
        collection: arguments.collection.clone(),
        wing: arguments.wing.clone(),
        apply: arguments.apply,
    })?;
    drop(working);
    let text = split_lines(session.printer, &split);
    Ok(Reply::new(&split, text)?.exit_if(split.drawers == 0, Exit::Nothing))
}

fn split_lines(printer: Printer, split: &wings::split::Answer) -> String {
    let name = |text: &str| printer.stored_line(text, WIDTH);
    let wing = name(&split.wing);
    if split.drawers == 0 {
        return format!("no drawers in wing `{wing}`\n");
    }
    let mut text = format!("wing `{wing}`: {} drawer(s)\n", split.drawers);
    for part in &split.parts {
        let (drawers, verb) = match (part.wing == split.wing, split.applied) {
            (true, _) => (part.drawers, "stay in"),
            (false, true) => (part.moved, "moved to"),
            (false, false) => (part.moved, "would move to"),
        };
        let _ = write!(
            text,
            "  {drawers:>7}  {verb} `{}`: {} ({} source(s))",
            name(&part.wing),
            name(&part.project),
            part.sources
        );
        if part.removed > 0 {
            let verb = if split.applied {
                "removed"
            } else {
                "would be removed"
            };
            let _ = write!(
                text,
                "; {} {verb}, because that wing has the same text from the same place",
                part.removed
            );
        }
        if part.left > 0 {
            let _ = write!(
                text,
                "; {} stay in `{wing}`, because facts, links or their own metadata depend on them, and that wing \
                 has the same text from the same place",
                part.left
            );
        }
        text.push('\n');
    }
    if split.without_project > 0 {
        let _ = writeln!(
            text,
            "  {:>7}  stay in `{wing}`: no known project",
            split.without_project
        );
    }
    let moves = split.parts.iter().any(|part| part.wing != split.wing);
    let _ = match (moves, split.applied) {
        (false, _) => writeln!(text, "nothing to split"),
        (true, true) => writeln!(text, "{} drawer(s) stay in `{wing}`", split.stay),
        (true, false) => writeln!(
            text,
            "{} drawer(s) would stay in `{wing}`; nothing was changed, --apply moves the others",
            split.stay
        ),
    };
    text
}

/// The line of an import about a wing that got another name.
pub(super) fn renamed(printer: Printer, renamed: &RenamedWing) -> String {
    format!(
        "{}\n  `loci wings` lists them\n",
        printer.stored_line(&renamed.to_string(), 4 * WIDTH)
    )
}

/// The line of a run about a project whose wing differs from its name.
pub(super) fn distinct(printer: Printer, distinct: &DistinctWing) -> String {
    format!(
        "{}\n  --wing or `wing` in .loci.toml chooses another; `loci wings` lists them\n",
        printer.stored_line(&distinct.to_string(), 4 * WIDTH)
    )
}
