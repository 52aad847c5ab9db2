//! At the start of a session, outputs what its agent should know of this project.

use std::collections::BTreeSet;

use loci_palace::{DEFAULT_COLLECTION, Palace, Result, get, wake_up};

use super::answer::HookOutput;
use super::input::Input;
use super::notes::Outcome;
use super::run::Call;
use super::session::Session;

/// The default token limit of the text.
const TOKENS: usize = 800;

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |note: &str| Ok((HookOutput::Nothing, Outcome::done(note)));
    let state_dir = call.state_dir();
    state_dir.tidy();
    let session = Session::of(&state_dir, call.harness, input.session());
    // The context of a resumed session still holds the text.
    if input.text("source") == Some("resume") {
        return nothing("the session was resumed");
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
        return nothing("nothing to add");
    }
    session.record(&shown_whole(&palace, &woken)?, None);
    let note = format!(
        "added {} drawer(s), {} tokens",
        woken.drawers.len(),
        woken.tokens
    );
    Ok((HookOutput::Context(woken.text), Outcome::done(note)))
}

/// The drawers that the wake-up shows whole. The rest of the others may be of use later.
fn shown_whole(palace: &Palace, woken: &wake_up::Answer) -> Result<Vec<String>> {
    let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = spaced(&woken.text);
    let ids: BTreeSet<String> = woken.drawers.iter().cloned().collect();
    let found = palace.get(&get::Request {
        ids: ids.into_iter().collect(),
        collection: Some(DEFAULT_COLLECTION.to_owned()),
        ..get::Request::default()
    })?;
    let whole = found
        .drawers
        .into_iter()
        .filter(|drawer| shown.contains(&spaced(&drawer.text)));
    Ok(whole.map(|drawer| drawer.id).collect())
}
