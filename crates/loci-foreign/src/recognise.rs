//! Whose files these are, by names and first bytes alone: nothing is opened.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};
use serde::Serialize;

use crate::mempalace::EXACT;
use crate::palace::Kind;

/// The first bytes of every SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Bytes of a file that are looked at: the schema of a small database begins within them.
const LOOKED_AT: u64 = 4 << 20;
/// memtomem's database.
const MEMTOMEM: &str = "memtomem.db";
/// Files of which one makes a directory CortexaDB's.
const CORTEXA: [&str; 2] = ["cortexadb.wal", "cortexadb.ckpt"];
/// Files beside a ChromaDB database that only MemPalace writes.
const MEMPALACE: [&str; 4] = [
    "mempalace_embedder.json",
    "knowledge_graph.sqlite3",
    ".blob_seq_ids_migrated",
    "logstream.sqlite3",
];

/// What something was recognised as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recognised {
    /// Whose it is.
    pub kind: Kind,
    /// What to open: the directory or file that was given, or the palace inside it.
    pub path: PathBuf,
    /// The program that probably wrote it.
    pub writer: String,
}

/// Recognises what is at `path`. Nothing known: none. Fails only where there is nothing, or nothing that may be looked at.
pub fn recognise(path: &Path) -> Result<Option<Recognised>> {
    let info = std::fs::metadata(path).map_err(|error| Error::io("cannot look at", path, error))?;
    if info.is_file() {
        return file(path);
    }
    if !info.is_dir() {
        return Ok(None);
    }
    if let Some(found) = directory(path)? {
        return Ok(Some(found));
    }
    let inner = path.join("palace");
    if inner.is_dir() {
        return directory(&inner);
    }
    Ok(None)
}

/// Default places of the programs that hold something recognisable.
pub fn usual_places() -> Vec<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = named("HOME").map(PathBuf::from);
    let configuration = named("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut places: Vec<PathBuf> = [
        "MEMPALACE_PALACE_PATH",
        "MEMPALACE_PALACE",
        "MEMPALACE_CONFIG_DIR",
    ]
    .iter()
    .filter_map(|name| named(name).map(PathBuf::from))
    .collect();
    if let Some(home) = &home {
        let below = [".mempalace", ".memtomem", ".cortexadb", ".chroma"];
        places.extend(below.iter().map(|name| home.join(name)));
    }
    places.extend(configuration.map(|path| path.join("mempalace")));
    places_among(places)
}

/// Those of `places` that hold something recognisable, each once.
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

fn directory(path: &Path) -> Result<Option<Recognised>> {
    let holds = |name: &str| path.join(name).is_file();
    let recognised = |kind, path: PathBuf, writer: &str| {
        let writer = writer.to_owned();
        Ok(Some(Recognised { kind, path, writer }))
    };
    if holds("palace.sqlite3") {
        return recognised(Kind::Loci, path.to_owned(), "Loci");
    }
    if holds("chroma.sqlite3") {
        let writer = if MEMPALACE.iter().any(|name| holds(name)) {
            "MemPalace on ChromaDB"
        } else {
            "ChromaDB"
        };
        return recognised(Kind::Chroma, path.to_owned(), writer);
    }
    if holds(EXACT) {
        return recognised(Kind::SqliteExact, path.to_owned(), "MemPalace");
    }
    if CORTEXA.iter().any(|name| holds(name)) || holds_segments(path) {
        return recognised(Kind::CortexaDb, path.to_owned(), "CortexaDB");
    }
    if holds(MEMTOMEM) {
        return recognised(Kind::Memtomem, path.join(MEMTOMEM), "memtomem");
    }
    Ok(None)
}

/// Segments alone are left when log and checkpoint were lost.
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
    let around = path.parent().unwrap_or(Path::new(".")).to_owned();
    let recognised = |kind, path: PathBuf, writer: &str| {
        let writer = writer.to_owned();
        Ok(Some(Recognised { kind, path, writer }))
    };
    if bytes.starts_with(SQLITE) {
        let mentions = |text: &str| {
            let text = text.as_bytes();
            bytes.windows(text.len()).any(|window| window == text)
        };
        if mentions("_memtomem_meta") && mentions("chunks") {
            return recognised(Kind::Memtomem, path.to_owned(), "memtomem");
        }
    }
    // A palace may be named by the file that holds it, also where its first page is damaged.
    if name == MEMTOMEM {
        return recognised(Kind::Memtomem, path.to_owned(), "memtomem");
    }
    let of_a_directory = ["palace.sqlite3", "chroma.sqlite3", EXACT];
    if of_a_directory
        .iter()
        .chain(&CORTEXA)
        .any(|known| name == *known)
    {
        return directory(&around);
    }
    let lines = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl") || extension == "ndjson");
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if lines || first == Some(&b'{') {
        return recognised(Kind::JsonLines, path.to_owned(), "JSON lines");
    }
    Ok(None)
}

fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LOOKED_AT).read_to_end(&mut bytes)?;
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
