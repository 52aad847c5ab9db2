//! Where the user's files are. Tests give another home.

use std::path::PathBuf;

use loci_palace::{Error, Result};

/// The directories that agents and Loci keep their files in.
#[derive(Debug, Clone)]
pub struct Home {
    /// The home directory.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME/loci`: what wiring and hooks note of themselves.
    pub state: PathBuf,
}

impl Home {
    /// Those of the user.
    pub fn of_user() -> Result<Self> {
        let home = std::env::home_dir()
            .filter(|home| home.is_absolute())
            .ok_or_else(|| Error::invalid("home directory", "there is none; set HOME"))?;
        let config = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .unwrap_or_else(|| home.join(".config"));
        let state = loci_palace::state_directory()
            .unwrap_or_else(|| home.join(".local").join("state").join("loci"));
        Ok(Self {
            home,
            config,
            state,
        })
    }
}
