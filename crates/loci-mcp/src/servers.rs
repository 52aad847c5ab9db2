//! Finds the running HTTP servers of the same user.
//!
//! Each server writes one file with its address and its token, readable only by its user, and holds
//! a lock on it while it runs. The kernel releases the lock when the process ends, so the file of a
//! killed server is recognised without probing a port or a process id, which another program may
//! have reused. A token is never sent to an address whose server is gone.

mod folder;
mod probe;
mod record;
mod registration;

use std::ffi::OsStr;
use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use loci_palace::PalaceRef;
use sha2::{Digest as _, Sha256};

pub(crate) use self::registration::Registration;

/// A running server.
#[derive(Clone)]
pub struct RunningServer {
    /// Where clients send their requests.
    pub url: String,
    /// The address to connect to.
    pub address: SocketAddr,
    /// Its process id.
    pub pid: u32,
    /// When it started, as an RFC 3339 time.
    pub started_at: String,
    /// The file that describes it.
    pub file: PathBuf,
    token: Option<String>,
}

impl RunningServer {
    /// The token that it requires. `None` for a server that runs with `--no-auth`.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }
}

impl Debug for RunningServer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningServer")
            .field("url", &self.url)
            .field("pid", &self.pid)
            .field("started_at", &self.started_at)
            .field("file", &self.file)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

/// The running servers of a palace, sorted by port. Files that another user could have written, and
/// files of servers that are gone, are ignored. It changes nothing.
pub fn of_palace(palace: &PalaceRef) -> Vec<RunningServer> {
    let prefix = prefix(palace);
    let mut servers = Vec::new();
    for folder in folder::to_read() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if is_record(&entry.file_name(), &prefix) {
                servers.extend(record::read_live(&folder.join(entry.file_name())));
            }
        }
    }
    servers.sort_by_key(|server| (server.address.port(), server.pid));
    servers
}

/// The prefix of the file names of a palace.
fn prefix(palace: &PalaceRef) -> String {
    let digest = match palace {
        PalaceRef::Directory(path) => Sha256::digest(real_place(path).as_os_str().as_bytes()),
        PalaceRef::Url(url) => Sha256::digest(url.expose().as_bytes()),
    };
    let hash = crate::hexadecimal(digest.get(..8).unwrap_or_default());
    format!("mcp-{hash}-")
}

fn is_record(name: &OsStr, prefix: &str) -> bool {
    let name = name.as_bytes();
    name.starts_with(prefix.as_bytes()) && name.ends_with(b".json")
}

/// The real path of a directory that need not exist yet. Links are resolved in the part that
/// exists.
fn real_place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palace_has_one_name_whether_it_exists_or_not_and_by_whatever_path() {
        let place = tempfile::tempdir().unwrap();
        let palace = place.path().join("palace");
        let before = prefix(&PalaceRef::from(&palace));
        std::fs::create_dir(&palace).unwrap();
        std::os::unix::fs::symlink(&palace, place.path().join("link")).unwrap();
        assert_eq!(prefix(&PalaceRef::from(&palace)), before);
        assert_eq!(prefix(&PalaceRef::local(place.path().join("link"))), before);
        assert_eq!(prefix(&PalaceRef::local(palace.join("../palace"))), before);
        assert_ne!(
            prefix(&PalaceRef::local(place.path().join("other"))),
            before
        );
    }

    #[test]
    fn debug_output_does_not_hold_the_token() {
        let server = RunningServer {
            url: "http://127.0.0.1:1/mcp".into(),
            address: ([127, 0, 0, 1], 1).into(),
            pid: 1,
            started_at: String::new(),
            file: PathBuf::new(),
            token: Some("a-token-of-a-test".into()),
        };
        assert!(!format!("{server:?}").contains("a-token"));
    }
}
