//! The history of a drawer: when it was written, how often it was shown, and which mined source it
//! belongs to. An export contains it; an import and a salvage restore it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The last moment that can be written as a date, in milliseconds since 1970.
const LAST_MOMENT: i64 = 253_402_207_200_000;

/// The row of the ledger that filed a drawer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name of the source.
    pub name: String,
    /// Its section; 0 for the whole source.
    pub section: u32,
    /// Id of the machine that mined it; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
}

/// The history of one drawer. A field without a value is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// When it was added, in milliseconds since 1970.
    pub created_at: Option<i64>,
    /// When it was last changed, in milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// How often it was shown.
    pub accesses: u64,
    /// The mined source it belongs to.
    pub origin: Option<Origin>,
}

impl History {
    /// The history of a drawer that was added at this moment and not changed since. A moment out of
    /// range counts as unknown.
    pub fn added(moment: Option<i64>) -> Self {
        let moment = moment.filter(|moment| (0..=LAST_MOMENT).contains(moment));
        Self {
            created_at: moment,
            updated_at: moment,
            ..Self::default()
        }
    }

    /// Refuses moments out of range, counts that do not fit a 64-bit integer, and sources without a
    /// name.
    pub fn validate(&self) -> Result<()> {
        for (what, moment) in [
            ("created_at", self.created_at),
            ("updated_at", self.updated_at),
        ] {
            if moment.is_some_and(|moment| !(0..=LAST_MOMENT).contains(&moment)) {
                return Err(Error::invalid(
                    what,
                    "is not a moment between 1970 and 9999, in milliseconds",
                ));
            }
        }
        if i64::try_from(self.accesses).is_err() {
            return Err(Error::invalid("accesses", "is too large"));
        }
        match &self.origin {
            Some(origin) => origin.validate(),
            None => Ok(()),
        }
    }
}

impl Origin {
    /// Refuses a name or a machine that no source has.
    pub fn validate(&self) -> Result<()> {
        crate::ledger::validate_name(&self.name, self.section)?;
        if self.machine.len() > crate::ledger::MAX_SOURCE_NAME_BYTES {
            return Err(Error::invalid("origin machine", "is too long"));
        }
        Ok(())
    }
}

/// What an import does with a record whose id exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep the existing drawer.
    Keep,
    /// Change the existing drawer to match the record.
    Change,
}

/// Data that a copy of a palace does not contain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its kind, for programs: `runs`, `forgotten`, `sources` and others.
    pub what: String,
    /// How many there are; 0 if they are not counted.
    pub count: u64,
    /// Why it was left out.
    pub reason: String,
}
