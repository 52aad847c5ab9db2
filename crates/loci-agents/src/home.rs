//! The directories of the user. Tests pass another home.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use loci_palace::{Error, Result};

/// The directories of agents and Loci.
#[derive(Debug, Clone)]
pub struct Home {
    /// The home directory.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME/loci`, the state of wiring and hooks.
    pub state: PathBuf,
    /// The settings of desktop programs: `~/Library/Application Support`, `%APPDATA%`, or the same
    /// as `config`.
    pub applications: PathBuf,
    /// `$CLAUDE_CONFIG_DIR`, if it is set.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`, or `.codex` in the home directory.
    pub codex: PathBuf,
    /// `.gemini` in `$GEMINI_CLI_HOME` or in the home directory.
    pub gemini: PathBuf,
    /// The directories that are searched for programs.
    pub programs: Vec<PathBuf>,
}

impl Home {
    /// Returns the directories of the current user.
    pub fn of_user() -> Result<Self> {
        let home = std::env::home_dir()
            .filter(|home| home.is_absolute())
            .ok_or_else(|| Error::invalid("home directory", "not found; set HOME"))?;
        let mut this = Self::within(&home);
        if let Some(config) = absolute("XDG_CONFIG_HOME") {
            this.config = config;
        }
        if let Some(state) = loci_palace::state_directory() {
            this.state = state;
        }
        this.applications = applications(
            std::env::consts::OS,
            &home,
            &this.config,
            std::env::var_os("APPDATA"),
        );
        this.claude = absolute("CLAUDE_CONFIG_DIR");
        if let Some(codex) = absolute("CODEX_HOME") {
            this.codex = codex;
        }
        if let Some(gemini) = absolute("GEMINI_CLI_HOME") {
            this.gemini = gemini.join(".gemini");
        }
        if let Some(path) = std::env::var_os("PATH") {
            this.programs = std::env::split_paths(&path).collect();
        }
        Ok(this)
    }

    /// Returns the directories for this home directory, ignoring all variables. No program is
    /// found.
    pub fn within(home: &Path) -> Self {
        let config = home.join(".config");
        Self {
            state: home.join(".local/state/loci"),
            applications: applications(std::env::consts::OS, home, &config, None),
            claude: None,
            codex: home.join(".codex"),
            gemini: home.join(".gemini"),
            programs: Vec::new(),
            home: home.to_owned(),
            config,
        }
    }
}

/// Returns the directory that a variable names, if it is absolute. Agents use these variables as
/// they are, so a relative one would mean another directory wherever an agent is started.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

fn applications(system: &str, home: &Path, config: &Path, appdata: Option<OsString>) -> PathBuf {
    match system {
        "macos" => home.join("Library").join("Application Support"),
        "windows" => appdata
            .filter(|path| !path.is_empty())
            .map_or_else(|| home.join("AppData").join("Roaming"), PathBuf::from),
        _ => config.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_desktop_programs_are_where_each_system_keeps_them() {
        let (home, config) = (Path::new("/home/me"), Path::new("/home/me/.config"));
        let places = [
            ("linux", None, "/home/me/.config"),
            ("freebsd", None, "/home/me/.config"),
            ("macos", None, "/home/me/Library/Application Support"),
            ("windows", None, "/home/me/AppData/Roaming"),
            ("windows", Some("/roaming".into()), "/roaming"),
        ];
        for (system, appdata, place) in places {
            assert_eq!(
                applications(system, home, config, appdata),
                Path::new(place)
            );
        }
    }
}
