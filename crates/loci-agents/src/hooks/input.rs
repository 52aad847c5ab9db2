//! The input from a harness: one JSON object. Missing fields and fields of an unexpected type count
//! as absent.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::harness::Harness;

/// The most bytes of an input.
pub(super) const MAX_INPUT_BYTES: u64 = 10 << 20;

/// An input, with the same accessors for all harnesses.
#[derive(Debug, Default)]
pub(super) struct Input {
    value: Value,
}

impl Input {
    /// Reads to the end, so that the writer does not get a broken pipe. The error says why the
    /// input is unusable.
    pub(super) fn read(input: &mut dyn Read) -> Result<Self, String> {
        let mut bytes = Vec::new();
        input
            .take(MAX_INPUT_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("cannot read the input: {error}"))?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            let _ = std::io::copy(input, &mut std::io::sink());
            return Err(format!("the input is longer than {MAX_INPUT_BYTES} bytes"));
        }
        if bytes.trim_ascii().is_empty() {
            return Err("there was no input on stdin".to_owned());
        }
        match serde_json::from_slice(&bytes) {
            Ok(value @ Value::Object(_)) => Ok(Self { value }),
            Ok(_) => Err("the input is not a JSON object".to_owned()),
            Err(error) => Err(format!("the input is not JSON: {error}")),
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let text = self.value.get(key)?.as_str()?;
        (!text.trim().is_empty()).then_some(text)
    }

    pub(super) fn field(&self, key: &str) -> Option<&Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn is(&self, key: &str) -> bool {
        self.value.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// The id of the session.
    pub(super) fn session(&self) -> &str {
        self.text("session_id")
            .or_else(|| self.text("conversation_id"))
            .unwrap_or_default()
    }

    /// The path of the session's transcript, if the harness passes it.
    pub(super) fn transcript(&self, home: &Path) -> Option<PathBuf> {
        let path = self.text("transcript_path")?;
        let path = match path.strip_prefix("~/") {
            Some(below) => home.join(below),
            None => PathBuf::from(path),
        };
        if path.is_absolute() {
            return Some(path);
        }
        Some(Path::new(self.text("cwd")?).join(path)).filter(|path| path.is_absolute())
    }

    /// Returns the project folder of the session. An agent may change to other folders, so the
    /// folder in which it was started counts. Its transcript names the same folder.
    pub(super) fn folder(&self, harness: Harness) -> Option<String> {
        let here = self.text("cwd").map(str::to_owned).or_else(|| {
            let roots = self.value.get("workspace_roots")?.as_array()?;
            Some(roots.first()?.as_str()?.to_owned())
        });
        let project = harness
            .folder_variable()
            .and_then(std::env::var_os)
            .and_then(|folder| folder.into_string().ok())
            .filter(|folder| Path::new(folder).is_absolute());
        match (here, project) {
            (Some(here), Some(project)) if Path::new(&here).starts_with(&project) => Some(project),
            (None, project) => project.or_else(|| {
                let folder = std::env::current_dir().ok()?;
                folder.into_os_string().into_string().ok()
            }),
            (here, _) => here,
        }
    }
}
