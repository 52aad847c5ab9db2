//! A project of the data set, and how a palace is filled with it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use loci_files::{foreign, own};
use loci_palace::{
    DEFAULT_COLLECTION, Error, Fact, MetaValue, Metadata, Meter, MineOptions, Palace, Reading,
    Result, Tree, add, mine,
};
use serde::Deserialize;
use serde_json::json;

/// The agent that keeps the diary and wakes up.
pub(super) const AGENT: &str = "claude";

/// One file of the data set.
#[derive(Debug, Deserialize)]
pub(super) struct Project {
    pub(super) name: String,
    drawers: Vec<Drawer>,
    facts: Vec<DatedFact>,
    pub(super) expected: Vec<Expected>,
    pub(super) forbidden: Vec<Forbidden>,
}

#[derive(Debug, Deserialize)]
struct Drawer {
    kind: Kind,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    speaker: Option<String>,
    authored_at: String,
    #[serde(default)]
    pinned: bool,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Conversation,
    Note,
    Diary,
}

#[derive(Debug, Deserialize)]
struct DatedFact {
    subject: String,
    predicate: String,
    object: String,
    valid_from: Option<String>,
    valid_until: Option<String>,
}

/// A statement that the text should contain: any one of the passages is enough.
#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    pub(super) what: String,
    pub(super) any_of: Vec<String>,
    pub(super) weight: u32,
}

/// A passage that the text must not contain.
#[derive(Debug, Deserialize)]
pub(super) struct Forbidden {
    pub(super) substring: String,
}

impl Project {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = foreign::read_to_string(file)
            .map_err(|source| Error::io("cannot read", file, source))?;
        serde_json::from_str(&text)
            .map_err(|error| Error::invalid(format!("`{}`", file.display()), error.to_string()))
    }

    /// Fills a palace as its user would: transcripts are mined, notes are added, and the files are
    /// mined last, so that their drawers are the newest.
    pub(super) fn fill(&self, palace: &Palace, place: &Path) -> Result<()> {
        let folder = place.join(&self.name);
        let transcripts = place.join("transcripts");
        self.write_files(&folder)?;
        self.write_transcripts(&transcripts, &folder)?;
        mined(palace, &transcripts)?;
        self.add_notes(palace)?;
        let facts: Vec<Fact> = self.facts.iter().map(DatedFact::fact).collect();
        palace.add_facts(&facts)?;
        mined(palace, &folder)
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Drawer> {
        self.drawers
            .iter()
            .filter(move |drawer| drawer.kind == kind)
    }

    /// The drawers of a kind by source.
    fn sources(&self, kind: Kind) -> BTreeMap<&str, Vec<&Drawer>> {
        let mut sources: BTreeMap<&str, Vec<&Drawer>> = BTreeMap::new();
        for drawer in self.of_kind(kind) {
            let source = drawer.source.as_deref().unwrap_or("unnamed");
            sources.entry(source).or_default().push(drawer);
        }
        sources
    }

    fn write_files(&self, folder: &Path) -> Result<()> {
        make(folder)?;
        for (source, drawers) in self.sources(Kind::File) {
            let texts: Vec<&str> = drawers.iter().map(|drawer| drawer.text.as_str()).collect();
            let path = folder.join(source);
            path.parent().map_or(Ok(()), make)?;
            let changed = drawers.last().map(|drawer| drawer.authored_at.as_str());
            write(&path, &format!("{}\n", texts.join("\n")), changed)?;
        }
        Ok(())
    }

    /// Writes each conversation as a transcript of Claude Code. Its title is the name of its source
    /// without the date.
    fn write_transcripts(&self, transcripts: &Path, folder: &Path) -> Result<()> {
        make(transcripts)?;
        for (number, (source, turns)) in self.sources(Kind::Conversation).into_iter().enumerate() {
            let session = format!("00000000-0000-4000-8000-{number:012}");
            let mut lines = Vec::new();
            for (at, turn) in turns.iter().enumerate() {
                let role = turn.speaker.as_deref().unwrap_or("user");
                let content = match role {
                    "user" => json!(turn.text),
                    _ => json!([{"type": "text", "text": turn.text}]),
                };
                lines.push(json!({
                    "parentUuid": null, "isSidechain": false, "userType": "external",
                    "cwd": folder, "sessionId": session, "version": "2.1.0", "type": role,
                    "message": {"role": role, "content": content},
                    "uuid": format!("{number:08}-0000-4000-8000-{at:012}"),
                    "timestamp": turn.authored_at,
                }));
            }
            let title = title_of(source);
            lines.push(json!({"type": "ai-title", "aiTitle": title, "sessionId": session}));
            let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
            let changed = turns.last().map(|turn| turn.authored_at.as_str());
            write(
                &transcripts.join(format!("{session}.jsonl")),
                &lines.concat(),
                changed,
            )?;
        }
        Ok(())
    }

    fn add_notes(&self, palace: &Palace) -> Result<()> {
        for drawer in &self.drawers {
            let mut values = vec![("wing", self.name.as_str())];
            match drawer.kind {
                Kind::Note => values.push(("authored_at", &drawer.authored_at)),
                Kind::Diary => values.extend([
                    ("room", "diary"),
                    ("type", "diary_entry"),
                    ("agent", AGENT),
                    ("topic", "general"),
                    ("filed_at", &drawer.authored_at),
                    ("date", drawer.authored_at.get(..10).unwrap_or_default()),
                ]),
                Kind::File | Kind::Conversation => continue,
            }
            let mut metadata = Metadata::default();
            for (key, value) in values {
                metadata.0.insert(key.to_owned(), MetaValue::from(value));
            }
            if drawer.pinned {
                metadata.0.insert("pinned".into(), MetaValue::Bool(true));
            }
            let drawer = add::Drawer {
                text: Some(drawer.text.clone()),
                metadata,
                ..add::Drawer::default()
            };
            palace.add(&add::Request {
                drawers: vec![drawer],
                ..add::Request::default()
            })?;
        }
        Ok(())
    }
}

impl DatedFact {
    fn fact(&self) -> Fact {
        Fact {
            subject: self.subject.clone(),
            predicate: self.predicate.clone(),
            object: self.object.clone(),
            valid_from: self.valid_from.clone(),
            valid_to: self.valid_until.clone(),
            ..Fact::default()
        }
    }
}

/// `sessions/2026-01-12-payments.jsonl` gives `payments`.
fn title_of(source: &str) -> String {
    let name = source.rsplit('/').next().unwrap_or(source);
    let name = name.split('.').next().unwrap_or(name);
    let is_digit = |character: char| character.is_ascii_digit() || character == '-';
    name.trim_start_matches(is_digit).replace(['-', '_'], " ")
}

fn mined(palace: &Palace, root: &Path) -> Result<()> {
    let roots: [PathBuf; 1] = [root.to_path_buf()];
    palace.mine(&mine::Request {
        collection: DEFAULT_COLLECTION,
        source: &Tree::new(&roots, Reading::default())?,
        options: &MineOptions::default(),
        meter: &Meter::default(),
        stop: &AtomicBool::new(false),
    })?;
    Ok(())
}

fn make(folder: &Path) -> Result<()> {
    loci_files::create_directory_with(folder, 0o777)
        .map_err(|source| Error::io("cannot create", folder, source))
}

/// Writes a file that was changed at a time.
fn write(path: &Path, text: &str, changed: Option<&str>) -> Result<()> {
    let fail = |source| Error::io("cannot write", path, source);
    let mut file = own::create_new(path).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    let moment = changed.and_then(|changed| changed.parse::<Timestamp>().ok());
    if let Some(seconds) = moment.and_then(|moment| u64::try_from(moment.as_second()).ok()) {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_modified(changed).map_err(fail)?;
    }
    Ok(())
}
