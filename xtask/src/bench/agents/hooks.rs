//! Measures hooks. Each is a process of its own that reads the input that Claude Code sends.

use anyhow::ensure;
use serde_json::{Value, json};

use super::notes::Notes;
use super::{Figures, Side, figures_of};

/// Exchanges in the transcript before the first run, and new exchanges for every run of `Stop`.
/// MemPalace saves every fifteen exchanges.
const BEFORE: usize = 30;
const NEW: usize = 15;

/// The error of a failed tool, the lesson of an earlier failure, and a prompt that asks for it.
const FAILURE: &str =
    "error[E0502]: cannot borrow `palace` as mutable because it is also borrowed as immutable";
pub(super) const LESSON: &str = "error[E0502]: cannot borrow `palace` as mutable because it is also borrowed as immutable. The \
                                 borrow checker objected in the compactor; the shared borrow now ends before the write.";
const PROMPT: &str =
    "What did the borrow checker object to in the compactor, and where does the shared borrow end?";

/// One hook of one side.
pub(super) struct Hook {
    /// The event, as Claude Code calls it.
    event: &'static str,
    command: Vec<String>,
}

pub(super) fn of_loci(binary: &str) -> Vec<Hook> {
    EVENTS
        .iter()
        .map(|event| Hook {
            event,
            command: [binary, "hook", event, "--harness", "claude-code"]
                .map(str::to_owned)
                .to_vec(),
        })
        .collect()
}

/// The hooks of MemPalace, which has none for prompts and failures.
pub(super) fn of_mempalace(python: &str) -> Vec<Hook> {
    [("SessionStart", "session-start"), ("Stop", "stop")]
        .into_iter()
        .map(|(event, name)| Hook {
            event,
            command: [
                python,
                "-m",
                "mempalace",
                "hook",
                "run",
                "--hook",
                name,
                "--harness",
                "claude-code",
            ]
            .map(str::to_owned)
            .to_vec(),
        })
        .collect()
}

pub(super) const EVENTS: [&str; 4] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUseFailure",
    "Stop",
];

/// The CPU time of each hook, and of the processes that it leaves running.
pub(super) fn measure(side: &Side, notes: &Notes) -> anyhow::Result<Figures> {
    let mut figures = Figures::new();
    for hook in &side.hooks {
        let answer = figures_of("hook_cost.py", &plan(side, hook, notes))?;
        for (name, key) in [("ms", "cpu_ms"), ("background_ms", "background_ms")] {
            let number = answer.get(key).and_then(Value::as_f64).unwrap_or_default();
            figures.insert(format!("{}_{name}", hook.event), number);
        }
        let reply = answer.get("answer").and_then(Value::as_str).unwrap_or("");
        eprintln!("{}: {}", hook.event, reply.trim());
        // The cost of a hook that does nothing is not a useful figure.
        ensure!(
            !reply.trim().is_empty(),
            "{} found nothing to do",
            hook.event
        );
    }
    Ok(figures)
}

fn plan(side: &Side, hook: &Hook, notes: &Notes) -> Value {
    let grows = match hook.event {
        "Stop" => exchanges(notes, BEFORE, NEW),
        _ => Vec::new(),
    };
    json!({
        "command": hook.command,
        "environment": side.environment,
        "runs": side.runs,
        "input": input(hook.event, side),
        "sessions": hook.event != "Stop",
        "transcript": side.transcript,
        "prefix": exchanges(notes, 0, BEFORE),
        "grows": grows,
    })
}

/// The input that Claude Code sends.
fn input(event: &str, side: &Side) -> Value {
    let mut input = json!({
        "session_id": "3f1c0a52-7a0e-4a55-9a2b-6f0f1c6f9f10",
        "transcript_path": side.transcript,
        "cwd": side.project,
        "permission_mode": "default",
        "hook_event_name": event,
    });
    let more = match event {
        "SessionStart" => json!({"source": "startup", "model": "claude-opus-4-8"}),
        "UserPromptSubmit" => json!({"prompt": PROMPT}),
        "PostToolUseFailure" => json!({
            "tool_name": "Bash",
            "tool_input": {"command": "cargo test", "description": "Run the tests"},
            "tool_use_id": "toolu_01ABCDEFGHJKMNPQRSTVWXYZ",
            "error": FAILURE,
            "is_interrupt": false,
        }),
        _ => json!({"stop_hook_active": false}),
    };
    if let (Some(input), Value::Object(more)) = (input.as_object_mut(), more) {
        input.extend(more);
    }
    input
}

/// Lines of a transcript. The script gives each line an id of its own.
fn exchanges(notes: &Notes, from: usize, count: usize) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(from as u64);
    (from..from + count)
        .flat_map(|number| {
            let question = notes.note(number, &mut random);
            let answer = notes.note(number, &mut random);
            [
                line("user", &json!(question)),
                line("assistant", &json!([{"type": "text", "text": answer}])),
            ]
        })
        .collect()
}

fn line(role: &str, content: &Value) -> Value {
    json!({
        "type": role,
        "sessionId": "3f1c0a52-7a0e-4a55-9a2b-6f0f1c6f9f10",
        "timestamp": "2026-11-16T09:00:00.000Z",
        "message": {"role": role, "content": content},
    })
}
