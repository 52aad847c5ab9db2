//! Finds earlier occurrences of an error in memory, and what followed them. Of several, the one with
//! the clearest fix is chosen, and of those the latest.

use std::ops::Range;

use loci_palace::query::Hit;
use loci_palace::{DEFAULT_COLLECTION, Palace, Result, instruction_like};

use super::fix::{Aftermath, Fix};
use super::signature::Signature;

/// How many sessions and files with the error are examined.
const MAX_SOURCES: usize = 3;
/// How many drawers after the error are read at once, and how often. It is read again if the error
/// occurs again in them.
const FOLLOWING: usize = 8;
const ROUNDS: usize = 3;
/// Fixes whose scores differ by less are equally clear.
const CLOSE: f32 = 0.5;

/// An error in memory.
#[derive(Debug)]
pub(super) struct Occurrence {
    /// The drawer.
    pub(super) hit: Hit,
    /// Where the error is in its text: whole lines.
    pub(super) error: Range<usize>,
    /// The fix that followed, if there is one, and the id of its drawer.
    pub(super) fix: Option<(Fix, String)>,
}

impl Occurrence {
    fn score(&self) -> f32 {
        self.fix.as_ref().map_or(0.0, |(fix, _)| fix.score)
    }

    fn moment(&self) -> &str {
        let moment = self.hit.metadata.get_str("authored_at");
        moment.unwrap_or_default()
    }
}

/// Returns the best occurrence of an error among some drawers.
pub(super) fn best(
    palace: &Palace,
    signature: &Signature,
    hits: Vec<Hit>,
) -> Result<Option<Occurrence>> {
    let mut best: Option<Occurrence> = None;
    for last in last_of_each_source(signature, hits) {
        let one = followed(palace, signature, last)?;
        let is_better = best.as_ref().is_none_or(|best| {
            let difference = one.score() - best.score();
            let is_clearer = difference >= CLOSE || best.fix.is_none() && one.fix.is_some();
            let is_as_clear = difference > -CLOSE && best.fix.is_some() == one.fix.is_some();
            is_clearer || is_as_clear && one.moment() > best.moment()
        });
        if is_better {
            best = Some(one);
        }
    }
    Ok(best)
}

/// Returns the last drawer with the error in each session or file. Text that reads like instructions
/// to a model is left out.
fn last_of_each_source(signature: &Signature, hits: Vec<Hit>) -> Vec<Hit> {
    let mut last: Vec<Hit> = Vec::new();
    for hit in hits {
        if !hit.flags.is_empty() || !signature.is_in(&hit.text) {
            continue;
        }
        let source = hit.metadata.get_str("source_file");
        let is_same =
            |other: &Hit| source.is_some() && other.metadata.get_str("source_file") == source;
        let is_full = last.len() >= MAX_SOURCES;
        match last.iter_mut().find(|other| is_same(other)) {
            Some(other) if place_in_source(&hit) > place_in_source(other) => *other = hit,
            Some(_) => {}
            None if is_full => {}
            None => last.push(hit),
        }
    }
    last
}

fn place_in_source(hit: &Hit) -> [i64; 3] {
    ["start_line", "exchange", "part"].map(|key| match hit.metadata.get(key) {
        Some(loci_palace::MetaValue::Int(number)) => *number,
        _ => 0,
    })
}

/// Reads what followed an error. If the error occurs again there, what followed the last occurrence
/// counts. Text that reads like instructions to a model is no fix.
fn followed(palace: &Palace, signature: &Signature, hit: Hit) -> Result<Occurrence> {
    let mut hit = hit;
    let mut following = Vec::new();
    for _ in 0..ROUNDS {
        let Some(record) = hit.record else {
            break;
        };
        following = palace.following(DEFAULT_COLLECTION, record, FOLLOWING)?;
        let again = following.iter().rposition(|later| {
            signature.is_in(&later.document) && instruction_like(&later.document).is_empty()
        });
        let Some(again) = again else {
            break;
        };
        let mut rest = following.split_off(again);
        following = rest.split_off(1);
        if let Some(later) = rest.pop() {
            hit = Hit {
                id: later.id,
                text: later.document,
                metadata: later.metadata,
                record: Some(later.record),
                ..hit
            };
        }
    }
    let error = signature.lines_in(&hit.text);
    let texts: Vec<&str> = following.iter().map(|one| one.document.as_str()).collect();
    let aftermath = Aftermath {
        signature,
        text: &hit.text,
        error: error.clone(),
        following: &texts,
    };
    let fix = aftermath.fix().and_then(|fix| {
        let number = fix.drawer.checked_sub(1);
        let drawer = number.and_then(|number| following.get(number));
        let text = drawer.map_or(&hit.text, |drawer| &drawer.document);
        let id = drawer.map_or(&hit.id, |drawer| &drawer.id).clone();
        let is_trusted =
            instruction_like(text).is_empty() && instruction_like(&fix.text).is_empty();
        is_trusted.then_some((fix, id))
    });
    Ok(Occurrence { hit, error, fix })
}
