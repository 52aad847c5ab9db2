//! Files that a program keeps beside a conversation. They repeat the conversation in another form,
//! or hold settings, so they are not read as documents.

use std::io::Read as _;
use std::path::Path;

use loci_files::allowed::AllowedRoots;

use super::recognise::{HEAD_BYTES, file_name, folder_name, recognise};

/// Whether the file belongs to a conversation in the same folder and repeats or describes it.
pub fn is_aside(path: &Path, allowed: &AllowedRoots) -> bool {
    let name = file_name(path);
    // An event of OpenHands lies in a folder beside the conversation.
    let is_event = name.starts_with("event-") && folder_name(path) == "events";
    let main = if is_event {
        path.parent()
            .map(|events| events.with_file_name("base_state.json"))
    } else {
        conversation_beside(&name).map(|main| path.with_file_name(main))
    };
    let Some(main) = main else {
        return false;
    };
    let mut head = Vec::new();
    let read = allowed
        .open(&main)
        .and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_ok() && recognise(&main, &head).is_some()
}

/// Returns the name of the conversation that a file of this name would belong to.
fn conversation_beside(name: &str) -> Option<String> {
    let main = match name {
        // Cline, Roo Code and Kilo Code.
        "ui_messages.json"
        | "task_metadata.json"
        | "context_history.json"
        | "history_item.json" => "api_conversation_history.json",
        // Kimi CLI. Older contexts are numbered.
        "state.json" => "wire.jsonl",
        _ if is_context(name) => "wire.jsonl",
        // Mistral Vibe.
        "meta.json" => "messages.jsonl",
        // Copilot CLI.
        "workspace.yaml" => "events.jsonl",
        _ => return sibling(name),
    };
    Some(main.to_owned())
}

/// Whether this is `context.jsonl`, or `context_1.jsonl` and so on.
fn is_context(name: &str) -> bool {
    let stem = name.strip_suffix(".jsonl");
    stem.is_some_and(|stem| stem == "context" || stem.starts_with("context_"))
}

/// Returns the name of a conversation that differs only in its ending: that of Factory, Qwen Code
/// or Cline.
fn sibling(name: &str) -> Option<String> {
    let endings = [
        (".settings.json", ".jsonl"),
        (".runtime.json", ".jsonl"),
        (".json", ".messages.json"),
    ];
    let mut found = endings.iter().filter_map(|(ending, main)| {
        let id = name.strip_suffix(ending)?;
        Some(format!("{id}{main}"))
    });
    found.next()
}
