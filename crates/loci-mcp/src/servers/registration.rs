//! The file of a server. It is written before the server accepts its first client, and removed at a
//! clean end.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_files::FileLock;
use loci_files::palace::FileId;
use loci_palace::{Error, PalaceRef, Result};

use super::record::{self, Record};
use super::{folder, prefix, real_place};
use crate::http::Auth;

/// Serialises servers that start and end at the same time.
const LOCK: &str = "servers.lock";
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The file of this server. Dropping it removes the file.
pub(crate) struct Registration {
    folder: PathBuf,
    path: PathBuf,
    /// The open file with its lock. As long as it is open, the server counts as running.
    file: File,
}

impl Registration {
    /// Writes the file of a server at `address`, and removes the files of killed servers. Fails if
    /// another server of the palace has the same port at another address.
    pub(crate) fn new(palace: &PalaceRef, address: SocketAddr, auth: &Auth) -> Result<Self> {
        let folder = folder::to_write()?;
        let _lock = FileLock::exclusive_within(&folder.join(LOCK), LOCK_LIMIT)?;
        remove_stale(&folder);
        let name = format!("{}{}.json", prefix(palace), address.port());
        let path = folder.join(&name);
        if path.symlink_metadata().is_ok() {
            return Err(Error::invalid(
                format!("port {}", address.port()),
                "another server of this palace uses it at another address; choose another port",
            ));
        }
        let record = Record {
            url: format!("http://{}/mcp", reachable(address)),
            address: reachable(address),
            token: auth.token().map(str::to_owned),
            palace: match palace {
                PalaceRef::Directory(path) => real_place(path).to_string_lossy().into_owned(),
                PalaceRef::Url(url) => url.to_string(),
            },
            pid: std::process::id(),
            started_at: loci_palace::clock::now().to_string(),
        };
        let file = write(&folder, &name, &record)
            .map_err(|error| Error::io("cannot write the server's token file", &path, error))?;
        Ok(Self { folder, path, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn remove(&self) -> Result<()> {
        let _lock = FileLock::exclusive_within(&self.folder.join(LOCK), LOCK_LIMIT)?;
        let id = |about: io::Result<fs::Metadata>| about.ok().map(|about| FileId::of(&about));
        if id(fs::symlink_metadata(&self.path)) == id(self.file.metadata()) {
            // The file is this server's own. A crash before this line leaves it without a lock on
            // it, which the next reader takes for the file of a killed server.
            fs::remove_file(&self.path)
                .map_err(|error| Error::io("cannot remove", &self.path, error))?;
        }
        Ok(())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}

fn write(folder: &Path, name: &str, record: &Record) -> io::Result<File> {
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let mut file = record::create(&temporary)?;
    file.try_lock().map_err(io::Error::from)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    // Nothing needs to be durable: after a crash no server holds the lock, whatever the file
    // contains. The lock is taken before the rename, so a reader that finds the name finds a
    // running server.
    fs::rename(&temporary, folder.join(name))?;
    Ok(file)
}

/// Removes the files that no server holds. The caller has the lock of the folder, so none of them
/// is of a server that is starting.
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_bytes();
        let is_record = name.starts_with(b"mcp-") && name.ends_with(b".json");
        let is_temporary = name.starts_with(b".mcp-") && name.ends_with(b".tmp");
        let path = entry.path();
        let is_stale = || record::open(&path).is_ok_and(|file| !record::is_held(&file));
        if (is_record || is_temporary) && is_stale() {
            // Its server is gone for good. A crash before this line leaves it to the next start.
            let _ = fs::remove_file(&path);
        }
    }
}

/// The address for clients on this machine. Not every system can connect to the address for all
/// interfaces.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
