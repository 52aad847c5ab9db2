//! The palace of a server. It is opened when a call first needs it, and stays open for later calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_palace::{
    Capabilities, Capability, Error, OpenOptions, Palace, PalaceRef, Result, SecretPolicy,
    secret_policy,
};

use crate::hint::{Hints, Tools};

/// Where the palace is, and the palace once it is open.
pub(crate) struct PalaceHandle {
    place: PalaceRef,
    options: OpenOptions,
    /// Refuses directories of other programs.
    guard: fn(&PalaceRef) -> Result<()>,
    open: Mutex<Option<Arc<Palace>>>,
    /// Whether this server created the palace and no answer has reported it yet.
    unreported: AtomicBool,
}

impl PalaceHandle {
    pub(crate) fn new(
        place: PalaceRef,
        options: OpenOptions,
        guard: fn(&PalaceRef) -> Result<()>,
    ) -> Self {
        Self {
            place,
            options,
            guard,
            open: Mutex::new(None),
            unreported: AtomicBool::new(false),
        }
    }

    /// Where this server created the palace; returned to the first caller only.
    pub(crate) fn take_created(&self) -> Option<String> {
        let unreported = self.unreported.swap(false, Ordering::Relaxed);
        unreported.then(|| self.place.to_string())
    }

    /// The palace; creates nothing.
    pub(crate) fn existing(&self) -> Result<Arc<Palace>> {
        self.opened(false)
    }

    /// The palace, created if it is missing.
    pub(crate) fn created(&self) -> Result<Arc<Palace>> {
        self.opened(true)
    }

    /// The palace, opened again. Running calls continue with their own handle.
    pub(crate) fn reopened(&self) -> Result<Arc<Palace>> {
        self.existing()?;
        self.lock().take();
        self.existing()
    }

    /// How secrets in written text are treated.
    pub(crate) fn secret_policy(&self) -> Result<SecretPolicy> {
        secret_policy(&self.place, &self.options)
    }

    /// The palace if a call has opened it.
    pub(crate) fn if_open(&self) -> Option<Arc<Palace>> {
        self.lock().clone()
    }

    /// The capabilities of the palace's backend; `None` if they are unknown. It opens nothing,
    /// because a handshake needs it before the palace exists.
    pub(crate) fn offered(&self) -> Option<Capabilities> {
        self.named().map(|palace| palace.capabilities())
    }

    /// Fails unless the backend has all of these capabilities.
    pub(crate) fn require(&self, needs: &[Capability]) -> Result<()> {
        let Some(palace) = self.named().filter(|_| !needs.is_empty()) else {
            return Ok(());
        };
        let mut needs = needs.iter();
        needs.try_for_each(|capability| palace.require(*capability))
    }

    /// The hints for a set of tools.
    pub(crate) fn hints(&self, tools: Tools) -> Hints {
        Hints {
            tools,
            offered: self.offered(),
        }
    }

    /// The palace, open or not.
    fn named(&self) -> Option<Arc<Palace>> {
        let named = || Palace::connect(&self.place, &self.options).ok();
        self.if_open().or_else(|| named().map(Arc::new))
    }

    fn opened(&self, create: bool) -> Result<Arc<Palace>> {
        let mut open = self.lock();
        if let Some(palace) = open.as_ref() {
            // A new empty palace in the same place would hide that the old one is gone.
            if let Some(directory) = palace.directory()
                && !directory.is_dir()
            {
                return Err(Error::PalaceGone {
                    path: directory.to_path_buf(),
                });
            }
            return Ok(Arc::clone(palace));
        }
        (self.guard)(&self.place)?;
        let options = OpenOptions {
            create,
            ..self.options.clone()
        };
        let palace = Arc::new(Palace::open(&self.place, &options)?);
        *open = Some(Arc::clone(&palace));
        if palace.was_created() {
            self.unreported.store(true, Ordering::Relaxed);
        }
        Ok(palace)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Palace>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
