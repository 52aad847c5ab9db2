//! Ends facts, and adds another in their place, inside one write transaction. A crash leaves the
//! old facts as they were, or ended together with the new fact.

use loci_core::{DateSpan, Fact, FactQuery, ended_already, nothing_to_end};
use rusqlite::Connection;

use super::{Numbers, facts};
use crate::fault::Attempt;
use crate::store::now_ms;

/// The largest number of current facts that a refusal lists.
const NAMED: usize = 3;

/// Ends the facts with these ids that can be ended. Returns their new state.
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

/// Ends facts and adds the one that replaces them. A conflict rolls the transaction back.
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

/// The error if nothing could be ended: the state of the old fact, and which facts hold.
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
