//! The formats that conversations come in.

/// How a file keeps its conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Claude Code: one session, or one subagent of it, as JSON lines.
    ClaudeCode,
    /// Codex: one rollout as JSON lines.
    Codex,
    /// Claude.ai export: an array of conversations.
    ClaudeAi,
    /// ChatGPT export: an array of conversations.
    ChatGpt,
    /// Gemini CLI: one session as one JSON object.
    GeminiCli,
    /// Gemini CLI: one session as JSON lines in which later lines may replace earlier messages.
    GeminiLog,
    /// Gemini CLI: `logs.json`, the prompts of many sessions.
    GeminiPrompts,
    /// Cursor: `state.vscdb`, a database of many conversations.
    Cursor,
    /// Slack export: one day of one channel.
    Slack,
    /// OpenCode: the file of one session; its messages are files elsewhere in the same storage.
    OpenCode,
    /// OpenCode: `opencode.db`, a database of many sessions.
    OpenCodeDb,
    /// Continue: one session as one JSON object.
    Continue,
    /// Aider: `.aider.chat.history.md`.
    Aider,
    /// Text whose lines begin with the name of the speaker.
    Plain,
}

impl Format {
    /// The name of the program that writes it, as it stands in metadata.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::ClaudeAi => "claude-ai",
            Self::ChatGpt => "chatgpt",
            Self::GeminiCli | Self::GeminiLog | Self::GeminiPrompts => "gemini-cli",
            Self::Cursor => "cursor",
            Self::Slack => "slack",
            Self::OpenCode | Self::OpenCodeDb => "opencode",
            Self::Continue => "continue",
            Self::Aider => "aider",
            Self::Plain => "plain",
        }
    }

    /// Whether one file holds many conversations, each known by its own id, so that a conversation in a later export
    /// is the same source although it comes from another file.
    pub fn is_export(&self) -> bool {
        match self {
            Self::ClaudeAi
            | Self::ChatGpt
            | Self::GeminiPrompts
            | Self::Cursor
            | Self::OpenCodeDb => true,
            Self::ClaudeCode
            | Self::Codex
            | Self::GeminiCli
            | Self::GeminiLog
            | Self::Slack
            | Self::OpenCode
            | Self::Continue
            | Self::Aider
            | Self::Plain => false,
        }
    }
}
