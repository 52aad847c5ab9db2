//! The data sets of the fit, each in palaces of its own.
//!
//! Chats alone would teach the ranking little about other uses of search. So there are also
//! searches of a few words of known drawers, headings of documents, and questions that share no
//! word with their answer (`xtask/data/paraphrases.jsonl`).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use loci_bench::{Examined, Half, collect};
use serde::{Deserialize, Serialize};

use super::Options;
use crate::root;

/// What the fit makes more probable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The drawers with the evidence.
    Turns,
    /// The drawers with the evidence, and any drawer of the sources with the evidence.
    Both,
}

/// A data set.
pub(super) struct Set {
    pub(super) name: &'static str,
    /// How much all its questions count together.
    pub(super) weight: f64,
    pub(super) target: Target,
    pub(super) questions: Vec<Examined>,
}

/// One question in the form of LongMemEval.
#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    question_id: String,
    question_type: String,
    question: String,
    question_date: String,
    answer_session_ids: Vec<String>,
    haystack_session_ids: Vec<String>,
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Turn {
    role: String,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    has_answer: Option<bool>,
}

#[derive(Deserialize)]
struct Paraphrase {
    note: String,
    question: String,
}

/// Category of a search for a few words of a known drawer.
const KNOWN: &str = "known";
/// Number of searches for known drawers, in one palace and in palaces of their own.
const KNOWN_TOGETHER: usize = 300;
const KNOWN_EACH: usize = 120;
/// Number of headings that are searched.
const HEADINGS: usize = 250;
/// Bytes of a chunk of a document.
const CHUNK_BYTES: usize = 1_400;
/// A day after all dates of the data.
const LATER: &str = "2024/03/01 (Fri) 10:00";

pub(super) fn all(options: &Options) -> anyhow::Result<Vec<Set>> {
    let place = tempfile::tempdir()?;
    let chats: Vec<Entry> = read(&options.longmemeval)?;
    let known = known_items(&chats);
    let mut joined = chats.clone();
    joined.extend(known.iter().map(|item| item.alone(&chats)));
    let own: Vec<Entry> = known
        .iter()
        .take(KNOWN_EACH)
        .map(|item| item.among(&chats))
        .collect();
    let path = |name: &str| place.path().join(name);
    let joined = write(&path("together.json"), &joined)?;
    let own = write(&path("known.json"), &own)?;
    let paraphrases = write(&path("paraphrases.json"), &paraphrases()?)?;
    let headings = write(&path("headings.json"), &headings(&options.documents)?)?;

    let locomo = examine("LoCoMo", &options.locomo, false)?;
    let locomo = locomo
        .into_iter()
        .filter(|question| question.half == Half::Tuning);
    let together = examine("LongMemEval, together", &joined, true)?;
    let (known, together): (Vec<_>, Vec<_>) = together
        .into_iter()
        .partition(|question| question.category == KNOWN);
    let set = |name, weight, target, questions| Set {
        name,
        weight,
        target,
        questions,
    };
    Ok(vec![
        set("together", 1.0, Target::Both, together),
        set(
            "each",
            0.8,
            Target::Both,
            examine("LongMemEval", &options.longmemeval, false)?,
        ),
        set("LoCoMo", 3.0, Target::Both, locomo.collect()),
        set("known, together", 0.3, Target::Turns, known),
        set(
            "known",
            0.1,
            Target::Turns,
            examine("known drawers", &own, false)?,
        ),
        set(
            "paraphrases",
            0.3,
            Target::Turns,
            examine("paraphrases", &paraphrases, true)?,
        ),
        set(
            "headings",
            0.3,
            Target::Both,
            examine("headings", &headings, true)?,
        ),
    ])
}

fn examine(name: &str, file: &Path, together: bool) -> anyhow::Result<Vec<Examined>> {
    eprintln!("{name} ...");
    let options = loci_bench::Options {
        together,
        ..loci_bench::Options::default()
    };
    let mut questions = Vec::new();
    collect(file, &options, &mut |_| {}, &mut |question| {
        questions.push(question);
    })?;
    Ok(questions)
}

fn read(path: &Path) -> anyhow::Result<Vec<Entry>> {
    let text = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("`{}` is not LongMemEval", path.display()))
}

fn write(path: &Path, entries: &[Entry]) -> anyhow::Result<PathBuf> {
    std::fs::write(path, serde_json::to_vec(entries)?)?;
    Ok(path.to_owned())
}

/// A drawer of a chat, and a few of its words.
struct KnownItem {
    number: usize,
    entry: usize,
    session: usize,
    turn: usize,
    words: String,
}

impl KnownItem {
    /// The question with the one session that holds the drawer.
    fn alone(&self, chats: &[Entry]) -> Entry {
        let mut entry = self.among(chats);
        let keep =
            |list: &mut Vec<String>| *list = list.drain(self.session..=self.session).collect();
        keep(&mut entry.haystack_session_ids);
        keep(&mut entry.haystack_dates);
        let sessions = &mut entry.haystack_sessions;
        *sessions = sessions.drain(self.session..=self.session).collect();
        entry
    }

    /// The question with all sessions of the history that holds the drawer.
    fn among(&self, chats: &[Entry]) -> Entry {
        let mut entry = chats[self.entry].clone();
        entry.question_id = format!("known-{}", self.number);
        KNOWN.clone_into(&mut entry.question_type);
        entry.question.clone_from(&self.words);
        LATER.clone_into(&mut entry.question_date);
        entry.answer_session_ids = vec![entry.haystack_session_ids[self.session].clone()];
        for (at, session) in entry.haystack_sessions.iter_mut().enumerate() {
            for (place, turn) in session.iter_mut().enumerate() {
                let is_it = at == self.session && place == self.turn;
                turn.has_answer = is_it.then_some(true);
            }
        }
        entry
    }
}

/// Random drawers, each with two to four words of one sentence that are not common.
fn known_items(chats: &[Entry]) -> Vec<KnownItem> {
    let mut drawers: HashMap<String, usize> = HashMap::new();
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    let mut seen = HashSet::new();
    for (entry, chat) in chats.iter().enumerate() {
        let sessions = chat
            .haystack_session_ids
            .iter()
            .zip(&chat.haystack_sessions);
        for (session, (id, turns)) in sessions.enumerate() {
            if !seen.insert(id) {
                continue;
            }
            for (turn, text) in turns.iter().enumerate() {
                places.push((entry, session, turn));
                let distinct: HashSet<String> = words(&text.content).into_iter().collect();
                for word in distinct {
                    *drawers.entry(word.to_lowercase()).or_default() += 1;
                }
            }
        }
    }
    let common = places.len() / 10;
    let mut random = fastrand::Rng::with_seed(7);
    let mut items = Vec::new();
    while items.len() < KNOWN_TOGETHER {
        let (entry, session, turn) = places[random.usize(..places.len())];
        let text = &chats[entry].haystack_sessions[session][turn].content;
        let sentences: Vec<&str> = text
            .split(['.', '!', '?', '\n'])
            .filter(|s| s.len() > 20)
            .collect();
        let Some(sentence) = random.choice(sentences) else {
            continue;
        };
        let mut rare: Vec<String> = Vec::new();
        for word in words(sentence) {
            let lower = word.to_lowercase();
            let is_new = rare.iter().all(|other| other.to_lowercase() != lower);
            if is_new && drawers.get(&lower).is_some_and(|count| *count <= common) {
                rare.push(word);
            }
        }
        let wanted = random.usize(2..=4);
        if rare.len() < wanted {
            continue;
        }
        if random.f32() < 0.4 {
            random.shuffle(&mut rare);
        }
        let from = random.usize(..=rare.len() - wanted);
        items.push(KnownItem {
            number: items.len(),
            entry,
            session,
            turn,
            words: rare[from..from + wanted].join(" "),
        });
    }
    items
}

fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.len() > 2 || word.chars().any(|character| character.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Each note is a session of one turn.
fn paraphrases() -> anyhow::Result<Vec<Entry>> {
    let file = root().join("xtask/data/paraphrases.jsonl");
    let lines = std::fs::read_to_string(file)?;
    let entry = |(at, line): (usize, &str)| {
        let pair: Paraphrase = serde_json::from_str(line)?;
        let note = vec![(pair.note, true)];
        let name = format!("note-{at}");
        Ok(document(name.clone(), pair.question, name, note))
    };
    lines.lines().enumerate().map(entry).collect()
}

/// The headings of Markdown files, each with the file as its source. The chunks do not contain the
/// headings.
fn headings(directory: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut files = Vec::new();
    markdown_files(directory, &mut files)?;
    files.sort();
    let mut documents: Vec<(String, Vec<String>)> = Vec::new();
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file)?).into_owned();
        let mut chunks: Vec<String> = Vec::new();
        let mut heading: Option<String> = None;
        let mut body = String::new();
        for line in text.lines().chain(["# end"]) {
            if let Some(next) = line.strip_prefix('#') {
                let first = chunks.len();
                chunks.extend(chunked(&body));
                if let Some(heading) = heading.take().filter(|_| chunks.len() > first) {
                    found.push((documents.len(), first, heading));
                }
                heading = searchable(next);
                body.clear();
            } else {
                body.push_str(line);
                body.push('\n');
            }
        }
        let name = file
            .strip_prefix(directory)
            .unwrap_or(&file)
            .display()
            .to_string();
        documents.push((name, chunks));
    }
    anyhow::ensure!(
        !found.is_empty(),
        "no Markdown file with headings in `{}`",
        directory.display()
    );
    fastrand::Rng::with_seed(7).shuffle(&mut found);
    let entry = |(number, (file, chunk, heading)): (usize, (usize, usize, String))| {
        let (name, chunks) = &documents[file];
        let chunks = chunks.iter().enumerate();
        let chunks = chunks
            .map(|(at, text)| (text.clone(), at == chunk))
            .collect();
        document(format!("heading-{number}"), heading, name.clone(), chunks)
    };
    Ok(found
        .into_iter()
        .take(HEADINGS)
        .enumerate()
        .map(entry)
        .collect())
}

/// A heading that somebody might search: some plain words.
fn searchable(heading: &str) -> Option<String> {
    let heading = heading.trim_start_matches('#').replace(['`', '*'], "");
    let heading = heading.trim();
    let plain = !heading.contains(['(', '[', '<', '=']) && !heading.contains("20");
    (plain && heading.split_whitespace().count() >= 2).then(|| heading.to_owned())
}

fn chunked(body: &str) -> Vec<String> {
    let characters: Vec<char> = body.trim().chars().collect();
    characters
        .chunks(CHUNK_BYTES)
        .filter(|chunk| chunk.len() >= 40)
        .map(|chunk| chunk.iter().collect())
        .collect()
}

fn document(id: String, question: String, name: String, chunks: Vec<(String, bool)>) -> Entry {
    let turn = |(content, is_answer): (String, bool)| Turn {
        role: "document".into(),
        content,
        has_answer: is_answer.then_some(true),
    };
    Entry {
        question_type: "document".into(),
        question_id: id,
        question,
        question_date: LATER.into(),
        answer_session_ids: vec![name.clone()],
        haystack_session_ids: vec![name],
        haystack_dates: vec![LATER.into()],
        haystack_sessions: vec![chunks.into_iter().map(turn).collect()],
    }
}

fn markdown_files(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read `{}`", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            markdown_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}
