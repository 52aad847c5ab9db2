//! `loci wake-up`: what an agent should know when a session begins.

use serde_json::json;

use crate::args::WakeUpArguments;
use crate::failure::{Exit, Result};
use crate::input;
use crate::reply::Reply;
use crate::session::Session;

use loci_palace::WakeUpOptions;

pub(crate) fn run(arguments: &WakeUpArguments, session: &Session<'_>) -> Result<Reply> {
    if let Some(identity) = arguments.identity.as_deref() {
        session.secrets(arguments.secrets);
        return set_identity(identity, session);
    }
    let told = session.existing()?.wake_up(&WakeUpOptions {
        wing: arguments.wing.clone(),
        agent: arguments.agent.clone(),
        budget: arguments.budget as usize,
    })?;
    let text = if told.text.is_empty() {
        "nothing to tell\n".to_owned()
    } else {
        format!("{}\n", session.printer.stored(&told.text))
    };
    Ok(Reply::new(&told, text)?
        .warnings(&told.warnings)
        .exit_if(told.text.is_empty(), Exit::Nothing))
}

fn set_identity(given: &str, session: &Session<'_>) -> Result<Reply> {
    if given.trim().is_empty() {
        session.existing()?.set_identity("")?;
        return Reply::new(&json!({"identity": null}), "removed the identity\n");
    }
    let text = input::text(Some(given), true)?.unwrap_or_default();
    let palace = session.created()?;
    let masked = palace.set_identity(&text)?;
    let kept = palace.identity()?;
    let answer = json!({"identity": kept, "masked": masked});
    Ok(Reply::new(&answer, "kept the identity\n")?.masked(&masked))
}
