//! `loci list`: a page of drawers of all collections or of one, with an exact total.

use std::fmt::Write as _;

use loci_palace::Detail;
use loci_palace::list::{Answer, Order, Request};

use crate::args::ListArguments;
use crate::failure::{Exit, Result};
use crate::input::{self, Sources};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Columns of a line of text.
const WIDTH: usize = 72;

pub(crate) fn run(arguments: &ListArguments, session: &Session<'_>) -> Result<Reply> {
    let selection = input::selection(
        &arguments.filter,
        Sources::Palace(session, arguments.collection.as_deref()),
    )?;
    let answer = session.existing()?.list(&Request {
        collection: arguments.collection.clone(),
        selection,
        limit: arguments.limit,
        offset: arguments.offset,
        order: if arguments.recent {
            Order::Recent
        } else {
            Order::Added
        },
        detail: Detail::Full,
    })?;
    let text = render(session.printer, &answer);
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.drawers.is_empty(), Exit::Nothing))
}

pub(super) fn render(printer: Printer, answer: &Answer) -> String {
    let mut text = String::new();
    for drawer in &answer.drawers {
        let place: Vec<&str> = [&drawer.wing, &drawer.room]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        let mut place = printer.name(&place.join("/"));
        if let Some(title) = &drawer.title {
            let space = if place.is_empty() { "" } else { "  " };
            let _ = write!(place, "{space}{}", printer.title(title));
        }
        let _ = writeln!(
            text,
            "{}  {}{}{place}\n    {}",
            printer.strong(&drawer.id),
            drawer.collection,
            if place.is_empty() { "" } else { "  " },
            printer.stored_line(&drawer.text, WIDTH)
        );
    }
    let shown = answer.drawers.len();
    if shown == 0 {
        let _ = writeln!(text, "no drawers ({} in all)", answer.total);
    } else if shown < answer.total {
        let first = answer.offset + 1;
        let _ = writeln!(
            text,
            "{first} to {} of {}",
            answer.offset + shown,
            answer.total
        );
    }
    text
}
