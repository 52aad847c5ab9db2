//! Loci's own palaces, which are recognised here and opened by a backend.

use crate::importer::{Importer, Places, Signs};

/// The line of the table of importers.
pub(crate) const IMPORTER: Importer = Importer {
    program: "Loci",
    family: None,
    mark: "`palace.sqlite3`",
    signs: Signs {
        files: &["palace.sqlite3"],
        ..Signs::NONE
    },
    open: None,
    usual_places: Places::NONE,
};
