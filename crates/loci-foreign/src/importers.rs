//! The table of importers: one line per program. A directory is recognised as the first kind whose
//! signs it has.

use schemars::JsonSchema;
use serde::Serialize;

use crate::importer::Importer;
use crate::{chroma, cortexa, json_lines, loci, mempalace, memtomem};

/// Defines [`Kind`] from the table.
macro_rules! importers {
    ($( #[doc = $doc:literal] $kind:ident $name:literal => $importer:path, )*) => {
        /// The kind of a store. Each has the word that `loci import` accepts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        pub enum Kind {
            $(
                #[doc = $doc]
                #[serde(rename = $name)]
                $kind,
            )*
        }

        impl Kind {
            /// Every kind, in the order of the table.
            pub const ALL: &[Self] = &[$( Self::$kind, )*];

            /// The name in JSON and for `loci import`.
            pub fn name(self) -> &'static str {
                match self {
                    $( Self::$kind => $name, )*
                }
            }

            pub(crate) fn importer(self) -> &'static Importer {
                match self {
                    $( Self::$kind => &$importer, )*
                }
            }
        }
    };
}

importers! {
    /// A Loci palace.
    Loci "loci" => loci::IMPORTER,
    /// A ChromaDB directory, including MemPalace's.
    Chroma "chroma" => chroma::IMPORTER,
    /// MemPalace's `sqlite_exact` store.
    SqliteExact "sqlite_exact" => mempalace::IMPORTER,
    /// A memtomem database.
    Memtomem "memtomem" => memtomem::IMPORTER,
    /// A CortexaDB directory.
    CortexaDb "cortexadb" => cortexa::IMPORTER,
    /// JSON Lines, one record each.
    JsonLines "jsonl" => json_lines::IMPORTER,
}
