//! Adopts ledger rows of another palace.

use std::collections::BTreeSet;

use loci_core::{
    Adopted, CountedSource, LEFTOVERS, Machine, Origin, Result, SourceHash, SourceRecord,
};

use crate::memory::state::{Palace, State};

pub(super) fn after(state: &State, name: &str, limit: usize) -> Vec<CountedSource> {
    let rows = state.mined.sources.iter();
    let names: BTreeSet<&str> = rows
        .clone()
        .map(|(_, row)| row.name.as_str())
        .filter(|other| *other > name)
        .collect();
    let names: BTreeSet<&str> = names.into_iter().take(limit).collect();
    let mut found: Vec<CountedSource> = rows
        .filter(|(_, row)| row.section != LEFTOVERS && names.contains(row.name.as_str()))
        .map(|(number, row)| CountedSource {
            record: row.clone(),
            drawers: state.held_by(*number).len() as u64,
        })
        .collect();
    found.sort_by(|a, b| {
        let key = |row: &SourceRecord| (row.section == 0, row.section);
        let (left, right) = (&a.record, &b.record);
        (&left.name, &left.machine.id, key(left)).cmp(&(&right.name, &right.machine.id, key(right)))
    });
    found
}

pub(super) fn adopt(palace: &mut Palace, name: &str, source: &CountedSource) -> Result<Adopted> {
    let revision = palace.draw();
    let state = palace.collection_mut(name)?;
    let record = &source.record;
    if is_filed(state, &record.machine, &record.name, 0)
        || is_filed(state, &record.machine, &record.name, record.section)
    {
        return Ok(Adopted::Known);
    }
    let number = state.mined.ensure(record);
    let unread = |row: &SourceRecord| row.hash == SourceHash::default();
    let sections_are_whole = !state
        .mined
        .of_name(&record.machine, &record.name)
        .any(|(_, row)| row.section != 0 && row.section != LEFTOVERS && unread(row));
    let whole = state.held_by(number).len() as u64 == source.drawers
        && !unread(record)
        && (record.section != 0 || sections_are_whole);
    state.mined.put(number, record, revision);
    if whole {
        return Ok(Adopted::Whole);
    }
    state.mined.distrust(number);
    Ok(Adopted::Incomplete)
}

/// The row of an imported drawer, which is created if it is missing. `None` if this palace filed
/// the source itself.
pub(in crate::memory) fn origin_row(state: &mut State, origin: &Origin) -> u64 {
    let machine = Machine {
        id: origin.machine.clone(),
        host: String::new(),
    };
    if is_filed(state, &machine, &origin.name, 0) {
        return 0;
    }
    state.mined.ensure(&SourceRecord {
        name: origin.name.clone(),
        section: origin.section,
        machine,
        ..SourceRecord::default()
    })
}

fn is_filed(state: &State, machine: &Machine, name: &str, section: u32) -> bool {
    let found = state.mined.find(machine, name, section);
    let row = found.and_then(|number| state.mined.sources.get(&number));
    row.is_some_and(|row| row.revision > 0)
}
