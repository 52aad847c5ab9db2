//! The harnesses and their events. Names are matched in any case, with or without `-` and `_`.

/// A program that calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harness {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// Another program that uses Claude Code's JSON.
    Other,
}

/// An event in the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session begins, or continues with an empty context.
    SessionStart,
    /// The user has sent a prompt.
    Prompt,
    /// The context is about to be compacted.
    PreCompact,
    /// The agent has answered.
    Stop,
    /// The session is over.
    SessionEnd,
    /// A tool has run. Its response says whether it failed.
    ToolUse,
    /// A tool has failed.
    ToolFailure,
}

const HARNESSES: [(&str, Harness); 5] = [
    ("claude-code", Harness::ClaudeCode),
    ("codex", Harness::Codex),
    ("cursor", Harness::Cursor),
    ("gemini", Harness::Gemini),
    ("other", Harness::Other),
];

/// The first name of each event is Claude Code's.
const EVENTS: [(&str, Event); 11] = [
    ("SessionStart", Event::SessionStart),
    ("UserPromptSubmit", Event::Prompt),
    ("PreCompact", Event::PreCompact),
    ("Stop", Event::Stop),
    ("SessionEnd", Event::SessionEnd),
    ("PostToolUse", Event::ToolUse),
    ("PostToolUseFailure", Event::ToolFailure),
    ("beforeSubmitPrompt", Event::Prompt),
    ("BeforeAgent", Event::Prompt),
    ("PreCompress", Event::PreCompact),
    ("AfterAgent", Event::Stop),
];
const AFTER_TOOL: &str = "AfterTool";

/// The names of harnesses, for users.
pub fn harness_names() -> Vec<&'static str> {
    HARNESSES.iter().map(|(name, _)| *name).collect()
}

/// The names of events, for users.
pub fn event_names() -> Vec<&'static str> {
    let mut names: Vec<_> = EVENTS.iter().map(|(name, _)| *name).collect();
    names.push(AFTER_TOOL);
    names
}

fn plain(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

impl Harness {
    /// Returns the harness with this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = plain(name);
        if name == "geminicli" {
            return Some(Self::Gemini);
        }
        HARNESSES
            .iter()
            .find(|(known, _)| plain(known) == name)
            .map(|(_, harness)| *harness)
    }

    /// The name of the harness.
    pub fn name(self) -> &'static str {
        HARNESSES
            .iter()
            .find(|(_, harness)| *harness == self)
            .map_or("other", |(name, _)| name)
    }

    /// The environment variable in which the harness passes the project folder to its hooks.
    pub(super) fn folder_variable(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("CLAUDE_PROJECT_DIR"),
            Self::Cursor => Some("CURSOR_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            Self::Codex | Self::Other => None,
        }
    }
}

impl Event {
    /// Returns the event with this name in any harness.
    pub fn named(name: &str) -> Option<Self> {
        let name = plain(name);
        if name == plain(AFTER_TOOL) {
            return Some(Self::ToolUse);
        }
        EVENTS
            .iter()
            .find(|(known, _)| plain(known) == name)
            .map(|(_, event)| *event)
    }

    /// Loci's name of the event.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::Prompt => "prompt",
            Self::PreCompact => "pre-compact",
            Self::Stop => "stop",
            Self::SessionEnd => "session-end",
            Self::ToolUse => "tool-use",
            Self::ToolFailure => "tool-failure",
        }
    }

    /// The name that the harness expects in an answer to the event.
    pub(super) fn name_for(self, harness: Harness) -> &'static str {
        match (self, harness) {
            (Self::Prompt, Harness::Gemini) => "BeforeAgent",
            (Self::ToolUse, Harness::Gemini) => AFTER_TOOL,
            _ => EVENTS
                .iter()
                .find(|(_, event)| *event == self)
                .map_or("", |(name, _)| name),
        }
    }
}
