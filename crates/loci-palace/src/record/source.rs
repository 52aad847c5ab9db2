//! A line with a row of the ledger of mining: `{"collection": …, "source": {…}}`.

use loci_core::{CountedSource, Error, Machine, Result, SourceHash, SourceRecord, Stat};
use serde::{Deserialize, Serialize};

/// The line. An unknown field is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonSourceLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) collection: Option<String>,
    pub(crate) source: JsonSource,
}

/// One row of the ledger. The revision is not exported, because it has no meaning in another
/// palace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonSource {
    pub(crate) name: String,
    pub(crate) section: u32,
    /// Id of the machine that mined it; missing if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) machine: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) host: String,
    pub(crate) kind: String,
    pub(crate) root: String,
    pub(crate) wing: String,
    pub(crate) room: String,
    pub(crate) size: u64,
    pub(crate) modified_ns: i64,
    pub(crate) changed_ns: i64,
    pub(crate) read_ns: i64,
    /// 32 hexadecimal digits.
    pub(crate) hash: String,
    pub(crate) recipe: String,
    pub(crate) mark: String,
    pub(crate) complete: bool,
    /// Number of its drawers. An import with fewer drawers does not trust the row.
    pub(crate) drawers: u64,
}

impl JsonSource {
    pub(crate) fn of(counted: CountedSource) -> Self {
        let CountedSource { record, drawers } = counted;
        Self {
            name: record.name,
            section: record.section,
            machine: record.machine.id,
            host: record.machine.host,
            kind: record.kind,
            root: record.root,
            wing: record.wing,
            room: record.room,
            size: record.stat.size,
            modified_ns: record.stat.modified_ns,
            changed_ns: record.stat.changed_ns,
            read_ns: record.stat.read_ns,
            hash: format!("{:032x}", u128::from_be_bytes(record.hash)),
            recipe: record.recipe,
            mark: record.mark,
            complete: record.complete,
            drawers,
        }
    }

    /// Checks and converts the row.
    pub(crate) fn counted(self) -> Result<CountedSource> {
        let record = SourceRecord {
            hash: parse_hash(&self.hash)?,
            name: self.name,
            section: self.section,
            machine: Machine {
                id: self.machine,
                host: self.host,
            },
            kind: self.kind,
            root: self.root,
            wing: self.wing,
            room: self.room,
            stat: Stat {
                size: self.size,
                modified_ns: self.modified_ns,
                changed_ns: self.changed_ns,
                read_ns: self.read_ns,
            },
            recipe: self.recipe,
            mark: self.mark,
            complete: self.complete,
            revision: 0,
        };
        record.validate()?;
        Ok(CountedSource {
            record,
            drawers: self.drawers,
        })
    }
}

fn parse_hash(text: &str) -> Result<SourceHash> {
    let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(text, 16)
        .ok()
        .filter(|_| digits)
        .map(u128::to_be_bytes)
        .ok_or_else(|| Error::invalid("source hash", "not 32 hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_keeps_its_leading_zeros_and_nothing_else_is_a_hash() {
        let mut hash = SourceHash::default();
        hash[15] = 7;
        let counted = CountedSource {
            record: SourceRecord {
                name: "a".into(),
                hash,
                ..SourceRecord::default()
            },
            drawers: 3,
        };
        let json = JsonSource::of(counted.clone());
        assert_eq!(json.hash.len(), 32);
        assert_eq!(json.counted().unwrap(), counted);
        for bad in ["", "7", "+0000000000000000000000000000007", "zz"] {
            assert!(parse_hash(bad).is_err(), "{bad}");
        }
    }
}
