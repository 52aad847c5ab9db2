//! What a user can do about a [`Warning`](crate::Warning) or an [`Error`](crate::Error), without
//! naming a command. Each front end has its own words for it: a command in a terminal, a tool for
//! an agent, a call for a program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::capability::{Capabilities, Capability};
use crate::path_text::{serialize_optional_path, serialize_path};

/// An action that a user can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Advice {
    /// Create a palace, or name another one.
    CreatePalace,
    /// Create a palace in this directory explicitly, or name another directory.
    CreatePalaceHere,
    /// Name another directory: this one belongs to another program.
    NameAnotherPalace,
    /// List the collections of the palace.
    ListCollections,
    /// Name one of the collections that the palace has.
    NameCollection {
        /// Their names, sorted.
        collections: Vec<String>,
    },
    /// List the ids of drawers.
    ListDrawers,
    /// Change a drawer instead of adding one.
    UpdateDrawer {
        /// Its id.
        id: String,
    },
    /// List the recorded runs.
    ListRuns,
    /// Show what is left to split in a wing.
    ShowSplit,
    /// Add the first drawers.
    AddDrawers,
    /// Read one drawer in full.
    ReadDrawer {
        /// Its id.
        id: String,
    },
    /// Read the rest of a drawer that was cut.
    ReadRest {
        /// Its id.
        id: String,
        /// The number of characters that were read.
        offset: usize,
    },
    /// Read the drawers that were left out of an answer.
    ReadLeftOut,
    /// Search again and show hits that probably do not answer the question.
    ShowImprobable,
    /// Query the facts that are known.
    QueryFacts,
    /// Use the embedder that made the vectors, or re-embed all texts.
    UsePinnedEmbedder {
        /// The embedder of the vectors.
        pinned: String,
    },
    /// Use the embedder that made the vectors.
    UseEmbedder {
        /// The embedder of the vectors.
        pinned: String,
    },
    /// Re-embed all texts.
    Reembed {
        /// The recommended embedder, if there is one.
        model: Option<String>,
    },
    /// Store a model in this machine's model directory.
    AddModel {
        /// The model.
        model: String,
        /// Whether it can be downloaded by its name.
        can_pull: bool,
    },
    /// Store the model that made the vectors, or re-embed all texts with the available embedder.
    AddModelOrReembed {
        /// The available embedder.
        model: String,
        /// The model that made the vectors.
        missing: String,
    },
    /// Store the model, then re-embed the texts of one collection with it.
    AddModelThenReembed {
        /// The collection.
        collection: String,
    },
    /// Re-embed the texts of one collection with the built-in table.
    UpgradeVectors {
        /// The collection.
        collection: String,
    },
    /// Check the palace.
    Verify,
    /// List the damage, and save the data that can be read.
    Repair,
    /// Restore a palace that has lost its database, or start over.
    RestoreLost {
        /// The directory of the palace.
        #[serde(serialize_with = "serialize_path")]
        directory: PathBuf,
        /// Names of the copies of the database that are in the directory.
        copies: Vec<String>,
    },
    /// Rebuild the index.
    RebuildIndex,
    /// Create a folder that a new file was to be in.
    CreateFolder {
        /// The folder.
        #[serde(serialize_with = "serialize_path")]
        path: PathBuf,
    },
    /// Make a copy of a palace that is in use.
    BackUp,
    /// Import a directory of another program into a palace that Loci can write.
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
    /// Import into a separate collection, which keeps the vectors unchanged.
    KeepVectors {
        /// A model that would make the vectors fit, if the existing collection were re-embedded
        /// with it before the import.
        model: Option<String>,
    },
    /// Import texts even if they were forgotten here.
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
    /// Overwrite the existing file.
    Overwrite,
    /// Replace the existing palace, which is kept under another name.
    ReplacePalace,
    /// Move records that have no vector into a file.
    SetRecordsAside,
    /// Name a palace, because there is no default path.
    NamePalace,
    /// Make a file of another program readable for this user.
    MakeReadable,
    /// Quarantine with a copy of the vectors, or repair the ChromaDB directory in place later.
    KeepChromaVectors,
}

impl Advice {
    /// The part of the advice that a backend with these capabilities supports; `None` if it
    /// supports nothing of it.
    #[must_use]
    pub fn within(self, offered: &Capabilities) -> Option<Self> {
        match self.needs() {
            Some(needed) if !offered.contains(&needed) => self.without_backend(),
            _ => Some(self),
        }
    }

    /// The capability that it requires.
    fn needs(&self) -> Option<Capability> {
        Some(match self {
            Self::CreatePalace
            | Self::CreatePalaceHere
            | Self::AddDrawers
            | Self::UpdateDrawer { .. } => Capability::Writing,
            Self::ListRuns | Self::MineFile { .. } | Self::MineAgents => Capability::Mining,
            Self::ShowSplit => Capability::Projects,
            Self::QueryFacts => Capability::Relations,
            Self::UsePinnedEmbedder { .. }
            | Self::Reembed { .. }
            | Self::UpgradeVectors { .. }
            | Self::AddModelOrReembed { .. }
            | Self::AddModelThenReembed { .. } => Capability::Reembedding,
            Self::Verify => Capability::Verification,
            Self::Repair | Self::RebuildIndex => Capability::Repair,
            Self::BackUp | Self::ReplacePalace | Self::RestoreLost { .. } => Capability::Backups,
            Self::ListCollections => Capability::Status,
            Self::NameAnotherPalace
            | Self::NameCollection { .. }
            | Self::ListDrawers
            | Self::ReadDrawer { .. }
            | Self::ReadRest { .. }
            | Self::ReadLeftOut
            | Self::ShowImprobable
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
            | Self::CreateFolder { .. }
            | Self::MakeReadable
            | Self::KeepChromaVectors => return None,
        })
    }

    /// The part that requires no capability.
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
