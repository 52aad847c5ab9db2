//! What somebody can do about a [`Warning`](crate::Warning) or an [`Error`](crate::Error), without
//! saying how: that is a command in a terminal, a tool for an agent and a call for a program, so
//! each front end has its own words for these.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::path_text::{serialize_optional_path, serialize_path};

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Advice {
    /// Create a palace, or name another one.
    CreatePalace,
    /// Create a palace in this directory on purpose, or name another directory.
    CreatePalaceHere,
    /// Name another directory: this one belongs to another program.
    NameAnotherPalace,
    /// Look up the collections of the palace.
    ListCollections,
    /// Look up the ids of drawers.
    ListDrawers,
    /// Look up the recorded runs.
    ListRuns,
    /// Look at what is left to split of a wing.
    ShowSplit,
    /// Add the first drawers.
    AddDrawers,
    /// Read one drawer in full.
    ReadDrawer {
        /// Its id.
        id: String,
    },
    /// Query the facts that are known.
    QueryFacts,
    /// Use the embedder that made the vectors, or embed all texts again.
    UsePinnedEmbedder {
        /// The embedder of the vectors.
        pinned: String,
    },
    /// Embed all texts again.
    Reembed {
        /// The embedder, if one fits better than others.
        model: Option<String>,
    },
    /// Store a model in this machine's model directory.
    AddModel {
        /// The model.
        model: String,
        /// Whether it can be downloaded by its name.
        can_pull: bool,
    },
    /// Store the model of the vectors, or embed all texts again with the embedder at hand.
    AddModelOrReembed {
        /// The embedder at hand.
        model: String,
    },
    /// Store the model, then embed the texts of one collection again with it.
    AddModelThenReembed {
        /// The collection.
        collection: String,
    },
    /// Check the palace.
    Verify,
    /// List the damage, and save what can be read.
    Repair,
    /// Rebuild the index.
    RebuildIndex,
    /// Make a copy of a palace that is in use.
    BackUp,
    /// Import a directory of another program into a palace that can be written.
    Import {
        /// The directory, if it is known.
        #[serde(serialize_with = "serialize_optional_path")]
        path: Option<PathBuf>,
    },
    /// Diagnose a directory of another program.
    Diagnose {
        /// The directory.
        #[serde(serialize_with = "serialize_path")]
        path: PathBuf,
    },
    /// Diagnose a directory of another program, or import it.
    DiagnoseAndImport {
        /// The directory.
        #[serde(serialize_with = "serialize_path")]
        path: PathBuf,
    },
    /// Import into a collection of its own, which keeps the vectors as they are.
    KeepVectors {
        /// A model with which the collection here could take the vectors, if it were embedded again
        /// before the import.
        model: Option<String>,
    },
    /// Import forgotten texts all the same.
    AllowAgain,
    /// Choose what an import does with drawers that differ.
    ChooseOnConflict,
    /// Mine one file as it is now.
    MineFile {
        /// The file.
        #[serde(serialize_with = "serialize_path")]
        path: PathBuf,
    },
    /// Mine the transcripts of the agents on this machine.
    MineAgents,
    /// Choose another name for the MCP server.
    NameServer,
    /// Replace the file that is there.
    Overwrite,
    /// Replace the palace that is there; it is kept under another name.
    ReplacePalace,
    /// Move records that have no vector into a file.
    SetRecordsAside,
    /// Name a palace: there is no usual place for one.
    NamePalace,
    /// Repair a ChromaDB directory in place.
    RepairChroma,
    /// Quarantine with a copy of the vectors, or repair the ChromaDB directory in place later.
    KeepChromaVectors,
}
