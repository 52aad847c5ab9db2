//! Reads segment files, which hold a checksummed copy of every entry added since the last start,
//! including deleted ones.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::decode::{Entry, segment_entry};
use super::frames;

/// One copy of an entry.
#[derive(Debug, Clone)]
pub(super) struct EntryCopy {
    pub(super) id: u64,
    /// The digest of the entry's contents.
    pub(super) digest: u64,
    file: PathBuf,
    range: Range<usize>,
    /// The repaired bytes of the entry, if those in the file are damaged.
    repaired: Option<Vec<u8>>,
}

impl EntryCopy {
    /// The length of the entry.
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }
}

/// The copies in the order in which they were written, and the unreadable ranges.
#[derive(Debug, Default)]
pub(super) struct Segments {
    pub(super) copies: Vec<EntryCopy>,
    /// The file and offset of ranges that could not be read.
    pub(super) gaps: Vec<(String, usize)>,
}

/// Reads copies a second time. It caches the last file, so requests should be in the order of the
/// copies.
#[derive(Debug, Default)]
pub(super) struct Reader {
    path: PathBuf,
    file: Vec<u8>,
}

impl Reader {
    /// The bytes of the entry.
    pub(super) fn bytes(&mut self, copy: &EntryCopy) -> Result<Vec<u8>> {
        if let Some(repaired) = &copy.repaired {
            return Ok(repaired.clone());
        }
        if self.path != copy.file {
            self.file = read_file(&copy.file)?.unwrap_or_default();
            self.path.clone_from(&copy.file);
        }
        let bytes = self.file.get(copy.range.clone()).unwrap_or_default();
        match Entry::exactly(bytes) {
            Some(entry) if digest(&entry) == copy.digest => Ok(bytes.to_vec()),
            _ => Err(Error::Busy {
                what: format!(
                    "reading `{}`: another program keeps writing to it; stop it and try again",
                    copy.file.display()
                ),
                waited: std::time::Duration::ZERO,
            }),
        }
    }
}

/// Reads every segment of a database, one at a time.
pub(super) fn read(directory: &Path) -> Result<Segments> {
    let mut segments = Segments::default();
    for path in files(&directory.join("segments"))? {
        let Some(file) = read_file(&path)? else {
            continue;
        };
        let scan = frames::scan(&file, |payload| segment_entry(payload).is_some());
        for frame in &scan.frames {
            let Some((entry, start)) = segment_entry(frame.bytes(&file)) else {
                continue;
            };
            segments.copies.push(EntryCopy {
                id: entry.id,
                digest: digest(&entry),
                file: path.clone(),
                range: frame.payload.start + start..frame.payload.end,
                repaired: frame
                    .repaired
                    .as_ref()
                    .and_then(|payload| payload.get(start..))
                    .map(<[u8]>::to_vec),
            });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let gaps = scan
            .gaps
            .iter()
            .map(|gap| (name.clone().into_owned(), gap.start));
        segments.gaps.extend(gaps);
    }
    Ok(segments)
}

/// A digest of the entry's contents.
pub(super) fn digest(entry: &Entry<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (entry.id, entry.collection, entry.content).hash(&mut hasher);
    (entry.vector, &entry.metadata).hash(&mut hasher);
    (entry.created_at, entry.importance.to_bits()).hash(&mut hasher);
    hasher.finish()
}

/// The bytes of a file; `None` if it does not exist or is not a regular file.
pub(super) fn read_file(path: &Path) -> Result<Option<Vec<u8>>> {
    if fs::metadata(path).is_ok_and(|info| !info.is_file()) {
        return Ok(None);
    }
    let read = || -> std::io::Result<Vec<u8>> {
        let file = loci_files::foreign::open(path)?;
        let mut bytes = Vec::new();
        let most = plausible_bytes(&file.metadata()?);
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot read", path, error)),
    }
}

/// How much of a file to read. A file that is mostly a hole was forged or truncated, and must not
/// use up memory.
fn plausible_bytes(info: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    {
        const SLACK: u64 = 64 << 20;
        let stored = std::os::unix::fs::MetadataExt::blocks(info) * 512;
        info.len()
            .min(stored.saturating_mul(4).saturating_add(SLACK))
    }
    #[cfg(not(unix))]
    {
        info.len()
    }
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(directory) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("cannot list", directory, error)),
    };
    let mut files = Vec::new();
    for entry in listing {
        let path = entry
            .map_err(|error| Error::io("cannot list", directory, error))?
            .path();
        if path.extension().is_some_and(|extension| extension == "seg") && path.is_file() {
            files.push(path);
        }
    }
    files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(files)
}
