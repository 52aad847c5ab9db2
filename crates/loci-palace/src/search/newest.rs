//! Answers a question that has conditions and no words: the newest drawers that satisfy them.

use loci_core::{Include, Metadata, Result};
use loci_recall::{MatchedVia, Parts, Verdict};

use super::{Answer, Hit, Question, Request};
use crate::palace::Palace;
use crate::title::Titles;

impl Palace {
    pub(super) fn newest_of(&self, request: &Request, read: &Question) -> Result<Answer> {
        let selection = read.narrow(&request.selection);
        let (handle, mut warnings) = self.reading(&request.collection)?;
        let collection = handle.collection.as_ref();
        let found = collection.get_recent(request.k, &selection, Include::GET)?;
        warnings.extend(found.warnings);
        warnings.extend(read.warnings());
        let histories = collection.histories(&found.ids)?;
        let mut titles = Titles::of(collection);
        let drawers = found.ids.into_iter().zip(found.documents);
        let drawers = drawers.zip(found.metadatas).zip(histories);
        let hits = drawers.map(|(((id, text), metadata), history)| {
            let title = titles.title(&metadata);
            let created_at = history.created_at.unwrap_or_default();
            Hit::new(hit_of(id, text, metadata, created_at), title, request)
        });
        let mut hits: Vec<Hit> = hits.collect();
        super::gone::mark(collection, &mut hits);
        Ok(Answer {
            in_scope: collection.count_selected(&selection)?,
            tokens: 0,
            hits,
            verdict: Verdict {
                probability: None,
                likely: true,
            },
            warnings,
            available_in_scope: None,
            terms: None,
            operators: read.operators.clone(),
            explain: None,
        })
    }
}

fn hit_of(id: String, text: String, metadata: Metadata, created_at: i64) -> loci_recall::Hit {
    loci_recall::Hit {
        record: 0,
        id,
        tokens: 0,
        text,
        cut: false,
        marks: Vec::new(),
        best_line: 0,
        line: None,
        authored_at: metadata.authored_at().unwrap_or(created_at),
        created_at,
        score: 0.0,
        probability: 0.0,
        relevance: loci_recall::Relevance::default(),
        parts: Parts::default(),
        distance: None,
        lexical_rank: None,
        semantic_rank: None,
        matched_via: MatchedVia::Conditions,
        matched_words: Vec::new(),
        also_in: Vec::new(),
        later: None,
        metadata,
    }
}
