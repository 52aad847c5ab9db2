//! Recognises files by their names and first bytes, without opening a palace. Only MemPalace's
//! configuration is read, because it names the path of its palace.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result, serialize_path};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::chroma::DATABASE;
use crate::mempalace::EXACT;
use crate::palace::Kind;

/// The first bytes of every SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// How many bytes of a file are read. The schema of a small database begins within them.
const LOOKED_AT: u64 = 4 << 20;
/// The database of a Loci palace.
const LOCI: &str = "palace.sqlite3";
/// The subdirectory in which MemPalace keeps its palace.
const INNER: &str = "palace";
/// memtomem's database.
const MEMTOMEM: &str = "memtomem.db";
/// Files that identify a CortexaDB directory.
const CORTEXA: [&str; 2] = ["cortexadb.wal", "cortexadb.ckpt"];
/// Files beside a ChromaDB database that only MemPalace writes.
const MEMPALACE: [&str; 4] = [
    "mempalace_embedder.json",
    "knowledge_graph.sqlite3",
    ".blob_seq_ids_migrated",
    "logstream.sqlite3",
];

/// The result of recognition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recognised {
    /// The kind of the palace.
    pub kind: Kind,
    /// The path to open: the given directory or file, or the palace inside it.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// The program that probably wrote it.
    pub writer: String,
}

/// Recognises the palace at `path`; `None` if it is not a known kind. Fails only if the path does
/// not exist or cannot be read.
pub fn recognise(path: &Path) -> Result<Option<Recognised>> {
    let info = std::fs::metadata(path).map_err(|error| Error::io("cannot read", path, error))?;
    if info.is_file() {
        return file(path);
    }
    if !info.is_dir() {
        return Ok(None);
    }
    let elsewhere = || directory(&configured(path)?);
    Ok(directory(path)
        .or_else(|| directory(&path.join(INNER)))
        .or_else(elsewhere))
}

/// The path of the palace according to MemPalace's configuration in this directory.
fn configured(home: &Path) -> Option<PathBuf> {
    let file = home.join("config.json");
    let bytes = file.is_file().then(|| beginning(&file).ok()).flatten()?;
    let configuration: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let named = configuration.get("palace_path")?.as_str()?;
    let path = match named.strip_prefix("~/") {
        Some(below) => PathBuf::from(variable("HOME")?).join(below),
        None => PathBuf::from(named),
    };
    path.is_absolute().then_some(path)
}

/// An environment variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Recognises `path` as a palace of this kind, whatever else it holds. A file that is said to be
/// memtomem's or JSON Lines is accepted as such.
pub fn recognise_as(path: &Path, kind: Kind) -> Result<Option<Recognised>> {
    let info = std::fs::metadata(path).map_err(|error| Error::io("cannot read", path, error))?;
    if info.is_dir() {
        return Ok(directory_of(kind, path).or_else(|| directory_of(kind, &path.join(INNER))));
    }
    if matches!(kind, Kind::Memtomem | Kind::JsonLines) {
        return Ok(info.is_file().then(|| Recognised {
            kind,
            path: path.to_owned(),
            writer: kind.program().to_owned(),
        }));
    }
    let around = around(path);
    let name = path.file_name().unwrap_or_default();
    Ok((kind_of_file(name) == Some(kind))
        .then(|| directory_of(kind, around))
        .flatten())
}

/// The default paths of the programs that hold a recognisable palace.
pub fn usual_places() -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    let configuration = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut places: Vec<PathBuf> = [
        "MEMPALACE_PALACE_PATH",
        "MEMPALACE_PALACE",
        "MEMPALACE_CONFIG_DIR",
    ]
    .iter()
    .filter_map(|name| variable(name).map(PathBuf::from))
    .collect();
    if let Some(home) = &home {
        let below = [".mempalace", ".memtomem", ".cortexadb", ".chroma"];
        places.extend(below.iter().map(|name| home.join(name)));
    }
    places.extend(configuration.map(|path| path.join("mempalace")));
    let elsewhere: Vec<PathBuf> = places.iter().filter_map(|home| configured(home)).collect();
    places.extend(elsewhere);
    places_among(places)
}

/// Those of `places` that hold a recognisable palace, without duplicates.
fn places_among(places: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for place in places {
        if let Ok(Some(recognised)) = recognise(&place)
            && !found.contains(&recognised.path)
        {
            found.push(recognised.path);
        }
    }
    found
}

/// The kinds of directories by precedence.
const KINDS: [Kind; 5] = [
    Kind::Loci,
    Kind::Chroma,
    Kind::SqliteExact,
    Kind::CortexaDb,
    Kind::Memtomem,
];

fn directory(path: &Path) -> Option<Recognised> {
    KINDS.iter().find_map(|kind| directory_of(*kind, path))
}

/// The directory as a palace of this kind, if it holds the files of that kind.
fn directory_of(kind: Kind, path: &Path) -> Option<Recognised> {
    let holds = |name: &str| path.join(name).is_file();
    let (is_so, file) = match kind {
        Kind::Loci => (holds(LOCI), None),
        Kind::Chroma => (holds(DATABASE), None),
        Kind::SqliteExact => (holds(EXACT), None),
        Kind::CortexaDb => (
            CORTEXA.iter().any(|name| holds(name)) || holds_segments(path),
            None,
        ),
        Kind::Memtomem => (holds(MEMTOMEM), Some(MEMTOMEM)),
        Kind::JsonLines => (false, None),
    };
    let is_mempalace = kind == Kind::Chroma && MEMPALACE.iter().any(|name| holds(name));
    is_so.then(|| Recognised {
        kind,
        path: file.map_or_else(|| path.to_owned(), |file| path.join(file)),
        writer: if is_mempalace {
            "MemPalace on ChromaDB".to_owned()
        } else {
            kind.program().to_owned()
        },
    })
}

/// Whether there are segment files, which may be left alone after log and checkpoint were lost.
fn holds_segments(path: &Path) -> bool {
    let listing = std::fs::read_dir(path.join("segments"));
    listing.into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.strip_suffix(".seg").is_some_and(|number| {
            number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

fn file(path: &Path) -> Result<Option<Recognised>> {
    let bytes = beginning(path).map_err(|error| Error::io("cannot read", path, error))?;
    let name = path.file_name().unwrap_or_default();
    let around = around(path);
    let recognised = |kind: Kind| {
        Ok(Some(Recognised {
            kind,
            path: path.to_owned(),
            writer: kind.program().to_owned(),
        }))
    };
    if bytes.starts_with(SQLITE) {
        let mentions = |text: &str| {
            let text = text.as_bytes();
            bytes.windows(text.len()).any(|window| window == text)
        };
        if mentions("_memtomem_meta") && mentions("chunks") {
            return recognised(Kind::Memtomem);
        }
    }
    // A palace may be named by its file, even if the first page of that file is damaged.
    if name == MEMTOMEM {
        return recognised(Kind::Memtomem);
    }
    if let Some(kind) = kind_of_file(name) {
        return Ok(directory_of(kind, around));
    }
    let lines = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl") || extension == "ndjson");
    if lines || begins_with_a_record(&bytes) {
        return recognised(Kind::JsonLines);
    }
    Ok(None)
}

/// The parent directory of a file.
fn around(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The kind of directory that a file of this name belongs to.
fn kind_of_file(name: &OsStr) -> Option<Kind> {
    let named = [
        (LOCI, Kind::Loci),
        (DATABASE, Kind::Chroma),
        (EXACT, Kind::SqliteExact),
    ];
    let cortexa = CORTEXA.map(|file| (file, Kind::CortexaDb));
    named
        .into_iter()
        .chain(cortexa)
        .find(|(file, _)| name == *file)
        .map(|(_, kind)| kind)
}

/// Whether the first line is a JSON object. For a line that is longer than the bytes read, only the
/// first byte is checked.
fn begins_with_a_record(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = text.trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == text.len() && bytes.len() as u64 == LOOKED_AT;
    line.starts_with(b"{") && (is_cut || serde_json::from_slice::<IgnoredAny>(line).is_ok())
}

fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loci_files::foreign::open(path)?
        .take(LOOKED_AT)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_offered_once_and_only_if_it_holds_something() {
        let home = tempfile::tempdir().unwrap();
        let palace = home.path().join("palace");
        std::fs::create_dir(&palace).unwrap();
        let places = || {
            vec![
                home.path().to_owned(),
                palace.clone(),
                home.path().join("none"),
            ]
        };
        assert!(places_among(places()).is_empty());
        std::fs::write(palace.join("chroma.sqlite3"), b"").unwrap();
        assert_eq!(places_among(places()), vec![palace]);
    }
}
