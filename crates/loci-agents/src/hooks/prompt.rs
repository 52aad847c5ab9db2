//! Adds relevant memories to a prompt, or nothing: within a token limit, and each drawer once per
//! session. [`super::choose()`] decides what is relevant.

use loci_palace::{DEFAULT_COLLECTION, MaskTally, Result, today};

use super::answer::HookOutput;
use super::choose::{Candidate, Prompt, choose, is_command};
use super::excerpt::beginning;
use super::harness::Harness;
use super::inject::{Injection, inject};
use super::input::Input;
use super::log;
use super::notes::Outcome;
use super::run::Call;
use super::session::Session;

/// How much of a prompt is masked for the log, which keeps less of it.
const MASKED_BYTES: usize = 4_096;
/// The default token limit of all passages.
pub const PROMPT_TOKENS: usize = 400;

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |note: &str| Ok((HookOutput::Nothing, Outcome::done(note)));
    // Cursor's hook can only let a prompt pass.
    if call.harness == Harness::Cursor {
        return nothing("the harness ignores the answer");
    }
    let budget = call.config.prompt_tokens.unwrap_or(PROMPT_TOKENS);
    if budget == 0 {
        return nothing("switched off by `prompt_tokens`");
    }
    let Some(text) = input.text("prompt").map(str::trim) else {
        return nothing("the input has no prompt");
    };
    if is_command(text) {
        return nothing("the prompt is a command");
    }
    let Some(palace) = call.existing()? else {
        return nothing("there is no palace yet");
    };
    let Some(folder) = input.folder(call.harness) else {
        return nothing("the harness passed no folder");
    };
    let wing = palace.wing_of_folder(DEFAULT_COLLECTION, &folder)?;
    let transcript = input.transcript(&call.home.home);
    let transcript = transcript.map(|path| path.canonicalize().unwrap_or(path));
    let candidates = choose(
        &palace,
        &Prompt {
            text,
            wing: Some(&wing),
            other_wings: call.config.other_wings.unwrap_or(true),
            transcript: transcript.as_deref().and_then(|path| path.to_str()),
            today: today(),
        },
    )?;
    let session = Session::of(&call.state_dir(), call.harness, input.session());
    let remembered = session.remembered();
    let is_new = |candidate: &&Candidate| !remembered.has_drawer(&candidate.hit.id);
    let relevant: Vec<&Candidate> = candidates.iter().filter(|one| one.is_relevant()).collect();
    if relevant.is_empty() {
        return nothing("nothing in memory is relevant enough");
    }
    let relevant: Vec<&Candidate> = relevant.into_iter().filter(is_new).collect();
    let Some(injection) = inject(&relevant, &wing, &folder, budget) else {
        return nothing("the session already has what is relevant, or no passage fits the limit");
    };
    if !session.record(&injection.drawers(), None) {
        return nothing(
            "the state of the session could not be written, or another hook was faster",
        );
    }
    // A secret in the prompt does not belong into the log. It is masked before the prompt is cut,
    // because a part of a secret is not recognised.
    let masked = palace.masked(beginning(text, MASKED_BYTES), &mut MaskTally::default());
    note(call, input, &masked, &wing, &injection);
    let note = format!("added {} passage(s)", injection.passages.len());
    Ok((HookOutput::Context(injection.text), Outcome::done(note)))
}

fn note(call: &Call, input: &Input, prompt: &str, wing: &str, injection: &Injection) {
    let entry = log::Entry::new(
        (call.harness, call.event),
        input.session(),
        prompt,
        wing,
        injection,
    );
    // The log is for people. If it cannot be written, the prompt gets its memories all the same.
    if let Err(error) = log::append(&call.state_dir(), &entry) {
        tracing::debug!(%error, "failed to log the memories of a prompt");
    }
}
