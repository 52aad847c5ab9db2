//! The palace of a server, opened when a call first needs it and kept open for the next ones.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_palace::{Error, OpenOptions, Palace, Result};

/// Where the palace is, and the palace once it is open.
pub(crate) struct House {
    path: PathBuf,
    options: OpenOptions,
    /// Refuses directories that are no palace of Loci's.
    guard: fn(&Path) -> Result<()>,
    open: Mutex<Option<Arc<Palace>>>,
}

impl House {
    pub(crate) fn new(path: PathBuf, options: OpenOptions, guard: fn(&Path) -> Result<()>) -> Self {
        Self {
            path,
            options,
            guard,
            open: Mutex::new(None),
        }
    }

    /// The palace; creates nothing.
    pub(crate) fn existing(&self) -> Result<Arc<Palace>> {
        self.opened(false)
    }

    /// The palace, made when it is missing.
    pub(crate) fn created(&self) -> Result<Arc<Palace>> {
        self.opened(true)
    }

    /// The palace, opened once more. Calls under way go on with the one they have.
    pub(crate) fn reopened(&self) -> Result<Arc<Palace>> {
        self.existing()?;
        self.lock().take();
        self.existing()
    }

    /// The palace if a call has opened it.
    pub(crate) fn if_open(&self) -> Option<Arc<Palace>> {
        self.lock().clone()
    }

    fn opened(&self, create: bool) -> Result<Arc<Palace>> {
        let mut open = self.lock();
        if let Some(palace) = open.as_ref() {
            // A new, empty palace in its place would hide that the old one is gone.
            if !palace.path().is_dir() {
                return Err(Error::PalaceGone {
                    path: self.path.clone(),
                });
            }
            return Ok(Arc::clone(palace));
        }
        (self.guard)(&self.path)?;
        let options = OpenOptions {
            create,
            ..self.options.clone()
        };
        let palace = Arc::new(Palace::open(&self.path, &options)?);
        *open = Some(Arc::clone(&palace));
        Ok(palace)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Palace>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
