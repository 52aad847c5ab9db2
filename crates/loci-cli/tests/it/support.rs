//! A temporary home with a palace in it, and the binary run in a clean environment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A temporary directory; the palace is `palace` in it.
pub(crate) struct Dir {
    root: TempDir,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Dir {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["home", "temporary"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn palace(&self) -> PathBuf {
        self.path("palace")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.palace().join("palace.sqlite3")
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The binary in this directory, with nothing of the tester's environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loci"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("temporary"))
            .env("LOCI_PALACE", self.palace())
            .current_dir(self.root.path())
            .stdin(Stdio::null());
        command
    }

    /// A shell line in which `$LOCI` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("bash");
        command
            .args(["-c", line])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("LOCI_PALACE", self.palace())
            .env("LOCI", env!("CARGO_BIN_EXE_loci"))
            .current_dir(self.root.path())
            .stdin(Stdio::null());
        Ran::of(&mut command)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command().args(arguments))
    }

    /// Runs with `--json`, expects this code, and gives the answer.
    pub(crate) fn json(&self, code: i32, arguments: &[&str]) -> Value {
        let ran = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    /// Runs with `--json`, expects a failure with this code, and gives the error object.
    pub(crate) fn error(&self, code: i32, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).error(code)
    }

    pub(crate) fn pipe(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Ran::from_output(&child.wait_with_output().unwrap())
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command()
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// All files below a directory.
    pub(crate) fn files(below: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files.extend(Self::files(&path));
            } else {
                files.push(path);
            }
        }
        files.sort();
        files
    }

    /// All files of the palace with what is in them.
    pub(crate) fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let read = |path: PathBuf| {
            let bytes = std::fs::read(&path).unwrap();
            (path, bytes)
        };
        Self::files(&self.palace()).into_iter().map(read).collect()
    }

    /// Files of the palace in which these letters stand, in upper or lower case.
    pub(crate) fn files_with(&self, letters: &str) -> Vec<PathBuf> {
        let holds = |bytes: &[u8]| {
            bytes
                .windows(letters.len())
                .any(|window| window.eq_ignore_ascii_case(letters.as_bytes()))
        };
        let files = self.contents().into_iter();
        files
            .filter(|(_, bytes)| holds(bytes))
            .map(|(path, _)| path)
            .collect()
    }

    /// Flips one bit in the last letter of a stored text, which stands in the database once. Nobody
    /// may have the palace open.
    pub(crate) fn damage(&self, text: &str) {
        let mut bytes = std::fs::read(self.database()).unwrap();
        let found: Vec<usize> = bytes
            .windows(text.len())
            .enumerate()
            .filter(|(_, window)| *window == text.as_bytes())
            .map(|(at, _)| at)
            .collect();
        assert_eq!(found.len(), 1, "`{text}` stands at {found:?}");
        bytes[found[0] + text.len() - 1] ^= 1;
        std::fs::write(self.database(), &bytes).unwrap();
    }

    /// Index files that are in use, which those set aside are not.
    pub(crate) fn index_files(&self) -> Vec<PathBuf> {
        Self::files(&self.palace().join("index"))
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "snapshot"))
            .collect()
    }

    /// A palace large enough that the process that filled it built an index.
    pub(crate) fn with_index() -> Self {
        let dir = Self::new();
        let records = (0..INDEXED).map(|n| {
            json!({
                "id": format!("d{n}"),
                "document": format!("drawer number {n}"),
                "metadata": {"n": n},
                "embedding": vector(n),
            })
        });
        let file = dir.write("many.jsonl", lines(records));
        let report = dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
        assert_eq!(report["added"], INDEXED);
        assert_eq!(dir.index_files().len(), 1);
        dir
    }

    /// The ids nearest to the vector of drawer `n`.
    pub(crate) fn nearest(&self, n: u64) -> Vec<String> {
        let file = self.write("query.json", serde_json::to_vec(&vector(n)).unwrap());
        let answer = self.json(0, &["query", "--vector", file.to_str().unwrap(), "-k", "5"]);
        texts(&answer["hits"], "id")
    }
}

/// Drawers in [`Dir::with_index`].
pub(crate) const INDEXED: u64 = 2_200;

/// A vector of eight numbers that differs from that of every other `n`.
pub(crate) fn vector(n: u64) -> Vec<f32> {
    let mut state = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    (0..8)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
        })
        .collect()
}

/// JSON lines.
pub(crate) fn lines(records: impl IntoIterator<Item = Value>) -> String {
    let mut text = String::new();
    for record in records {
        text.push_str(&record.to_string());
        text.push('\n');
    }
    text
}

/// One string field of every object of a list.
pub(crate) fn texts(list: &Value, field: &str) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|entry| entry[field].as_str().unwrap().to_owned())
        .collect()
}

/// A list of strings.
pub(crate) fn names(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).unwrap()
}

/// Sends a process a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(sent.unwrap().success());
}

/// Waits until a condition holds.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from_output(&command.output().unwrap())
    }

    pub(crate) fn from_output(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// Expects success.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// Expects a failure in JSON: the object, with nothing on stdout.
    pub(crate) fn error(self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let answer: Value =
            serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let error = answer["error"].clone();
        assert!(
            ["kind", "code", "message"]
                .iter()
                .all(|field| error[field].is_string()),
            "{answer}"
        );
        assert!(error.get("help").is_some(), "{answer}");
        error
    }
}
