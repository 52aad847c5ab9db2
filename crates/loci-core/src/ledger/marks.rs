//! Removes text of a source from the marks of readers, for `forget`.
//!
//! A mark is JSON of its reader. Three members may contain words of the source: `trail` (the
//! headings at the start of a section), `conversation` (its title) and `front` (keys of
//! frontmatter). Without its mark, a section is read again from its start; nothing else is lost.

use serde_json::Value;

use crate::metadata::Metadata;

/// The mark without text; `None` if it needs no change. `keys` is the metadata of a remaining
/// drawer of the source: keys of frontmatter are in all its drawers.
pub fn cleaned(mark: &str, keys: &Metadata) -> Option<String> {
    let mut value: Value = serde_json::from_str(mark).ok()?;
    let members = value.as_object_mut()?;
    if members.contains_key("trail") || members.contains_key("conversation") {
        return Some(String::new());
    }
    let front = members.get_mut("front")?.as_array_mut()?;
    let before = front.len();
    front.retain(|key| key.as_str().is_some_and(|key| keys.get(key).is_some()));
    (front.len() < before).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_keeps_no_titles_and_only_the_keys_of_drawers_that_stay() {
        let stays: Metadata = serde_json::from_str(r#"{"author": "ana"}"#).unwrap();
        let nothing = Metadata::default();
        let section = r#"{"start":1,"end":2,"line":3,"trail":{"steps":[{"title":"Secret"}]}}"#;
        assert_eq!(cleaned(section, &stays), Some(String::new()));
        let talk = r#"{"from":null,"end":2,"conversation":{"title":"Secret"}}"#;
        assert_eq!(cleaned(talk, &stays), Some(String::new()));
        let front = r#"{"front":["author","salary"]}"#;
        assert_eq!(
            cleaned(front, &stays),
            Some(r#"{"front":["author"]}"#.into())
        );
        assert_eq!(cleaned(front, &nothing), Some(r#"{"front":[]}"#.into()));
        // An export uses its mark to decide which of two exports is newer.
        assert_eq!(
            cleaned(r#"{"file":"a","pieces":2,"until":""}"#, &nothing),
            None
        );
        assert_eq!(cleaned("", &nothing), None);
    }
}
