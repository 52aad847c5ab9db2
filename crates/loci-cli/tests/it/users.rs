//! The binary run as users other than the one that runs the tests. Needs root; without it the tests
//! say so and do nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Dir, Ran};

/// Two users whom nobody is.
pub(crate) const OWNER: u32 = 64_321;
pub(crate) const OTHER: u32 = 64_322;

/// A home of `OWNER`, with a palace in it when somebody makes one.
pub(crate) struct Home {
    pub(crate) dir: Dir,
    /// The binary, where every user can run it.
    binary: PathBuf,
}

impl Home {
    /// `None`, with a printed reason, where the tests cannot act as other users.
    pub(crate) fn new() -> Option<Self> {
        let dir = Dir::new();
        if fs::metadata(dir.path("")).unwrap().uid() != 0 {
            println!("SKIPPED: acting as other users needs root");
            return None;
        }
        let mut binary = PathBuf::from(env!("CARGO_BIN_EXE_loci"));
        let runs = |binary: &Path| {
            let mut command = Command::new(binary);
            command.arg("--version").uid(OWNER).gid(OWNER);
            command.output().is_ok_and(|output| output.status.success())
        };
        if !runs(&binary) {
            let copy = dir.path("loci");
            fs::copy(&binary, &copy).unwrap();
            binary = copy;
        }
        fs::set_permissions(dir.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        give(&dir.path(""), OWNER);
        if !runs(&binary) {
            println!("SKIPPED: another user cannot run the binary here");
            return None;
        }
        Some(Self { dir, binary })
    }

    /// The binary in the owner's home, run as this user.
    pub(crate) fn command(&self, uid: u32) -> Command {
        let mut command = Command::new(&self.binary);
        let like = self.dir.command();
        command.env_clear();
        for (name, value) in like.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command
            .current_dir(self.dir.path(""))
            .stdin(std::process::Stdio::null())
            .uid(uid)
            .gid(uid);
        if uid == OTHER {
            command
                .env("HOME", self.dir.path("guest"))
                .env("TMPDIR", self.dir.path("guest"));
        }
        command
    }

    pub(crate) fn run(&self, uid: u32, arguments: &[&str]) -> Ran {
        Ran::of(self.command(uid).args(arguments))
    }

    /// Runs with `--json`, expects this code, and gives the answer.
    pub(crate) fn json(&self, uid: u32, code: i32, arguments: &[&str]) -> Value {
        let ran = self.run(uid, &[arguments, &["--json"]].concat());
        assert_eq!(ran.code, code, "uid {uid}: {arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    /// A home for `OTHER`.
    pub(crate) fn with_guest(self) -> Self {
        fs::create_dir(self.dir.path("guest")).unwrap();
        give(&self.dir.path("guest"), OTHER);
        self
    }

    /// Everything below the home that does not belong to its owner.
    pub(crate) fn strangers(&self) -> Vec<PathBuf> {
        let guest = self.dir.path("guest");
        let mut found = Vec::new();
        let mut folders = vec![self.dir.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let (path, metadata) = (entry.path(), entry.metadata().unwrap());
                if path == guest || path == self.binary {
                    continue;
                }
                if (metadata.uid(), metadata.gid()) != (OWNER, OWNER) {
                    found.push(path.clone());
                }
                if metadata.is_dir() {
                    folders.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

/// Gives a file or a whole directory to a user.
pub(crate) fn give(path: &Path, uid: u32) {
    lchown(path, Some(uid), Some(uid)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            give(&entry.path(), uid);
        }
    }
}

/// Sets the mode of a directory, of its folders and of its files.
pub(crate) fn set_modes(path: &Path, folders: u32, files: u32) {
    let is_folder = path.is_dir();
    let mode = if is_folder { folders } else { files };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if is_folder {
        for entry in fs::read_dir(path).unwrap().flatten() {
            set_modes(&entry.path(), folders, files);
        }
    }
}
