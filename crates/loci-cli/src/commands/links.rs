//! `loci links`: connections between drawers and between rooms.

use std::fmt::Write as _;

use loci_palace::links::{self, LinkPlace};
use loci_palace::{Detail, Link, LinkEnd};

use crate::args::{
    LinkArguments, LinksCommand, LinksFollowArguments, LinksListArguments, LinksTunnelsArguments,
};
use crate::failure::{Exit, Failure, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(command: &LinksCommand, session: &Session<'_>) -> Result<Reply> {
    match command {
        LinksCommand::Add(arguments) => add(arguments, session),
        LinksCommand::List(arguments) => list(arguments, session),
        LinksCommand::Remove(arguments) => remove(arguments, session),
        LinksCommand::Follow(arguments) => follow(arguments, session),
        LinksCommand::Tunnels(arguments) => tunnels(arguments, session),
    }
}

fn add(arguments: &LinkArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let answer = session.existing()?.add_link(&links::add::Request {
        from: place_of(&arguments.from, &arguments.collection, session)?,
        to: place_of(&arguments.to, &arguments.collection, session)?,
        label: arguments.label.clone(),
        detail: Detail::Full,
    })?;
    let link = answer.link.as_ref();
    let link = link.map_or_else(String::new, |link| link_line(session.printer, link));
    let text = if answer.added > 0 {
        format!("linked {link}\n")
    } else {
        format!("{link} exists already\n")
    };
    Ok(Reply::new(&answer, text)?.masked(&answer.masked))
}

fn remove(arguments: &LinkArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let answer = session.existing()?.remove_link(&links::remove::Request {
        from: place_of(&arguments.from, &arguments.collection, session)?,
        to: place_of(&arguments.to, &arguments.collection, session)?,
        label: arguments.label.clone(),
        detail: Detail::Full,
    })?;
    let text = match &answer.link {
        Some(link) if answer.removed > 0 => {
            format!("removed {}\n", link_line(session.printer, link))
        }
        _ => "no such link\n".to_owned(),
    };
    Ok(Reply::new(&answer, text)?.exit_if(answer.removed == 0, Exit::Nothing))
}

fn list(arguments: &LinksListArguments, session: &Session<'_>) -> Result<Reply> {
    let place = arguments
        .place
        .as_deref()
        .map(|place| place_of(place, &arguments.collection, session))
        .transpose()?;
    let answer = session.existing()?.list_links(&links::list::Request {
        place,
        limit: arguments.limit,
        offset: arguments.offset,
    })?;
    let mut text = String::new();
    for of in &answer.links {
        let _ = writeln!(text, "{}", link_line(session.printer, &of.link));
    }
    if answer.links.is_empty() {
        text.push_str("no links\n");
    }
    Ok(Reply::new(&answer, text)?.exit_if(answer.links.is_empty(), Exit::Nothing))
}

fn follow(arguments: &LinksFollowArguments, session: &Session<'_>) -> Result<Reply> {
    let walk = session.existing()?.follow_links(&links::follow::Request {
        place: place_of(&arguments.place, &arguments.collection, session)?,
        max_hops: arguments.hops,
        limit: arguments.limit as usize,
    })?;
    let text = walk_lines(session.printer, &walk);
    Ok(Reply::new(&walk, text)?
        .warnings(&walk.warnings)
        .exit_if(walk.reached.len() < 2, Exit::Nothing))
}

fn tunnels(arguments: &LinksTunnelsArguments, session: &Session<'_>) -> Result<Reply> {
    let answer = session.existing()?.tunnels(&links::tunnels::Request {
        wings: arguments.wings.clone(),
    })?;
    let printer = session.printer;
    let mut text = String::new();
    for tunnel in &answer.tunnels {
        let way = match &tunnel.link {
            Some(link) => link_line(printer, link),
            None => format!(
                "{}  in {}",
                printer.strong(&tunnel.room),
                printer.name(&tunnel.wings.join(", "))
            ),
        };
        let _ = writeln!(text, "{way}  ({} drawers)", tunnel.drawers);
    }
    if answer.tunnels.is_empty() {
        text.push_str("no tunnels\n");
    }
    Ok(Reply::new(&answer, text)?.exit_if(answer.tunnels.is_empty(), Exit::Nothing))
}

/// Parses a place. Without a prefix it is the name of a drawer or of a room.
/// The beginning of an id stands for the id.
fn place_of(typed: &str, collection: &str, session: &Session<'_>) -> Result<LinkPlace> {
    if let Some(id) = typed.strip_prefix("drawer:") {
        let id = session.existing()?.complete_id(Some(collection), id)?;
        return Ok(LinkEnd::drawer(collection, &id).into());
    }
    if let Some(wing) = typed.strip_prefix("wing:") {
        return Ok(LinkEnd::room(wing, "").into());
    }
    if let Some(place) = typed.strip_prefix("room:") {
        return match place.split_once('/') {
            Some((wing, room)) if !wing.is_empty() && !room.is_empty() => {
                Ok(LinkEnd::room(wing, room).into())
            }
            _ => Err(Failure::usage(
                format!("`{typed}` names no room"),
                "write room:WING/ROOM, or wing:WING for a whole wing",
            )),
        };
    }
    Ok(LinkPlace::Name {
        collection: collection.to_owned(),
        name: typed.to_owned(),
    })
}

fn link_line(printer: Printer, link: &Link) -> String {
    let label = match link.label.as_str() {
        "" => "→".to_owned(),
        label => format!("—{}→", printer.name(label)),
    };
    format!(
        "{} {label} {}",
        end_name(printer, &link.from),
        end_name(printer, &link.to)
    )
}

fn end_name(printer: Printer, end: &LinkEnd) -> String {
    match end {
        LinkEnd::Drawer(drawer) => printer.strong(&drawer.id),
        LinkEnd::Room { wing, room } if room.is_empty() => printer.strong(&format!("wing:{wing}")),
        LinkEnd::Room { wing, room } => printer.strong(&format!("{wing}/{room}")),
    }
}

fn walk_lines(printer: Printer, walk: &links::follow::Answer) -> String {
    let mut text = String::new();
    for reached in &walk.reached {
        let by = match (&reached.via, reached.hops) {
            (_, 0) => String::new(),
            (Some(link), _) if link.label.is_empty() => "  by a link".to_owned(),
            (Some(link), _) => format!("  by `{}`", printer.name(&link.label)),
            (None, _) => "  by its name".to_owned(),
        };
        let drawers = match reached.end {
            LinkEnd::Drawer(_) => String::new(),
            LinkEnd::Room { .. } => format!("  ({} drawers)", reached.drawers),
        };
        let _ = writeln!(
            text,
            "{}{}{by}{drawers}",
            "  ".repeat(reached.hops),
            end_name(printer, &reached.end)
        );
    }
    if walk.cut {
        text.push_str("there are more; `--limit` shows them\n");
    }
    text
}
