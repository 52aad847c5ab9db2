//! `loci demo`: a small project memory in a temporary palace.
//!
//! The demo asks a few questions, explains why a drawer was not found, then deletes the index file
//! and asks again. The texts come with the program (`data/demo.json`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use loci_palace::why_not::{Worded, Words as _};
use loci_palace::{
    DEFAULT_COLLECTION, Error, MaintenanceKind, Metadata, Palace, Warning, add, search, verify,
    why_not,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::{Exit, Result};
use crate::hint::Flags;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

const DATA: &str = include_str!("../../data/demo.json");
/// Hits compared per question.
const K: usize = 5;

#[derive(Deserialize)]
struct Data {
    drawers: Vec<Drawer>,
    questions: Vec<String>,
    why_not: WhyNot,
}

#[derive(Deserialize)]
struct Drawer {
    id: String,
    wing: String,
    room: String,
    date: String,
    text: String,
}

/// A drawer that is not the first hit of a question.
#[derive(Deserialize)]
struct WhyNot {
    id: String,
    question: String,
}

#[derive(Serialize)]
struct Report {
    passages: usize,
    model: String,
    questions: Vec<Answered>,
    why_not: Worded,
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
    /// The text of the first hit.
    answer: Option<String>,
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

/// Ids and scores of the hits of each question.
type Hits = Vec<Vec<(String, f32)>>;

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
    let report = play(session, &data, &path)?;
    let kept = report.same_without_index
        && report.same_with_new_index
        && report.verified
        && !report.deleted_index.is_empty()
        && !report.rebuilt_index.is_empty();
    let text = render(session.printer, &data, &report);
    Ok(Reply::new(&report, text)?.exit_if(!kept, Exit::Error))
}

fn play(session: &Session<'_>, data: &Data, path: &Path) -> Result<Report> {
    let mut time = Milliseconds::default();
    let palace = Palace::open(path, &session.options(true))?;
    timed(&mut time.store, || store(&palace, data))?;
    timed(&mut time.index, || reindex(&palace))?;
    let (first, mut warnings) = timed(&mut time.search, || ask_all(&palace, data))?;
    let questions = answered(&palace, data)?;
    let why_not = Flags.put(palace.why_not(&why_not::Request {
        id: data.why_not.id.clone(),
        search: search::Request {
            k: 1,
            ..search::Request::new(&data.why_not.question)
        },
    })?);
    let info = palace.collection(DEFAULT_COLLECTION, false)?.info().clone();
    palace.close()?;

    let deleted_index = delete_index_files(&path.join("index"))?;
    // A new handle, because the old one may answer from memory.
    let palace = Palace::open(path, &session.options(false))?;
    let (without, more) = timed(&mut time.search_without_index, || ask_all(&palace, data))?;
    warnings.extend(more);
    timed(&mut time.rebuild, || reindex(&palace))?;
    let (rebuilt, _) = ask_all(&palace, data)?;
    let verified = timed(&mut time.verify, || {
        Ok(palace.verify(&verify::Request { deep: true })?.ok())
    })?;
    palace.close()?;
    Ok(Report {
        passages: data.drawers.len(),
        model: info
            .embedder
            .map_or_else(|| "none".into(), |used| used.name),
        questions,
        why_not,
        deleted_index,
        rebuilt_index: index_files(&path.join("index"))?
            .iter()
            .map(|path| name(path))
            .collect(),
        same_without_index: first == without,
        same_with_new_index: first == rebuilt,
        warnings,
        verified,
        milliseconds: time,
    })
}

fn timed<T>(milliseconds: &mut f64, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let since = Instant::now();
    let result = work()?;
    *milliseconds = (since.elapsed().as_secs_f64() * 1e5).round() / 1e2;
    Ok(result)
}

fn store(palace: &Palace, data: &Data) -> Result<()> {
    let mut drawers = Vec::with_capacity(data.drawers.len());
    for drawer in &data.drawers {
        let metadata = json!({"wing": drawer.wing, "room": drawer.room, "date": drawer.date});
        drawers.push(add::Drawer {
            id: Some(drawer.id.clone()),
            text: Some(drawer.text.clone()),
            metadata: Metadata::from_json(&metadata)?,
            ..add::Drawer::default()
        });
    }
    palace.add(&add::Request {
        drawers,
        ..add::Request::default()
    })?;
    Ok(())
}

fn reindex(palace: &Palace) -> Result<()> {
    let collection = palace.collection(DEFAULT_COLLECTION, false)?;
    collection.run_maintenance(MaintenanceKind::Reindex)?;
    Ok(())
}

/// The hits of every question, and the warnings of the searches.
fn ask_all(palace: &Palace, data: &Data) -> Result<(Hits, Vec<String>)> {
    let mut hits = Vec::new();
    let mut warnings = Vec::new();
    for question in &data.questions {
        let answer = ask(palace, question, false)?;
        let found = answer.hits.into_iter();
        hits.push(found.map(|hit| (hit.id, hit.score)).collect());
        warnings.extend(answer.warnings.iter().map(Warning::message));
    }
    Ok((hits, warnings))
}

fn answered(palace: &Palace, data: &Data) -> Result<Vec<Answered>> {
    let mut questions = Vec::new();
    for question in &data.questions {
        let answer = ask(palace, question, true)?;
        let arms = answer
            .explain
            .map(|explained| (explained.lexical, explained.semantic));
        let (by_words, by_vector) = arms.unwrap_or_default();
        let ids = |entries: Vec<loci_palace::ArmEntry>| -> Vec<String> {
            entries
                .into_iter()
                .take(K)
                .filter_map(|entry| entry.id)
                .collect()
        };
        questions.push(Answered {
            question: question.clone(),
            answer: answer.hits.into_iter().next().map(|hit| hit.text),
            by_words: ids(by_words),
            by_vector: ids(by_vector),
        });
    }
    Ok(questions)
}

fn ask(palace: &Palace, question: &str, explain: bool) -> Result<search::Answer> {
    Ok(palace.search(&search::Request {
        k: K,
        explain,
        ..search::Request::new(question)
    })?)
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

fn render(printer: Printer, data: &Data, report: &Report) -> String {
    let time = &report.milliseconds;
    let mut text = format!(
        "A temporary palace holds {} drawers: decisions, incidents and notes of a project, and \
         some private ones.\nStored in {} ms. Five questions, {} ms in all:\n\n",
        report.passages, time.store, time.search
    );
    for answered in &report.questions {
        let _ = writeln!(text, "{}", printer.strong(&answered.question));
        let answer = answered.answer.as_deref().unwrap_or("nothing found");
        let found = data.drawers.iter().find(|drawer| drawer.text == answer);
        let place = found.map_or_else(String::new, |drawer| {
            format!("{} / {}, {}", drawer.wing, drawer.room, drawer.date)
        });
        let _ = writeln!(text, "  {}\n  {place}", printer.stored_line(answer, 96));
    }
    let why_not = &report.why_not;
    let _ = writeln!(
        text,
        "\nWhy is `{}` not the first hit of the first question? It is the older decision:\n  {}.",
        why_not.answer.id, why_not.reason
    );
    let same = |same| {
        if same { "the same hits" } else { "OTHER HITS" }
    };
    let _ = writeln!(
        text,
        "\nThe index file can be deleted at any time. Deleted {}; asked again without it: {} in {} ms.\n\
         Rebuilt it from the stored vectors in {} ms; asked again: {}.\n\
         Checked every row, posting and code in {} ms: {}.",
        report.deleted_index.join(", "),
        same(report.same_without_index),
        time.search_without_index,
        time.rebuild,
        same(report.same_with_new_index),
        time.verify,
        if report.verified {
            "everything is consistent"
        } else {
            "FINDINGS"
        }
    );
    text.push_str(
        "\nNow with your own files: `loci search QUESTION --in FOLDER` searches a folder,\n\
         `loci mine FOLDER` remembers it, `loci connect` connects your agents.\n",
    );
    text
}
