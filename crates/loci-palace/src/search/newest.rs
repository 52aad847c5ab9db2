//! Answers a question that has conditions and no words: the newest drawers that satisfy them.

use loci_core::{Include, Metadata, Result};
use loci_recall::{Explanation, MatchedVia, Parts, Relevance, Verdict};

use super::{Answer, Hit, Question, Request};
use crate::palace::Palace;
use crate::title::Titles;

impl Palace {
    pub(super) fn newest_of(&self, request: &Request, read: &Question) -> Result<Answer> {
        let question = request.recalled(read);
        let (handle, mut warnings) = self.reading(&request.collection)?;
        let collection = handle.collection.as_ref();
        let found = collection.get_recent(request.k, &question.selection, Include::GET)?;
        warnings.extend(found.warnings);
        warnings.extend(read.warnings());
        let histories = collection.histories(&found.ids)?;
        let drawers = found.ids.into_iter().zip(found.documents);
        let drawers = drawers.zip(found.metadatas).zip(histories);
        let hits = drawers.map(|(((id, text), metadata), history)| {
            let created_at = history.created_at.unwrap_or_default();
            hit_of(id, text, metadata, created_at)
        });
        let mut answer = loci_recall::Answer {
            hits: Vec::new(),
            verdict: Verdict {
                probability: None,
                likely: true,
            },
            in_scope: collection.count_selected(&question.selection)?,
            tokens: 0,
            facets: None,
            outside: None,
            warnings,
            explanation: Explanation::default(),
        };
        loci_recall::fill(&mut answer, hits.collect(), &question);
        let mut titles = Titles::of(collection);
        let hits = answer.hits.into_iter().map(|hit| {
            let title = titles.title(&hit.metadata);
            Hit::new(hit, title, request)
        });
        let mut hits: Vec<Hit> = hits.collect();
        super::gone::mark(collection, &mut hits);
        Ok(Answer {
            hits,
            verdict: answer.verdict,
            in_scope: answer.in_scope,
            tokens: answer.tokens,
            warnings: answer.warnings,
            available_in_scope: None,
            terms: None,
            operators: read.operators.clone(),
            explain: request.explain.then_some(answer.explanation),
        })
    }
}

fn hit_of(id: String, text: String, metadata: Metadata, created_at: i64) -> loci_recall::Hit {
    loci_recall::Hit {
        record: 0,
        id,
        text,
        cut: false,
        marks: Vec::new(),
        best_line: 0,
        line: None,
        authored_at: metadata.authored_at().unwrap_or(created_at),
        created_at,
        score: 0.0,
        probability: 0.0,
        relevance: Relevance::default(),
        parts: Parts::default(),
        distance: None,
        lexical_rank: None,
        semantic_rank: None,
        matched_via: MatchedVia::Conditions,
        matched_words: Vec::new(),
        also_in: Vec::new(),
        tokens: 0,
        later: None,
        metadata,
    }
}
