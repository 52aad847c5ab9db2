//! Hints for users of the command line: what to do about a warning, an error, a finding or a
//! missing hit. Only this module turns the advice of the libraries into commands and flags.

use std::path::Path;

use loci_agents::wiring::WiringAdvice;
use loci_palace::why_not::{Condition, Words};
use loci_palace::{
    Advice, Capabilities, DEFAULT_COLLECTION, Error, Fix, ForeignFinding, Warning, message_line,
    quoted, quoted_list, quoted_unless_plain, shell_quoted,
};
use serde_json::Value;

/// The capabilities of the palace's backend; none if no palace was opened. Advice that needs other
/// capabilities is left out.
pub(crate) type Offered = Option<Capabilities>;

/// A warning and its hint, as lines for people. A line that says what to do begins with `help:`,
/// after a warning, an error and a finding alike.
pub(crate) fn lines(warning: &Warning, offered: &Offered) -> Vec<String> {
    let mut lines = vec![format!("warning: {warning}")];
    lines.extend(of_warning(warning, offered).map(|hint| format!("help: {hint}")));
    lines
}

/// The hint of a warning.
pub(crate) fn of_warning(warning: &Warning, offered: &Offered) -> Option<String> {
    within(warning.advice(), offered).as_ref().and_then(words)
}

/// The part of the advice that the backend supports.
fn within(advice: Option<Advice>, offered: &Offered) -> Option<Advice> {
    match offered {
        Some(offered) => advice?.within(offered),
        None => advice,
    }
}

/// The hint of an error: a command if there is one, else general advice.
pub(crate) fn of_error(error: &Error, offered: &Offered) -> Option<String> {
    let advice = within(error.advice(), offered);
    advice.as_ref().and_then(words).or_else(|| error.help())
}

/// Adds hints to the given warnings of a JSON answer, beside their messages.
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
        // Quotes inside a JSON string are escaped, so the text of the object occurs only where the
        // object is. A warning that is in the list twice already has its hint.
        if let Some(start) = object.strip_suffix('}') {
            let hinted = format!("{start},\"hint\":{}}}", serde_json::json!(hint));
            json = json.replace(&object, &hinted);
        }
    }
    json
}

/// The repair of a finding about the files of another program.
pub(crate) fn of_fix(fix: &Fix) -> String {
    match fix {
        Fix::RepairInPlace { path } => format!("loci repair --chroma {}", shell_quoted(path)),
        Fix::Import { path } => format!("loci import {}", shell_quoted(path)),
        Fix::PutBackUpInPlace { file } => {
            format!("put a backup of {} in its place", quoted(file))
        }
        Fix::MakeReadable => "make the files readable for you, then run `loci doctor` again".into(),
    }
}

/// Adds `fix` as text to each finding of a JSON list. `list` is the JSON of `findings`.
pub(crate) fn add_fixes(list: Option<&mut Value>, findings: &[ForeignFinding]) {
    let list = list.and_then(Value::as_array_mut).into_iter().flatten();
    for (object, finding) in list.zip(findings) {
        if let (Some(object), Some(fix)) = (object.as_object_mut(), &finding.fix) {
            object.insert("fix".into(), of_fix(fix).into());
        }
    }
}

/// The hint about the configuration of an agent.
pub(crate) fn of_wiring(advice: &WiringAdvice) -> String {
    let with_hooks = |hooks: bool| if hooks { " --hooks" } else { "" };
    match advice {
        WiringAdvice::CorrectFile { problem } => format!("correct the file by hand: {problem}"),
        WiringAdvice::ConnectAgain { agent, hooks } => format!(
            "run `loci connect {agent}{}`, which writes its entries again",
            with_hooks(*hooks)
        ),
        WiringAdvice::ReplaceMempalace { agent } => format!(
            "MemPalace is connected too; `loci connect {agent} --replace-mempalace` replaces it with Loci"
        ),
        WiringAdvice::Connect { agent, hooks } => format!(
            "run `loci connect {agent}{}` to connect it",
            with_hooks(*hooks)
        ),
        WiringAdvice::AddHooks { agent } => {
            format!("run `loci connect {agent} --hooks` to install its hooks")
        }
    }
}

/// Advice as commands and flags; `None` if no command helps.
pub(crate) fn words(advice: &Advice) -> Option<String> {
    let words = match advice {
        Advice::CreatePalace => {
            "create one with `loci init`, or name another with `--palace`".into()
        }
        Advice::CreatePalaceHere => {
            "name a new or empty directory, or create a palace in this one with `loci init`".into()
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
        Advice::UpdateDrawer { id } => format!(
            "`loci update{} TEXT` changes it; another `--id` adds the text beside it",
            argument(id)
        ),
        Advice::ListRuns => "`loci runs` lists the recorded runs".into(),
        Advice::ShowSplit => "`loci wings split` shows what is left to do".into(),
        Advice::ShowImprobable => "`--min-probability 0` shows them".into(),
        Advice::AddDrawers => "`loci add TEXT` or `loci mine PATH` adds the first drawers".into(),
        Advice::QueryFacts => "`loci facts query NAME` shows the facts about a name".into(),
        Advice::ReadDrawer { id } | Advice::ReadRest { id, .. } => {
            format!("`loci get{}` shows all of it", argument(id))
        }
        Advice::ReadLeftOut => "`loci get ID…` shows them".into(),
        Advice::UsePinnedEmbedder { pinned } => format!(
            "omit `--embedder` to use {pinned}, or recompute all vectors with `loci reembed --model NAME`"
        ),
        Advice::UseEmbedder { pinned } => format!("omit `--embedder` to use {pinned}"),
        Advice::Reembed { model } => {
            let model = model.as_deref().unwrap_or("NAME");
            format!("`loci reembed --model {model}` recomputes the vectors")
        }
        Advice::AddModel {
            model,
            can_pull: true,
        } => format!("get the model with `loci model add PATH` or `loci model pull {model}`"),
        Advice::AddModel {
            can_pull: false, ..
        } => "get the model with `loci model add PATH`".into(),
        Advice::AddModelOrReembed { model, .. } => format!(
            "add the model with `loci model add PATH`, or recompute all vectors with `loci reembed --model {model}`"
        ),
        Advice::AddModelThenReembed { collection } => format!(
            "add the model with `loci model add PATH`, then run `loci reembed --model minilm --collection {}`",
            shell_quoted(Path::new(collection))
        ),
        Advice::UpgradeVectors { collection } if collection == DEFAULT_COLLECTION => {
            "`loci reembed --model static` recomputes them with the present one".into()
        }
        Advice::UpgradeVectors { collection } => format!(
            "`loci reembed --model static --collection {}` recomputes them with the present one",
            shell_quoted(Path::new(collection))
        ),
        Advice::Verify => "`loci verify --deep` shows the details".into(),
        Advice::MineFile { path } => {
            format!(
                "`loci mine {}` reads its current content",
                shell_quoted(path)
            )
        }
        Advice::MineAgents => {
            "`loci mine --agents` reads the transcripts that Loci supports".into()
        }
        Advice::NameServer => "choose another name with `--name`".into(),
        Advice::Overwrite => "`--force` replaces it".into(),
        Advice::ReplacePalace => {
            "`--replace` replaces the palace and keeps it under another name".into()
        }
        Advice::SetRecordsAside => {
            "`--set-aside` moves its records without a vector into a file instead".into()
        }
        Advice::NamePalace => "name a palace with `--palace` or `LOCI_PALACE`".into(),
        Advice::Repair => {
            "`loci verify --deep` lists the damage, `loci repair` saves everything that is readable"
                .into()
        }
        Advice::RestoreLost { directory, copies } => restore_lost(directory, copies),
        Advice::RebuildIndex => "`loci repair` rebuilds the index".into(),
        Advice::CreateFolder { path } => format!(
            "create the folder with `mkdir -p {0}`; `--into {0}` creates it too",
            shell_quoted(path)
        ),
        Advice::BackUp => "make a copy with `loci backup`".into(),
        Advice::Import { path } => format!(
            "`loci import {} --palace OTHER` copies everything into a writable palace",
            path.as_deref().map_or("PATH".into(), shell_quoted)
        ),
        Advice::Diagnose { path } => {
            format!("`loci doctor {}` lists all findings", shell_quoted(path))
        }
        Advice::DiagnoseAndImport { path } => format!(
            "`loci doctor {0}` shows the details, `loci import {0}` imports everything into a palace",
            shell_quoted(path)
        ),
        Advice::KeepVectors { model } => {
            let reembed = model.as_ref().map_or(String::new(), |model| {
                format!("; so does `loci reembed --model {model}` before the import")
            });
            format!("`--collection NAME` with a new name keeps the vectors{reembed}")
        }
        Advice::AllowAgain => "`--allow-again` stores them anyway".into(),
        Advice::ChooseOnConflict => {
            "`--on-conflict update` overwrites the drawers with the records, \
             `--on-conflict duplicate` adds the records under new ids"
                .into()
        }
        Advice::MakeReadable => {
            "make the file readable for you, then run the command again; nothing was \
             changed"
                .into()
        }
        Advice::KeepChromaVectors => "without `--rename-only` they are kept, and \
             `loci repair --chroma PATH` restores them"
            .into(),
        _ => return None,
    };
    Some(message_line(&words))
}

/// What to do about a palace without its database.
fn restore_lost(directory: &Path, copies: &[String]) -> String {
    let older = if copies.is_empty() {
        String::new()
    } else {
        let copies = copies
            .iter()
            .map(|name| shell_quoted(&directory.join(name)));
        let copies: Vec<String> = copies.collect();
        format!(" or an older copy ({})", copies.join(", "))
    };
    format!(
        "nothing was changed; `loci restore FILE --replace` restores a backup that `loci backup` \
         wrote{older}; to start over with an empty palace, move {} away",
        shell_quoted(directory)
    )
}

/// An id as an argument, or an empty string if it is not one plain word.
fn argument(id: &str) -> String {
    if quoted_unless_plain(id) == id {
        format!(" {id}")
    } else {
        String::new()
    }
}

/// The flags and commands that `loci why-not` suggests.
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

    fn embed_it(&self) -> String {
        "give it a vector: `loci reembed --model static`".into()
    }

    fn allow_distance(&self) -> String {
        "raise or omit `--max-distance`".into()
    }

    fn more_hits(&self, k: usize) -> String {
        format!("ask for more hits: `-k {k}` includes it")
    }

    fn allow_same_source(&self) -> String {
        "omit `--by-source`".into()
    }

    fn raise_budget(&self) -> String {
        "raise or omit `--budget`".into()
    }

    fn allow_improbable(&self) -> String {
        "`loci search --min-probability 0` shows it".into()
    }

    fn read_drawer(&self, id: &str) -> String {
        format!("read it with `loci get{}`", argument(id))
    }

    fn max_distance(&self) -> &'static str {
        "`--max-distance`"
    }
}

#[cfg(test)]
mod tests;
