//! MemPalace's names for what Loci does.

use crate::tool::Tool;

/// The tools.
pub(crate) fn tools() -> Vec<Tool> {
    Vec::new()
}
