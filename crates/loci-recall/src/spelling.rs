//! Words with a typing error: if no drawer contains a word, the stored word that differs from it by
//! one letter is searched.

use loci_core::{CandidateQuery, Postings, Result, SearchView, TermQuery, Warning};
use loci_embed::StaticEmbedder;

use crate::evidence::Origin;
use crate::lexical::Question;

/// Maximum number of words that are corrected. Each costs a few hundred look-ups.
const MOST_WORDS: usize = 3;
/// Weight of a corrected word. It may be another word than the one that was meant.
const WEIGHT: f32 = 0.8;

/// Replaces words that no drawer contains, and their postings.
pub(crate) fn correct(
    view: &mut dyn SearchView,
    question: &mut Question,
    postings: &mut [Postings],
    warnings: &mut Vec<Warning>,
) -> Result<()> {
    let unknown = unknown(question, postings);
    let mut owners = Vec::new();
    let mut terms = Vec::new();
    for at in unknown {
        let Some(asked) = question.terms.get(at) else {
            continue;
        };
        for term in loci_text::one_typing_error(&asked.term) {
            owners.push(at);
            let longer = false;
            terms.push(TermQuery { term, longer });
        }
    }
    if terms.is_empty() {
        return Ok(());
    }
    let found = view.candidates(&CandidateQuery {
        terms: &terms,
        common: question.common,
        vectors: &[],
        near: 0,
    })?;
    let mut best: Vec<(usize, u64, TermQuery, Postings)> = Vec::new();
    for ((at, term), postings) in owners.into_iter().zip(terms).zip(found.postings) {
        let drawers = drawers(&postings);
        match best.iter_mut().find(|(known, ..)| *known == at) {
            _ if drawers == 0 => {}
            Some(known) if known.1 >= drawers => {}
            Some(known) => *known = (at, drawers, term, postings),
            None => best.push((at, drawers, term, postings)),
        }
    }
    for (at, _, term, found) in best {
        let asked = question.terms.get_mut(at).zip(question.words.get_mut(at));
        if let (Some((query, word)), Some(postings)) = (asked, postings.get_mut(at)) {
            warnings.push(Warning::Spelling {
                word: word.word.clone(),
                searched: term.term.clone(),
            });
            word.weight *= WEIGHT;
            (*query, *postings) = (term, found);
        }
    }
    Ok(())
}

/// The positions of words that no drawer contains, in any form, and that the built-in vocabulary
/// does not have as one piece. A word that it has is spelled correctly.
fn unknown(question: &Question, postings: &[Postings]) -> Vec<usize> {
    let is_found = |word: &str| {
        let words = question.words.iter().zip(postings);
        words
            .filter(|(asked, _)| asked.word == word)
            .any(|(_, postings)| drawers(postings) > 0)
    };
    let words = question.words.iter().enumerate();
    words
        .filter(|(_, asked)| asked.origin == Origin::Asked && !is_found(&asked.word))
        .filter(|(_, asked)| StaticEmbedder::builtin().tokens(&asked.word).len() > 1)
        .map(|(at, _)| at)
        .take(MOST_WORDS)
        .collect()
}

fn drawers(postings: &Postings) -> u64 {
    match postings {
        Postings::Listed(records) => records.len() as u64,
        Postings::TooCommon { drawers } => *drawers,
    }
}
