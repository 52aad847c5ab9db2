//! What somebody can do about a [`Warning`](crate::Warning) or an [`Error`](crate::Error), without
//! saying how: that is a command in a terminal, a tool for an agent and a call for a program, so
//! each front end has its own words for these.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::capability::{Capabilities, Capability};
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
    /// Name one of the collections that the palace has.
    NameCollection {
        /// Their names, in order.
        collections: Vec<String>,
    },
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
    /// Use the embedder that made the vectors.
    UseEmbedder {
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
        /// The model of the vectors.
        missing: String,
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

impl Advice {
    /// What can be done of it where a backend offers only these capabilities: all of it, a part of
    /// it, or nothing.
    #[must_use]
    pub fn within(self, offered: &Capabilities) -> Option<Self> {
        match self.needs() {
            Some(needed) if !offered.contains(&needed) => self.without_backend(),
            _ => Some(self),
        }
    }

    /// The capability that a backend needs for it.
    fn needs(&self) -> Option<Capability> {
        Some(match self {
            Self::CreatePalace | Self::CreatePalaceHere | Self::AddDrawers => Capability::Writing,
            Self::ListRuns | Self::MineFile { .. } | Self::MineAgents => Capability::Mining,
            Self::ShowSplit => Capability::Projects,
            Self::QueryFacts => Capability::Relations,
            Self::UsePinnedEmbedder { .. }
            | Self::Reembed { .. }
            | Self::AddModelOrReembed { .. }
            | Self::AddModelThenReembed { .. } => Capability::Reembedding,
            Self::Verify => Capability::Verification,
            Self::Repair | Self::RebuildIndex => Capability::Repair,
            Self::BackUp | Self::ReplacePalace => Capability::Backups,
            Self::ListCollections => Capability::Status,
            Self::NameAnotherPalace
            | Self::NameCollection { .. }
            | Self::ListDrawers
            | Self::ReadDrawer { .. }
            | Self::UseEmbedder { .. }
            | Self::AddModel { .. }
            | Self::Import { .. }
            | Self::Diagnose { .. }
            | Self::DiagnoseAndImport { .. }
            | Self::KeepVectors { .. }
            | Self::AllowAgain
            | Self::ChooseOnConflict
            | Self::NameServer
            | Self::Overwrite
            | Self::SetRecordsAside
            | Self::NamePalace
            | Self::RepairChroma
            | Self::KeepChromaVectors => return None,
        })
    }

    /// The part of it that needs nothing of a backend.
    fn without_backend(self) -> Option<Self> {
        match self {
            Self::UsePinnedEmbedder { pinned } => Some(Self::UseEmbedder { pinned }),
            Self::AddModelOrReembed { missing, .. } => Some(Self::AddModel {
                model: missing,
                can_pull: false,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_that_needs_a_capability_is_left_out_where_it_is_not_offered() {
        let nothing = Capabilities::new();
        let reembed = Advice::Reembed { model: None };
        assert_eq!(reembed.clone().within(&nothing), None);
        let offered = Capabilities::from([Capability::Reembedding]);
        assert_eq!(reembed.clone().within(&offered), Some(reembed));
        for advice in [Advice::Verify, Advice::Repair, Advice::AddDrawers] {
            assert_eq!(advice.within(&nothing), None);
        }
        let import = Advice::Import { path: None };
        assert_eq!(import.clone().within(&nothing), Some(import));
    }

    #[test]
    fn the_part_of_an_advice_that_needs_no_capability_stays() {
        let nothing = Capabilities::new();
        let pinned = || "minilm".to_owned();
        let both = Advice::UsePinnedEmbedder { pinned: pinned() };
        let one = Advice::UseEmbedder { pinned: pinned() };
        assert_eq!(both.within(&nothing), Some(one));
        let both = Advice::AddModelOrReembed {
            model: "static".into(),
            missing: pinned(),
        };
        let one = Advice::AddModel {
            model: pinned(),
            can_pull: false,
        };
        assert_eq!(both.within(&nothing), Some(one));
    }
}
