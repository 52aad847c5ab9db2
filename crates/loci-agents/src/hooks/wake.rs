//! A session begins: what its agent should know of this project.

use loci_palace::{Result, wake_up};

use super::answer::HookOutput;
use super::input::Input;
use super::notes::Outcome;
use super::run::Call;
use super::session::Session;

/// Tokens of the text unless the configuration says otherwise.
const TOKENS: usize = 800;

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |note: &str| Ok((HookOutput::Nothing, Outcome::done(note)));
    let shelf = call.shelf();
    shelf.tidy();
    let session = Session::of(&shelf, call.harness, input.session());
    // A session that is resumed still has in its context what it was told.
    if input.text("source") == Some("resume") {
        return nothing("the session goes on");
    }
    session.forget();
    let budget = call.config.wake_up_tokens.unwrap_or(TOKENS);
    if budget == 0 {
        return nothing("switched off by `wake_up_tokens`");
    }
    let Some(palace) = call.existing()? else {
        return nothing("there is no palace yet");
    };
    let woken = palace.wake_up(&wake_up::Request {
        wing: call.wing(&palace, input)?,
        agent: Some(call.harness.name().to_owned()),
        budget,
    })?;
    if woken.text.trim().is_empty() {
        return nothing("nothing to tell");
    }
    session.tell(&woken.drawers, None);
    let note = format!(
        "told {} drawer(s), {} tokens",
        woken.drawers.len(),
        woken.tokens
    );
    Ok((HookOutput::Context(woken.text), Outcome::done(note)))
}
