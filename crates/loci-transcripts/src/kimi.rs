//! Reads the sessions of Kimi CLI: `wire.jsonl`, a log of the messages between the agent and its
//! user interface. The folder of the log is named after the session.

use super::field::{inner, time, word};
use super::format::{Companions, Layout, Spec};
use super::input::render_text;
use super::recognise::{Sign, folder_name};
use super::sink::{Misread, ParseSink, RecordFormat};
use super::utterance::{RecordSpan, Utterance, output_label};
use super::values::write_content;
use serde_json::Value;

#[derive(Debug)]
struct Kimi {
    session: String,
}

impl RecordFormat for Kimi {
    fn record(
        &mut self,
        text: &str,
        place: RecordSpan,
        sink: &mut ParseSink,
    ) -> Result<(), Misread> {
        let record: Value = serde_json::from_str(text)?;
        if sink.conversation.id.is_empty() {
            sink.conversation.id.clone_from(&self.session);
        }
        let message = inner(&record, "message");
        let payload = inner(message, "payload");
        let mut utterance = Utterance::new(place, "assistant");
        utterance.at = time(&record, "timestamp");
        ParseSink::learn(&mut sink.conversation.started_at, utterance.at.clone());
        match word(message, "type") {
            "TurnBegin" | "SteerInput" => {
                utterance.speaker = "user".into();
                utterance.prompt = true;
                let input = inner(payload, "user_input");
                write_content(input, &|_| "User", &mut utterance, &mut sink.record_tally);
            }
            "ContentPart" => write_content(
                payload,
                &|_| "Assistant",
                &mut utterance,
                &mut sink.record_tally,
            ),
            "ToolCall" => {
                let function = inner(payload, "function");
                let arguments = render_text(word(function, "arguments"));
                utterance.call(word(function, "name"), arguments);
            }
            "ToolResult" => {
                utterance.speaker = "tool".into();
                let value = inner(payload, "return_value");
                let error = inner(value, "is_error") == &Value::Bool(true);
                let label = |_: &str| output_label(error);
                let output = inner(value, "output");
                write_content(output, &label, &mut utterance, &mut sink.record_tally);
                utterance.output(error, word(value, "message"));
            }
            "" => {
                sink.skip_kind(word(&record, "type"));
                return Ok(());
            }
            // The events of a subagent are also in the log of the subagent.
            kind => {
                sink.skip_kind(kind);
                return Ok(());
            }
        }
        sink.emit(utterance);
        Ok(())
    }
}

/// Kimi CLI's entry in the table of formats.
pub(super) const SPEC: Spec = Spec {
    name: "kimi-cli",
    is_export: false,
    sign: Sign::Record(|keys, _| {
        keys.has("timestamp") && keys.has_inner("message.type") && keys.has_inner("message.payload")
    }),
    layout: Layout::Lines(|file| {
        Box::new(Kimi {
            session: folder_name(file.path),
        })
    }),
    companions: Companions::NONE,
};
