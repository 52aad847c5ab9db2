//! Every sentence of docs/contract.md.

use std::sync::Arc;

use loci_contract::{TempFixture, contract_tests};
use loci_sqlite::SqliteBackend;

contract_tests!(TempFixture::persistent(|| Arc::new(
    SqliteBackend::default()
)));
