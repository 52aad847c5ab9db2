//! `loci model`: the models installed on this machine.

use std::fmt::Write as _;

use loci_palace::{AddedModel, MINILM_NAME, ModelChange, STATIC_NAME, path_text};
use serde_json::json;

use crate::args::ModelCommand;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(command: &ModelCommand, session: &Session<'_>) -> Result<Reply> {
    let models = session.named()?.models();
    match command {
        ModelCommand::Add { path } => added(&models.add(path)?),
        ModelCommand::Pull { name, from } => {
            let bar = session.printer.progress(Some(0));
            let result = models.pull(name, from.as_deref(), &mut |progress| {
                bar.set_length(progress.total);
                bar.set_position(progress.done);
            });
            bar.finish_and_clear();
            added(&result?)
        }
        ModelCommand::List => list(session),
        ModelCommand::Remove { name } => {
            models.remove(name)?;
            Reply::new(&json!({"removed": name}), format!("removed model `{name}`"))
        }
    }
}

fn added(added: &AddedModel) -> Result<Reply> {
    let model = &added.model;
    let (outcome, verb) = match added.change {
        ModelChange::Added => ("added", "added"),
        ModelChange::Replaced => ("replaced", "replaced the old"),
        ModelChange::Unchanged => ("unchanged", "already have"),
    };
    let text = format!(
        "{verb} model `{}`, {} numbers per vector\nuse it with `--embedder {}`, or `loci reembed --model {}`",
        model.name, model.dimension, model.name, model.name
    );
    Reply::new(&json!({"outcome": outcome, "model": model}), text)
}

fn list(session: &Session<'_>) -> Result<Reply> {
    let models = session.named()?.models();
    let stored = models.list()?;
    let mut text = format!("{STATIC_NAME}  384-d  part of the binary, the default\n");
    for model in &stored {
        let _ = match &model.damage {
            Some(damage) => writeln!(text, "{}  damaged: {damage}", model.name),
            None => writeln!(
                text,
                "{}  {}-d  {:.0} MB  added {}  from {}",
                model.name,
                model.dimension,
                model.bytes as f64 / 1e6,
                model.added_at,
                session.printer.name(&model.source)
            ),
        };
    }
    if stored.iter().all(|model| model.name != MINILM_NAME) {
        let _ = writeln!(
            text,
            "{MINILM_NAME}  not installed: `loci model add PATH` or `loci model pull {MINILM_NAME}`"
        );
    }
    Reply::new(
        &json!({
            "builtin": [STATIC_NAME],
            "models": stored,
            "directory": path_text(models.directory()),
        }),
        text,
    )
}
