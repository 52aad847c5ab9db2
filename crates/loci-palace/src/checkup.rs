//! What `loci doctor` asks of a palace and its surroundings: where things are and why there, who uses the palace, how much disk is
//! left, whether the models are here, and whether a drawer can be written, found and forgotten.
//!
//! Everything here looks. The round trip is the one thing that writes, and it leaves nothing; [`loci_sqlite`] says how.

mod locks;
mod whereabouts;

use std::time::{Duration, Instant};

use loci_core::{
    Embedder as _, EmbedderIdentity, Error, PalaceRef, RehearsalStep, Result, SelfTest,
};
use loci_embed::{MINILM_NAME, STATIC_NAME, StaticEmbedder};
use serde::Serialize;

use crate::config::Config;
use crate::embedders::OPENAI_EMBEDDER;
use crate::palace::{Configured, OpenOptions, Palace};

pub use locks::{Process, users_of};
pub use whereabouts::{Disk, Whereabouts, disk_of, wal_bytes};

/// Whether what made the vectors of a collection can be had now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It is here.
    Here,
    /// It is behind an endpoint that is configured; nobody asked whether it answers.
    Configured,
    /// It is not, for this reason. The built-in table stands in if `stand_in` holds; else words alone are searched.
    Missing {
        /// Why.
        why: String,
        /// Whether something can be used instead.
        stand_in: bool,
    },
}

/// How a write, a read, a search and a forgetting went.
#[derive(Debug)]
pub struct RoundTrip {
    /// The steps that worked, in order: `write`, `read`, `find`, `forget`, `commit`.
    pub done: Vec<&'static str>,
    /// What stopped it.
    pub trouble: Option<Error>,
    /// How long it took.
    pub took: Duration,
}

/// The version of SQLite and the format of databases that this build has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineVersions {
    /// SQLite.
    pub sqlite: &'static str,
    /// The newest format it reads, and the one it writes.
    pub format: i64,
}

impl EngineVersions {
    /// Those of this build.
    pub fn of_this_build() -> Self {
        Self {
            sqlite: loci_sqlite::sqlite_version(),
            format: loci_sqlite::FORMAT,
        }
    }
}

impl Palace {
    /// [`Palace::connect`], where a configuration file that cannot be read counts as one that is not there.
    pub fn connect_leniently(place: impl Into<PalaceRef>, options: &OpenOptions) -> Result<Self> {
        let reference = place.into();
        let configured = Configured {
            of_palace: Config::of_palace(&reference).unwrap_or_default(),
            of_user: Config::of_user().unwrap_or_default(),
        };
        let registry = configured.registry(options)?;
        Self::connect_with(&registry, reference, options, configured)
    }

    /// Writes a drawer with a text that nobody has, reads it, finds it, forgets it. Leaves no trace, also when it is killed;
    /// no other process sees it.
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

    /// Whether an embedder that made vectors can be had now. Opens no model and asks no endpoint.
    pub fn presence(&self, pinned: &EmbedderIdentity) -> Presence {
        let missing = |why: String| Presence::Missing {
            why,
            stand_in: pinned.name == MINILM_NAME,
        };
        match pinned.name.as_str() {
            STATIC_NAME if StaticEmbedder::builtin().identity() == *pinned => Presence::Here,
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

    /// Whether a model of this name and digest is stored whole; else why not.
    fn stored(&self, pinned: &EmbedderIdentity) -> std::result::Result<(), String> {
        let models = self.models().list().map_err(|error| error.to_string())?;
        let Some(model) = models.into_iter().find(|model| model.name == pinned.name) else {
            return Err("the model is not on this machine".into());
        };
        match model.damage {
            Some(damage) => Err(format!("the model is damaged: {damage}")),
            None if model.digest != pinned.digest => {
                Err("the model that is here has other weights".into())
            }
            None => Ok(()),
        }
    }
}

fn step_name(step: RehearsalStep) -> &'static str {
    match step {
        RehearsalStep::Write => "write",
        RehearsalStep::Read => "read",
        RehearsalStep::Find => "find",
        RehearsalStep::Forget => "forget",
        RehearsalStep::Commit => "commit",
    }
}
