//! Converts paths to text. A Unix file name may contain any bytes, and serde fails to serialise a
//! `PathBuf` that is not UTF-8. All code that writes a path to JSON uses these functions.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Serialize as _, Serializer};

/// A path as text. A UTF-8 path is unchanged. Other bytes are written as `\xff`, so that different
/// paths look different and the same path always looks the same.
pub fn path_text(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Serialises a path; for `#[serde(serialize_with = …)]`.
pub fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path_text(path))
}

/// Serialises an optional path; for `#[serde(serialize_with = …)]`.
pub fn serialize_optional_path<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_deref().map(path_text).serialize(serializer)
}

/// Serialises a list of paths; for `#[serde(serialize_with = …)]`.
pub fn serialize_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path_text(path)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_shown_and_distinguished() {
        let text = |bytes: &[u8]| path_text(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(text(b"/a/caf\xc3\xa9"), "/a/caf\u{e9}");
        assert_eq!(text(b"/a\xff/b\xc3"), "/a\\xff/b\\xc3");
        assert_ne!(text(b"\xfe"), text(b"\xff"));
    }
}
