//! Reads what follows a drawer in its source: the later exchanges of a conversation, or the next
//! chunks of a file.

use loci_core::{Recalled, Result, Selection, SourceLimits, ViewRequest};

use crate::palace::Palace;

/// How many drawers of a source are looked through, without reading their texts.
const MAX_PASSAGES: usize = 4_000;

impl Palace {
    /// The drawers that follow a record in its source, in the order of the source, at most `most`.
    /// Their texts are not checked for instructions. There are none if the record is unknown, has no
    /// source, or is beyond the first 4,000 drawers of its source.
    pub fn following(&self, collection: &str, record: u64, most: usize) -> Result<Vec<Recalled>> {
        let collection = self.collection(collection, false)?;
        let everything = Selection::all();
        let request = ViewRequest {
            selection: &everything,
            vectors: false,
        };
        let limits = SourceLimits {
            per_source: MAX_PASSAGES,
            total: MAX_PASSAGES,
        };
        let mut following = Vec::new();
        collection.with_view(&request, &mut |view| {
            let found = view.surroundings(&[record], limits)?;
            let passages = found.sources.iter().flat_map(|source| &source.passages);
            let after = passages
                .map(|passage| passage.record)
                .skip_while(|other| *other != record)
                .skip(1);
            let records: Vec<u64> = after.take(most).collect();
            following = view.fetch(&records)?;
            Ok(())
        })?;
        Ok(following)
    }
}
