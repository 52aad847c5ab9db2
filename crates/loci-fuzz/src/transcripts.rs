//! Target `transcripts`: conversations in every format, read whole and while they grow.

use std::collections::HashSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use loci_transcripts::{Event, Format, Mark, Reader, Tally, recognise};

use crate::input::Input;
use crate::scratch;

/// Each format with a file name that it uses. If the flag is set, files of the format may grow at a
/// line end.
const FORMATS: [(Format, &str, bool); 30] = [
    (Format::ClaudeCode, "a.jsonl", true),
    (Format::Codex, "rollout-a.jsonl", true),
    (Format::GeminiLog, "session-1.jsonl", true),
    (Format::Plain, "talk.txt", true),
    (Format::Aider, ".aider.chat.history.md", true),
    (Format::ClaudeAi, "conversations.json", false),
    (Format::ChatGpt, "conversations.json", false),
    (Format::GeminiCli, "session-1.json", false),
    (Format::GeminiPrompts, "logs.json", false),
    (Format::Slack, "2026-01-02.json", false),
    (Format::Continue, "a.json", false),
    (Format::Cursor, "state.vscdb", false),
    (Format::OpenCodeDb, "opencode.db", false),
    (Format::QwenCode, "qwen.jsonl", true),
    (Format::KimiCli, "wire.jsonl", true),
    (Format::CopilotCli, "events.jsonl", true),
    (Format::CopilotChatLog, "chat.jsonl", false),
    (Format::CopilotChat, "chat.json", false),
    (Format::Factory, "droid.jsonl", true),
    (Format::Pi, "pi.jsonl", true),
    (Format::OpenClaw, "claw.jsonl", true),
    (Format::MistralVibe, "messages.jsonl", true),
    (Format::Amp, "T-1.json", false),
    (Format::Cline, "api_conversation_history.json", false),
    (Format::ClineSession, "a.messages.json", false),
    (Format::RooCode, "api_conversation_history.json", false),
    (Format::KiloCode, "api_conversation_history.json", false),
    (Format::KiloCodeDb, "kilo.db", false),
    (Format::Crush, "crush.db", false),
    (Format::Goose, "sessions.db", false),
];

/// The input is a format, an offset to truncate at, and the file.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let (format, name, grows) = input.one_of(&FORMATS);
    let cut = input.number();
    let file = input.0;
    for (_, name, _) in FORMATS {
        recognise(Path::new(name), file);
    }
    recognise(Path::new("storage/session/p/s.json"), file);
    let directory = scratch::directory();
    let path = directory.path().join(name);
    scratch::write(directory.path(), name, file);

    let source = Source { format, path, file };
    let whole = source.read(file, &Mark::default());
    if whole.failed {
        return;
    }
    if grows {
        let ends: Vec<usize> = (0..file.len()).filter(|at| file[*at] == b'\n').collect();
        if !ends.is_empty() {
            source.check_growth(&whole, ends[cut % ends.len()] + 1);
        }
    } else {
        let marks: Vec<&Mark> = whole.marks().collect();
        if !marks.is_empty() {
            source.check_resuming(&whole, marks[cut % marks.len()]);
        }
    }
}

struct Source<'a> {
    format: Format,
    path: PathBuf,
    file: &'a [u8],
}

struct Told {
    events: Vec<Event>,
    failed: bool,
}

impl Told {
    fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.events.iter().filter_map(|event| match event {
            Event::Rest(mark) => Some(&**mark),
            _ => None,
        })
    }

    /// The pieces before and after a mark. If there is no such mark, all pieces are after it.
    fn split(&self, mark: &Mark) -> (Vec<Event>, Vec<Event>) {
        let is_mark = |event: &Event| matches!(event, Event::Rest(found) if **found == *mark);
        let at = self.events.iter().position(is_mark).map_or(0, |at| at + 1);
        let pieces = |events: &[Event]| {
            let is_piece = |event: &&Event| matches!(event, Event::Piece(_));
            events.iter().filter(is_piece).cloned().collect()
        };
        (pieces(&self.events[..at]), pieces(&self.events[at..]))
    }
}

impl Source<'_> {
    /// Reads from a mark to the end and checks the invariants of every file.
    fn read(&self, file: &[u8], mark: &Mark) -> Told {
        let rest = file.get(mark.offset as usize..).unwrap_or_default();
        let input = BufReader::with_capacity(997, rest);
        let mut reader = Reader::resume(self.format, input, &self.path, mark);
        let mut events = Vec::new();
        let mut announced = false;
        let mut texts = HashSet::new();
        let failed = loop {
            let event = match reader.next() {
                Ok(Some(event)) => event,
                Ok(None) => break false,
                Err(_) => break true,
            };
            adds_up(reader.tally());
            match &event {
                Event::Conversation(_) => {
                    announced = true;
                    texts.clear();
                }
                Event::Piece(piece) => {
                    assert!(announced, "a piece comes before its conversation");
                    assert!(piece.start_line >= 1 && piece.start_line <= piece.end_line);
                    assert!(piece.exchange >= 1 && piece.part >= 1);
                    assert!(!piece.speakers.is_empty());
                    let key = (piece.exchange, piece.start_line, piece.text.clone());
                    assert!(texts.insert(key), "two pieces are the same: {piece:?}");
                }
                Event::Rest(mark) => {
                    assert!(mark.offset as usize <= file.len());
                    let json = serde_json::to_string(mark).unwrap();
                    assert!(json.len() < 1_024, "a mark is too long: {json}");
                    assert_eq!(serde_json::from_str::<Mark>(&json).unwrap(), **mark);
                }
            }
            events.push(event);
        };
        assert_eq!(
            reader.next().unwrap(),
            None,
            "the reader continues after the end"
        );
        adds_up(reader.tally());
        Told { events, failed }
    }

    /// Reads a first part, then the rest from its last mark. The result must equal a reading of the
    /// whole file.
    fn check_growth(&self, whole: &Told, cut: usize) {
        let first = self.read(&self.file[..cut], &Mark::default());
        let mark = first.marks().last().cloned().unwrap_or_default();
        assert!(mark.offset as usize <= cut);
        let rest = self.read(self.file, &mark);
        let (before, after) = whole.split(&mark);
        assert_eq!(first.split(&mark).0, before, "the first part differs");
        let (early, late) = rest.split(&mark);
        assert_eq!([early, late].concat(), after, "cut at {cut}");
    }

    fn check_resuming(&self, whole: &Told, mark: &Mark) {
        let rest = self.read(self.file, mark);
        let (early, late) = rest.split(mark);
        assert_eq!([early, late].concat(), whole.split(mark).1, "{mark:?}");
    }
}

fn adds_up(tally: &Tally) {
    let skipped: u64 = tally.skipped.values().sum();
    assert_eq!(tally.messages, tally.filed + skipped, "{tally:?}");
}
