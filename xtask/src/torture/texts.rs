//! Texts that can be recognised in an answer.

use std::fmt::Write as _;

use serde_json::json;

use super::round::Drawers;

const WORDS: [&str; 24] = [
    "harbour", "lantern", "ledger", "copper", "winter", "signal", "garden", "engine", "letter",
    "bridge", "market", "shadow", "anchor", "meadow", "window", "thunder", "paper", "violin",
    "granite", "orchard", "compass", "kettle", "railway", "pepper",
];

/// A sentence of `words` words that `n` determines.
pub(super) fn sentence(n: u64, words: usize) -> String {
    let mut random = fastrand::Rng::with_seed(n);
    let mut text = String::new();
    for _ in 0..words {
        let word = WORDS.get(random.usize(..WORDS.len())).unwrap_or(&"word");
        let _ = write!(text, "{word}{} ", random.u8(..));
    }
    text.trim_end().to_owned()
}

/// The text of a drawer. No other id has the same text.
pub(super) fn text(id: &str) -> String {
    let n = id.bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(131).wrapping_add(u64::from(byte))
    });
    format!("{id} holds {}", sentence(n, 9))
}

/// Drawers `<prefix>-0`, `<prefix>-1`, and so on.
pub(super) fn numbered(prefix: &str, count: usize) -> Drawers {
    (0..count)
        .map(|n| format!("{prefix}-{n}"))
        .map(|id| (id.clone(), text(&id)))
        .collect()
}

/// Drawers as lines for `loci import jsonl`.
pub(super) fn lines(drawers: &Drawers) -> String {
    let line = |(id, text): (&String, &String)| format!("{}\n", json!({"id": id, "text": text}));
    drawers.iter().map(line).collect()
}

/// A Markdown file whose sections contain marks. Each section becomes a drawer or part of one.
pub(super) fn document(name: &str, version: u32, sections: u32, words: usize) -> String {
    let mut text = format!("# Document {name}\n\n");
    for section in 0..sections {
        let n = u64::from(version) * 1_000 + u64::from(section);
        let _ = write!(
            text,
            "## Part {section}\n\n{} {}\n\n",
            mark(name, version, section),
            sentence(n, words)
        );
    }
    text
}

/// Exchanges `from..to` of a transcript of Claude Code. The questions contain marks of version 0.
pub(super) fn exchanges(name: &str, from: u32, to: u32) -> String {
    let mut lines = String::new();
    for n in from..to {
        let mut record = |kind: &str, content: serde_json::Value| {
            let minute = format!("2026-02-01T{:02}:{:02}:00Z", n / 60 % 24, n % 60);
            let record = json!({
                "type": kind, "uuid": format!("{kind}{n}"), "parentUuid": null,
                "isSidechain": false, "sessionId": format!("session-{name}"), "cwd": "/project",
                "timestamp": minute, "message": {"role": kind, "content": content},
            });
            let _ = writeln!(lines, "{record}");
        };
        let question = format!("{} {}?", mark(name, 0, n), sentence(u64::from(n), 8));
        record("user", json!(question));
        let reply = sentence(u64::from(n) + 77, 20);
        record("assistant", json!([{"type": "text", "text": reply}]));
    }
    lines
}

/// A word that occurs exactly once in a version of a file.
pub(super) fn mark(name: &str, version: u32, part: u32) -> String {
    format!("mark-{name}-{version}-{part}")
}

/// The marks in a text.
pub(super) fn marks(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_".contains(letter)))
        .filter(|word| word.starts_with("mark-"))
}
