//! The one row of the table `palace`: identity, generation and counters.

use rusqlite::Connection;

use crate::fault::Attempt;

/// The row of the table `palace`, read inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) identity: [u8; 16],
    pub(crate) generation: u64,
    pub(crate) seq: u64,
    pub(crate) tombstone_floor: u64,
    /// Sequence number of the last forgotten drawer whose text may still be in a file, or 0.
    pub(crate) purge_pending: u64,
}

/// An identity as text.
pub(crate) fn identity_text(identity: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(identity))
}

impl Head {
    /// The identity as text.
    pub(crate) fn identity_text(&self) -> String {
        identity_text(self.identity)
    }

    pub(crate) fn read(db: &Connection) -> Attempt<Self> {
        let mut statement = db.prepare_cached(
            "SELECT identity, generation, seq, tombstone_floor, purge_pending FROM palace WHERE id = 1",
        )?;
        Ok(statement.query_row([], |row| {
            Ok(Self {
                identity: row.get(0)?,
                generation: row.get::<_, i64>(1)? as u64,
                seq: row.get::<_, i64>(2)? as u64,
                tombstone_floor: row.get::<_, i64>(3)? as u64,
                purge_pending: row.get::<_, i64>(4)? as u64,
            })
        })?)
    }
}

/// A random number that distinguishes this history of the palace from every other one.
pub(crate) fn new_generation() -> i64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    (high >> 1) as i64
}
