//! What an agent can do about a warning or an error. It names tools of this server, never a shell
//! command: an agent's user may not have the command line.

use std::fmt::Write as _;

use loci_palace::why_not::{Condition, Remedy, Words};
use loci_palace::{
    Advice, Capabilities, Capability, Error, Warning, message_line, quoted, quoted_list,
};
use serde_json::{Value, json};

/// The names under which tools are known to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    /// Loci's own.
    Loci,
    /// MemPalace's.
    MemPalace,
}

/// What hints may name: the tools that the agent has, and what the backend of the palace offers.
#[derive(Debug, Clone)]
pub(crate) struct Hints {
    pub(crate) tools: Tools,
    /// Nothing if it is not known: then everything counts as offered.
    pub(crate) offered: Option<Capabilities>,
}

impl Hints {
    /// What can be done of an advice, in words.
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

    /// Warnings as a tool answers them: code, message, and a hint where a tool helps.
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

    /// What can be done about an error: a tool if there is one, else general words.
    pub(crate) fn of_error(&self, error: &Error) -> Option<String> {
        let by_tool = match error {
            Error::CollectionNotInitialized { .. }
                if self.tools == Tools::Loci && self.writes() =>
            {
                Some("nothing is in it yet; `loci_add` makes it".to_owned())
            }
            other => self.words(other.advice()),
        };
        by_tool.or_else(|| error.help())
    }

    /// Warnings as lines for models.
    pub(crate) fn lines(&self, warnings: &[Warning]) -> String {
        let mut text = String::new();
        for warning in warnings {
            let _ = writeln!(text, "warning: {}", message_line(&warning.message()));
            if let Some(hint) = self.words(warning.advice()) {
                let _ = writeln!(text, "hint: {}", message_line(&hint));
            }
        }
        text
    }
}

/// Gives each warning of a list the data that its library type has. `list` is what became of
/// `warnings`.
pub(crate) fn add_data(list: &mut Value, warnings: &[Warning]) {
    let list = list.as_array_mut().into_iter().flatten();
    for (object, warning) in list.zip(warnings) {
        let typed = json!(warning);
        if let (Some(object), Some(data)) = (object.as_object_mut(), typed.get("data")) {
            object.insert("data".into(), data.clone());
        }
    }
}

/// Advice as tools; nothing if no tool helps.
fn words(advice: &Advice, tools: Tools) -> Option<String> {
    let words = match (advice, tools) {
        (Advice::CreatePalace, Tools::Loci) => "`loci_add` makes it".into(),
        (Advice::CreatePalace, Tools::MemPalace) => {
            "the first mempalace_add_drawer makes a palace".into()
        }
        (Advice::AddDrawers, Tools::Loci) => "`loci_add` begins".into(),
        (Advice::AddDrawers, Tools::MemPalace) => "mempalace_add_drawer begins".into(),
        (Advice::ReadDrawer { .. }, Tools::Loci) => "`loci_get` returns all of it".into(),
        (Advice::ReadDrawer { .. }, Tools::MemPalace) => {
            "mempalace_get_drawer returns all of it".into()
        }
        (Advice::QueryFacts, Tools::Loci) => "`loci_facts` shows what is known".into(),
        (Advice::QueryFacts, Tools::MemPalace) => "mempalace_kg_query shows what is known".into(),
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

/// What only the owner of the palace can do, in words without a command.
fn general(advice: &Advice) -> Option<String> {
    let words = match advice {
        Advice::Reembed { .. } | Advice::UsePinnedEmbedder { .. } => {
            "the owner of this memory can embed its texts again"
        }
        Advice::AddModel { .. }
        | Advice::AddModelOrReembed { .. }
        | Advice::AddModelThenReembed { .. } => {
            "the owner of this memory can add the model to this machine"
        }
        Advice::Verify | Advice::Repair => "the owner of this memory should verify and repair it",
        Advice::RebuildIndex => "a repair by the owner of this memory rebuilds the index",
        Advice::Import { .. } | Advice::DiagnoseAndImport { .. } => {
            "the owner can import this memory into a palace of Loci"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// The words of `loci_why_not`: arguments of `loci_search` and names of tools.
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

    fn remedy(&self, remedy: &Remedy, _: &str) -> String {
        match remedy {
            Remedy::DropCondition { condition } => {
                format!("search without {}", self.condition(condition))
            }
            Remedy::UseItsWords => "ask with words that stand in it".into(),
            Remedy::EmbedIt => "the owner of this memory can embed its texts again".into(),
            Remedy::AllowDistance => "allow a greater distance".into(),
            Remedy::MoreHits { k } => format!("ask for more hits: `k` = {k} brings it in"),
            Remedy::NoNumberOfHits { most } => {
                format!("more hits do not bring it in, up to {most}")
            }
            Remedy::AllowSameSource => "allow several hits of one source".into(),
            Remedy::RaiseBudget => "raise or leave out `budget`".into(),
            Remedy::ReadDrawer => "read it with `loci_get`".into(),
            Remedy::WordsFitLess => "its words fit less: name words that stand in it".into(),
            Remedy::SourceFitsLess => "its source fits less: name what its source is about, \
                 or search within it with `source`"
                .into(),
            Remedy::MeaningFitsLess => {
                "its meaning fits less: put the question closer to its text".into()
            }
            Remedy::NameSpeaker => "name who speaks in it".into(),
            Remedy::NameDate => "name its date".into(),
        }
    }

    fn max_distance(&self) -> &'static str {
        "the search allows"
    }
}

#[cfg(test)]
mod tests;
