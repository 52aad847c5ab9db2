//! Recognises stores by the names and first bytes of their files, without opening a store. Walks the
//! table of importers.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result, serialize_path};
use serde::Serialize;

use crate::importer::Places;
use crate::importers::Kind;

/// How many bytes of a file are read. The schema of a small database begins within them.
pub(crate) const BEGINNING_BYTES: u64 = 4 << 20;
/// The first bytes of every SQLite database.
pub(crate) const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// The subdirectory in which MemPalace keeps its palace.
const INNER: &str = "palace";

/// The result of recognition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recognised {
    /// The kind of the store.
    pub kind: Kind,
    /// The path to open: the given directory or file, or the store inside it.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// The program that probably wrote it.
    pub writer: String,
}

impl Recognised {
    fn new(kind: Kind, path: &Path) -> Self {
        let writer = (kind.importer().signs.writer)(path).unwrap_or_else(|| kind.program());
        Self {
            kind,
            path: path.to_owned(),
            writer: writer.to_owned(),
        }
    }
}

/// Recognises the store at `path`; `None` if it is not a known kind. Fails only if the path does
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

/// Recognises `path` as a store of this kind, whatever else it holds. If stores of this kind are
/// single files, any file is accepted.
pub fn recognise_as(path: &Path, kind: Kind) -> Result<Option<Recognised>> {
    let info = std::fs::metadata(path).map_err(|error| Error::io("cannot read", path, error))?;
    if info.is_dir() {
        return Ok(directory_of(kind, path).or_else(|| directory_of(kind, &path.join(INNER))));
    }
    if kind.importer().signs.is_file {
        return Ok(info.is_file().then(|| Recognised::new(kind, path)));
    }
    Ok(named_by_file(kind, path))
}

/// The default paths of the programs that hold a recognisable store.
pub fn usual_places() -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    let configuration = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut places: Vec<PathBuf> = known(|of| of.variables)
        .filter_map(|name| variable(name).map(PathBuf::from))
        .collect();
    places.extend(
        home.iter()
            .flat_map(|home| below_home().map(|name| home.join(name))),
    );
    places.extend(
        configuration
            .iter()
            .flat_map(|path| known(|of| of.configuration).map(|name| path.join(name))),
    );
    let elsewhere: Vec<PathBuf> = places.iter().filter_map(|home| configured(home)).collect();
    places.extend(elsewhere);
    places_among(places)
}

/// The directories of [`usual_places`] as people write them, such as `~/.mempalace`.
pub fn usual_place_names() -> Vec<String> {
    let home = below_home().map(|name| format!("~/{name}"));
    let configuration = known(|of| of.configuration).map(|name| format!("~/.config/{name}"));
    home.chain(configuration).collect()
}

/// The names of usual places in the home directory.
fn below_home() -> impl Iterator<Item = &'static str> {
    known(|of| of.home).chain(known(|of| of.shared_home))
}

/// One kind of names of usual places, of all programs.
fn known(
    names: fn(&'static Places) -> &'static [&'static str],
) -> impl Iterator<Item = &'static str> {
    let importers = Kind::ALL.iter().map(|kind| kind.importer());
    importers.flat_map(move |importer| names(&importer.usual_places).iter().copied())
}

/// An environment variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The first bytes of a file.
pub(crate) fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loci_files::foreign::open(path)?
        .take(BEGINNING_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path of the store that a program's configuration in this directory names.
fn configured(home: &Path) -> Option<PathBuf> {
    Kind::ALL
        .iter()
        .find_map(|kind| (kind.importer().usual_places.configured)(home))
}

/// Those of `places` that hold a recognisable store, without duplicates.
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

fn directory(path: &Path) -> Option<Recognised> {
    Kind::ALL.iter().find_map(|kind| directory_of(*kind, path))
}

/// The directory as a store of this kind, if it has the signs of that kind.
fn directory_of(kind: Kind, path: &Path) -> Option<Recognised> {
    let signs = &kind.importer().signs;
    let file = signs
        .files
        .iter()
        .map(|name| path.join(name))
        .find(|file| file.is_file());
    match file {
        Some(file) if signs.is_file => Some(Recognised::new(kind, &file)),
        Some(_) => Some(Recognised::new(kind, path)),
        None => (signs.directory)(path).then(|| Recognised::new(kind, path)),
    }
}

/// Recognises a file by its name and its content. The name of a database comes first, because its
/// rows may mention anything, even the tables of another program. Elsewhere the content comes first:
/// a file of JSON lines may have any name.
fn file(path: &Path) -> Result<Option<Recognised>> {
    let bytes = beginning(path).map_err(|error| Error::io("cannot read", path, error))?;
    let by_name = || Kind::ALL.iter().find_map(|kind| named_by_file(*kind, path));
    let by_content = || {
        let mut kinds = Kind::ALL.iter();
        let kind = kinds.find(|kind| (kind.importer().signs.content)(path, &bytes))?;
        Some(Recognised::new(*kind, path))
    };
    Ok(if bytes.starts_with(SQLITE_MAGIC) {
        by_name().or_else(by_content)
    } else {
        by_content().or_else(by_name)
    })
}

/// The store that a file of this name belongs to.
fn named_by_file(kind: Kind, path: &Path) -> Option<Recognised> {
    let signs = &kind.importer().signs;
    let name = path.file_name()?;
    if !signs.files.iter().any(|file| name == *file) {
        return None;
    }
    if signs.is_file {
        return Some(Recognised::new(kind, path));
    }
    let around = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    directory_of(kind, around)
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
