//! After a tool failed, reports where the same error was seen before and what followed it, if it was
//! clearly seen before. Each error is mentioned once per session.

use loci_palace::{
    DEFAULT_COLLECTION, Fence, MaskTally, Result, date_of, instruction_like, quoted_unless_plain,
};
use serde_json::Value;

use super::answer::HookOutput;
use super::earlier::{self, Occurrence};
use super::excerpt::{beginning, ending, excerpt};
use super::harness::{Event, Harness};
use super::inject::{Injection, Passage};
use super::input::Input;
use super::log;
use super::notes::Outcome;
use super::place::Place;
use super::recall::recall;
use super::run::Call;
use super::session::Session;
use super::signature::Signature;

/// The token limits of the lines around the error and of what followed it. With the place and the
/// marks, the answer has at most 300 tokens.
const SEEN_TOKENS: usize = 60;
const FIX_TOKENS: usize = 130;
/// The most bytes of a line around the error.
const MAX_LINE: usize = 160;
/// How much of an error is masked for the log, which keeps less of it.
const LOGGED: usize = 1_000;
/// The fields of a tool's response that hold its output.
const OUTPUTS: [&str; 8] = [
    "stdout",
    "output",
    "content",
    "llmContent",
    "stderr",
    "message",
    "error",
    "error_message",
];
/// The fields that hold the exit code of a process.
const CODES: [&str; 4] = ["exit_code", "exitCode", "returncode", "code"];

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |note: &str| Ok((HookOutput::Nothing, Outcome::done(note)));
    if call.config.failures == Some(false) {
        return nothing("switched off by `failures`");
    }
    // Cursor ignores the answer to this event.
    if call.harness == Harness::Cursor {
        return nothing("the harness ignores the answer");
    }
    let Some(output) = failed_output(call.event, input) else {
        return nothing("no tool failed");
    };
    let Some(signature) = Signature::of(&output) else {
        return nothing("the error is too vague");
    };
    let session = Session::of(&call.state_dir(), call.harness, input.session());
    let key = signature.key();
    if session.remembered().has_failure(&key) {
        return nothing("already mentioned in this session");
    }
    let Some(palace) = call.existing()? else {
        return nothing("there is no palace yet");
    };
    let Some(wing) = call.wing(&palace, input)? else {
        return nothing("the harness passed no folder");
    };
    let hits = recall(call, &palace, input, &wing, &signature.query())?;
    let Some(seen) = earlier::best(&palace, &signature, hits)? else {
        return nothing("the error is not in memory");
    };
    if !session.record(&[], Some(&key)) {
        return nothing(
            "the state of the session could not be written, or another hook was faster",
        );
    }
    let title = palace.title_of(DEFAULT_COLLECTION, &seen.hit.metadata)?;
    let folder = input.folder(call.harness).unwrap_or_default();
    let injection = compose(&seen, title.as_deref(), &folder);
    let masked = palace.masked(
        beginning(signature.line(), LOGGED),
        &mut MaskTally::default(),
    );
    let entry = log::Entry::new(
        (call.harness, call.event),
        input.session(),
        &masked,
        &wing,
        &injection,
    );
    // The log is for people. If it cannot be written, the failure is answered all the same.
    if let Err(error) = log::append(&call.state_dir(), &entry) {
        tracing::debug!(%error, "failed to log the answer to a failure");
    }
    let note = match seen.fix {
        Some(_) => "mentioned an earlier occurrence and what followed it",
        None => "mentioned an earlier occurrence",
    };
    Ok((HookOutput::Context(injection.text), Outcome::done(note)))
}

/// Composes the answer: where the error was seen before, the lines around it, and what followed.
/// Without a fix, it only names the place.
fn compose(seen: &Occurrence, title: Option<&str>, folder: &str) -> Injection {
    let hit = &seen.hit;
    let before = hit.text.get(..seen.error.start).unwrap_or_default();
    let day = hit.metadata.authored_at().map(date_of).unwrap_or_default();
    let place = Place {
        metadata: &hit.metadata,
        title: title.filter(|title| instruction_like(title).is_empty()),
        day: day.get(..10).unwrap_or_default(),
        folder,
        line: before.matches('\n').count(),
    };
    let place = place.describe();
    let passage = |drawer: &str, text: &str| Passage {
        drawer: drawer.to_owned(),
        place: place.clone(),
        wing: None,
        relevance: 1.0,
        later: None,
        text: text.to_owned(),
    };
    let Some((fix, fix_drawer)) = &seen.fix else {
        let id = quoted_unless_plain(&hit.id);
        return Injection {
            text: format!("Loci: the same error was seen before: {place} (drawer {id})."),
            passages: vec![passage(&hit.id, "")],
        };
    };
    let fence = Fence::new();
    let start = format!(
        "Loci: the same error was seen before: {place}. What followed it may be the fix. {}",
        fence.meaning()
    );
    let error = around_error(seen);
    let lines = first_tokens(&error, SEEN_TOKENS);
    let followed = first_tokens(&fix.text, FIX_TOKENS);
    let mut text = start;
    text.push('\n');
    text.push_str(&fence.recalled(&format!("drawer {}, the error", hit.id), &lines));
    // A fix in the line of the error is shown once.
    if !lines.contains(&followed) {
        text.push('\n');
        text.push_str(&fence.recalled(&format!("drawer {fix_drawer}, what followed"), &followed));
    }
    let mut passages = vec![passage(&hit.id, &lines)];
    if *fix_drawer != hit.id {
        passages.push(passage(fix_drawer, &followed));
    }
    Injection { text, passages }
}

/// Returns the line with the error, with the line before it and the line after it.
fn around_error(seen: &Occurrence) -> String {
    let text = &seen.hit.text;
    let before = text.get(..seen.error.start).unwrap_or_default();
    let line_before = before.trim_end().rsplit('\n').next().unwrap_or_default();
    let line_before = Some(line_before).filter(|line| !line.ends_with(':'));
    let error = text.get(seen.error.clone()).unwrap_or_default();
    let rest = text.get(seen.error.end..).unwrap_or_default();
    let mut lines = rest.lines();
    let end = lines.next().unwrap_or_default();
    let after = lines.next().filter(|line| !line.trim().is_empty());
    // The words before the error in a long line matter less than the error.
    let error = ending(error, MAX_LINE);
    let parts = line_before
        .map(|line| ending(line.trim(), MAX_LINE))
        .filter(|line| !line.is_empty());
    let mut shown: Vec<String> = parts.map(str::to_owned).into_iter().collect();
    shown.push(format!("{error}{}", beginning(end, MAX_LINE)));
    shown.extend(after.map(|line| beginning(line.trim(), MAX_LINE).to_owned()));
    shown.join("\n")
}

/// Returns the beginning of a text, at most this many tokens.
fn first_tokens(text: &str, tokens: usize) -> String {
    excerpt(text, &[], tokens).text
}

/// Returns the output of a failed tool; `None` if no tool failed, or if the user interrupted it.
fn failed_output(event: Event, input: &Input) -> Option<String> {
    if input.is("is_interrupt") {
        return None;
    }
    if event == Event::ToolFailure {
        let error = ["error", "error_message", "message", "tool_response"]
            .iter()
            .find_map(|key| input.field(key))?;
        let mut output = String::new();
        gather(error, &mut output);
        return Some(output);
    }
    let response = ["tool_response", "tool_output", "result_json"]
        .iter()
        .find_map(|key| input.field(key))?;
    // Some harnesses put JSON into a string.
    let parsed = response
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .filter(Value::is_object);
    let response = parsed.as_ref().unwrap_or(response);
    let mut output = String::new();
    gather(response, &mut output);
    (has_failed(response) || ends_in_failure(&output)).then_some(output)
}

/// Collects the texts of a tool's response, up to a limited depth.
fn gather(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Array(parts) => {
            for part in parts.iter().take(50) {
                let text = part.get("text").unwrap_or(part);
                if let Value::String(text) = text {
                    into.push_str(text);
                    into.push('\n');
                }
            }
        }
        Value::Object(fields) => {
            for key in OUTPUTS {
                match fields.get(key) {
                    Some(Value::Object(inner)) => {
                        if let Some(Value::String(text)) = inner.get("message") {
                            into.push_str(text);
                            into.push('\n');
                        }
                    }
                    Some(value @ (Value::String(_) | Value::Array(_))) => gather(value, into),
                    _ => {}
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn has_failed(response: &Value) -> bool {
    let is = |key: &str, what: bool| response.get(key).and_then(Value::as_bool) == Some(what);
    let code = |value: &Value| {
        CODES
            .iter()
            .find_map(|key| value.get(key)?.as_i64())
            .is_some_and(|code| code != 0)
    };
    let error = match response.get("error") {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Object(_)) => true,
        _ => false,
    };
    is("is_error", true)
        || is("isError", true)
        || is("success", false)
        || error
        || code(response)
        || response.get("metadata").is_some_and(code)
}

/// Whether the output reports a nonzero exit code, as the shells of agents do in a line of its own.
fn ends_in_failure(output: &str) -> bool {
    let lines: Vec<&str> = output.lines().map(str::trim).collect();
    let first = lines.iter().take(5);
    let last = lines.iter().rev().take(5);
    first.chain(last).any(|line| {
        let lower = line.to_lowercase();
        let rest = [
            "exit code:",
            "exit code",
            "process exited with code",
            "exited with code",
        ]
        .iter()
        .find_map(|begin| lower.strip_prefix(begin));
        rest.and_then(|rest| rest.trim().parse::<i64>().ok())
            .is_some_and(|code| code != 0)
    })
}
