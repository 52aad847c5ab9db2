//! A palace that is reached through the backend alone.

use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionInfo, CollectionOptions, Durability, ForgetOutcome, PalaceRef,
    PalaceState, RepairOptions, RepairReport, Restored, Result, Selection, VerifyReport,
};
use loci_sqlite::SqliteBackend;

use crate::operations::Access;

pub struct SqlitePalace {
    backend: SqliteBackend,
    place: PalaceRef,
}

impl SqlitePalace {
    /// Opens a palace; with `create`, a missing one is created.
    pub fn open(path: &Path, create: bool) -> Result<Self> {
        let palace = Self::at(path);
        if create {
            palace.backend.create_palace(&palace.place)?;
        } else {
            palace.backend.open_palace(&palace.place)?;
        }
        Ok(palace)
    }

    /// Opens nothing yet, so that a palace that cannot be opened can be verified and repaired. As
    /// with `Palace`, `palace.toml` may ask for full durability.
    pub fn at(path: &Path) -> Self {
        let settings = std::fs::read_to_string(path.join("palace.toml")).unwrap_or_default();
        let durability = if settings.contains("durability = \"full\"") {
            Durability::Full
        } else {
            Durability::default()
        };
        Self {
            backend: SqliteBackend::new(durability),
            place: PalaceRef::local(path),
        }
    }
}

impl Access for SqlitePalace {
    fn collection(&self, name: &str, create: bool) -> Result<Arc<dyn Collection>> {
        let options = CollectionOptions::default();
        self.backend
            .get_collection(&self.place, name, create, &options)
    }

    fn collections(&self) -> Result<Vec<CollectionInfo>> {
        self.backend.list_collections(&self.place)
    }

    fn delete_collection(&self, name: &str) -> Result<()> {
        self.backend.delete_collection(&self.place, name)
    }

    fn state(&self) -> Result<PalaceState> {
        self.backend.state(&self.place)
    }

    fn forget(&self, collection: &str, selection: &Selection) -> Result<ForgetOutcome> {
        self.backend.forget(&self.place, collection, selection)
    }

    fn verify(&self, deep: bool) -> Result<VerifyReport> {
        self.backend.verify(&self.place, deep)
    }

    fn repair(&self, options: RepairOptions) -> Result<RepairReport> {
        self.backend.repair(&self.place, options)
    }

    fn backup(&self, target: &Path) -> Result<u64> {
        self.backend.backup(&self.place, target)
    }

    fn restore(&self, backup: &Path, replace: bool) -> Result<Restored> {
        self.backend.restore(&self.place, backup, replace)
    }

    fn close(&self) -> Result<()> {
        self.backend.close()
    }
}
