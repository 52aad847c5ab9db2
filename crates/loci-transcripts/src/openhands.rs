//! Reads the conversations of OpenHands. `base_state.json` is the main file, and the events of the
//! conversation are files in the folder `events` beside it, whose names begin with their numbers.

use super::event::Conversation;
use super::field::{fact, inner, list, time, word};
use super::folder::{FolderFormat, files_in};
use super::format::{Companions, Layout, Spec};
use super::input::render_text;
use super::recognise::{Sign, file_name};
use super::sink::ParseSink;
use super::utterance::{RecordSpan, Utterance, output_label};
use super::values::{write_block, write_content};
use loci_files::allowed::AllowedRoots;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn events_folder(path: &Path) -> PathBuf {
    path.with_file_name("events")
}

/// Returns the files of the events by number. Numbers of more than five digits are longer.
fn events(path: &Path, allowed: &AllowedRoots) -> Vec<PathBuf> {
    let mut files = files_in(&events_folder(path), allowed);
    files.retain(|file| number(file).is_some());
    files.sort_by_key(|file| number(file));
    files
}

fn number(file: &Path) -> Option<u64> {
    let name = file_name(file);
    let (number, _) = name.strip_prefix("event-")?.split_once('-')?;
    number.parse().ok()
}

fn about(state: &Value) -> Conversation {
    Conversation {
        id: word(state, "id").to_owned(),
        title: None,
        folder: fact(inner(state, "workspace"), "working_dir"),
        branch: None,
        started_at: None,
    }
}

/// Passes one event to the sink.
fn emit(event: &Value, _parts: &[Value], place: RecordSpan, sink: &mut ParseSink) {
    let mut utterance = Utterance::new(place, "system");
    utterance.at = time(event, "timestamp");
    ParseSink::learn(&mut sink.conversation.started_at, utterance.at.clone());
    match word(event, "kind") {
        "MessageEvent" => write_message(event, &mut utterance, sink),
        "ActionEvent" => write_action(event, &mut utterance, sink),
        "ObservationEvent" => {
            utterance.speaker = "tool".into();
            let observation = inner(event, "observation");
            let error = inner(observation, "is_error") == &Value::Bool(true);
            let content = inner(observation, "content");
            let label = |_: &str| output_label(error);
            write_content(content, &label, &mut utterance, &mut sink.record_tally);
            write_context(event, &mut utterance, sink);
        }
        "UserRejectObservation" => {
            utterance.speaker = "tool".into();
            utterance.output(true, word(event, "rejection_reason"));
        }
        "AgentErrorEvent" => utterance.push("Error", word(event, "error")),
        "SystemPromptEvent" => {
            utterance.push("System", word(inner(event, "system_prompt"), "text"));
        }
        "Condensation" => {
            let words = word(event, "summary");
            utterance.push("Summary of the conversation so far", words);
        }
        _ => {}
    }
    let reason = format!("event `{}`", word(event, "kind"));
    sink.emit_or_skip(utterance, &reason);
}

fn write_message(event: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let message = inner(event, "llm_message");
    let (speaker, label) = match word(event, "source") {
        "user" => ("user", "User"),
        "agent" => ("assistant", "Assistant"),
        _ => ("system", "Context"),
    };
    utterance.speaker = speaker.into();
    utterance.prompt = speaker == "user";
    write_thinking(message, utterance, sink);
    let content = inner(message, "content");
    write_content(content, &|_| label, utterance, &mut sink.record_tally);
    write_context(event, utterance, sink);
}

fn write_action(event: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    utterance.speaker = "assistant".into();
    write_thinking(event, utterance, sink);
    let thought = inner(event, "thought");
    write_content(thought, &|_| "Assistant", utterance, &mut sink.record_tally);
    let call = inner(event, "tool_call");
    utterance.call(
        word(event, "tool_name"),
        render_text(word(call, "arguments")),
    );
}

/// Adds the reasoning of the model, which some models give as blocks.
fn write_thinking(event: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let blocks = list(event, "thinking_blocks");
    if blocks.is_empty() {
        utterance.push("Assistant (thinking)", word(event, "reasoning_content"));
    }
    for block in blocks {
        write_block(block, &|_| "Assistant", utterance, &mut sink.record_tally);
    }
}

/// Adds the text that the program appended.
fn write_context(event: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let content = inner(event, "extended_content");
    write_content(content, &|_| "Context", utterance, &mut sink.record_tally);
}

/// OpenHands' entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "openhands",
    is_export: false,
    sign: Sign::Object(|keys, path| {
        let members = ["id", "agent", "workspace"];
        file_name(path) == "base_state.json" && members.iter().all(|key| keys.has(key))
    }),
    layout: Layout::Folder(&FolderFormat {
        root: Path::parent,
        messages: events,
        parts: |_, _, _| Vec::new(),
        about,
        emit,
    }),
    companions: Companions {
        files: events,
        places: |path| vec![events_folder(path)],
    },
};
