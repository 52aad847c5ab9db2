//! Notes and short chats of projects, with questions: pairs of statements about one thing, and what
//! was said between them.

use loci_palace::{MetaValue, Metadata};
use serde::Deserialize;

use crate::dataset::Drawer;

const PAIRS: &str = include_str!("../../data/notes.jsonl");

/// Two statements and what was said between them.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pair {
    pub(super) id: String,
    /// Whether the later statement replaces the earlier one.
    pub(super) overruled: bool,
    /// Whether no weight is fitted to it: every second pair.
    #[serde(skip)]
    pub(super) held_apart: bool,
    form: String,
    pub(super) earlier: Statement,
    pub(super) later: Statement,
    between: Vec<Statement>,
    pub(super) questions: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Statement {
    date: String,
    speaker: String,
    text: String,
}

pub(super) fn pairs() -> Vec<Pair> {
    let lines = PAIRS.lines();
    let pairs = lines.filter_map(|line| serde_json::from_str::<Pair>(line).ok());
    pairs
        .enumerate()
        .map(|(at, pair)| Pair {
            held_apart: at % 2 == 1,
            ..pair
        })
        .collect()
}

impl Pair {
    pub(super) fn drawers(&self) -> Vec<Drawer> {
        let parts = std::iter::once(&self.earlier)
            .chain(&self.between)
            .chain(std::iter::once(&self.later));
        parts
            .enumerate()
            .map(|(at, statement)| {
                let mut metadata = Metadata::default();
                let mut set = |key: &str, value: String| {
                    metadata.0.insert(key.into(), MetaValue::Str(value));
                };
                // The statements of one day are in their order.
                set(
                    "authored_at",
                    format!("{}T09:{:02}:00Z", statement.date, at),
                );
                if self.form == "chat" {
                    set("source_file", format!("{}.jsonl", self.id));
                    set("conversation", self.id.clone());
                    set("role", statement.speaker.clone());
                    metadata
                        .0
                        .insert("start_line".into(), MetaValue::Int(at as i64 + 1));
                }
                Drawer {
                    id: self.drawer(at),
                    text: statement.text.clone(),
                    metadata,
                }
            })
            .collect()
    }

    fn drawer(&self, at: usize) -> String {
        format!("{}:{at}", self.id)
    }

    /// The ids of the earlier and the later statement.
    pub(super) fn ids(&self) -> [String; 2] {
        [self.drawer(0), self.drawer(self.between.len() + 1)]
    }
}
