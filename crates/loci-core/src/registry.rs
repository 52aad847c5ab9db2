//! Backends by name, and which one serves a palace.

use std::path::Path;
use std::sync::Arc;

use crate::backend::Backend;
use crate::error::{Error, Result};

/// Backend used when nothing else decides.
pub const DEFAULT_BACKEND: &str = "sqlite";

/// The known backends.
#[derive(Default)]
pub struct Registry {
    backends: Vec<Arc<dyn Backend>>,
}

/// The places that may name a backend, strongest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackendChoice<'a> {
    /// A flag or argument.
    pub explicit: Option<&'a str>,
    /// The palace's own configuration.
    pub config: Option<&'a str>,
    /// The environment (`LOCI_BACKEND`).
    pub environment: Option<&'a str>,
}

impl Registry {
    /// A registry with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend; one of the same name is replaced.
    pub fn register(&mut self, backend: Arc<dyn Backend>) {
        self.backends.retain(|known| known.name() != backend.name());
        self.backends.push(backend);
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .backends
            .iter()
            .map(|backend| backend.name().to_owned())
            .collect();
        names.sort();
        names
    }

    /// The backend of this name.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Backend>> {
        self.backends
            .iter()
            .find(|backend| backend.name() == name)
            .cloned()
            .ok_or_else(|| Error::UnknownBackend {
                name: name.into(),
                known: self.names(),
            })
    }

    /// Explicit value, then palace configuration, then environment, then what is on disk, then
    /// [`DEFAULT_BACKEND`]. A name that is not registered is an error, never skipped.
    pub fn resolve(&self, choice: BackendChoice<'_>, path: &Path) -> Result<Arc<dyn Backend>> {
        if let Some(name) = choice.explicit.or(choice.config).or(choice.environment) {
            return self.get(name);
        }
        match self.backends.iter().find(|backend| backend.detect(path)) {
            Some(backend) => Ok(Arc::clone(backend)),
            None => self.get(DEFAULT_BACKEND),
        }
    }
}
