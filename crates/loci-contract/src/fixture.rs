//! Supplies the suite with a backend and with palaces.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{Backend, PalaceRef};
use tempfile::TempDir;

/// A backend under test. One fixture serves one sentence.
pub trait Fixture {
    /// The backend. Every call returns the same instance.
    fn backend(&self) -> Arc<dyn Backend>;
    /// The location of a palace that does not exist yet, in a directory that lives as long as the
    /// fixture.
    fn fresh_palace(&self) -> PalaceRef;
    /// Whether palaces are directories that outlive an instance. Sentences marked "(files)" are
    /// tested only if they are.
    fn persistent(&self) -> bool;
    /// A second, independent instance on the same storage. Called only if [`Fixture::persistent`]
    /// is true.
    fn reopen(&self) -> Arc<dyn Backend>;
}

/// A fixture from a constructor, with palaces in its own temporary directory.
pub struct TempFixture {
    make: fn() -> Arc<dyn Backend>,
    backend: Arc<dyn Backend>,
    directory: TempDir,
    palaces: AtomicUsize,
    persistent: bool,
}

impl TempFixture {
    /// For a backend that stores palaces in directories.
    pub fn persistent(make: fn() -> Arc<dyn Backend>) -> Self {
        Self::new(make, true)
    }

    /// For a backend whose palaces are dropped with the instance.
    pub fn in_memory(make: fn() -> Arc<dyn Backend>) -> Self {
        Self::new(make, false)
    }

    fn new(make: fn() -> Arc<dyn Backend>, persistent: bool) -> Self {
        Self {
            make,
            backend: make(),
            directory: TempDir::new().expect("a temporary directory"),
            palaces: AtomicUsize::new(0),
            persistent,
        }
    }
}

impl Fixture for TempFixture {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    fn fresh_palace(&self) -> PalaceRef {
        let number = self.palaces.fetch_add(1, Ordering::Relaxed);
        PalaceRef::local(self.directory.path().join(format!("palace-{number}")))
    }

    fn persistent(&self) -> bool {
        self.persistent
    }

    fn reopen(&self) -> Arc<dyn Backend> {
        (self.make)()
    }
}
