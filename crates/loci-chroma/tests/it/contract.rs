//! The read-only backend fulfils the read half of the contract.

use std::sync::Arc;

use loci_chroma::ChromaBackend;
use loci_contract::{Through, read_contract_tests};
use loci_core::Backend;

use crate::written::{known, write_out};

/// For ChromaDB, drawers without a vector are drift. The answers of the contract are compared
/// without that warning.
fn fixture() -> Through {
    let mirrors = tempfile::tempdir().unwrap();
    Through::new(write_out, move || {
        let backend = ChromaBackend::new(known)
            .mirrors_in(mirrors.path())
            .drift_check(false);
        Arc::new(backend) as Arc<dyn Backend>
    })
}

read_contract_tests!(fixture());
