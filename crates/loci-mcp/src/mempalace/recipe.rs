//! Ids by MemPalace's recipes, so that a text that MemPalace filed gets the same id here.

use std::fmt::Write;

use loci_palace::Fact;
use sha2::{Digest, Sha256};

/// The name of this recipe in metadata.
pub(super) const VERSION: &str = "v3";
/// Maximum number of bytes of a fact's id; three names of 128 characters may have more.
const MOST_ID_BYTES: usize = 512;

/// The id of a text in a room.
pub(super) fn drawer_id(wing: &str, room: &str, content: &str) -> String {
    format!(
        "drawer_{wing}_{room}_{}",
        digits(&[wing, room, content], 12)
    )
}

/// The id of a fact with this subject, predicate and object in normalised spelling. Two processes
/// that add the same fact at the same time derive the same id. A fact that is added again after it
/// ended `before` times gets another id.
pub(super) fn triple_id(statement: [&str; 3], fact: &Fact, before: usize) -> String {
    let [subject, predicate, object] = statement;
    let date = |date: &Option<String>| date.clone().unwrap_or_default();
    let (from, to) = (date(&fact.valid_from), date(&fact.valid_to));
    let hash = digits(&[&from, &to, &before.to_string()], 6);
    let id = format!("t_{subject}_{predicate}_{object}_{hash}");
    if id.len() <= MOST_ID_BYTES {
        return id;
    }
    format!("t_{}", digits(&[&id], 16))
}

/// A number derived from an id.
pub(super) fn number_of(id: &str) -> u32 {
    let digest = Sha256::digest(id.as_bytes());
    digest
        .iter()
        .take(4)
        .fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// The first bytes of the hash of some texts, in hexadecimal digits. Each text is preceded by its
/// length.
fn digits(texts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(format!("{}:{text}", text.chars().count()));
    }
    let digest = hash.finalize();
    digest
        .iter()
        .take(bytes)
        .fold(String::new(), |mut digits, byte| {
            // Writing into a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids that MemPalace 3.11.0 gave.
    #[test]
    fn drawers_have_the_ids_that_mempalace_gives() {
        let kettle = "The kettle is descaled with vinegar every spring.";
        assert_eq!(
            drawer_id("home", "kitchen", kettle),
            "drawer_home_kitchen_128ef380919b0fc5f2f1b2b2"
        );
        assert_eq!(
            drawer_id("work", "kitchen", "The office kettle belongs to Ben."),
            "drawer_work_kitchen_4993b9f1b0991474284a1ead"
        );
    }

    #[test]
    fn a_fact_that_holds_again_has_another_id() {
        let fact = Fact::default();
        let id = |before| triple_id(["max", "does", "chess"], &fact, before);
        assert_eq!(id(0), id(0));
        assert_ne!(id(0), id(1));
        assert!(id(0).starts_with("t_max_does_chess_"));
    }

    #[test]
    fn ids_of_facts_are_bounded_whatever_the_names() {
        let (subject, object) = ("ä".repeat(128), "日".repeat(128));
        let id = triple_id([&subject, "does", &object], &Fact::default(), 0);
        assert!(id.len() <= MOST_ID_BYTES, "{id}");
    }
}
