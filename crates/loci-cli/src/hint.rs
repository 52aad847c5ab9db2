//! What a user of the command line can do about a warning, an error, a finding or a missing hit: the
//! only place that turns advice of the libraries into commands and flags.

use loci_agents::wiring::WiringAdvice;
use loci_palace::why_not::{Condition, Remedy, Words};
use loci_palace::{
    Advice, Capabilities, Error, Fix, ForeignFinding, Warning, message_line, quoted, quoted_list,
    quoted_unless_plain, shell_quoted,
};
use serde_json::Value;

/// What the backend of the palace offers; nothing if no palace was opened. Advice that needs more is
/// left out.
pub(crate) type Offered = Option<Capabilities>;

/// The lines that people read about a warning.
pub(crate) fn lines(warning: &Warning, offered: &Offered) -> Vec<String> {
    let mut lines = vec![format!("warning: {warning}")];
    lines.extend(of_warning(warning, offered).map(|hint| format!("hint: {hint}")));
    lines
}

/// What can be done about a warning.
pub(crate) fn of_warning(warning: &Warning, offered: &Offered) -> Option<String> {
    within(warning.advice(), offered).as_ref().and_then(words)
}

/// The part of an advice that the backend offers.
fn within(advice: Option<Advice>, offered: &Offered) -> Option<Advice> {
    match offered {
        Some(offered) => advice?.within(offered),
        None => advice,
    }
}

/// What can be done about an error: a command if there is one, else general words.
pub(crate) fn of_error(error: &Error, offered: &Offered) -> Option<String> {
    let advice = within(error.advice(), offered);
    advice.as_ref().and_then(words).or_else(|| error.help())
}

/// A JSON answer in which each of these warnings has its hint beside its message.
pub(crate) fn with_hints<'a>(
    mut json: String,
    warnings: impl IntoIterator<Item = &'a Warning>,
    offered: &Offered,
) -> String {
    for warning in warnings {
        let (Some(hint), Ok(object)) =
            (of_warning(warning, offered), serde_json::to_string(warning))
        else {
            continue;
        };
        // Quotes inside of a JSON text are escaped, so the object matches nothing but itself. A
        // warning that stands in the list twice has its hint already.
        if let Some(start) = object.strip_suffix('}') {
            let hinted = format!("{start},\"hint\":{}}}", serde_json::json!(hint));
            json = json.replace(&object, &hinted);
        }
    }
    json
}

/// What repairs a finding about the files of another program.
pub(crate) fn of_fix(fix: &Fix) -> String {
    match fix {
        Fix::RepairInPlace { path } => format!("loci repair --chroma {}", shell_quoted(path)),
        Fix::Import { path } => format!("loci import {}", shell_quoted(path)),
        Fix::PutBackUpInPlace { file } => {
            format!("put a backup of {} in its place", quoted(file))
        }
        Fix::MakeReadable => "make the files readable for you, then `loci doctor` again".into(),
    }
}

/// Gives each finding of a JSON list its `fix` in words. `list` is what became of `findings`.
pub(crate) fn add_fixes(list: Option<&mut Value>, findings: &[ForeignFinding]) {
    let list = list.and_then(Value::as_array_mut).into_iter().flatten();
    for (object, finding) in list.zip(findings) {
        if let (Some(object), Some(fix)) = (object.as_object_mut(), &finding.fix) {
            object.insert("fix".into(), of_fix(fix).into());
        }
    }
}

/// What to do about the wiring of an agent.
pub(crate) fn of_wiring(advice: &WiringAdvice) -> String {
    let with_hooks = |hooks: bool| if hooks { " --hooks" } else { "" };
    match advice {
        WiringAdvice::CorrectFile { problem } => format!("correct the file by hand: {problem}"),
        WiringAdvice::ConnectAgain { agent, hooks } => format!(
            "run `loci connect {agent}{}`, which writes its entries again",
            with_hooks(*hooks)
        ),
        WiringAdvice::ReplaceMempalace { agent } => format!(
            "MemPalace is wired too; `loci connect {agent} --replace-mempalace` puts Loci in its place"
        ),
        WiringAdvice::Connect { agent, hooks } => format!(
            "run `loci connect {agent}{}` to wire it",
            with_hooks(*hooks)
        ),
        WiringAdvice::AddHooks { agent } => {
            format!("run `loci connect {agent} --hooks` for its hooks")
        }
    }
}

/// Advice as commands and flags; nothing if no command helps.
pub(crate) fn words(advice: &Advice) -> Option<String> {
    let words = match advice {
        Advice::CreatePalace => {
            "create one with `loci init`, or name another with `--palace`".into()
        }
        Advice::CreatePalaceHere => {
            "name a new or empty directory, or make a palace in this one with `loci init`".into()
        }
        Advice::NameAnotherPalace => {
            "this is not a palace of Loci; name another directory with `--palace`".into()
        }
        Advice::ListCollections => "`loci status` lists the collections of this palace".into(),
        Advice::NameCollection { collections } => format!(
            "this palace has {}; name one with `--collection NAME`",
            quoted_list(collections.iter().map(String::as_str))
        ),
        Advice::ListDrawers => "`loci list` shows ids".into(),
        Advice::ListRuns => "`loci runs` lists the recorded runs".into(),
        Advice::ShowSplit => "`loci wings split` shows what is left to do".into(),
        Advice::AddDrawers => "`loci add TEXT` or `loci mine PATH` adds the first drawers".into(),
        Advice::QueryFacts => "`loci facts query NAME` shows what is known".into(),
        Advice::ReadDrawer { id } => format!("`loci get{}` shows all of it", argument(id)),
        Advice::UsePinnedEmbedder { pinned } => format!(
            "leave `--embedder` out to use {pinned}, or make all vectors anew with `loci reembed --model NAME`"
        ),
        Advice::UseEmbedder { pinned } => format!("leave `--embedder` out to use {pinned}"),
        Advice::Reembed { model } => {
            let model = model.as_deref().unwrap_or("NAME");
            format!("`loci reembed --model {model}` makes the vectors anew")
        }
        Advice::AddModel {
            model,
            can_pull: true,
        } => format!("get the model with `loci model add PATH` or `loci model pull {model}`"),
        Advice::AddModel {
            can_pull: false, ..
        } => "get the model with `loci model add PATH`".into(),
        Advice::AddModelOrReembed { model, .. } => format!(
            "add the model with `loci model add PATH`, or make all vectors anew with `loci reembed --model {model}`"
        ),
        Advice::AddModelThenReembed { collection } => format!(
            "add the model with `loci model add PATH`, then run `loci reembed --model minilm --collection {}`",
            quoted_unless_plain(collection)
        ),
        Advice::Verify => "`loci verify --deep` tells more".into(),
        Advice::MineFile { path } => {
            format!("`loci mine {}` reads it as it is now", shell_quoted(path))
        }
        Advice::MineAgents => "`loci mine --agents` reads the transcripts that Loci knows".into(),
        Advice::NameServer => "choose another name with `--name`".into(),
        Advice::Overwrite => "`--force` replaces it".into(),
        Advice::ReplacePalace => "`--replace` sets the palace that is there aside".into(),
        Advice::SetRecordsAside => {
            "`--set-aside` moves its records without a vector into a file instead".into()
        }
        Advice::NamePalace => "name a palace with `--palace` or `LOCI_PALACE`".into(),
        Advice::Repair => {
            "`loci verify --deep` lists the damage, `loci repair` saves what can be read".into()
        }
        Advice::RebuildIndex => "`loci repair` rebuilds the index".into(),
        Advice::BackUp => "make a copy with `loci backup`".into(),
        Advice::Import { path } => format!(
            "`loci import {}` brings everything into a palace that can be written",
            path.as_deref().map_or("PATH".into(), shell_quoted)
        ),
        Advice::Diagnose { path } => format!("`loci doctor {}` tells it all", shell_quoted(path)),
        Advice::DiagnoseAndImport { path } => format!(
            "`loci doctor {0}` tells more, `loci import {0}` brings everything into a palace",
            shell_quoted(path)
        ),
        Advice::KeepVectors { model } => {
            let reembed = model.as_ref().map_or(String::new(), |model| {
                format!("; so does `loci reembed --model {model}` before the import")
            });
            format!("`--collection NAME` with a new name keeps the vectors as they are{reembed}")
        }
        Advice::AllowAgain => "`--allow-again` takes them all the same".into(),
        Advice::ChooseOnConflict => "`--on-conflict update` makes them as they are there, \
             `--on-conflict duplicate` adds what is there under new ids"
            .into(),
        Advice::RepairChroma => {
            "`loci repair --chroma PATH` finds the vectors where they are".into()
        }
        Advice::KeepChromaVectors => "without `--rename-only` they are kept, and \
             `loci repair --chroma PATH` brings them back"
            .into(),
        _ => return None,
    };
    Some(message_line(&words))
}

/// An id as an argument; nothing if it is not one plain word.
fn argument(id: &str) -> String {
    if quoted_unless_plain(id) == id {
        format!(" {id}")
    } else {
        String::new()
    }
}

/// The words of `loci why-not`: flags and commands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flags;

impl Words for Flags {
    fn condition(&self, condition: &Condition) -> String {
        match condition {
            Condition::Wing => "`--wing`".into(),
            Condition::Room => "`--room`".into(),
            Condition::Source => "`--source`".into(),
            Condition::Key { key } => format!("the condition on {}", quoted(key)),
            Condition::Metadata => "the condition `--where`".into(),
            Condition::Text => "the condition `--where-document`".into(),
            Condition::Since => "`--since`".into(),
            Condition::Before => "`--before`".into(),
            Condition::Period => "`--since` and `--before`".into(),
            Condition::Ids => "the list of ids".into(),
        }
    }

    fn remedy(&self, remedy: &Remedy, id: &str) -> String {
        match remedy {
            Remedy::DropCondition { condition } => {
                format!("search without {}", self.condition(condition))
            }
            Remedy::UseItsWords => "ask with words that stand in it".into(),
            Remedy::EmbedIt => "give it a vector: `loci reembed --model static`".into(),
            Remedy::AllowDistance => "raise or leave out `--max-distance`".into(),
            Remedy::MoreHits { k } => format!("ask for more hits: `-k {k}` brings it in"),
            Remedy::NoNumberOfHits { most } => {
                format!("more hits do not bring it in, up to {most}")
            }
            Remedy::AllowSameSource => "leave out `--by-source`".into(),
            Remedy::RaiseBudget => "raise or leave out `--budget`".into(),
            Remedy::ReadDrawer => format!("read it with `loci get{}`", argument(id)),
            Remedy::WordsFitLess => "its words fit less: name words that stand in it".into(),
            Remedy::SourceFitsLess => "its source fits less: name what its source is about, \
                 or search within it with `--source`"
                .into(),
            Remedy::MeaningFitsLess => {
                "its meaning fits less: put the question closer to its text".into()
            }
            Remedy::NameSpeaker => "name who speaks in it".into(),
            Remedy::NameDate => "name its date".into(),
        }
    }

    fn max_distance(&self) -> &'static str {
        "`--max-distance`"
    }
}

#[cfg(test)]
mod tests;
