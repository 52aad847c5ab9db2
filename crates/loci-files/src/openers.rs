//! Finds the processes that have a file open. Works only on Linux, and only for processes that this
//! user may inspect.

use std::fmt;
use std::path::Path;

/// A process that has a file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenerProcess {
    /// The process id.
    pub pid: u32,
    /// The process name.
    pub name: String,
}

impl fmt::Display for OpenerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.name, self.pid)
    }
}

/// The other processes that have `path` open.
#[cfg(target_os = "linux")]
pub fn openers_of(path: &Path) -> Vec<OpenerProcess> {
    let (Ok(path), Ok(processes)) = (path.canonicalize(), std::fs::read_dir("/proc")) else {
        return Vec::new();
    };
    let own = std::process::id();
    let mut found = Vec::new();
    for process in processes.flatten() {
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .filter(|pid| *pid != own)
        else {
            continue;
        };
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let holds = files
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == path));
        if holds {
            let name = crate::own::read_to_string(&process.path().join("comm")).unwrap_or_default();
            found.push(OpenerProcess {
                pid,
                name: name.trim().to_owned(),
            });
        }
    }
    found.sort_by_key(|opener| opener.pid);
    found
}

/// Other systems do not provide this.
#[cfg(not(target_os = "linux"))]
pub fn openers_of(_: &Path) -> Vec<OpenerProcess> {
    Vec::new()
}
