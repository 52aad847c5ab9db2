//! Reads the small JSON files that some programs keep beside a conversation, for its title and its
//! folder.

use loci_files::allowed::AllowedRoots;
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;

/// A larger file is not read.
const MAX_BYTES: u64 = 4 << 20;

/// Returns the JSON of `folder/name`; `null` if there is none, or if it may not be read. A link
/// that leads outside the folder is not followed.
pub(super) fn read_json(folder: Option<&Path>, name: &str, allowed: &AllowedRoots) -> Value {
    let read = || {
        let file = allowed.open_below(folder?, Path::new(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    };
    read().unwrap_or_default()
}

/// Returns the path in a `file:` URL. Other URLs name no local folder.
pub(super) fn path_of_url(url: &str) -> Option<String> {
    let path = url.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let pair = rest.as_slice().get(..2).filter(|_| byte == b'%');
        let code = pair.and_then(|pair| std::str::from_utf8(pair).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_url_gives_its_path_and_other_urls_give_none() {
        for (url, path) in [
            ("file:///home/mo/boat", Some("/home/mo/boat")),
            ("file:///home/mo/a%20b%C3%A9", Some("/home/mo/a bé")),
            ("file:///odd%2", Some("/odd%2")),
            ("file:///odd%zz", Some("/odd%zz")),
            ("file://", None),
            ("vscode-remote://ssh/home/mo", None),
            ("", None),
        ] {
            assert_eq!(path_of_url(url).as_deref(), path, "{url}");
        }
    }
}
