//! `loci links`: what belongs together.

use std::fmt::Write as _;

use loci_palace::{
    Get, Include, Link, LinkEnd, MaskTally, Metadata, Palace, Selection, Tunnel, Walk,
};
use serde::Serialize;
use serde_json::json;

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

#[derive(Serialize)]
struct Listed<'a> {
    links: &'a [Link],
}

#[derive(Serialize)]
struct Joined<'a> {
    tunnels: &'a [Tunnel],
}

fn add(arguments: &LinkArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let palace = session.existing()?;
    let mut link = link_of(arguments, palace)?;
    let related = palace.link(std::slice::from_ref(&link))?;
    link.label = palace
        .masked(&link.label, &mut MaskTally::new())
        .into_owned();
    let said = if related.added > 0 {
        format!("linked {}\n", shown_link(session.printer, &link))
    } else {
        format!("{} is there already\n", shown_link(session.printer, &link))
    };
    let answer = json!({
        "link": link,
        "added": related.added,
        "known": related.known,
        "masked": related.masked,
    });
    Ok(Reply::new(&answer, said)?.masked(&related.masked))
}

fn remove(arguments: &LinkArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let palace = session.existing()?;
    let link = link_of(arguments, palace)?;
    let removed = palace.unlink(std::slice::from_ref(&link))?;
    let said = if removed > 0 {
        format!("removed {}\n", shown_link(session.printer, &link))
    } else {
        "there is no such link\n".to_owned()
    };
    Ok(
        Reply::new(&json!({"link": link, "removed": removed}), said)?
            .exit_if(removed == 0, Exit::Nothing),
    )
}

fn list(arguments: &LinksListArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let end = arguments
        .place
        .as_deref()
        .map(|place| place_of(place, &arguments.collection, palace))
        .transpose()?;
    let links = palace.links(end.as_ref(), arguments.limit, arguments.offset)?;
    let mut text = String::new();
    for link in &links {
        let _ = writeln!(text, "{}", shown_link(session.printer, link));
    }
    if links.is_empty() {
        text.push_str("no links\n");
    }
    Ok(Reply::new(&Listed { links: &links }, text)?.exit_if(links.is_empty(), Exit::Nothing))
}

fn follow(arguments: &LinksFollowArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let start = place_of(&arguments.place, &arguments.collection, palace)?;
    let walk = palace.traverse(&start, arguments.hops, arguments.limit as usize)?;
    let text = shown_walk(session.printer, &walk);
    Ok(Reply::new(&walk, text)?
        .warnings(&walk.warnings)
        .exit_if(walk.reached.len() < 2, Exit::Nothing))
}

fn tunnels(arguments: &LinksTunnelsArguments, session: &Session<'_>) -> Result<Reply> {
    let mut wings = arguments.wings.iter().map(String::as_str);
    let (first, second) = (wings.next(), wings.next());
    let tunnels = session.existing()?.tunnels(first, second)?;
    let printer = session.printer;
    let mut text = String::new();
    for tunnel in &tunnels {
        let way = match &tunnel.link {
            Some(link) => shown_link(printer, link),
            None => format!(
                "{}  in {}",
                printer.strong(&tunnel.room),
                printer.name(&tunnel.wings.join(", "))
            ),
        };
        let _ = writeln!(text, "{way}  ({} drawers)", tunnel.drawers);
    }
    if tunnels.is_empty() {
        text.push_str("no tunnels\n");
    }
    let answer = Joined { tunnels: &tunnels };
    Ok(Reply::new(&answer, text)?.exit_if(tunnels.is_empty(), Exit::Nothing))
}

fn link_of(arguments: &LinkArguments, palace: &Palace) -> Result<Link> {
    Ok(Link {
        from: place_of(&arguments.from, &arguments.collection, palace)?,
        to: place_of(&arguments.to, &arguments.collection, palace)?,
        label: arguments.label.clone(),
        metadata: Metadata::default(),
    })
}

/// A place as typed. Without a prefix it is a drawer if there is one of that id, else a room.
fn place_of(typed: &str, collection: &str, palace: &Palace) -> Result<LinkEnd> {
    if let Some(id) = typed.strip_prefix("drawer:") {
        return Ok(LinkEnd::drawer(collection, id));
    }
    if let Some(wing) = typed.strip_prefix("wing:") {
        return Ok(LinkEnd::room(wing, ""));
    }
    if let Some(place) = typed.strip_prefix("room:") {
        return room_of(place).ok_or_else(|| {
            Failure::usage(
                format!("`{typed}` names no room"),
                "write room:WING/ROOM; a wing as a whole is wing:WING",
            )
        });
    }
    if is_drawer(typed, collection, palace)? {
        return Ok(LinkEnd::drawer(collection, typed));
    }
    // The palace says what is wrong with a drawer that is not there.
    Ok(room_of(typed).unwrap_or_else(|| LinkEnd::drawer(collection, typed)))
}

fn room_of(place: &str) -> Option<LinkEnd> {
    let (wing, room) = place.split_once('/')?;
    (!wing.is_empty() && !room.is_empty()).then(|| LinkEnd::room(wing, room))
}

fn is_drawer(id: &str, collection: &str, palace: &Palace) -> Result<bool> {
    let known = palace.collections()?;
    if id.is_empty() || !known.iter().any(|info| info.name == collection) {
        return Ok(false);
    }
    let found = palace.collection(collection, false)?.get(&Get {
        include: Include::NONE,
        ..Get::new(Selection::ids([id]))
    })?;
    Ok(!found.ids.is_empty())
}

fn shown_link(printer: Printer, link: &Link) -> String {
    let label = match link.label.as_str() {
        "" => "→".to_owned(),
        label => format!("—{}→", printer.name(label)),
    };
    format!(
        "{} {label} {}",
        shown_end(printer, &link.from),
        shown_end(printer, &link.to)
    )
}

fn shown_end(printer: Printer, end: &LinkEnd) -> String {
    match end {
        LinkEnd::Drawer(drawer) => printer.strong(&drawer.id),
        LinkEnd::Room { wing, room } if room.is_empty() => printer.strong(&format!("wing:{wing}")),
        LinkEnd::Room { wing, room } => printer.strong(&format!("{wing}/{room}")),
    }
}

fn shown_walk(printer: Printer, walk: &Walk) -> String {
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
            shown_end(printer, &reached.end)
        );
    }
    if walk.cut {
        text.push_str("there is more; `--limit` shows it\n");
    }
    text
}
