//! Repairs what verify finds.

use loci_core::Result;
pub use loci_core::{RepairOptions as Request, RepairReport as Answer};

use crate::palace::Palace;

impl Palace {
    /// Repairs what verify finds. A database that cannot be read is salvaged into a new palace
    /// beside it; the report names every drawer that is lost.
    pub fn repair(&self, request: &Request) -> Result<Answer> {
        self.backend.repair(&self.reference, *request)
    }
}
