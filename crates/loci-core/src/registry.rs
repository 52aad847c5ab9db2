//! Registers backends by name, and selects the one that serves a palace.

use std::fmt;
use std::sync::Arc;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::palace_ref::PalaceRef;

/// The backend that is used when nothing else decides.
pub const DEFAULT_BACKEND: &str = "sqlite";

/// The registered backends.
#[derive(Clone, Default)]
pub struct Registry {
    backends: Vec<Arc<dyn Backend>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.names()).finish()
    }
}

/// The settings that may name a backend, in order of precedence.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackendChoice<'a> {
    /// A command-line flag or an argument.
    pub explicit: Option<&'a str>,
    /// The palace's own configuration.
    pub config: Option<&'a str>,
    /// The environment (`LOCI_BACKEND`).
    pub environment: Option<&'a str>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend, and replaces one with the same name.
    pub fn register(&mut self, backend: Arc<dyn Backend>) {
        self.backends.retain(|known| known.name() != backend.name());
        self.backends.push(backend);
    }

    /// Adds all backends of another registry, and replaces those with the same name.
    pub fn extend(&mut self, other: &Self) {
        for backend in &other.backends {
            self.register(Arc::clone(backend));
        }
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

    /// Selects a backend by explicit name, URL scheme, palace configuration, environment, detection
    /// on disk and [`DEFAULT_BACKEND`], in this order. A name or a scheme that is not registered is
    /// an error, and is never skipped.
    pub fn resolve(
        &self,
        choice: BackendChoice<'_>,
        palace: &PalaceRef,
    ) -> Result<Arc<dyn Backend>> {
        if let Some(name) = choice.explicit {
            return self.get(name);
        }
        if let Some(scheme) = palace.scheme() {
            return self.of_scheme(scheme, palace);
        }
        if let Some(name) = choice.config.or(choice.environment) {
            return self.get(name);
        }
        match self.detected(palace) {
            Some(backend) => Ok(backend),
            None => self.get(DEFAULT_BACKEND),
        }
    }

    /// The backend that detects a palace at this location, if there is one.
    pub fn detected(&self, palace: &PalaceRef) -> Option<Arc<dyn Backend>> {
        let mut backends = self.backends.iter();
        backends.find(|backend| backend.detect(palace)).cloned()
    }

    fn of_scheme(&self, scheme: &str, palace: &PalaceRef) -> Result<Arc<dyn Backend>> {
        let serves = |backend: &&Arc<dyn Backend>| {
            let mut schemes = backend.schemes().iter();
            schemes.any(|known| known.eq_ignore_ascii_case(scheme))
        };
        self.backends.iter().find(serves).cloned().ok_or_else(|| {
            let known: Vec<&str> = self
                .backends
                .iter()
                .flat_map(|backend| backend.schemes())
                .copied()
                .collect();
            let opens = match known.as_slice() {
                [] => "this build opens directories only".to_owned(),
                known => format!("this build opens directories and {}", known.join(", ")),
            };
            Error::invalid(
                "palace",
                format!(
                    "`{palace}` has the scheme `{scheme}`, and {opens}; a directory of that name is \
                     written `./{scheme}:…`"
                ),
            )
        })
    }
}
