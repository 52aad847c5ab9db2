//! Which embedder a collection is used with.
//!
//! It is the embedder that made the vectors of the collection, unless another one is named. If it
//! is unavailable (the model is not installed, or the endpoint is not configured), a warning says
//! so, and only words are searched.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loci_core::{
    Advice, Compatibility, Embedder, EmbedderIdentity, Error, Result, Warning, display_value,
};
use loci_embed::{
    MINILM_NAME, ModelStore, RemoteEmbedder, RemoteOptions, STATIC_NAME, StaticEmbedder,
};
use serde::Deserialize;

use crate::config::{Config, data_directory, name_in_variable};
use crate::location::directory_of;

/// The embedder `none`.
pub const NO_EMBEDDER: &str = "none";
/// The embedder behind an HTTP endpoint.
pub const OPENAI_EMBEDDER: &str = "openai";
/// Timeout of an endpoint for a question.
const QUESTION_PATIENCE: Duration = Duration::from_secs(5);
const NAMES: [&str; 4] = [STATIC_NAME, MINILM_NAME, OPENAI_EMBEDDER, NO_EMBEDDER];

/// Settings of an OpenAI-compatible endpoint, `[openai]` in a configuration file. The key comes
/// from the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OpenAiConfig {
    /// Base address, such as `http://localhost:11434/v1`.
    pub url: String,
    /// Name of the model at the endpoint.
    pub model: String,
    /// Length of its vectors; if missing, the endpoint is asked.
    pub dimension: Option<usize>,
    /// Texts per request.
    pub batch: Option<usize>,
    /// Timeout of a request.
    pub timeout_seconds: Option<u64>,
}

/// The embedder for one collection, with warnings about it.
#[derive(Clone, Default)]
pub struct Resolved {
    /// The embedder; `None` means that only words are searched.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Why it is not the one that was expected.
    pub warnings: Vec<Warning>,
}

/// What an embedder is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

/// The embedders of a palace. Opening a model is slow, so it happens at most once.
pub(crate) struct Embedders {
    /// The embedder named for this run. It is used or refused, never replaced.
    named: Option<String>,
    /// The embedder of new collections.
    default: String,
    openai: Option<OpenAiConfig>,
    models: ModelStore,
    opened: Mutex<Vec<(String, Arc<dyn Embedder>)>>,
}

impl Embedders {
    pub(crate) fn new(
        named: Option<&str>,
        palace: Option<&Path>,
        of_palace: &Config,
        of_user: &Config,
    ) -> Result<Self> {
        let environment = name_in_variable("LOCI_EMBEDDER")?;
        let named = named.map(str::to_owned);
        let default = environment
            .or_else(|| of_palace.embedder.clone())
            .or_else(|| of_user.embedder.clone())
            .unwrap_or_else(|| STATIC_NAME.into());
        for name in named.iter().chain([&default]) {
            known(name)?;
        }
        Ok(Self {
            named,
            default,
            openai: of_palace.openai.clone().or_else(|| of_user.openai.clone()),
            models: ModelStore::at(model_directory(palace, of_user)?),
            opened: Mutex::default(),
        })
    }

    pub(crate) fn models(&self) -> &ModelStore {
        &self.models
    }

    /// The model of the endpoint, if one is configured.
    pub(crate) fn configured_model(&self) -> Option<&str> {
        self.openai.as_ref().map(|config| config.model.as_str())
    }

    /// An embedder by name.
    pub(crate) fn open(&self, name: &str) -> Result<Option<Arc<dyn Embedder>>> {
        self.open_for(name, Purpose::Write)
    }

    fn open_for(&self, name: &str, purpose: Purpose) -> Result<Option<Arc<dyn Embedder>>> {
        known(name)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, embedder)) = opened.iter().find(|(known, _)| known == name) {
            return Ok(Some(Arc::clone(embedder)));
        }
        let embedder: Arc<dyn Embedder> = match name {
            NO_EMBEDDER => return Ok(None),
            STATIC_NAME => Arc::new(StaticEmbedder::builtin().clone()),
            MINILM_NAME => Arc::new(self.models.open(MINILM_NAME)?),
            _ => Arc::new(self.connect(purpose)?),
        };
        opened.push((name.to_owned(), Arc::clone(&embedder)));
        Ok(Some(embedder))
    }

    fn connect(&self, purpose: Purpose) -> Result<RemoteEmbedder> {
        let Some(config) = &self.openai else {
            return Err(Error::invalid(
                "embedder `openai`",
                "needs `[openai]` with `url` and `model` in config.toml or palace.toml",
            ));
        };
        let mut options = RemoteOptions::new(config.url.clone(), config.model.clone());
        options.dimension = config.dimension;
        options.key = RemoteEmbedder::key_from_environment(&config.url);
        if let Some(batch) = config.batch {
            options.batch = batch;
        }
        if let Some(seconds) = config.timeout_seconds {
            options.timeout = Duration::from_secs(seconds);
        }
        if purpose == Purpose::Read {
            // A question waits only briefly; then it is answered by words.
            options.timeout = options.timeout.min(QUESTION_PATIENCE);
            options.attempts = 1;
        }
        RemoteEmbedder::connect(options)
    }

    /// The embedder for a collection whose vectors `pinned` made, or an unknown embedder of this
    /// dimension. If a named embedder is unavailable, a writer gets an error, and a reader a
    /// warning.
    pub(crate) fn resolve(
        &self,
        collection: &str,
        pinned: Option<&EmbedderIdentity>,
        dimension: Option<usize>,
        purpose: Purpose,
    ) -> Result<Resolved> {
        if let Some(name) = &self.named {
            let embedder = match (self.open_for(name, purpose), purpose) {
                (Ok(embedder), _) => embedder,
                (Err(error), Purpose::Write) => return Err(error),
                (Err(error), Purpose::Read) => {
                    return Ok(match pinned {
                        Some(pinned) => self.instead(collection, pinned, &error),
                        None => without(collection, &error),
                    });
                }
            };
            return match (&embedder, pinned) {
                (Some(given), Some(pinned))
                    if given.compatibility(pinned) == Compatibility::Foreign =>
                {
                    Err(Error::EmbedderMismatch {
                        collection: collection.into(),
                        pinned: pinned.to_string(),
                        given: given.identity().to_string(),
                    })
                }
                (Some(given), None) => Ok(fitting(collection, Arc::clone(given), dimension)),
                _ => Ok(Resolved {
                    embedder,
                    warnings: Vec::new(),
                }),
            };
        }
        match pinned {
            Some(pinned) => Ok(self.for_pinned(collection, pinned, purpose)),
            None => match self.open_for(&self.default, purpose) {
                Ok(Some(embedder)) => Ok(fitting(collection, embedder, dimension)),
                Ok(None) => Ok(Resolved::default()),
                Err(error) => Ok(without(collection, &error)),
            },
        }
    }

    fn for_pinned(
        &self,
        collection: &str,
        pinned: &EmbedderIdentity,
        purpose: Purpose,
    ) -> Resolved {
        let name = match pinned.name.as_str() {
            STATIC_NAME => STATIC_NAME,
            MINILM_NAME => MINILM_NAME,
            name if name.starts_with("openai:") => OPENAI_EMBEDDER,
            other => {
                let error = Error::invalid(format!("embedder `{other}`"), "unknown to this build");
                return without(collection, &error);
            }
        };
        match self.open_for(name, purpose) {
            Ok(Some(embedder)) if embedder.compatibility(pinned) == Compatibility::Same => {
                Resolved {
                    embedder: Some(embedder),
                    warnings: Vec::new(),
                }
            }
            Ok(_) => {
                let error = Error::invalid(
                    format!("embedder {pinned}"),
                    "differs from the installed one",
                )
                .advise(Advice::Reembed { model: None });
                self.instead(collection, pinned, &error)
            }
            Err(error) => self.instead(collection, pinned, &error),
        }
    }

    /// The replacement of an unavailable embedder.
    fn instead(&self, collection: &str, pinned: &EmbedderIdentity, error: &Error) -> Resolved {
        let table = StaticEmbedder::builtin();
        if table.compatibility(pinned) == Compatibility::Foreign {
            return without(collection, error);
        }
        Resolved {
            embedder: self.open(STATIC_NAME).ok().flatten(),
            warnings: vec![missing(collection, error, true)],
        }
    }
}

fn known(name: &str) -> Result<()> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(Error::invalid(
        "embedder",
        format!("{} is not one of {}", display_value(name), NAMES.join(", ")),
    ))
}

/// An embedder for vectors of unknown origin. It is used only if the length is the same.
fn fitting(collection: &str, embedder: Arc<dyn Embedder>, dimension: Option<usize>) -> Resolved {
    let identity = embedder.identity();
    match dimension {
        Some(dimension) if dimension != identity.dimension => Resolved {
            embedder: None,
            warnings: vec![Warning::UnknownEmbedder {
                collection: collection.to_owned(),
                dimension,
                embedder: identity,
            }],
        },
        _ => Resolved {
            embedder: Some(embedder),
            warnings: Vec::new(),
        },
    }
}

fn without(collection: &str, error: &Error) -> Resolved {
    Resolved {
        embedder: None,
        warnings: vec![missing(collection, error, false)],
    }
}

fn missing(collection: &str, error: &Error, stand_in: bool) -> Warning {
    Warning::ModelMissing {
        collection: collection.to_owned(),
        problem: error.to_string(),
        stand_in,
        advice: error.advice(),
    }
}

/// The directory of the models: `LOCI_MODELS`, `models` in the user's configuration, else
/// `$XDG_DATA_HOME/loci/models`. Without a home directory, they are stored in the palace.
fn model_directory(palace: Option<&Path>, of_user: &Config) -> Result<PathBuf> {
    if let Some(written) = std::env::var_os("LOCI_MODELS").filter(|path| !path.is_empty()) {
        return directory_of("LOCI_MODELS", Path::new(&written));
    }
    match (&of_user.models, data_directory(), palace) {
        (Some(directory), _, _) => Ok(directory.clone()),
        (None, Ok(directory), _) => Ok(directory.join("models")),
        (None, Err(_), Some(palace)) => Ok(palace.join("models")),
        (None, Err(error), None) => Err(error),
    }
}
