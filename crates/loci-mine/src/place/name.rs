//! Validates the names of wings and rooms, and derives them from folder names.

use loci_core::{Error, Result};

/// The longest name of a wing or room, in bytes.
pub const MAX_NAME_BYTES: usize = 512;

/// The room of files in the top folder of a project, and the wing of files without a project.
pub const GENERAL: &str = "general";

/// Rejects a name that cannot be printed on one line or is ambiguous.
pub(super) fn checked(name: &str, what: impl FnOnce() -> String) -> Result<String> {
    let problem = if name.is_empty() || name.len() > MAX_NAME_BYTES {
        format!(
            "a name must have 1 to {MAX_NAME_BYTES} bytes, but this one has {}",
            name.len()
        )
    } else if name.trim() != name || name.chars().any(char::is_control) {
        format!(
            "`{}` contains control characters, or begins or ends with a space",
            name.escape_debug()
        )
    } else {
        return Ok(name.to_owned());
    };
    Err(Error::invalid(what(), problem))
}

/// Returns the nearest valid name, or `otherwise` when nothing of `raw` is left.
pub(super) fn made_valid(raw: &str, otherwise: &str) -> String {
    let printable: String = raw.chars().filter(|c| !c.is_control()).collect();
    let mut name = printable.trim();
    while name.len() > MAX_NAME_BYTES {
        let mut shorter = name.chars();
        shorter.next_back();
        name = shorter.as_str().trim_end();
    }
    if name.is_empty() { otherwise } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_is_made_valid_passes_the_check(raw in "\\PC{0,20}|[\\s\\PC\\x00-\\x1f]{0,700}") {
            let name = made_valid(&raw, "general");
            prop_assert_eq!(checked(&name, String::new).unwrap(), name);
        }

        #[test]
        fn a_valid_name_stays_as_it_is(raw in "[a-zäß文.][a-z 文]{0,30}[a-z]") {
            prop_assert_eq!(made_valid(&raw, "general"), raw);
        }
    }

    #[test]
    fn a_name_that_is_nothing_becomes_the_other() {
        assert_eq!(made_valid(" \u{7}\n", "general"), "general");
    }
}
