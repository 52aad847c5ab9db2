//! `loci demo`: what Loci promises, shown on the project's own documents.
//!
//! The passages and their vectors come with the program (`data/demo.json`, made by
//! `xtask/demo/vectors.py` with all-MiniLM-L6-v2). Nothing is downloaded, and the palace is temporary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use loci_palace::add::{self, Drawer, Duplicates};
use loci_palace::query::{self, Input};
use loci_palace::{
    Collection, DEFAULT_COLLECTION, Error, MaintenanceKind, Metadata, Palace, Warning, verify,
};
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

const DATA: &str = include_str!("../../data/demo.json");
/// Answers compared per question.
const K: usize = 5;

#[derive(Deserialize)]
struct Data {
    model: String,
    passages: Vec<Passage>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Passage {
    id: String,
    text: String,
    source: String,
    heading: String,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Question {
    text: String,
    vector: Vec<f32>,
}

#[derive(Serialize)]
struct Answer {
    passages: usize,
    model: String,
    questions: Vec<Answered>,
    deleted_index: Vec<String>,
    rebuilt_index: Vec<String>,
    same_without_index: bool,
    same_with_new_index: bool,
    warnings: Vec<String>,
    verified: bool,
    milliseconds: Milliseconds,
}

#[derive(Serialize)]
struct Answered {
    question: String,
    by_words: Vec<String>,
    by_vector: Vec<String>,
}

#[derive(Serialize, Default)]
struct Milliseconds {
    store: f64,
    index: f64,
    search: f64,
    search_without_index: f64,
    rebuild: f64,
    verify: f64,
}

/// What a search by vector found, per question: ids with distances.
type Found = Vec<Vec<(String, Option<f32>)>>;

pub(crate) fn run(session: &Session<'_>) -> Result<Reply> {
    let data: Data = serde_json::from_str(DATA).map_err(|error| Error::Internal {
        doing: "reading the demo's data".into(),
        detail: error.to_string(),
    })?;
    let directory = tempfile::Builder::new()
        .prefix("loci-demo-")
        .tempdir()
        .map_err(|source| Error::io("cannot create", std::env::temp_dir(), source))?;
    let path = directory.path().join("palace");
    let mut time = Milliseconds::default();

    let palace = Palace::open(&path, &session.options(true))?;
    timed(&mut time.store, || store(&palace, &data))?;
    let drawers = palace.collection(DEFAULT_COLLECTION, false)?;
    timed(&mut time.index, || reindex(drawers.as_ref()))?;
    let (before, _) = timed(&mut time.search, || search(&palace, &data))?;
    let mut questions = Vec::new();
    for (question, near) in data.questions.iter().zip(&before) {
        let words = Input::Words(question.text.clone());
        let hits = palace.query(&ask(words))?.hits;
        questions.push(Answered {
            question: question.text.clone(),
            by_words: hits.into_iter().map(|hit| hit.id).collect(),
            by_vector: near.iter().map(|(id, _)| id.clone()).collect(),
        });
    }
    palace.close()?;

    let deleted = delete_index_files(&path.join("index"))?;
    // A new handle: what the old one kept in memory must not answer.
    let palace = Palace::open(&path, &session.options(false))?;
    let drawers = palace.collection(DEFAULT_COLLECTION, false)?;
    let (without, warnings) = timed(&mut time.search_without_index, || search(&palace, &data))?;
    timed(&mut time.rebuild, || reindex(drawers.as_ref()))?;
    let (with_new, _) = search(&palace, &data)?;
    let report = timed(&mut time.verify, || {
        Ok(palace.verify(&verify::Request { deep: true })?)
    })?;
    let answer = Answer {
        passages: data.passages.len(),
        model: data.model.clone(),
        questions,
        rebuilt_index: index_files(&path.join("index"))?
            .iter()
            .map(|path| name(path))
            .collect(),
        deleted_index: deleted,
        same_without_index: before == without,
        same_with_new_index: before == with_new,
        warnings,
        verified: report.ok(),
        milliseconds: time,
    };
    palace.close()?;
    let kept = answer.same_without_index
        && answer.same_with_new_index
        && answer.verified
        && !answer.deleted_index.is_empty()
        && !answer.rebuilt_index.is_empty();
    let text = shown(session.printer, &data, &answer);
    Ok(Reply::new(&answer, text)?.exit_if(!kept, Exit::Error))
}

fn timed<T>(milliseconds: &mut f64, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let since = Instant::now();
    let result = work()?;
    *milliseconds = (since.elapsed().as_secs_f64() * 1e5).round() / 1e2;
    Ok(result)
}

fn store(palace: &Palace, data: &Data) -> Result<()> {
    let mut drawers = Vec::with_capacity(data.passages.len());
    for passage in &data.passages {
        let metadata = serde_json::json!({
            "wing": "loci",
            "source_file": passage.source,
            "heading": passage.heading,
        });
        drawers.push(Drawer {
            id: Some(passage.id.clone()),
            text: Some(passage.text.clone()),
            metadata: Metadata::from_json(&metadata)?,
            vector: Some(passage.vector.clone()),
            facts: Vec::new(),
        });
    }
    palace.add(&add::Request {
        drawers,
        duplicates: Duplicates::Add,
        ..add::Request::default()
    })?;
    Ok(())
}

fn reindex(collection: &dyn Collection) -> Result<()> {
    collection.run_maintenance(MaintenanceKind::Reindex)?;
    Ok(())
}

/// The nearest few in the collection of the demo.
fn ask(input: Input) -> query::Request {
    query::Request {
        k: K,
        ..query::Request::new(input)
    }
}

fn search(palace: &Palace, data: &Data) -> Result<(Found, Vec<String>)> {
    let mut found = Vec::new();
    let mut said = Vec::new();
    for question in &data.questions {
        let answer = palace.query(&ask(Input::Vector(question.vector.clone())))?;
        let hits = answer.hits.into_iter();
        found.push(hits.map(|hit| (hit.id, hit.distance)).collect());
        said.extend(answer.warnings.iter().map(Warning::message));
    }
    Ok((found, said))
}

fn index_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let fail = |source| Error::io("cannot list", directory, source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        files.push(entry.map_err(fail)?.path());
    }
    files.sort();
    Ok(files)
}

fn delete_index_files(directory: &Path) -> Result<Vec<String>> {
    let files = index_files(directory)?;
    for file in &files {
        std::fs::remove_file(file).map_err(|source| Error::io("cannot remove", file, source))?;
    }
    Ok(files.iter().map(|path| name(path)).collect())
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn shown(printer: Printer, data: &Data, answer: &Answer) -> String {
    let time = &answer.milliseconds;
    let mut text = format!(
        "In a temporary palace, {} passages of Loci's own documents with their {} vectors\n\
         were stored in {} ms and indexed in {} ms.\n\n",
        answer.passages, answer.model, time.store, time.index
    );
    let passage = |id: &str| data.passages.iter().find(|passage| passage.id == id);
    for answered in &answer.questions {
        let _ = writeln!(text, "{}", printer.strong(&answered.question));
        for (arm, ids) in [
            ("words ", &answered.by_words),
            ("vector", &answered.by_vector),
        ] {
            if let Some(passage) = ids.first().and_then(|id| passage(id)) {
                let line = printer.stored_line(&passage.text, 76);
                let _ = writeln!(
                    text,
                    "  {arm}  {}, \"{}\"\n          {line}",
                    passage.id, passage.heading
                );
            }
        }
    }
    let same = |same| {
        if same {
            "the same answers"
        } else {
            "OTHER ANSWERS"
        }
    };
    let count = answer.questions.len();
    let _ = writeln!(
        text,
        "\n{count} questions by vector, {K} answers each: {} ms.\n\
         Deleted the index file behind its back: {}",
        time.search,
        answer.deleted_index.join(", ")
    );
    for warning in &answer.warnings {
        let _ = writeln!(text, "  warning: {warning}");
    }
    let _ = writeln!(
        text,
        "Opened the palace again and asked again: {}, {} ms.\n\
         Rebuilt the index from the stored vectors in {} ms: {}\n\
         Asked again: {}.\n\
         Deep check of every row, posting and code in {} ms: {}.",
        same(answer.same_without_index),
        time.search_without_index,
        time.rebuild,
        answer.rebuilt_index.join(", "),
        same(answer.same_with_new_index),
        time.verify,
        if answer.verified {
            "everything agrees"
        } else {
            "FINDINGS"
        }
    );
    text
}
