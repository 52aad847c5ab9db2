//! Ends facts, and puts another in their place, inside one write transaction.

use loci_core::{DateSpan, Fact, FactQuery, ended_already, nothing_to_end};
use rusqlite::Connection;

use super::{Numbers, facts};
use crate::fault::Attempt;
use crate::store::now_ms;

/// Facts that hold, named in a refusal.
const NAMED: usize = 3;

/// Ends the facts of these ids that can be ended; gives them as they are now.
pub(super) fn end(
    db: &Connection,
    ids: &[String],
    valid_to: &str,
    date: DateSpan,
) -> Attempt<Vec<Fact>> {
    let mut numbers = Numbers::begin(db)?;
    let now = now_ms();
    let mut ended = Vec::new();
    for id in ids {
        let Some((row, fact)) = facts::find(db, id)? else {
            continue;
        };
        if !fact.can_end(date, now) {
            continue;
        }
        let fact = Fact {
            valid_to: Some(valid_to.to_owned()),
            ..fact
        };
        facts::write_end(db, row, numbers.draw(), &fact)?;
        ended.push(fact);
    }
    numbers.finish(db)?;
    Ok(ended)
}

/// Ends facts and adds the one that holds instead. A conflict rolls the transaction back.
pub(super) fn supersede(
    db: &Connection,
    ids: &[String],
    valid_to: &str,
    date: DateSpan,
    new: &Fact,
) -> Attempt<Vec<Fact>> {
    let ended = end(db, ids, valid_to, date)?;
    if ended.is_empty() {
        return Err(refusal(db, ids, new)?.into());
    }
    super::insert_all(db, std::slice::from_ref(new), facts::insert)?;
    match facts::find(db, &new.key())? {
        Some((_, there)) if there.valid_to.is_some() && there.valid_to != new.valid_to => {
            Err(ended_already(&there).into())
        }
        _ => Ok(ended),
    }
}

/// What is said when nothing could be ended: what became of the old fact, and what holds.
fn refusal(db: &Connection, ids: &[String], new: &Fact) -> Attempt<loci_core::Error> {
    let mut old = None;
    for id in ids {
        old = old.or(facts::find(db, id)?.map(|(_, fact)| fact));
    }
    let about = old.as_ref().unwrap_or(new);
    let query = FactQuery {
        subject: Some(about.subject.clone()),
        predicate: Some(about.predicate.clone()),
        any_case: true,
        ..FactQuery::default()
    };
    let (mut holding, now) = (Vec::new(), now_ms());
    facts::each(db, &query, &mut |fact| {
        if fact.holds_at(now) {
            holding.push(fact);
        }
        holding.len() < NAMED
    })?;
    Ok(nothing_to_end(old.as_ref(), &holding))
}
