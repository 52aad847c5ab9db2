//! Runs the read half on backends that cannot write. Writes of a sentence go to the reference
//! backend. Its content is written in the foreign format before each read, and then read through
//! the backend under test.

mod collection;
mod mirror;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use loci_core::{
    Backend, Capabilities, Capability, Collection, CollectionInfo, CollectionOptions, Error,
    Health, PalaceRef, Result,
};
use tempfile::TempDir;

use crate::Fixture;
use crate::memory::Written;
use collection::ThroughCollection;
use mirror::Mirror;

/// A fixture for a read-only backend.
///
/// `write_out` writes the content of a palace to a directory in the foreign format. `make` creates
/// the backend that reads it.
pub struct Through {
    make: Box<dyn Fn() -> Arc<dyn Backend>>,
    mirror: Arc<Mirror>,
    backend: Arc<ThroughBackend>,
    directory: TempDir,
    palaces: AtomicUsize,
}

impl Through {
    /// A fixture with palaces in its own temporary directory.
    pub fn new(
        write_out: fn(&Written, &Path),
        make: impl Fn() -> Arc<dyn Backend> + 'static,
    ) -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let mirror = Arc::new(Mirror::new(write_out, directory.path().join("aside")));
        Self {
            backend: Arc::new(ThroughBackend::new(Arc::clone(&mirror), make())),
            make: Box::new(make),
            mirror,
            directory,
            palaces: AtomicUsize::new(0),
        }
    }

    /// The read-only backend itself.
    pub fn reader(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend.reader)
    }

    /// Writes the current content of the palace, in the role of the foreign program.
    pub fn lay_out(&self, palace: &PalaceRef) {
        self.mirror.lay_out(palace);
    }
}

impl Fixture for Through {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend) as Arc<dyn Backend>
    }

    fn fresh_palace(&self) -> PalaceRef {
        let number = self.palaces.fetch_add(1, Ordering::Relaxed);
        PalaceRef::local(self.directory.path().join(format!("palace-{number}")))
    }

    fn persistent(&self) -> bool {
        true
    }

    fn reopen(&self) -> Arc<dyn Backend> {
        Arc::new(ThroughBackend::new(Arc::clone(&self.mirror), (self.make)()))
    }
}

/// Sends writes to the mirror and all other calls to the reader.
struct ThroughBackend {
    mirror: Arc<Mirror>,
    reader: Arc<dyn Backend>,
    closed: Arc<AtomicBool>,
}

impl ThroughBackend {
    fn new(mirror: Arc<Mirror>, reader: Arc<dyn Backend>) -> Self {
        Self {
            mirror,
            reader,
            closed: Arc::default(),
        }
    }

    /// After `close`, calls go to the reader, which must refuse them itself.
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// A handle on both. The reader decides whether it can be opened.
    fn handle(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
        writer: Option<Arc<dyn Collection>>,
    ) -> Result<Arc<dyn Collection>> {
        self.mirror.lay_out(palace);
        let reader = self.reader.get_collection(palace, name, create, options)?;
        Ok(Arc::new(ThroughCollection {
            palace: palace.clone(),
            mirror: Arc::clone(&self.mirror),
            writer: writer.expect("the reader opens only what was written"),
            reader,
            closed: Arc::clone(&self.closed),
        }))
    }
}

impl Backend for ThroughBackend {
    fn name(&self) -> &'static str {
        self.reader.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.reader.capabilities()
    }

    fn get_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        create: bool,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        if self.is_closed() {
            return self.reader.get_collection(palace, name, create, options);
        }
        let memory = &self.mirror.memory;
        let writer = memory.get_collection(palace, name, create, options).ok();
        self.handle(palace, name, create, options, writer)
    }

    fn create_collection(
        &self,
        palace: &PalaceRef,
        name: &str,
        options: &CollectionOptions,
    ) -> Result<Arc<dyn Collection>> {
        if self.is_closed() {
            return self.reader.create_collection(palace, name, options);
        }
        let memory = &self.mirror.memory;
        let writer = memory.create_collection(palace, name, options)?;
        self.handle(palace, name, false, options, Some(writer))
    }

    fn delete_collection(&self, palace: &PalaceRef, name: &str) -> Result<()> {
        // The reader must report a palace that the mirror does not know as missing.
        if self.is_closed() || !self.mirror.memory.detect(palace) {
            return self.reader.delete_collection(palace, name);
        }
        self.mirror.memory.delete_collection(palace, name)
    }

    fn list_collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.mirror.lay_out(palace);
        self.reader.list_collections(palace)
    }

    fn close_palace(&self, palace: &PalaceRef) -> Result<()> {
        self.reader.close_palace(palace)?;
        self.mirror.memory.close_palace(palace)
    }

    fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.reader.close()
    }

    fn health(&self) -> Health {
        self.reader.health()
    }

    fn can_be_imported(&self) -> bool {
        self.reader.can_be_imported()
    }

    fn default_collection(&self, palace: &PalaceRef) -> Result<Option<String>> {
        self.mirror.lay_out(palace);
        self.reader.default_collection(palace)
    }

    fn lacks(&self, capability: Capability) -> Error {
        self.reader.lacks(capability)
    }

    fn detect(&self, palace: &PalaceRef) -> bool {
        self.mirror.lay_out(palace);
        self.reader.detect(palace)
    }
}
