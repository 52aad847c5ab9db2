//! One directory for each peer, with a virtualenv or npm packages, in the user's cache.
//!
//! A `complete` marker is written last and names the installed packages, so a killed or outdated
//! installation is replaced. A lock prevents two installations at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, bail};

use super::{node, python};

/// A program whose files Loci reads, or that tests and benchmarks compare it with.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The variable in which tests look for the path of its program.
    pub(crate) variable: &'static str,
    runtime: Runtime,
    packages: &'static [&'static str],
}

/// The runtime of a peer, which decides what its program is.
#[derive(Clone, Copy)]
enum Runtime {
    /// Python 3 of at least this minor version. The program is the Python of a virtualenv.
    Python(u32),
    /// Node. The program is this script under `node_modules`.
    Node(&'static str),
}

/// The release that benchmarks, filters and repaired directories are compared with.
pub(crate) const CHROMADB: Peer = Peer {
    name: "chromadb-1.5.9",
    variable: "LOCI_PEER_CHROMADB_1_5_9",
    runtime: Runtime::Python(9),
    packages: &["chromadb==1.5.9", "numpy"],
};

/// Includes the packages that write its model, which is not part of it.
pub(crate) const MEMPALACE: Peer = Peer {
    name: "mempalace-3.11.0",
    variable: "LOCI_PEER_MEMPALACE",
    runtime: Runtime::Python(9),
    packages: &["mempalace==3.11.0", "onnx", "safetensors"],
};

/// The largest come first, so that two parallel installers end at about the same time.
static PEERS: [Peer; 9] = [
    MEMPALACE,
    CHROMADB,
    Peer {
        name: "chromadb-0.6.3",
        variable: "LOCI_PEER_CHROMADB_0_6_3",
        runtime: Runtime::Python(9),
        packages: &["chromadb==0.6.3"],
    },
    Peer {
        name: "chromadb-0.5.0",
        variable: "LOCI_PEER_CHROMADB_0_5",
        runtime: Runtime::Python(9),
        packages: &["chromadb==0.5.0", "numpy<2"],
    },
    Peer {
        name: "memtomem-0.4.0",
        variable: "LOCI_PEER_MEMTOMEM",
        runtime: Runtime::Python(12),
        // memtomem loads an extension into SQLite, which the sqlite3 of many Pythons cannot.
        packages: &[
            "memtomem==0.4.0",
            "pysqlite3-binary==0.5.4.post2; sys_platform == 'linux' and platform_machine == 'x86_64'",
        ],
    },
    Peer {
        name: "cortexadb-1.0.1",
        variable: "LOCI_PEER_CORTEXADB",
        runtime: Runtime::Python(9),
        packages: &["cortexadb==1.0.1"],
    },
    Peer {
        name: "inspector-2.12.0",
        variable: "LOCI_PEER_INSPECTOR",
        runtime: Runtime::Node("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
        packages: &["@modelcontextprotocol/inspector@2.12.0"],
    },
    // This release supports the protocol revision of July 2026 and earlier ones. The other release
    // supports only the earlier ones.
    Peer {
        name: "mcp-2.3.0",
        variable: "LOCI_PEER_MCP",
        runtime: Runtime::Python(11),
        packages: &["mcp==2.3.0", "jsonschema"],
    },
    Peer {
        name: "mcp-1.30.0",
        variable: "LOCI_PEER_MCP_1",
        runtime: Runtime::Python(11),
        packages: &["mcp==1.30.0", "jsonschema"],
    },
];

/// The peers that tests can use.
#[derive(Default)]
pub(crate) struct Peers {
    /// Variables, each with the program that it names.
    pub(crate) found: Vec<(&'static str, PathBuf)>,
    /// One line for each peer that could not be installed.
    pub(crate) missing: Vec<String>,
}

/// Every peer, installed if it is missing. A peer whose variable is already set is skipped.
pub(crate) fn all() -> Peers {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut peers = Peers::default();
        while let Some(peer) = PEERS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if std::env::var_os(peer.variable).is_some() {
                continue;
            }
            match peer.program() {
                Ok(program) => peers.found.push((peer.variable, program)),
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
    /// Its program. Installs the peer if it is missing.
    pub(crate) fn program(&self) -> anyhow::Result<PathBuf> {
        self.program_in(&cache()?)
    }

    fn program_in(&self, cache: &Path) -> anyhow::Result<PathBuf> {
        let directory = cache.join(self.name);
        let program = match self.runtime {
            Runtime::Python(_) => python::executable(&directory),
            Runtime::Node(script) => directory.join("node_modules").join(script),
        };
        let marker = directory.join("complete");
        let packages = self.packages.join("\n");
        let _lock = lock(cache, self.name)?;
        if program.exists() && fs::read_to_string(&marker).is_ok_and(|text| text == packages) {
            return Ok(program);
        }
        println!("installing {} into {}", self.name, directory.display());
        match self.runtime {
            Runtime::Python(minor) => python::install(&directory, minor, self.packages),
            Runtime::Node(_) => node::install(&directory, &program, self.packages),
        }?;
        fs::write(&marker, packages)?;
        Ok(program)
    }
}

/// `$XDG_CACHE_HOME/loci-peers` or `~/.cache/loci-peers`.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = match named.filter(absolute) {
        Some(named) => named,
        None => std::env::home_dir()
            .context("no home directory; set XDG_CACHE_HOME to a directory for the peers")?
            .join(".cache"),
    };
    Ok(base.join("loci-peers"))
}

/// Takes the lock of a peer. It is held until the file is dropped.
pub(crate) fn lock(cache: &Path, name: &str) -> anyhow::Result<File> {
    fs::create_dir_all(cache)?;
    let lock = File::create(cache.join(format!("{name}.lock")))?;
    lock.lock()?;
    Ok(lock)
}

/// Runs a command to its end. The error of a failure is the last line of its stderr.
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
        runtime: Runtime::Python(9),
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
        let program = NOTHING.program_in(cache.path()).unwrap();
        assert_eq!(fs::read(program).unwrap(), b"");
    }

    #[test]
    fn an_installation_of_other_packages_is_replaced() {
        let cache = installed("another");
        let missing = Peer {
            runtime: Runtime::Python(99),
            ..NOTHING
        };
        let error = missing.program_in(cache.path()).unwrap_err();
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
