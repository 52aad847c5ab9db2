//! Configuration: the user's `config.toml` and the palace's own `palace.toml`. Both are optional;
//! an unknown key is an error, so that a typo does not silently mean the default.

use std::path::{Path, PathBuf};

use loci_core::{Advice, Durability, Error, PalaceRef, Result, display_value, path_text};
use loci_files::owner::with_owner;
use serde::Deserialize;

use crate::embedders::OpenAiConfig;
use crate::location::{configured_directory, configured_palace, home};

/// Settings from a file. Every key may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The palace (user's file only): a directory, absolute or below `~/`, or a URL.
    pub palace: Option<PalaceRef>,
    /// Name of the backend.
    pub backend: Option<String>,
    /// `normal` or `full`.
    pub durability: Option<String>,
    /// Embedder of new collections: `static`, `minilm`, `openai` or `none`.
    pub embedder: Option<String>,
    /// How keys, tokens and passwords in written text are treated: `mask` or `keep`.
    pub secrets: Option<String>,
    /// Directory of the models (user's file only): absolute, or below `~/`.
    pub models: Option<PathBuf>,
    /// The endpoint of the embedder `openai`.
    pub openai: Option<OpenAiConfig>,
    /// Settings of the hooks (user's file only).
    pub hooks: Option<HooksConfig>,
    /// Permissions of MCP clients (user's file only).
    pub mcp: Option<McpConfig>,
}

/// Permissions of MCP clients. Every key may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpConfig {
    /// Folders and files that clients may mine; none if absent.
    pub mine_roots: Option<Vec<PathBuf>>,
}

/// Settings of the hooks. Every key may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksConfig {
    /// False switches all hooks off, as `LOCI_HOOKS=off` does.
    pub enabled: Option<bool>,
    /// Whether a message tells the user how much was saved; true if absent.
    pub message: Option<bool>,
    /// Number of stops between two saves; 1 if absent.
    pub interval: Option<u32>,
    /// Maximum number of tokens of the wake-up text; 800 if absent, 0 for none.
    pub wake_up_tokens: Option<usize>,
    /// Maximum number of tokens that are added to a prompt; 400 if absent, 0 for none.
    pub prompt_tokens: Option<usize>,
    /// Whether a prompt may get drawers of other wings that match it strongly; true if absent.
    pub other_wings: Option<bool>,
    /// Whether a failed tool call adds a line from memory; true if absent.
    pub failures: Option<bool>,
    /// Timeout of a hook in milliseconds; 2000 if absent, which is also the maximum.
    pub timeout_ms: Option<u64>,
}

impl Config {
    /// The user's configuration: `$XDG_CONFIG_HOME/loci/config.toml`.
    pub fn of_user() -> Result<Self> {
        match user_file() {
            Some(file) => Self::read(&file),
            None => Ok(Self::default()),
        }
    }

    /// The configuration of a palace: `palace.toml` in its directory.
    pub fn of_palace(palace: &PalaceRef) -> Result<Self> {
        let Some(directory) = palace.as_directory() else {
            return Ok(Self::default());
        };
        let file = directory.join("palace.toml");
        let config = Self::read(&file)?;
        if config.mcp.is_some() {
            // A palace may come from another person; it must not give clients access to files of
            // this user.
            return Err(Error::invalid(
                format!("configuration `{}`", file.display()),
                "`[mcp]` belongs in the user's config.toml",
            ));
        }
        Ok(config)
    }

    fn read(path: &Path) -> Result<Self> {
        match loci_files::own::read_to_string(path) {
            Ok(text) => {
                let config: Self = toml::from_str(&text).map_err(|error| {
                    Error::invalid(
                        format!("configuration `{}`", path_text(path)),
                        error.message().to_owned(),
                    )
                })?;
                config.with_full_paths(path)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(Self::default())
            }
            Err(error) => Err(Error::io("cannot read", path, with_owner(error, path))),
        }
    }

    /// The same with `~` replaced in all paths. A relative path is refused.
    fn with_full_paths(mut self, file: &Path) -> Result<Self> {
        let what = |key: &str| format!("configuration `{}`, `{key}`:", path_text(file));
        if let Some(PalaceRef::Directory(path)) = &self.palace {
            self.palace = Some(configured_palace(&what("palace"), path)?);
        }
        if let Some(path) = &mut self.models {
            *path = configured_directory(&what("models"), path)?;
        }
        Ok(self)
    }

    /// The configured durability, if any.
    pub fn durability(&self) -> Result<Option<Durability>> {
        match self.durability.as_deref() {
            None => Ok(None),
            Some("normal") => Ok(Some(Durability::Normal)),
            Some("full") => Ok(Some(Durability::Full)),
            Some(other) => Err(Error::invalid(
                "durability",
                format!("{} is not one of normal, full", display_value(other)),
            )),
        }
    }
}

/// The user's configuration file: `$XDG_CONFIG_HOME/loci/config.toml`. `None` if there is no home
/// directory.
pub(crate) fn user_file() -> Option<PathBuf> {
    xdg("XDG_CONFIG_HOME", ".config").map(|directory| directory.join("loci").join("config.toml"))
}

/// The palace that is used when none is named: the user's configuration, else
/// `$XDG_DATA_HOME/loci/palace`.
pub fn default_palace() -> Result<PalaceRef> {
    if let Some(palace) = Config::of_user()?.palace {
        return Ok(palace);
    }
    Ok(PalaceRef::Directory(data_directory()?.join("palace")))
}

/// `$XDG_DATA_HOME/loci`.
pub(crate) fn data_directory() -> Result<PathBuf> {
    xdg("XDG_DATA_HOME", ".local/share")
        .map(|directory| directory.join("loci"))
        .ok_or_else(|| {
            Error::invalid(
                "palace",
                "no default location, because there is no home directory",
            )
            .advise(Advice::NamePalace)
        })
}

/// `$XDG_STATE_HOME/loci`: the records of hooks and of `connect`. `None` if there is no home
/// directory.
pub fn state_directory() -> Option<PathBuf> {
    xdg("XDG_STATE_HOME", ".local/state").map(|directory| directory.join("loci"))
}

/// The file name of the hooks' log in the directory of their state.
pub const HOOK_LOG: &str = "log.jsonl";

/// The log of what hooks added to prompts. It holds beginnings of prompts.
pub(crate) fn hook_log() -> Option<PathBuf> {
    Some(state_directory()?.join("hooks").join(HOOK_LOG))
}

/// An XDG directory. Relative values are ignored, as the specification requires.
pub(crate) fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    set.or_else(|| home().map(|home| home.join(below_home)))
}

/// A variable whose value is a name. An empty one counts as not set; one that is not UTF-8 is
/// refused, so that it does not silently mean the default.
pub(crate) fn name_in_variable(variable: &str) -> Result<Option<String>> {
    match std::env::var(variable) {
        Ok(name) => Ok(Some(name).filter(|name| !name.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(value)) => Err(Error::invalid(
            format!("{variable} `{}`", path_text(Path::new(&value))),
            "not valid UTF-8",
        )),
    }
}
