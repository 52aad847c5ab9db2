//! Reads the chat sessions of VS Code, which GitHub Copilot Chat uses. A session is one JSON object
//! with a list of requests; a request holds a prompt and the parts of its answer. Newer versions
//! write a log that begins with this object and changes it line by line.

use super::beside::{path_of_url, read_json};
use super::field::{fact, inner, list, time, word};
use super::format::{Companions, Layout, Opening, Spec};
use super::input::{render_text, render_value};
use super::keys::Keys;
use super::recognise::{Sign, folder_name, has_extension};
use super::records::MAX_RECORD_BYTES;
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, one_line};
use serde_json::Value;
use std::path::Path;

/// A session as one object. Its requests are the records.
#[derive(Debug)]
struct Session {
    folder: Option<String>,
}

/// A session as a log of changes. It is read as a whole, because a change may concern any request.
#[derive(Debug)]
struct Log {
    folder: Option<String>,
    session: Value,
}

/// Returns the folder of the workspace, which `workspace.json` above the folder of sessions names.
fn workspace(file: &Opening<'_>) -> Option<String> {
    let storage = file.path.parent().and_then(Path::parent);
    let workspace = read_json(storage, "workspace.json", file.allowed);
    path_of_url(word(&workspace, "folder"))
}

fn learn(session: &Value, folder: Option<&String>, sink: &mut ParseSink) {
    let facts = &mut sink.conversation;
    if facts.id.is_empty() {
        word(session, "sessionId").clone_into(&mut facts.id);
    }
    ParseSink::learn(&mut facts.title, fact(session, "customTitle"));
    ParseSink::learn(&mut facts.started_at, time(session, "creationDate"));
    ParseSink::learn(&mut facts.folder, folder.cloned());
}

impl RecordFormat for Session {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let request: Value = serde_json::from_str(text)?;
        emit_request(&request, place, sink);
        Ok(())
    }

    fn frame(&mut self, json: &str, sink: &mut ParseSink) {
        if let Ok(session) = serde_json::from_str(json) {
            learn(&session, self.folder.as_ref(), sink);
        }
    }
}

impl RecordFormat for Log {
    fn record(
        &mut self,
        text: &str,
        _place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let mut entry: Value = serde_json::from_str(text)?;
        let value = entry.get_mut("v").map(Value::take).unwrap_or_default();
        let path = list(&entry, "k");
        match inner(&entry, "kind").as_u64() {
            Some(0) => self.session = value,
            Some(1) => set(&mut self.session, path, value),
            Some(2) => {
                let start = inner(&entry, "i").as_u64();
                push(&mut self.session, path, value, start);
            }
            Some(3) => remove(&mut self.session, path),
            _ => {}
        }
        sink.record_tally.skip("change of the session");
        Ok(())
    }

    fn end(&mut self, sink: &mut ParseSink) {
        let session = self.session.take();
        learn(&session, self.folder.as_ref(), sink);
        for (number, request) in (1..).zip(list(&session, "requests")) {
            let place = RecordSpan {
                number,
                ..RecordSpan::default()
            };
            sink.record_tally.read();
            emit_request(request, place, sink);
        }
    }
}

/// Returns the value at a path of keys and positions.
fn at<'v>(session: &'v mut Value, path: &[Value]) -> Option<&'v mut Value> {
    path.iter().try_fold(session, |value, step| match step {
        Value::String(key) => value.get_mut(key),
        step => value.get_mut(usize::try_from(step.as_u64()?).ok()?),
    })
}

fn set(session: &mut Value, path: &[Value], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    match (at(session, parents), last) {
        (Some(Value::Object(fields)), Value::String(key)) => {
            fields.insert(key.clone(), value);
        }
        (Some(parent), _) => {
            if let Some(known) = at(parent, std::slice::from_ref(last)) {
                *known = value;
            }
        }
        (None, _) => {}
    }
}

/// Removes the elements of a list from `start`, and adds others.
fn push(session: &mut Value, path: &[Value], values: Value, start: Option<u64>) {
    if at(session, path).is_none_or(|list| !list.is_array()) {
        set(session, path, Value::Array(Vec::new()));
    }
    if let Some(Value::Array(known)) = at(session, path) {
        if let Some(start) = start.and_then(|start| usize::try_from(start).ok()) {
            known.truncate(start);
        }
        if let Value::Array(values) = values {
            known.extend(values);
        }
    }
}

fn remove(session: &mut Value, path: &[Value]) {
    if let Some((Value::String(key), parents)) = path.split_last()
        && let Some(Value::Object(fields)) = at(session, parents)
    {
        fields.remove(key);
    }
}

/// Emits the prompt and the answer of a request. The request itself is counted by the caller.
fn emit_request(request: &Value, place: RecordSpan, sink: &mut ParseSink) {
    let mut prompt = Utterance::new(RecordSpan { to: None, ..place }, "user");
    prompt.prompt = true;
    prompt.at = time(request, "timestamp");
    let message = inner(request, "message");
    prompt.push(
        "User",
        message.as_str().unwrap_or_else(|| word(message, "text")),
    );
    for variable in list(inner(request, "variableData"), "variables") {
        match word(variable, "kind") {
            "image" => {
                prompt.note("User", "[image]");
                sink.record_tally.skip_inner("image");
            }
            "file" | "directory" => {
                let name = one_line(word(variable, "name"));
                prompt.note("User", &format!("[file {name}]"));
                sink.record_tally.skip_inner("file");
            }
            _ => {}
        }
    }
    let mut answer = Answer {
        utterance: Utterance::new(place, "assistant"),
        text: String::new(),
    };
    answer.utterance.at.clone_from(&prompt.at);
    answer.utterance.model = fact(request, "modelId");
    for part in list(request, "response") {
        answer.write(part, request, sink);
    }
    answer.end_text();
    let error = inner(inner(request, "result"), "errorDetails");
    answer.utterance.push("Error", word(error, "message"));
    sink.emit(prompt);
    sink.record_tally.read();
    sink.emit(answer.utterance);
}

/// An answer. Its text comes in pieces, with references to files and symbols between them.
struct Answer {
    utterance: Utterance,
    text: String,
}

impl Answer {
    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.utterance.push("Assistant", text);
    }

    fn write(&mut self, part: &Value, request: &Value, sink: &mut ParseSink) {
        match word(part, "kind") {
            "" => self.text.push_str(markdown(part)),
            "markdownContent" | "markdownVuln" => {
                self.text.push_str(markdown(inner(part, "content")));
            }
            "inlineReference" => self.text.push_str(&reference(part)),
            "thinking" => {
                self.end_text();
                let words = match inner(part, "value") {
                    Value::Array(lines) => {
                        let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                        lines.concat()
                    }
                    value => value.as_str().unwrap_or_default().to_owned(),
                };
                self.utterance.push("Assistant (thinking)", words);
            }
            "toolInvocationSerialized" => {
                self.end_text();
                write_tool(part, request, &mut self.utterance, sink);
            }
            "warning" => {
                self.end_text();
                let words = markdown(inner(part, "content"));
                self.utterance.push("Warning", words);
            }
            kind => sink.record_tally.skip_inner(&format!("block `{kind}`")),
        }
    }
}

/// Returns text that is a string or an object with a value.
fn markdown(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| word(value, "value"))
}

/// Returns the name under which a file or symbol is shown in the text.
fn reference(part: &Value) -> String {
    let target = inner(part, "inlineReference");
    let location = match inner(target, "uri") {
        Value::Null => target,
        uri => uri,
    };
    let path = word(location, "path");
    let names = [
        word(part, "name"),
        word(target, "name"),
        path.rsplit('/').next().unwrap_or_default(),
    ];
    let name = names.into_iter().find(|name| !name.is_empty());
    name.unwrap_or_default().to_owned()
}

/// Adds a call of a tool and its output. The call of the model is in the result of the request; a
/// request that was cancelled has only what was shown.
fn write_tool(part: &Value, request: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let result = inner(inner(request, "result"), "metadata");
    let id = word(part, "toolCallId");
    let calls = list(result, "toolCallRounds")
        .iter()
        .flat_map(|round| list(round, "toolCalls"));
    let mut calls = calls.filter(|call| {
        let known = word(call, "id");
        !id.is_empty() && known.strip_prefix(id).is_some_and(is_suffix)
    });
    let details = inner(part, "resultDetails");
    let Some(call) = calls.next() else {
        let shown = inner(part, "toolSpecificData");
        let command = inner(shown, "commandLine");
        let words = [
            word(command, "original"),
            word(shown, "command"),
            word(details, "input"),
            markdown(inner(part, "invocationMessage")),
        ];
        let words = words.into_iter().find(|words| !words.is_empty());
        utterance.call(word(part, "toolId"), render_text(words.unwrap_or_default()));
        write_shown(details, utterance, sink);
        return;
    };
    utterance.call(word(call, "name"), render_text(word(call, "arguments")));
    let output = inner(inner(result, "toolCallResults"), word(call, "id"));
    for content in list(output, "content") {
        match inner(content, "value") {
            Value::String(words) => utterance.output(false, words.as_str()),
            Value::Null => {}
            // A tree of prompt elements, not text.
            _ => sink.record_tally.skip_inner("tool output that is not text"),
        }
    }
}

/// Adds the output that was shown to the user.
fn write_shown(details: &Value, utterance: &mut Utterance, sink: &mut ParseSink) {
    let error = inner(details, "isError") == &Value::Bool(true);
    for output in list(details, "output") {
        if inner(output, "isText") == &Value::Bool(true) {
            utterance.output(error, render_value(inner(output, "value")));
        } else {
            sink.record_tally.skip_inner("tool output that is not text");
        }
    }
}

/// Whether this may follow the id of a call in the metadata of the result.
fn is_suffix(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with("__vscode")
}

/// A session as one object.
pub(super) const SPEC: Spec = Spec {
    name: "copilot-chat",
    is_export: false,
    sign: Sign::Object(is_session),
    layout: Layout::Elements {
        key: Some("requests"),
        limit: MAX_RECORD_BYTES,
        reader: |file| {
            Box::new(Session {
                folder: workspace(file),
            })
        },
    },
    companions: Companions::NONE,
};

/// A session as a log of changes.
pub(super) const LOG_SPEC: Spec = Spec {
    name: "copilot-chat",
    is_export: false,
    sign: Sign::Record(|keys, path| {
        let is_state = keys.has_inner("v.version") && keys.has_inner("v.creationDate");
        keys.has("kind") && is_state && has_extension(path, "jsonl")
    }),
    layout: Layout::Lines(|file| {
        Box::new(Log {
            folder: workspace(file),
            session: Value::Null,
        })
    }),
    companions: Companions::NONE,
};

/// The id of the session follows the requests, which may be longer than the part of the file that
/// is examined.
fn is_session(keys: &Keys, path: &Path) -> bool {
    let is_stored = matches!(
        folder_name(path).as_str(),
        "chatSessions" | "emptyWindowChatSessions"
    );
    keys.has("version") && keys.has("requests") && (keys.has("responderUsername") || is_stored)
}
