//! The location of a palace: a directory, or the URL of a database.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use crate::error::{Error, Result};
use crate::path_text;

/// The location of a palace.
///
/// ```
/// use loci_core::PalaceRef;
/// let local = PalaceRef::from("/home/ana/palace");
/// assert_eq!(local.directory()?, std::path::Path::new("/home/ana/palace"));
/// let remote = PalaceRef::from("postgres://ana:hunter2@db.example/palace");
/// assert_eq!(remote.to_string(), "postgres://…");
/// assert!(!format!("{remote:?}").contains("hunter2"));
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PalaceRef {
    /// A directory on this machine.
    Directory(PathBuf),
    /// A database that a backend reaches by a URL.
    Url(PalaceUrl),
}

impl PalaceRef {
    /// The palace in this directory, even if its name looks like a URL.
    pub fn local(path: impl Into<PathBuf>) -> Self {
        Self::Directory(path.into())
    }

    /// Its directory. Fails if its location is a URL.
    pub fn directory(&self) -> Result<&Path> {
        match self {
            Self::Directory(path) => Ok(path),
            Self::Url(url) => Err(Error::invalid(
                format!("palace `{url}`"),
                "is a URL, and this operation needs a palace in a directory",
            )),
        }
    }

    /// Its directory; `None` if its location is a URL.
    pub fn as_directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Url(_) => None,
        }
    }

    /// The same palace with an absolute directory, which does not depend on the working directory.
    pub fn absolute(&self) -> Result<Self> {
        match self {
            Self::Directory(path) => std::path::absolute(path)
                .map(Self::Directory)
                .map_err(|source| Error::io("cannot resolve", path, source)),
            Self::Url(_) => Ok(self.clone()),
        }
    }

    /// The scheme of its URL.
    pub fn scheme(&self) -> Option<&str> {
        match self {
            Self::Directory(_) => None,
            Self::Url(url) => Some(url.scheme()),
        }
    }
}

impl From<&Path> for PalaceRef {
    fn from(written: &Path) -> Self {
        match PalaceUrl::parse(written) {
            Some(url) => Self::Url(url),
            None => Self::Directory(written.to_path_buf()),
        }
    }
}

impl From<&str> for PalaceRef {
    fn from(written: &str) -> Self {
        Self::from(Path::new(written))
    }
}

impl From<&PathBuf> for PalaceRef {
    fn from(written: &PathBuf) -> Self {
        Self::from(written.as_path())
    }
}

impl From<PathBuf> for PalaceRef {
    fn from(written: PathBuf) -> Self {
        Self::from(written.as_path())
    }
}

impl From<&PalaceRef> for PalaceRef {
    fn from(palace: &PalaceRef) -> Self {
        palace.clone()
    }
}

impl<'de> Deserialize<'de> for PalaceRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        PathBuf::deserialize(deserializer).map(Self::from)
    }
}

/// Prints a directory unchanged, and a URL without its user, password, path and query.
impl fmt::Display for PalaceRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => out.write_str(&path_text(path)),
            Self::Url(url) => url.fmt(out),
        }
    }
}

/// Whether a text looks like an address with a password in it, URL or not: `//user:word@host`,
/// `scheme:user:word@host`, `password=word`. Such a text must not be printed, and must not become
/// the name of a directory.
pub fn holds_password(text: &str) -> bool {
    let lower = text.to_lowercase();
    if ["password=", "passwd=", "pwd="]
        .iter()
        .any(|key| lower.contains(key))
    {
        return true;
    }
    let before_host = text.rfind('@').and_then(|at| text.get(..at));
    before_host.is_some_and(|user| user.contains(':'))
}

/// A value as an error shows it, in backticks; the value itself only if it holds no password.
pub fn display_value(value: &str) -> String {
    if holds_password(value) || value.contains("://") {
        "the given URL".to_owned()
    } else {
        format!("`{value}`")
    }
}

/// The URL of a palace. Only [`PalaceUrl::expose`] returns all of it; everything else omits the
/// parts that may be secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PalaceUrl {
    whole: String,
    scheme: usize,
}

impl PalaceUrl {
    /// Parses anything of the form `scheme:/…`. A single letter is a Windows drive, not a scheme.
    ///
    /// Near misses count as URLs too (leading white space, one slash, `jdbc:` before the scheme),
    /// because a password must not become the name of a directory.
    pub fn parse(written: &Path) -> Option<Self> {
        let whole = written.to_string_lossy();
        let whole = whole.trim_start();
        let scheme = whole.find(":/")?;
        let mut letters = whole.get(..scheme)?.bytes();
        let named = letters.next()?.is_ascii_alphabetic()
            && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte));
        (named && scheme > 1).then(|| Self {
            whole: whole.to_owned(),
            scheme,
        })
    }

    /// The part before `:/`.
    pub fn scheme(&self) -> &str {
        self.whole.get(..self.scheme).unwrap_or_default()
    }

    /// The whole URL with its password, for the backend that connects.
    pub fn expose(&self) -> &str {
        &self.whole
    }

    /// The host; `None` if it could be part of a password.
    fn host(&self) -> Option<&str> {
        let rest = self.whole.get(self.scheme + 1..)?.trim_start_matches('/');
        // If there is an `@` anywhere, the password may contain any of the separators.
        if rest.contains('@') {
            return None;
        }
        let host = rest.split(['/', '?', '#', ':', '\\']).next()?;
        (!host.is_empty()).then_some(host)
    }
}

impl fmt::Display for PalaceUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host() {
            Some(host) => write!(out, "{}://{host}/…", self.scheme()),
            None => write!(out, "{}://…", self.scheme()),
        }
    }
}

impl fmt::Debug for PalaceUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PalaceUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_in_no_text_that_is_made_of_it() {
        for url in [
            "postgres://loci:not-a-secret@db.example/palace",
            "postgresql://loci:not-a-se/cret@db.example/palace",
            "postgres://db.example/palace?password=not-a-secret",
            "postgres://db.example:5432/palace?password=not-a-secret&mail=a@b",
            "s3+https://bucket/not-a-secret",
            "jdbc:postgresql://loci:not-a-secret@db.example/palace",
            " postgres://loci:not-a-secret@db.example/palace",
            "postgres:/loci:not-a-secret@db.example/palace",
        ] {
            let palace = PalaceRef::from(url);
            let error = palace.directory().unwrap_err();
            let all = format!("{palace} {palace:?} {error} {error:?}");
            assert!(!all.contains("secret") && !all.contains("cret@"), "{all}");
            assert!(palace.scheme().is_some(), "{all}");
        }
    }

    #[test]
    fn a_text_with_a_password_is_recognised_and_not_shown() {
        for text in [
            "\"postgres://u:SECRET@h/db\"",
            "post_gres://u:SECRET@h",
            "1pg://u:SECRET@h/db",
            "://u:SECRET@h",
            "//u:SECRET@h/db",
            "postgres:u:SECRET@h/db",
            "host=h user=u password=SECRET",
            "postgres://h/db?PASSWORD=SECRET",
        ] {
            assert!(holds_password(text), "{text}");
            assert!(!display_value(text).contains("SECRET"), "{text}");
        }
        for text in ["notes", "a:b", "mail@host", "C:\\palace", "sqlite"] {
            assert!(!holds_password(text), "{text}");
            assert_eq!(display_value(text), format!("`{text}`"));
        }
    }

    #[test]
    fn a_drive_and_a_name_with_a_colon_are_directories() {
        for path in [
            "C:\\palace",
            "c://palace",
            "./postgres://x",
            "a:b",
            "/x/http://y",
            "a b://c",
        ] {
            assert_eq!(PalaceRef::from(path).directory().unwrap(), Path::new(path));
        }
    }
}
