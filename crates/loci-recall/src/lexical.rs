//! The lexical arm: BM25 over the postings that a backend lists, under the same selection as every
//! other arm.

use std::collections::BinaryHeap;

use loci_core::{Postings, Result, SearchView, Statistics, TermQuery, Warning};
use loci_text::TermKind;

use crate::bm25::{PASSAGE_B, PASSAGE_K1, rarity, saturation};
use crate::evidence::{Origin, ProbedTerm};

/// A term that occurs in more than this share of the drawers does not select candidates if other
/// terms can. The same holds for a term that occurs in more drawers than the upper bound.
const COMMON_SHARE: u64 = 10;
const COMMON_LEAST: u64 = 2_000;
const COMMON_MOST: u64 = 20_000;
/// Minimum number of drawers of a common term that are ranked if no other term selects candidates.
const NEWEST_LEAST: usize = 2_000;
/// Maximum number of distinct terms of a query.
const MAX_TERMS: usize = 128;
/// Weight of a longer term with the same beginning, and of a part of a compound word.
const PREFIX_WEIGHT: f32 = 0.5;
const PART_WEIGHT: f32 = 0.5;
/// Weight of another spelling of a word, and of the initials of several words.
const SPELLING_WEIGHT: f32 = 0.8;
const INITIALS_WEIGHT: f32 = 0.8;
/// Minimum length of a prefix, in bytes.
const PREFIX_BYTES: usize = 3;

/// The word of a question that a term came from.
#[derive(Debug, Clone)]
pub(crate) struct AskedWord {
    pub(crate) word: String,
    /// The weight of the term relative to a plain word.
    pub(crate) weight: f32,
    pub(crate) origin: Origin,
}

/// The terms of a question, before their postings are read.
pub(crate) struct Question {
    /// The queries to the postings, one for each entry of `words`.
    pub(crate) terms: Vec<TermQuery>,
    /// The word that each term came from.
    pub(crate) words: Vec<AskedWord>,
    only_stop_words: bool,
    /// A term in more drawers than this is too common to select candidates.
    pub(crate) common: usize,
}

impl Question {
    pub(crate) fn new(query: &str, statistics: &Statistics, warnings: &mut Vec<Warning>) -> Self {
        let asked = loci_text::query_terms(query, MAX_TERMS);
        if asked.left_out > 0 {
            warnings.push(Warning::ManyWords {
                searched: MAX_TERMS,
                left_out: asked.left_out,
            });
        }
        let common = (statistics.palace_drawers / COMMON_SHARE).clamp(COMMON_LEAST, COMMON_MOST);
        let mut question = Self {
            terms: Vec::with_capacity(asked.terms.len()),
            words: Vec::with_capacity(asked.terms.len()),
            only_stop_words: asked.only_stop_words,
            common: common as usize,
        };
        for term in asked.terms {
            let weight = match term.kind {
                TermKind::Part => PART_WEIGHT,
                _ => 1.0,
            };
            let word = |weight, origin| AskedWord {
                word: term.word.clone(),
                weight,
                origin,
            };
            question.ask(&term.term, false, word(weight, Origin::Asked));
            if term.prefix && (term.term.len() >= PREFIX_BYTES || !term.term.is_ascii()) {
                let longer = word(weight * PREFIX_WEIGHT, Origin::Variant);
                question.ask(&term.term, true, longer);
            }
            for spelling in &term.spellings {
                let other = word(weight * SPELLING_WEIGHT, Origin::Variant);
                question.ask(spelling, false, other);
            }
        }
        for (initials, phrase) in asked.initials {
            let word = AskedWord {
                word: phrase,
                weight: INITIALS_WEIGHT,
                origin: Origin::Variant,
            };
            question.ask(&initials, false, word);
        }
        question
    }

    /// Adds a term, unless it is there already.
    fn ask(&mut self, term: &str, longer: bool, word: AskedWord) {
        let query = TermQuery {
            term: term.to_owned(),
            longer,
        };
        if word.origin == Origin::Asked || !self.terms.contains(&query) {
            self.terms.push(query);
            self.words.push(word);
        }
    }
}

/// The mentions of a term in a record: the record, the term and the count, from the highest bits to
/// the lowest. A question has tens of thousands of them, and whole numbers are sorted fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mention(u128);

impl Mention {
    fn new(record: u64, term: usize, count: u32) -> Self {
        Self(u128::from(record) << 64 | (term as u128) << 32 | u128::from(count))
    }

    fn record(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn term(self) -> usize {
        (self.0 >> 32) as u32 as usize
    }

    fn count(self) -> u32 {
        self.0 as u32
    }
}

/// The highest score that a record can have, and the position of its first mention. Ordered by the
/// score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bound(u64);

impl Bound {
    fn new(score: f32, at: usize) -> Self {
        // Scores are positive, and the bits of positive numbers have their order.
        Self(u64::from(score.max(0.0).to_bits()) << 32 | u64::from(at as u32))
    }

    fn score(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }

    fn at(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The postings of a question.
pub(crate) struct Lexical {
    pub(crate) terms: Vec<ProbedTerm>,
    pub(crate) only_stop_words: bool,
    /// Drawers of the palace.
    pub(crate) drawers: u64,
    /// Mean number of terms of a drawer of the collection.
    pub(crate) mean_length: f32,
    /// Sorted by record; includes records outside the selection and of other collections.
    mentions: Vec<Mention>,
    /// Positions of terms that are too common, with their queries.
    common: Vec<(usize, TermQuery)>,
}

impl Lexical {
    /// Collects the postings of every term of a question.
    pub(crate) fn new(
        question: Question,
        postings: Vec<Postings>,
        statistics: &Statistics,
    ) -> Self {
        let drawers = statistics.drawers.max(1);
        let listed = postings.iter().map(|postings| match postings {
            Postings::Listed(records) => records.len(),
            Postings::TooCommon { .. } => 0,
        });
        let mut arm = Self {
            terms: Vec::with_capacity(question.terms.len()),
            only_stop_words: question.only_stop_words,
            drawers: statistics.palace_drawers,
            mean_length: (statistics.terms as f32 / drawers as f32).max(1.0),
            mentions: Vec::with_capacity(listed.sum()),
            common: Vec::new(),
        };
        let asked = question.terms.into_iter().zip(question.words);
        for ((query, word), postings) in asked.zip(postings) {
            let at = arm.terms.len();
            let drawers = match &postings {
                Postings::Listed(records) => records.len() as u64,
                Postings::TooCommon { drawers } => *drawers,
            };
            if word.origin == Origin::Variant && drawers == 0 {
                continue;
            }
            arm.terms.push(ProbedTerm {
                term: if query.longer {
                    format!("{}*", query.term)
                } else {
                    query.term.clone()
                },
                word: word.word,
                weight: word.weight,
                origin: word.origin,
                drawers,
            });
            match postings {
                Postings::Listed(records) => arm.add(at, records),
                Postings::TooCommon { .. } => arm.common.push((at, query)),
            }
        }
        arm.sort();
        arm.replace_by_initials();
        arm
    }

    /// If no drawer contains any of the words whose initials were found, the initials count as asked
    /// for, and these words do not.
    fn replace_by_initials(&mut self) {
        let of_phrase = |term: &ProbedTerm, phrase: &str| {
            term.origin == Origin::Asked && phrase.split(' ').any(|word| word == term.word)
        };
        for at in 0..self.terms.len() {
            let Some(initials) = self.terms.get(at).filter(|term| term.word.contains(' ')) else {
                continue;
            };
            let phrase = initials.word.clone();
            let mut words = self.terms.iter().filter(|term| of_phrase(term, &phrase));
            if words.any(|word| word.drawers > 0) {
                continue;
            }
            for term in self
                .terms
                .iter_mut()
                .filter(|term| of_phrase(term, &phrase))
            {
                term.weight = 0.0;
            }
            if let Some(initials) = self.terms.get_mut(at) {
                initials.origin = Origin::Asked;
                initials.weight = 1.0;
            }
        }
    }

    /// Adds the mentions of a term.
    fn add(&mut self, term: usize, records: impl IntoIterator<Item = (u64, u32)>) {
        let records = records.into_iter();
        let mentions = records.map(|(record, count)| Mention::new(record, term, count));
        self.mentions.extend(mentions);
    }

    /// Sorts the mentions by record, then by term. Those of a term are sorted already; a stable
    /// sort merges such runs.
    fn sort(&mut self) {
        self.mentions.sort();
    }

    /// Adds the newest drawers of common terms if rarer terms do not yield `wanted` candidates.
    pub(crate) fn add_newest(
        &mut self,
        view: &mut dyn SearchView,
        wanted: usize,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        // If other collections have postings, too, a record cannot be counted as one of this
        // collection without looking it up.
        let alone = self.drawers <= view.statistics().drawers;
        if self.common.is_empty() || (alone && self.admits(view, wanted)) {
            return Ok(());
        }
        let limit = wanted.max(NEWEST_LEAST);
        let (places, queries): (Vec<usize>, Vec<TermQuery>) = self.common.drain(..).unzip();
        let mut words: Vec<String> = Vec::new();
        for (at, records) in places.into_iter().zip(view.newest(&queries, limit)?) {
            let word = self.terms.get(at).map(|term| &term.word);
            if let Some(word) = word.filter(|word| records.len() == limit && !words.contains(word))
            {
                words.push(word.clone());
            }
            // The newest record comes first.
            self.add(at, records.into_iter().rev().map(|record| (record, 1)));
        }
        if !words.is_empty() {
            warnings.push(Warning::CommonWords { limit, words });
        }
        self.sort();
        Ok(())
    }

    /// Whether the selection has this many of the records, as far as known without looking them up.
    fn admits(&self, view: &dyn SearchView, wanted: usize) -> bool {
        let admitted = self.by_record().filter(|(record, _)| view.admits(*record));
        admitted.take(wanted).count() == wanted
    }

    fn by_record(&self) -> impl Iterator<Item = (u64, &[Mention])> {
        self.mentions
            .chunk_by(|a, b| a.record() == b.record())
            .filter_map(|same| Some((same.first()?.record(), same)))
    }

    /// The terms of a record, and how often they occur.
    pub(crate) fn of(&self, record: u64) -> impl Iterator<Item = (usize, u32)> + '_ {
        let first = Mention::new(record, 0, 0);
        let start = self.mentions.partition_point(|mention| *mention < first);
        self.mentions_of(record, start)
            .map(|mention| (mention.term(), mention.count()))
    }

    /// The mentions of a record, from the first that can be one of them.
    fn mentions_of(&self, record: u64, start: usize) -> impl Iterator<Item = Mention> + '_ {
        let mentions = self.mentions.get(start..).unwrap_or_default().iter();
        mentions
            .take_while(move |mention| mention.record() == record)
            .copied()
    }

    /// The best records of the selection, best first. Lengths are read only for records that can
    /// still be among them.
    pub(crate) fn best(&self, view: &mut dyn SearchView, limit: usize) -> Result<Vec<(u64, f32)>> {
        let weights: Vec<f32> = self
            .terms
            .iter()
            .map(|term| term.weight * rarity(self.drawers, term.drawers))
            .collect();
        let part = |mention: Mention, length: f32| -> f32 {
            let weight = weights.get(mention.term()).copied().unwrap_or_default();
            let (count, mean) = (mention.count() as f32, self.mean_length);
            let share = saturation(count, PASSAGE_K1, PASSAGE_B, length, mean);
            weight * (PASSAGE_K1 + 1.0) * share
        };
        // Most counts are small. Their highest parts are computed once.
        let most = |term: usize| {
            let of_count = |count| part(Mention::new(0, term, count), 0.0);
            [0, 1, 2, 3, 4, 5, 6, 7].map(of_count)
        };
        let most: Vec<[f32; 8]> = (0..weights.len()).map(most).collect();
        let bound = |mention: &Mention| {
            let counts = most.get(mention.term());
            let known = counts.and_then(|counts| counts.get(mention.count() as usize));
            known.copied().unwrap_or_else(|| part(*mention, 0.0))
        };
        let mut bounds: Vec<Bound> = Vec::new();
        let mut at = 0;
        for (record, mentions) in self.by_record() {
            if view.admits(record) {
                bounds.push(Bound::new(mentions.iter().map(bound).sum(), at));
            }
            at += mentions.len();
        }
        let mut bounds = BinaryHeap::from(bounds);
        // Sorting in regular intervals keeps the lower bound close enough.
        let full = 2 * limit.max(32);
        let mut best: Vec<(u64, f32)> = Vec::new();
        let mut floor = f32::NEG_INFINITY;
        loop {
            let mut chunk: Vec<usize> = Vec::new();
            while chunk.len() < full - best.len()
                && bounds.peek().is_some_and(|bound| bound.score() > floor)
            {
                chunk.extend(bounds.pop().map(Bound::at));
            }
            if chunk.is_empty() {
                break;
            }
            // In the order of the records, which are near each other in the database.
            chunk.sort_unstable();
            let first = |at: &usize| self.mentions.get(*at).map(|mention| mention.record());
            let records: Vec<u64> = chunk.iter().filter_map(first).collect();
            let lengths = view.lengths(&records)?;
            for ((at, record), length) in chunk.iter().zip(&records).zip(lengths) {
                let score = |length: u32| -> f32 {
                    let mentions = self.mentions_of(*record, *at);
                    mentions.map(|mention| part(mention, length as f32)).sum()
                };
                best.extend(length.map(|length| (*record, score(length))));
            }
            if best.len() >= full {
                sort_by_score(&mut best);
                best.truncate(limit);
                floor = best.last().map_or(floor, |last| last.1);
            }
        }
        sort_by_score(&mut best);
        best.truncate(limit);
        Ok(best)
    }
}

fn sort_by_score(ranked: &mut [(u64, f32)]) {
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

#[cfg(test)]
mod tests {
    use loci_core::rows::{Row, Rows};
    use loci_core::{CandidateQuery, Metric, Selection, ViewRequest};

    use super::*;

    /// Ranks texts for a query; `limit` of them.
    fn ranked(texts: &[String], query: &str, limit: usize) -> (Vec<(u64, f32)>, Vec<Warning>) {
        let row = |(at, text): (usize, &String)| Row {
            record: at as u64 + 1,
            id: at.to_string(),
            document: Some(text.clone()),
            ..Row::default()
        };
        let rows = texts.iter().enumerate().map(row).collect();
        let rows = Rows::new("drawers", Metric::Cosine, rows);
        let (mut best, mut warnings) = (Vec::new(), Vec::new());
        let request = ViewRequest {
            selection: &Selection::all(),
            vectors: false,
        };
        rows.with_view(&request, &mut |view| {
            let question = Question::new(query, view.statistics(), &mut warnings);
            let query = CandidateQuery {
                terms: &question.terms,
                common: question.common,
                vectors: &[],
                near: 0,
            };
            let postings = view.candidates(&query)?.postings;
            let mut arm = Lexical::new(question, postings, view.statistics());
            arm.add_newest(view, limit, &mut warnings)?;
            best = arm.best(view, limit)?;
            Ok(())
        })
        .unwrap();
        (best, warnings)
    }

    #[test]
    fn the_best_are_the_first_of_a_full_ranking() {
        let text = |n: usize| {
            let (a, b) = ("quagga ".repeat(n % 5), "okapi ".repeat(n % 3));
            format!("{a}{b}{}", "filler ".repeat(n % 41))
        };
        let texts: Vec<String> = (0..700).map(text).collect();
        let (all, _) = ranked(&texts, "quagga okapi", texts.len());
        assert!(all.len() > 500);
        for limit in [1, 10, 33, 100] {
            let (best, _) = ranked(&texts, "quagga okapi", limit);
            assert_eq!(best, all[..limit], "{limit}");
        }
    }

    #[test]
    fn a_record_has_the_terms_that_it_contains_and_no_others() {
        let question = Question {
            terms: Vec::new(),
            words: Vec::new(),
            only_stop_words: false,
            common: 10,
        };
        let mut arm = Lexical::new(question, Vec::new(), &Statistics::default());
        arm.add(0, [(3, 2), (u64::MAX, 1)]);
        arm.add(1, [(3, 7), (5, u32::MAX)]);
        arm.sort();
        let of = |record| arm.of(record).collect::<Vec<_>>();
        assert_eq!(of(3), [(0, 2), (1, 7)]);
        assert_eq!(of(5), [(1, u32::MAX)]);
        assert_eq!(of(u64::MAX), [(0, 1)]);
        for record in [0, 2, 4, 6] {
            assert_eq!(of(record), []);
        }
    }

    #[test]
    fn a_common_word_chooses_the_newest_drawers_and_the_cut_is_reported() {
        let mut texts = vec!["common ground".to_owned(); 2_500];
        texts[0] = "common quagga".into();
        let (best, warnings) = ranked(&texts, "common", 10);
        assert_eq!(best.len(), 10);
        assert!(best.iter().all(|(record, _)| *record > 500), "{best:?}");
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code(), "common_words");
        let (best, warnings) = ranked(&texts, "common quagga", 1);
        assert_eq!(best[0].0, 1);
        assert_eq!(warnings, []);
    }
}
