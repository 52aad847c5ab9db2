//! `loci wake-up`: what an agent should know when a session begins.

use loci_palace::wake_up;

use crate::args::WakeUpArguments;
use crate::failure::{Exit, Result};
use crate::input;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &WakeUpArguments, session: &Session<'_>) -> Result<Reply> {
    if let Some(identity) = arguments.identity.as_deref() {
        session.secrets(arguments.secrets);
        return set_identity(identity, session);
    }
    let answer = session.existing()?.wake_up(&wake_up::Request {
        wing: arguments.wing.clone(),
        agent: arguments.agent.clone(),
        budget: arguments.budget as usize,
    })?;
    let text = if answer.text.is_empty() {
        "nothing to show\n".to_owned()
    } else {
        format!("{}\n", session.printer.stored(&answer.text))
    };
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.text.is_empty(), Exit::Nothing))
}

fn set_identity(argument: &str, session: &Session<'_>) -> Result<Reply> {
    if argument.trim().is_empty() {
        let request = wake_up::identity::Request::default();
        let answer = session.existing()?.set_identity(&request)?;
        return Reply::new(&answer, "removed the identity\n");
    }
    let text = input::text(Some(argument), true)?.unwrap_or_default();
    let request = wake_up::identity::Request { text };
    let answer = session.created()?.set_identity(&request)?;
    Ok(Reply::new(&answer, "saved the identity\n")?.masked(&answer.masked))
}
