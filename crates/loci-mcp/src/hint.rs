//! Hints for agents: what to do about a warning or an error. Hints name tools of this server, never
//! a shell command, because the user of an agent may not have the command line.

use std::fmt::Write as _;

use loci_palace::why_not::{Condition, Words};
use loci_palace::{
    Advice, Capabilities, Capability, Error, Warning, message_line, quoted, quoted_list,
};
use serde_json::{Value, json};

/// The tool set of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    /// Loci's own.
    Loci,
    /// MemPalace's.
    MemPalace,
}

/// Writes hints for the tools of the agent and the capabilities of the palace's backend.
#[derive(Debug, Clone)]
pub(crate) struct Hints {
    pub(crate) tools: Tools,
    /// The capabilities; `None` if unknown, which counts as all.
    pub(crate) offered: Option<Capabilities>,
}

impl Hints {
    /// The text of an advice that the agent can follow.
    fn words(&self, advice: Option<Advice>) -> Option<String> {
        let advice = match &self.offered {
            Some(offered) => advice?.within(offered)?,
            None => advice?,
        };
        words(&advice, self.tools)
    }

    fn writes(&self) -> bool {
        let offered = self.offered.as_ref();
        offered.is_none_or(|offered| offered.contains(&Capability::Writing))
    }

    /// Warnings as JSON: code, message, and a hint if a tool helps.
    pub(crate) fn warnings(&self, warnings: &[Warning]) -> Value {
        let each = warnings.iter().map(|warning| {
            let mut object = json!({"code": warning.code(), "message": warning.message()});
            let hint = self.words(warning.advice());
            if let (Some(object), Some(hint)) = (object.as_object_mut(), hint) {
                object.insert("hint".into(), hint.into());
            }
            object
        });
        Value::Array(each.collect())
    }

    /// The hint of an error: a tool if there is one, else general advice.
    pub(crate) fn of_error(&self, error: &Error) -> Option<String> {
        let by_tool = match error {
            Error::CollectionNotInitialized { .. }
                if self.tools == Tools::Loci && self.writes() =>
            {
                Some("it is empty; `loci_add` creates it".to_owned())
            }
            other => self.words(other.advice()),
        };
        by_tool.or_else(|| error.help())
    }

    /// Warnings as lines for models.
    pub(crate) fn lines(&self, warnings: &[Warning]) -> String {
        let mut text = String::new();
        for warning in warnings {
            // It changes nothing about the answer. The structured answer has it.
            if matches!(warning, Warning::EarlierTable { .. }) {
                continue;
            }
            let _ = writeln!(text, "warning: {}", message_line(&warning.message()));
            if let Some(hint) = self.words(warning.advice()) {
                let _ = writeln!(text, "help: {}", message_line(&hint));
            }
        }
        text
    }
}

/// Adds the typed data to each warning of a list. `list` is the JSON of `warnings`.
pub(crate) fn add_data(list: &mut Value, warnings: &[Warning]) {
    let list = list.as_array_mut().into_iter().flatten();
    for (object, warning) in list.zip(warnings) {
        let typed = json!(warning);
        if let (Some(object), Some(data)) = (object.as_object_mut(), typed.get("data")) {
            object.insert("data".into(), data.clone());
        }
    }
}

/// Advice in terms of tools; `None` if no tool helps.
fn words(advice: &Advice, tools: Tools) -> Option<String> {
    let words = match (advice, tools) {
        (Advice::CreatePalace, Tools::Loci) => "`loci_add` creates it".into(),
        (Advice::CreatePalace, Tools::MemPalace) => {
            "the first mempalace_add_drawer creates a palace".into()
        }
        (Advice::AddDrawers, Tools::Loci) => "`loci_add` adds the first drawers".into(),
        (Advice::AddDrawers, Tools::MemPalace) => {
            "mempalace_add_drawer adds the first drawers".into()
        }
        (Advice::ReadDrawer { .. }, Tools::Loci) => "`loci_get` returns all of it".into(),
        (Advice::ReadDrawer { .. }, Tools::MemPalace) => {
            "mempalace_get_drawer returns all of it".into()
        }
        (Advice::ReadRest { offset, .. }, Tools::Loci) => {
            format!("`loci_get` with this id and `offset` {offset} returns the rest")
        }
        (Advice::ReadLeftOut, Tools::Loci) => {
            "call `loci_get` again with the ids in `left_out`, or raise `budget`".into()
        }
        (Advice::ShowImprobable, Tools::Loci) => "`min_probability` 0 shows them".into(),
        (Advice::QueryFacts, Tools::Loci) => "`loci_facts` shows the facts about a name".into(),
        (Advice::QueryFacts, Tools::MemPalace) => {
            "mempalace_kg_query shows the facts about a name".into()
        }
        (Advice::NameCollection { collections }, Tools::Loci) => format!(
            "`loci_search` with `collection` searches one of {}; `loci_list` lists the drawers of all",
            quoted_list(collections.iter().map(String::as_str))
        ),
        (Advice::ListDrawers, Tools::Loci) => "`loci_list` shows ids".into(),
        (Advice::ListDrawers, Tools::MemPalace) => "mempalace_list_drawers shows ids".into(),
        (Advice::ListRuns, Tools::Loci) => "`loci_runs` lists the recorded runs".into(),
        _ => return general(advice),
    };
    Some(words)
}

/// Advice that only the owner of the palace can follow, without a command.
fn general(advice: &Advice) -> Option<String> {
    let words = match advice {
        Advice::Reembed { .. }
        | Advice::UpgradeVectors { .. }
        | Advice::UsePinnedEmbedder { .. } => "the owner of this memory can embed its texts again",
        Advice::AddModel { .. }
        | Advice::AddModelOrReembed { .. }
        | Advice::AddModelThenReembed { .. } => {
            "the owner of this memory can add the model to this machine"
        }
        Advice::Verify | Advice::Repair => "the owner of this memory should verify and repair it",
        Advice::RestoreLost { .. } => {
            "the owner of this memory should restore it from a backup; nothing was changed"
        }
        Advice::RebuildIndex => "a repair by the owner of this memory rebuilds the index",
        Advice::Import { .. } | Advice::DiagnoseAndImport { .. } => {
            "the owner can import this memory into a palace of Loci"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// The arguments and tools that `loci_why_not` suggests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments;

impl Words for Arguments {
    fn condition(&self, condition: &Condition) -> String {
        match condition {
            Condition::Wing => "`wing`".into(),
            Condition::Room => "`room`".into(),
            Condition::Source => "`source`".into(),
            Condition::Key { key } => format!("the condition on {}", quoted(key)),
            Condition::Metadata => "the condition on metadata".into(),
            Condition::Text => "the condition on the text".into(),
            Condition::Since => "`since`".into(),
            Condition::Before => "`before`".into(),
            Condition::Period => "`since` and `before`".into(),
            Condition::Ids => "the list of ids".into(),
        }
    }

    fn embed_it(&self) -> String {
        "the owner of this memory can embed its texts again".into()
    }

    fn allow_distance(&self) -> String {
        "allow a greater distance".into()
    }

    fn more_hits(&self, k: usize) -> String {
        format!("ask for more hits: `limit` = {k} includes it")
    }

    fn allow_same_source(&self) -> String {
        "allow several hits of one source".into()
    }

    fn raise_budget(&self) -> String {
        "raise or omit `budget`".into()
    }

    fn allow_improbable(&self) -> String {
        "search with `min_probability` 0".into()
    }

    fn read_drawer(&self, _: &str) -> String {
        "read it with `loci_get`".into()
    }

    fn max_distance(&self) -> &'static str {
        "the search allows"
    }
}

#[cfg(test)]
mod tests;
