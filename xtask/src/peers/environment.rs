//! One virtualenv for each peer, made once and kept in the user's cache directory.
//!
//! A `complete` marker is written last and names what was installed, so that a killed or changed installation is made anew. A lock keeps
//! two runs apart.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, bail};

/// A program that Loci reads from, is judged by or measured beside.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// Where tests look for its Python.
    pub(crate) variable: &'static str,
    /// The oldest Python 3 that it runs on.
    minor: u32,
    packages: &'static [&'static str],
}

/// The release that figures, meanings and repaired directories are compared with.
pub(crate) const CHROMADB: Peer = Peer {
    name: "chromadb-1.5.9",
    variable: "LOCI_PEER_CHROMADB_1_5_9",
    minor: 9,
    packages: &["chromadb==1.5.9", "numpy"],
};

/// With what writes its model, which is not part of it.
pub(crate) const MEMPALACE: Peer = Peer {
    name: "mempalace-3.11.0",
    variable: "LOCI_PEER_MEMPALACE",
    minor: 9,
    packages: &["mempalace==3.11.0", "onnx", "safetensors"],
};

/// The largest first, so that two installations at a time end together.
static PEERS: [Peer; 6] = [
    MEMPALACE,
    CHROMADB,
    Peer {
        name: "chromadb-0.6.3",
        variable: "LOCI_PEER_CHROMADB_0_6_3",
        minor: 9,
        packages: &["chromadb==0.6.3"],
    },
    Peer {
        name: "chromadb-0.5.0",
        variable: "LOCI_PEER_CHROMADB_0_5",
        minor: 9,
        packages: &["chromadb==0.5.0", "numpy<2"],
    },
    Peer {
        name: "memtomem-0.4.0",
        variable: "LOCI_PEER_MEMTOMEM",
        minor: 12,
        // memtomem loads an extension into SQLite, which the sqlite3 of many Pythons cannot.
        packages: &[
            "memtomem==0.4.0",
            "pysqlite3-binary==0.5.4.post2; sys_platform == 'linux' and platform_machine == 'x86_64'",
        ],
    },
    Peer {
        name: "cortexadb-1.0.1",
        variable: "LOCI_PEER_CORTEXADB",
        minor: 9,
        packages: &["cortexadb==1.0.1"],
    },
];

/// What tests get of the peers.
#[derive(Default)]
pub(crate) struct Peers {
    /// Variables and the Pythons that they name.
    pub(crate) found: Vec<(&'static str, PathBuf)>,
    /// One line for each peer that could not be had.
    pub(crate) missing: Vec<String>,
}

/// Every peer, installed where it is missing. A variable that is set already is left to whoever set it.
pub(crate) fn all() -> Peers {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut peers = Peers::default();
        while let Some(peer) = PEERS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if std::env::var_os(peer.variable).is_some() {
                continue;
            }
            match peer.python() {
                Ok(python) => peers.found.push((peer.variable, python)),
                Err(error) => {
                    let line = format!("tests with the real {}: {error:#}", peer.name);
                    peers.missing.push(line);
                }
            }
        }
        peers
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut peers = work();
        if let Ok(more) = other.join() {
            peers.found.extend(more.found);
            peers.missing.extend(more.missing);
        }
        peers
    })
}

impl Peer {
    /// Its Python, installed when missing.
    pub(crate) fn python(&self) -> anyhow::Result<PathBuf> {
        self.python_in(&cache()?)
    }

    fn python_in(&self, cache: &Path) -> anyhow::Result<PathBuf> {
        let directory = cache.join(self.name);
        let python = directory.join("bin").join("python");
        let marker = directory.join("complete");
        let packages = self.packages.join("\n");
        let _lock = lock(cache, self.name)?;
        if python.exists() && fs::read_to_string(&marker).is_ok_and(|text| text == packages) {
            return Ok(python);
        }
        let base = interpreter(self.minor)?;
        println!("installing {} into {}", self.name, directory.display());
        run(Command::new(base)
            .args(["-m", "venv", "--clear"])
            .arg(&directory))
        .context("making a virtualenv")?;
        run(pip(&python, "install").args(self.packages))
            .with_context(|| format!("installing {}", self.name))?;
        fs::write(&marker, packages)?;
        Ok(python)
    }
}

/// `$XDG_CACHE_HOME/loci-peers` or `~/.cache/loci-peers`.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = match named.filter(absolute) {
        Some(named) => named,
        None => std::env::home_dir()
            .context("no home directory; set XDG_CACHE_HOME to where the peers may be kept")?
            .join(".cache"),
    };
    Ok(base.join("loci-peers"))
}

/// Holds until it is dropped.
pub(crate) fn lock(cache: &Path, name: &str) -> anyhow::Result<File> {
    fs::create_dir_all(cache)?;
    let lock = File::create(cache.join(format!("{name}.lock")))?;
    lock.lock()?;
    Ok(lock)
}

/// A Python 3 of at least this minor version: on the path, or one that pyenv keeps.
fn interpreter(minor: u32) -> anyhow::Result<PathBuf> {
    let mut candidates = vec![PathBuf::from("python3")];
    candidates.extend((minor..minor + 6).map(|minor| PathBuf::from(format!("python3.{minor}"))));
    let home = std::env::home_dir().unwrap_or_default();
    if let Ok(versions) = fs::read_dir(home.join(".pyenv").join("versions")) {
        candidates.extend(
            versions
                .flatten()
                .map(|entry| entry.path().join("bin/python3")),
        );
    }
    let question = format!("import sys, venv; sys.exit(sys.version_info < (3, {minor}))");
    let suits = |python: &PathBuf| {
        let mut command = Command::new(python);
        run(command.args(["-c", &question])).is_ok()
    };
    match candidates.into_iter().find(suits) {
        Some(python) => Ok(python),
        None => bail!("there is no Python 3.{minor} or newer"),
    }
}

/// pip of this Python, quiet.
pub(crate) fn pip(python: &Path, verb: &str) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", verb, "--quiet", "--disable-pip-version-check"]);
    command
}

/// Runs to the end; a failure gives the last line that was said.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("{}", text.lines().last().unwrap_or("no message"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Peer = Peer {
        name: "nothing",
        variable: "LOCI_PEER_NOTHING",
        minor: 9,
        packages: &[],
    };

    /// A directory that looks installed, with this marker.
    fn installed(marker: &str) -> tempfile::TempDir {
        let cache = tempfile::tempdir().unwrap();
        let binaries = cache.path().join("nothing").join("bin");
        fs::create_dir_all(&binaries).unwrap();
        fs::write(binaries.join("python"), "").unwrap();
        fs::write(cache.path().join("nothing").join("complete"), marker).unwrap();
        cache
    }

    #[test]
    fn a_complete_installation_is_used_as_it_is() {
        let cache = installed("");
        let python = NOTHING.python_in(cache.path()).unwrap();
        assert_eq!(fs::read(python).unwrap(), b"");
    }

    #[test]
    fn an_installation_of_something_else_is_made_anew() {
        let cache = installed("another");
        let missing = Peer {
            minor: 99,
            ..NOTHING
        };
        let error = missing.python_in(cache.path()).unwrap_err();
        assert_eq!(error.to_string(), "there is no Python 3.99 or newer");
    }

    #[test]
    fn every_peer_has_a_name_and_a_variable_of_its_own() {
        for (place, peer) in PEERS.iter().enumerate() {
            let others = PEERS.iter().take(place);
            let mut same =
                others.filter(|other| other.name == peer.name || other.variable == peer.variable);
            assert!(same.next().is_none(), "{}", peer.name);
        }
    }
}
