//! `loci diary`: writes and reads the diary entries of an agent.

use std::fmt::Write as _;

use loci_palace::diary;

use crate::args::{DiaryCommand, DiaryReadArguments, DiaryWriteArguments};
use crate::failure::{Exit, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(command: &DiaryCommand, session: &Session<'_>) -> Result<Reply> {
    match command {
        DiaryCommand::Write(arguments) => write(arguments, session),
        DiaryCommand::Read(arguments) => read(arguments, session),
    }
}

fn write(arguments: &DiaryWriteArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let text = input::text(arguments.text.as_deref(), true)?.unwrap_or_default();
    let request = diary::write::Request {
        agent: arguments.agent.clone(),
        text,
        topic: arguments.topic.clone(),
        wing: arguments.wing.clone(),
        ..diary::write::Request::default()
    };
    // All input is checked before a palace is created for it.
    request.validate()?;
    let written = session.created()?.write_diary(&request)?;
    let text = format!("wrote {}", session.printer.strong(&written.entry.id));
    Ok(Reply::new(&written, text)?
        .masked(&written.masked)
        .warnings(&written.warnings))
}

fn read(arguments: &DiaryReadArguments, session: &Session<'_>) -> Result<Reply> {
    let page = session.existing()?.read_diary(&diary::read::Request {
        agent: arguments.agent.clone(),
        wing: arguments.wing.clone(),
        last: arguments.last,
    })?;
    let text = lines(session.printer, &page);
    Ok(Reply::new(&page, text)?.exit_if(page.total == 0, Exit::Nothing))
}

fn lines(printer: Printer, page: &diary::read::Answer) -> String {
    let mut text = String::new();
    for entry in &page.entries {
        let _ = writeln!(
            text,
            "{}  {}  {}  {}\n{}\n",
            printer.strong(&entry.id),
            printer.name(&entry.written_at),
            printer.name(&entry.agent),
            printer.name(&format!("{}: {}", entry.wing, entry.topic)),
            printer.stored(entry.text.trim_end()),
        );
    }
    let shown = page.entries.len() as u64;
    if page.total == 0 {
        text.push_str("no entries\n");
    } else if shown < page.total {
        let _ = writeln!(text, "the last {shown} of {}", page.total);
    }
    text
}
