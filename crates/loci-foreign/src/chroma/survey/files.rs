//! Reads the index files of one directory. An unreadable file is reported and does not stop the
//! others.

use std::io::Read;
use std::path::{Path, PathBuf};

use loci_core::{Error, Metric};

use crate::chroma::directory::denied_index_file;
use crate::chroma::hnsw::Segment;
use crate::chroma::pickle::{self, LabelMap};

/// The file that maps ids to labels.
pub(crate) const PICKLE: &str = "index_metadata.pickle";
/// The maximum size in the pickle of one element's id, stored twice and with labels.
const PICKLE_BYTES_PER_ELEMENT: u64 = 4096;
/// The maximum length of a pickle.
const MOST_PICKLE_BYTES: u64 = 1 << 30;
/// The shortest possible record of `data_level0.bin`.
pub(crate) const SHORTEST_ELEMENT: u64 = 16;
/// The pickle of a smaller index may be as long as for this many elements.
const FEW_ELEMENTS: u64 = 1024;

/// The contents of an index directory.
#[derive(Debug, Default)]
pub(crate) struct IndexFiles {
    pub(crate) segment: Option<Segment>,
    pub(crate) map: Option<LabelMap>,
    /// Why the vectors are unreadable although the files exist.
    pub(crate) problem: Option<String>,
    /// A file that exists and that this user may not read. The others are not read either.
    pub(crate) denied: Option<PathBuf>,
}

impl IndexFiles {
    /// Opens a directory. The length of vectors comes from a sound header, or else it is
    /// `expected`.
    pub(crate) fn open(path: &Path, metric: Metric, expected: Option<usize>) -> Self {
        let mut files = Self::default();
        if let Some((file, source)) = denied_index_file(path) {
            files.problem = Some(Error::io("cannot read", &file, source).to_string());
            files.denied = Some(file);
            return files;
        }
        let opened = match Segment::open(path, metric, None) {
            Ok(Some(segment)) if !segment.is_header_sound() => {
                Segment::open(path, metric, expected)
            }
            other => other,
        };
        match opened {
            Ok(segment) => files.segment = segment,
            Err(error) => files.problem = Some(error.to_string()),
        }
        let elements = files
            .segment
            .as_ref()
            .map_or(0, |segment| segment.elements().len() as u64);
        files.map = read_pickle(&path.join(PICKLE), elements);
        files
    }
}

/// Reads the pickle; `None` if there is none. Anything but a regular file of a plausible length is
/// damage.
pub(crate) fn read_pickle(path: &Path, elements: u64) -> Option<LabelMap> {
    let damaged = |problem: String| {
        Some(LabelMap {
            damage: Some(problem),
            ..LabelMap::default()
        })
    };
    let info = match std::fs::metadata(path) {
        Ok(info) => info,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return damaged(error.to_string()),
    };
    // Opening a pipe could block forever.
    if !info.is_file() {
        return damaged("it is not a regular file".to_owned());
    }
    let most = (elements + FEW_ELEMENTS)
        .saturating_mul(PICKLE_BYTES_PER_ELEMENT)
        .min(MOST_PICKLE_BYTES);
    if info.len() > most {
        return damaged(format!(
            "{} bytes are more than the ids of {elements} vectors can need",
            info.len()
        ));
    }
    let mut bytes = Vec::new();
    let read =
        loci_files::foreign::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    match read {
        Ok(_) => Some(pickle::read(&bytes)),
        Err(error) => damaged(error.to_string()),
    }
}
