//! The checks of `loci doctor`: where files are and which setting decides that, which processes use
//! the palace, the free disk space, whether the models are installed, and whether a drawer can be
//! written, found and forgotten.
//!
//! All checks only read, except the round trip, which leaves nothing behind; see [`loci_sqlite`].

mod directories;
mod locks;

use std::time::{Duration, Instant};

use loci_core::{
    Embedder as _, EmbedderIdentity, Error, PalaceRef, Result, SelfTest, SelfTestStep,
};
use loci_embed::{MINILM_NAME, STATIC_NAME, StaticEmbedder, is_earlier_table};
use serde::Serialize;

use crate::config::Config;
use crate::embedders::OPENAI_EMBEDDER;
use crate::palace::{Configured, OpenOptions, Palace};

pub use directories::{Disk, UserDirectories, disk_of, wal_bytes};
pub use locks::{Process, users_of};

/// Whether the embedder of a collection is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It is installed.
    Here,
    /// It is an earlier version of the built-in table. The present one goes on with its vectors.
    Earlier,
    /// Its endpoint is configured. Whether the endpoint answers was not checked.
    Configured,
    /// It is unavailable. The built-in table replaces it if `stand_in` is true; otherwise only
    /// words are searched.
    Missing {
        /// The reason.
        why: String,
        /// Whether the built-in table can replace it.
        stand_in: bool,
    },
}

/// The result of writing, reading, finding and forgetting a drawer.
#[derive(Debug)]
pub struct RoundTrip {
    /// The steps that worked, in order: `write`, `read`, `find`, `forget`, `commit`.
    pub done: Vec<&'static str>,
    /// The error that stopped it.
    pub trouble: Option<Error>,
    /// How long it took.
    pub took: Duration,
}

/// The versions of SQLite and of the database format in this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineVersions {
    /// SQLite.
    pub sqlite: &'static str,
    /// The newest format that it reads, which is also the one that it writes.
    pub format: i64,
}

impl EngineVersions {
    /// The versions of this build.
    pub fn of_this_build() -> Self {
        Self {
            sqlite: loci_sqlite::sqlite_version(),
            format: loci_sqlite::FORMAT,
        }
    }
}

impl Palace {
    /// [`Palace::connect`], but a configuration file that cannot be read counts as missing.
    pub fn connect_leniently(place: impl Into<PalaceRef>, options: &OpenOptions) -> Result<Self> {
        let reference = place.into();
        let configured = Configured {
            of_palace: Config::of_palace(&reference).unwrap_or_default(),
            of_user: Config::of_user().unwrap_or_default(),
        };
        let registry = configured.registry(options)?;
        Self::connect_with(&registry, reference, options, configured)
    }

    /// Writes a drawer with a unique text, reads it, finds it and forgets it. It leaves no trace,
    /// even if the process is killed, and no other process sees it.
    pub fn round_trip(&self) -> Result<RoundTrip> {
        let since = Instant::now();
        let text = format!("round trip {}", uuid::Uuid::new_v4().simple());
        let vector = StaticEmbedder::builtin().embed(&[&text])?;
        let vector = vector.into_iter().next().unwrap_or_default();
        let SelfTest { done, trouble } = self.backend.self_test(&self.reference, &text, &vector)?;
        Ok(RoundTrip {
            done: done.into_iter().map(step_name).collect(),
            trouble,
            took: since.elapsed(),
        })
    }

    /// Whether the embedder of a collection is available. It opens no model and calls no endpoint.
    pub fn presence(&self, pinned: &EmbedderIdentity) -> Presence {
        let missing = |why: String| Presence::Missing {
            why,
            stand_in: pinned.name == MINILM_NAME,
        };
        match pinned.name.as_str() {
            STATIC_NAME if StaticEmbedder::builtin().identity() == *pinned => Presence::Here,
            STATIC_NAME if is_earlier_table(pinned) => Presence::Earlier,
            STATIC_NAME => missing("another version of the built-in table made it".into()),
            MINILM_NAME => match self.stored(pinned) {
                Ok(()) => Presence::Here,
                Err(why) => missing(why),
            },
            name => match name.strip_prefix("openai:") {
                Some(model) if self.configured_model() == Some(model) => Presence::Configured,
                Some(model) => missing(format!("no `[{OPENAI_EMBEDDER}]` names `{model}`")),
                None => missing("this build does not know it".into()),
            },
        }
    }

    /// Whether a model with this name and digest is installed and complete; else the reason.
    fn stored(&self, pinned: &EmbedderIdentity) -> std::result::Result<(), String> {
        let models = self.models().list().map_err(|error| error.to_string())?;
        let Some(model) = models.into_iter().find(|model| model.name == pinned.name) else {
            return Err("the model is not on this machine".into());
        };
        match model.damage {
            Some(damage) => Err(format!("the model is damaged: {damage}")),
            None if model.digest != pinned.digest => {
                Err("the installed model has other weights".into())
            }
            None => Ok(()),
        }
    }
}

fn step_name(step: SelfTestStep) -> &'static str {
    match step {
        SelfTestStep::Write => "write",
        SelfTestStep::Read => "read",
        SelfTestStep::Find => "find",
        SelfTestStep::Forget => "forget",
        SelfTestStep::Commit => "commit",
    }
}
