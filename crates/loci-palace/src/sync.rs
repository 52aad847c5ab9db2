//! The verb `sync`: finds drawers whose files are gone, and removes them.

use std::path::PathBuf;

use loci_core::{Result, RunKind, RunState};
pub use loci_mine::SyncReport as Answer;
use loci_mine::walk::Rules;
use loci_mine::{Run, SyncJob};

use crate::mine::names_of;
use crate::palace::Palace;

/// The paths to check, and what to remove.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The collection.
    pub collection: String,
    /// Sources below these paths are checked.
    pub paths: Vec<PathBuf>,
    /// The rules of mining. A file that they exclude counts as gone.
    pub rules: Rules,
    /// Remove the drawers of files that are gone.
    pub apply: bool,
    /// Also remove conversations.
    pub conversations: bool,
    /// Remove them even if most files of a root are gone.
    pub even_most: bool,
}

impl Palace {
    /// Finds sources below some paths whose files are gone; with `apply`, removes them and their
    /// drawers.
    pub fn sync(&self, request: &Request) -> Result<Answer> {
        let (memory, _) = self.memory(&request.collection, false)?;
        let ledger = self.ledger_of(&memory)?;
        let roots = names_of(&request.paths)?;
        let run = Run::new(ledger, RunKind::Sync, roots.clone());
        let machine = self.machine();
        let sweep = SyncJob {
            ledger,
            machine: &machine,
            roots: &roots,
            rules: &request.rules,
            ignored: true,
            conversations: request.conversations,
            even_most: request.even_most,
        };
        let result = sweep.sweep(request.apply.then_some(&run));
        let state = if result.is_ok() {
            RunState::Done
        } else {
            RunState::Failed
        };
        run.end(&state, &result.as_ref().ok())?;
        result
    }
}
