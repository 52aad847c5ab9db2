//! Which machine this is. The ledger of mining records it with every source, since a path means
//! something on one machine only.
//!
//! `LOCI_MACHINE` decides if it is set, for containers, whose ids are random or shared. Otherwise it is
//! the machine id of the system, hashed, so that no palace tells it to anybody. A system without one
//! gets a random id, kept in the state directory.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

use loci_core::{Error, Machine, Result};
use loci_files::{foreign, own};

use crate::config::{name_in_variable, state_directory};

const VARIABLE: &str = "LOCI_MACHINE";
const SYSTEM: &str = "/etc/machine-id";
/// In the state directory.
const KEPT: &str = "machine-id";
/// Keeps the ids of Loci apart from those that other programs derive from the same machine id.
const CONTEXT: &str = "loci 2026 machine of a mined source";
const LONGEST_HOST: usize = 255;

/// The machine that this process runs on. Without an id if none is known and none can be kept.
pub(crate) fn this_machine() -> Machine {
    static THIS: OnceLock<Machine> = OnceLock::new();
    THIS.get_or_init(|| match find() {
        Ok(machine) => machine,
        Err(error) => {
            tracing::warn!(
                "this machine has no id, so its sources belong to every machine: {error}"
            );
            Machine {
                host: host_name(),
                ..Machine::default()
            }
        }
    })
    .clone()
}

fn find() -> Result<Machine> {
    if let Some(name) = name_in_variable(VARIABLE)? {
        return Ok(named(&name));
    }
    let host = host_name();
    if let Some(id) = foreign::read_to_string(Path::new(SYSTEM))
        .ok()
        .as_deref()
        .and_then(hashed)
    {
        return Ok(Machine { id, host });
    }
    let directory = state_directory()
        .ok_or_else(|| Error::invalid(VARIABLE, "is not set, and there is no home directory"))?;
    let id = kept_in(&directory)?;
    Ok(Machine { id, host })
}

/// The machine of this name in `LOCI_MACHINE`.
fn named(name: &str) -> Machine {
    Machine {
        id: digest(format!("name:{name}").as_bytes()),
        host: name.chars().take(LONGEST_HOST).collect(),
    }
}

/// The id for a machine id of the system; nothing for a file that holds none.
fn hashed(text: &str) -> Option<String> {
    let text = text.trim();
    let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| digest(text.to_ascii_lowercase().as_bytes()))
}

fn digest(bytes: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(bytes);
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// The random id of this directory, drawn at the first call.
fn kept_in(directory: &Path) -> Result<String> {
    let path = directory.join(KEPT);
    let fail = |source| Error::io("cannot write", &path, source);
    if let Some(id) = kept_at(&path)? {
        return Ok(id);
    }
    fs::create_dir_all(directory).map_err(fail)?;
    let drawn = uuid::Uuid::new_v4().simple().to_string();
    let unfinished = directory.join(format!("{KEPT}.{drawn}.tmp"));
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    let mut file = own::create_with(&unfinished, &options).map_err(fail)?;
    file.write_all(drawn.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(fail)?;
    // The file gets its name whole and once: of two processes that draw an id, the first one's counts.
    let linked = fs::hard_link(&unfinished, &path);
    let _ = fs::remove_file(&unfinished);
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(fail(error)),
        _ => kept_at(&path)?.ok_or_else(|| fail(std::io::Error::other("it is gone again"))),
    }
}

fn kept_at(path: &Path) -> Result<Option<String>> {
    match own::read_to_string(path) {
        Ok(text) => match hashed(&text) {
            Some(id) => Ok(Some(id)),
            None => Err(Error::io(
                "cannot use",
                path,
                std::io::Error::other("it holds no id; delete it"),
            )),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("cannot read", path, error)),
    }
}

fn host_name() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    name.chars().take(LONGEST_HOST).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_machine_id_of_the_system_is_hashed_and_nothing_else_is_one() {
        let id = hashed("0123456789abcdef0123456789abcdef\n").unwrap();
        assert_eq!(id.len(), 32);
        assert_ne!(id, "0123456789abcdef0123456789abcdef");
        assert_eq!(hashed("0123456789ABCDEF0123456789ABCDEF"), Some(id));
        for text in [
            "",
            "uninitialized",
            "0123",
            "zz23456789abcdef0123456789abcdef",
        ] {
            assert_eq!(hashed(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_decides_the_machine_and_is_its_host() {
        assert_eq!(named("laptop"), named("laptop"));
        assert_ne!(named("laptop").id, named("desk").id);
        assert_eq!(named("laptop").host, "laptop");
    }

    #[test]
    fn a_random_id_is_drawn_once_and_kept_private() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state/loci");
        let id = kept_in(&state).unwrap();
        assert_eq!(kept_in(&state).unwrap(), id);
        let mode = fs::metadata(state.join(KEPT)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
        own::write(&state.join(KEPT), "").unwrap();
        assert!(kept_in(&state).is_err());
    }
}
