//! The text of PDF.

use super::Skip;

/// The text and title of a document.
pub(super) fn extract(_bytes: &[u8]) -> Result<(String, Option<String>), Skip> {
    Err(Skip::NoText)
}
