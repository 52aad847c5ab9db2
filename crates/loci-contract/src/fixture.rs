//! Where the suite gets its backend and its palaces from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{Backend, PalaceRef};
use tempfile::TempDir;

/// A backend under test. One fixture serves one sentence.
pub trait Fixture {
    /// The backend; the same instance at every call.
    fn backend(&self) -> Arc<dyn Backend>;
    /// A palace that does not exist yet, in a directory that lives as long as the fixture.
    fn fresh_palace(&self) -> PalaceRef;
    /// Whether palaces are directories that outlive an instance. Sentences marked "(files)" are
    /// tested only then.
    fn persistent(&self) -> bool;
    /// A second, independent instance over the same storage. Asked for only if
    /// [`Fixture::persistent`].
    fn reopen(&self) -> Arc<dyn Backend>;
}

/// A fixture from a constructor, with palaces in a temporary directory of its own.
pub struct TempFixture {
    make: fn() -> Arc<dyn Backend>,
    backend: Arc<dyn Backend>,
    directory: TempDir,
    palaces: AtomicUsize,
    persistent: bool,
}

impl TempFixture {
    /// For a backend that keeps palaces in directories.
    pub fn persistent(make: fn() -> Arc<dyn Backend>) -> Self {
        Self::new(make, true)
    }

    /// For a backend whose palaces end with the instance.
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
