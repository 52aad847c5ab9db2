//! What the palace registers about a snapshot file, and the names of such files.

use loci_core::Metric;

/// The palace and collection of the vectors of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Id of the palace.
    pub palace: [u8; 16],
    /// Generation of the palace; `restore` creates a new one.
    pub generation: u64,
    /// Number of the collection in the palace.
    pub collection: u64,
}

/// What the palace registers about a snapshot file. Only registered files are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// File name in the index directory.
    pub name: String,
    /// The palace and collection of its vectors.
    pub identity: Identity,
    /// The last sequence number that it covers.
    pub covered: u64,
    /// Number of rows.
    pub count: u64,
    /// Length of the vectors.
    pub dimension: usize,
    /// How distances are measured.
    pub metric: Metric,
    /// [`ContentDigest`](crate::ContentDigest) of its rows and vectors.
    pub digest: [u8; 16],
    /// XXH3-64 of the whole header, which contains the checksum of every section.
    pub checksum: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

const PREFIX: &str = "flat-";
const SUFFIX: &str = ".snapshot";
const TEMPORARY: &str = ".tmp";

/// A new name. The random part distinguishes two builds with the same coverage.
pub(crate) fn new_name(collection: u64, covered: u64) -> String {
    let random = fastrand::u64(..);
    format!("{PREFIX}{collection}-{covered}-{random:016x}{SUFFIX}")
}

pub(crate) fn temporary_name(name: &str) -> String {
    format!("{name}{TEMPORARY}")
}

/// Whether [`new_name`] could have created it.
pub(crate) fn is_snapshot_name(name: &str) -> bool {
    let Some(middle) = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
    else {
        return false;
    };
    let parts: Vec<&str> = middle.split('-').collect();
    let [collection, covered, random] = parts.as_slice() else {
        return false;
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    number(collection) && number(covered) && random.len() == 16 && random.bytes().all(hex)
}

/// Whether it is the name of an unfinished snapshot, whose builder may have died.
pub(crate) fn is_temporary_name(name: &str) -> bool {
    name.strip_suffix(TEMPORARY).is_some_and(is_snapshot_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_made_here_are_recognised_and_others_are_not() {
        let name = new_name(3, u64::MAX);
        assert!(is_snapshot_name(&name));
        assert!(is_temporary_name(&temporary_name(&name)));
        assert!(!is_temporary_name(&name));
        let drift = format!("{name}.drift-20260101-000000");
        for other in [
            "",
            "flat-",
            "palace.sqlite3",
            "../flat-1-2-0123456789abcdef.snapshot",
            "flat-1-2-0123456789ABCDEF.snapshot",
            "flat-1--0123456789abcdef.snapshot",
            drift.as_str(),
            "flat-1-2-0123456789abcdef.snapshot.tmp.tmp",
            "flat-1/2-0123456789abcdef.snapshot",
        ] {
            assert!(
                !is_snapshot_name(other) && !is_temporary_name(other),
                "{other}"
            );
        }
    }
}
