//! Evidence of LoCoMo: dialogue ids such as `D3:12`, some of them written by hand.
//!
//! One string may contain several ids with any separators. `D30:05` means `D30:5`; `D`, `D:11:26`
//! and similar texts are ignored.

/// A dialogue id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DialogueId {
    pub(super) session: u32,
    pub(super) turn: u32,
}

/// Every dialogue id in a text, in order.
pub(super) fn parse(text: &str) -> Vec<DialogueId> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('D') {
        rest = behind;
        let id = number(behind).and_then(|(session, behind)| {
            let (turn, behind) = number(behind.strip_prefix(':')?)?;
            Some((DialogueId { session, turn }, behind))
        });
        if let Some((id, behind)) = id {
            found.push(id);
            rest = behind;
        }
    }
    found
}

/// The number at the beginning, and the rest.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, behind) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<(u32, u32)> {
        let found = parse(text).into_iter();
        found.map(|id| (id.session, id.turn)).collect()
    }

    #[test]
    fn one_string_may_hold_several_ids() {
        assert_eq!(ids("D1:3"), [(1, 3)]);
        assert_eq!(ids("D8:6; D9:17"), [(8, 6), (9, 17)]);
        assert_eq!(ids("D9:1 D4:4 D4:6"), [(9, 1), (4, 4), (4, 6)]);
        assert_eq!(ids("D9:1,D4:4"), [(9, 1), (4, 4)]);
    }

    #[test]
    fn leading_zeros_do_not_count() {
        assert_eq!(ids("D30:05"), [(30, 5)]);
    }

    #[test]
    fn malformed_ids_are_no_ids() {
        for text in [
            "",
            "D",
            "D:11:26",
            "D3",
            "D3:",
            "d3:1",
            "D:1",
            "D99999999999:1",
        ] {
            assert!(ids(text).is_empty(), "{text}");
        }
        assert_eq!(ids("D; D2:1"), [(2, 1)]);
    }
}
