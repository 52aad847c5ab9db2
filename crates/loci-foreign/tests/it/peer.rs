//! The real programs write, and Loci reads. If a program is missing, its test prints SKIPPED and
//! returns.

use std::path::Path;
use std::process::Command;

use loci_foreign::ForeignPalace;
use tempfile::TempDir;

use crate::scene::{Scene, codes};
use crate::{cortexa, mempalace, memtomem};

/// Runs a script of `xtask/peers` under the Python that an environment variable names.
fn write(variable: &str, script: &str, arguments: &[&str]) -> Option<TempDir> {
    let Some(python) = std::env::var_os(variable) else {
        eprintln!("SKIPPED: {variable} names no Python");
        return None;
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/peers");
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(scripts.join(script))
        .args(arguments)
        .arg(home.path().join("made"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(home)
}

#[test]
fn what_the_real_cortexadb_writes_is_read() {
    let Some(home) = write("LOCI_PEER_CORTEXADB", "cortexadb_write.py", &[]) else {
        return;
    };
    for name in cortexa::SCENES {
        let scene = Scene::copy(&home.path().join("made").join(name));
        cortexa::assert_whole(&scene, &cortexa::open(&scene), name);
    }
}

#[test]
fn what_the_real_memtomem_writes_is_read() {
    let Some(home) = write("LOCI_PEER_MEMTOMEM", "memtomem_write.py", &[]) else {
        return;
    };
    for name in ["with_vectors", "words_only"] {
        let scene = Scene::copy(&home.path().join("made").join(name));
        let palace = memtomem::open(&scene);
        memtomem::assert_whole(&scene, &palace);
        assert_eq!(codes(&palace).contains(&"no_vectors"), name == "words_only");
    }
}

#[test]
fn what_the_real_mempalace_writes_is_read() {
    let Some(home) = write(
        "LOCI_PEER_MEMPALACE",
        "mempalace_write.py",
        &["sqlite_exact"],
    ) else {
        return;
    };
    let scene = Scene::copy(&home.path().join("made"));
    let palace = mempalace::open(&scene);
    mempalace::assert_whole(&scene, &palace);
    assert_eq!(palace.collections().len(), 2);
}
