//! The verb `repair`: repairs the findings of `verify`.

use loci_core::Result;
pub use loci_core::{RepairOptions as Request, RepairReport as Answer};

use crate::palace::Palace;

impl Palace {
    /// Repairs the findings of `verify`. A database that cannot be read is salvaged into a new
    /// palace beside it; the report names every lost drawer.
    pub fn repair(&self, request: &Request) -> Result<Answer> {
        self.backend.repair(&self.reference, *request)
    }
}
