//! Compares drawers with later ones, to fit how likely a later statement replaces an earlier one.

use loci_agents::hooks::Prompt;
use loci_palace::search::{self, Hit};
use loci_palace::{ErrorKind, Palace, Result};
use loci_recall::{Comparison, Statement};

use super::notes::Pair;
use super::rows::Compared;

/// How many drawers are compared with each other.
const COMPARED: usize = 30;

/// What is known about the statements that a question is about.
#[derive(Clone, Copy)]
pub(super) enum Truth<'a> {
    /// A pair, in its palace.
    Pair(&'a Pair),
    /// A question of a data set. The evidence of a question about an update is in turns of several
    /// sessions, each of which replaces the one before.
    Updates {
        sessions: &'a [String],
        turns: &'a [String],
    },
    /// Nothing is known.
    Unknown,
}

impl Truth<'_> {
    /// Whether the later drawer replaces the earlier one. `None` if that is unknown.
    fn replaces(self, earlier: &Hit, later: &Hit) -> Option<bool> {
        match self {
            Self::Pair(pair) => {
                let [before, after] = pair.ids();
                let is_of_pair = |hit: &Hit| hit.id.starts_with(&format!("{}:", pair.id));
                let is_pair = earlier.id == before && later.id == after;
                if is_pair || earlier.id == before || !is_of_pair(earlier) || !is_of_pair(later) {
                    return Some(is_pair && pair.overruled);
                }
                None
            }
            Self::Updates { sessions, turns } => {
                let source = |hit: &Hit| hit.source.value().cloned().unwrap_or_default();
                let is_of_other = source(earlier) != source(later);
                let has = |list: &[String], name: &String| list.contains(name);
                if has(turns, &earlier.id) && has(turns, &later.id) {
                    return Some(is_of_other);
                }
                let is_evidence = has(sessions, &source(earlier)) && has(sessions, &source(later));
                (!is_evidence || turns.is_empty()).then_some(false)
            }
            Self::Unknown => None,
        }
    }
}

/// Compares the drawers that a prompt finds.
pub(super) fn compare(
    palace: &Palace,
    prompt: &Prompt<'_>,
    truth: Truth<'_>,
) -> Result<Vec<Compared>> {
    let found = palace.search(&search::Request {
        k: COMPARED,
        today: prompt.today,
        unasked: true,
        ..search::Request::new(prompt.text)
    });
    let hits = match found {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?.hits,
    };
    let comparison = Comparison::new(prompt.text);
    let compared = hits.iter().map(|earlier| {
        let later = hits.iter().filter_map(|later| {
            let inputs = comparison.inputs(&statement(earlier)?, &statement(later)?)?;
            Some((inputs, truth.replaces(earlier, later)?))
        });
        Compared {
            id: earlier.id.clone(),
            later: later.collect(),
        }
    });
    let compared = compared.filter(|compared| !compared.later.is_empty());
    Ok(compared.take(COMPARED / 3).collect())
}

fn statement(hit: &Hit) -> Option<Statement<'_>> {
    let details = hit.details.as_ref()?;
    Some(Statement {
        text: &hit.text,
        metadata: &details.metadata,
        authored_at: details.authored_at.0,
    })
}
