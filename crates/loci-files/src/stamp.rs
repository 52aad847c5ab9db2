//! Detects whether a file has changed.

use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Length, times and inode of a file. Two stamps are equal if nobody wrote to the file or replaced
/// it in between.
///
/// A write in place that keeps the length is not detected if it is in the same tick of the file
/// system's clock as the write before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// Device, inode, and seconds and nanoseconds of the last change of the inode.
    inode: (u64, u64, i64, i64),
}

impl Stamp {
    /// The stamp of the file now; `None` if there is no file.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let info = match std::fs::metadata(path) {
            Ok(info) => info,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt as _;
            (info.dev(), info.ino(), info.ctime(), info.ctime_nsec())
        };
        #[cfg(not(unix))]
        let inode = (0, 0, 0, 0);
        Ok(Some(Self {
            len: info.len(),
            modified: info.modified().ok(),
            inode,
        }))
    }

    /// The length of the file.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_changes_when_a_file_is_written_or_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a"), directory.path().join("b"));
        assert_eq!(Stamp::of(&path).unwrap(), None);
        crate::own::write(&path, "text").unwrap();
        let before = Stamp::of(&path).unwrap();
        assert_eq!(Stamp::of(&path).unwrap(), before);
        crate::own::write(&other, "next").unwrap();
        std::fs::rename(&other, &path).unwrap();
        let replaced = Stamp::of(&path).unwrap();
        assert_ne!(replaced, before);
        crate::own::write(&path, "longer").unwrap();
        let longer = Stamp::of(&path).unwrap();
        assert_ne!(longer, replaced);
        assert_eq!(longer.unwrap().len(), 6);
    }
}
