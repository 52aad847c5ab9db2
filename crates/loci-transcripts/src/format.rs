//! The table of transcript formats.
//!
//! A format is one file with a [`Spec`] and one line of the table. The order matters only among
//! formats with the same kind of [`Sign`]: the first one that accepts a file wins.

use std::fmt;
use std::path::{Path, PathBuf};

use loci_files::allowed::AllowedRoots;

use super::database::RowFormat;
use super::folder::FolderFormat;
use super::recognise::Sign;
use super::sink::RecordFormat;
use super::utterance::Point;
use super::{
    aider, amp, chatgpt, claude_ai, claude_code, cline, codex, continue_dev, copilot_chat,
    copilot_cli, crush, cursor, factory, gemini, gemini_log, goose, kimi, opencode, openhands, pi,
    plain, qwen, slack, vibe,
};

/// The properties of a format.
pub(super) struct Spec {
    /// The name of the program that writes it, as stored in metadata.
    pub(super) name: &'static str,
    /// Whether one file holds many conversations, each identified by its own id.
    pub(super) is_export: bool,
    /// How a file of this format is recognised.
    pub(super) sign: Sign,
    /// How its records are stored.
    pub(super) layout: Layout,
    /// The other files of a conversation.
    pub(super) companions: Companions,
}

/// How the records of a file are stored.
pub(super) enum Layout {
    /// A record per line.
    Lines(NewReader),
    /// The elements of a JSON array, which is the whole file or the value of `key`. Elements longer
    /// than `limit` bytes are skipped and counted.
    Elements {
        key: Option<&'static str>,
        limit: usize,
        reader: NewReader,
    },
    /// Files of a folder that is derived from the path of the file.
    Folder(&'static FolderFormat),
    /// Rows of an SQLite database.
    Rows(&'static RowFormat),
}

/// Creates the record reader of a file.
pub(super) type NewReader = fn(&Opening<'_>) -> Box<dyn RecordFormat>;

/// A file that is being opened.
pub(super) struct Opening<'a> {
    pub(super) path: &'a Path,
    /// The position at which reading begins.
    pub(super) point: Point,
    pub(super) allowed: &'a AllowedRoots,
}

/// The other files of a conversation, beside its main file.
pub(super) struct Companions {
    /// The files whose change means that the conversation changed.
    pub(super) files: fn(&Path, &AllowedRoots) -> Vec<PathBuf>,
    /// The folders and files that can hold them, whether they exist or not.
    pub(super) places: fn(&Path) -> Vec<PathBuf>,
}

impl Companions {
    /// No other files.
    pub(super) const NONE: Self = Self {
        files: |_, _| Vec::new(),
        places: |_| Vec::new(),
    };
    /// The write-ahead log and the journal of an SQLite database.
    pub(super) const OF_DATABASE: Self = Self {
        files: |path, _| vec![with_suffix(path, "-wal")],
        places: |path| vec![with_suffix(path, "-wal"), with_suffix(path, "-journal")],
    };
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Defines [`Format`] and the table of specs.
macro_rules! formats {
    ($( $(#[$doc:meta])* $name:ident => $spec:expr, )*) => {
        /// The way in which a file stores its conversations.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Format {
            $( $(#[$doc])* $name, )*
        }

        impl Format {
            /// Every format, in the order in which they are recognised.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            pub(super) fn spec(self) -> &'static Spec {
                match self {
                    $( Self::$name => &$spec, )*
                }
            }
        }
    };
}

formats! {
    /// Codex: one rollout as JSON lines.
    Codex => codex::SPEC,
    /// Qwen Code: one session as JSON lines. It precedes Claude Code, whose records are similar.
    QwenCode => qwen::SPEC,
    /// Claude Code: one session, or one subagent of it, as JSON lines.
    ClaudeCode => claude_code::SPEC,
    /// Gemini CLI: one session as JSON lines in which later lines may replace earlier messages.
    GeminiLog => gemini_log::SPEC,
    /// GitHub Copilot CLI: the events of one session as JSON lines.
    CopilotCli => copilot_cli::SPEC,
    /// GitHub Copilot Chat in VS Code: one session as a log of changes in JSON lines.
    CopilotChatLog => copilot_chat::LOG_SPEC,
    /// Factory Droid: one session as JSON lines.
    Factory => factory::SPEC,
    /// OpenClaw: one session as JSON lines. It precedes Pi, whose format it uses.
    OpenClaw => pi::OPENCLAW_SPEC,
    /// Pi: one session as JSON lines.
    Pi => pi::SPEC,
    /// Kimi CLI: `wire.jsonl`, the messages of one session as JSON lines.
    KimiCli => kimi::SPEC,
    /// Mistral Vibe: `messages.jsonl`, the messages of one session.
    MistralVibe => vibe::SPEC,
    /// Gemini CLI: one session as one JSON object.
    GeminiCli => gemini::SESSION_SPEC,
    /// Continue: one session as one JSON object.
    Continue => continue_dev::SPEC,
    /// GitHub Copilot Chat in VS Code: one session as one JSON object.
    CopilotChat => copilot_chat::SPEC,
    /// Amp: one thread as one JSON object.
    Amp => amp::SPEC,
    /// Cline: `*.messages.json`, one session as one JSON object.
    ClineSession => cline::SESSION_SPEC,
    /// OpenHands: `base_state.json` of one conversation. Its events are files beside it.
    OpenHands => openhands::SPEC,
    /// OpenCode: the file of one session. Its messages are files elsewhere in the same storage.
    OpenCode => opencode::SPEC,
    /// Claude.ai export: an array of conversations.
    ClaudeAi => claude_ai::SPEC,
    /// ChatGPT export: an array of conversations.
    ChatGpt => chatgpt::SPEC,
    /// Gemini CLI: `logs.json`, the prompts of many sessions.
    GeminiPrompts => gemini::PROMPTS_SPEC,
    /// Roo Code: `api_conversation_history.json`, one task as an array of messages.
    RooCode => cline::ROO_SPEC,
    /// Kilo Code: `api_conversation_history.json`, one task as an array of messages.
    KiloCode => cline::KILO_SPEC,
    /// Cline: `api_conversation_history.json`, one task as an array of messages.
    Cline => cline::SPEC,
    /// Slack export: one day of one channel.
    Slack => slack::SPEC,
    /// Cursor: `state.vscdb`, a database of many conversations.
    Cursor => cursor::SPEC,
    /// OpenCode: `opencode.db`, a database of many sessions.
    OpenCodeDb => opencode::DATABASE_SPEC,
    /// Kilo Code: `kilo.db`, a database of many sessions in the form of OpenCode.
    KiloCodeDb => opencode::KILO_DATABASE_SPEC,
    /// Crush: `crush.db`, a database of many sessions.
    Crush => crush::SPEC,
    /// Goose: `sessions.db`, a database of many sessions.
    Goose => goose::SPEC,
    /// Aider: `.aider.chat.history.md`.
    Aider => aider::SPEC,
    /// Text whose lines begin with the name of the speaker.
    Plain => plain::SPEC,
}

impl Format {
    /// The name of the program that writes the format, as stored in metadata.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Whether one file holds many conversations, each identified by its own id. A conversation in
    /// a later export is then the same source, although it comes from another file.
    pub fn is_export(self) -> bool {
        self.spec().is_export
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_that_metadata_can_hold() {
        for format in Format::ALL {
            let name = format.name();
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(!name.is_empty() && name.bytes().all(is_plain), "{format:?}");
        }
    }
}
