//! Facts with their validity, and labelled links. A backend that stores them returns [`Relations`]
//! from [`crate::Backend::relations`].
//!
//! Facts and links refer to drawers by collection and id, and the drawers need not exist. Deleting
//! a drawer removes its links and keeps the facts that were taken from it; only `forget` removes
//! those too.

mod check;
mod names;
mod validity;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

pub use self::check::{MAX_ENTITY_BYTES, MAX_VALIDITY_BYTES, validate_facts, validate_links};
pub use self::names::{Spellings, folded_name, same_name};
pub use self::validity::DateSpan;
use crate::error::{Error, Result};
use crate::json::deserialize_strict;
use crate::metadata::Metadata;
use crate::quote::quoted;

/// A statement: subject, predicate, object, and when it holds.
///
/// ```
/// use loci_core::Fact;
/// let fact = Fact {
///     subject: "Alice".into(),
///     predicate: "lives in".into(),
///     object: "Lyon".into(),
///     valid_from: Some("2024-05".into()),
///     ..Fact::default()
/// };
/// fact.validate()?;
/// assert_eq!(fact.key().len(), 32);
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Its id in the palace. If it is empty, [`Fact::key`] derives one, so that the same statement
    /// from the same source has the same id.
    #[serde(default)]
    pub id: String,
    /// The subject of the statement.
    pub subject: String,
    /// The property or relation.
    pub predicate: String,
    /// The value or the related entity.
    pub object: String,
    /// Start of its validity, as written: a year, month, day or moment (RFC 3339); absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// End of its validity; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// Confidence, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The drawer it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<DrawerRef>,
    /// Additional data.
    #[serde(
        default,
        skip_serializing_if = "is_empty",
        deserialize_with = "strict_metadata"
    )]
    pub metadata: Metadata,
}

/// A drawer by collection and id.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct DrawerRef {
    /// Its collection.
    pub collection: String,
    /// Its id.
    pub id: String,
}

/// The start or the end of a link.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkEnd {
    /// A drawer.
    Drawer(DrawerRef),
    /// A room of a wing.
    Room {
        /// The wing.
        wing: String,
        /// The room; empty for the wing as a whole.
        #[serde(default)]
        room: String,
    },
}

/// A directed, labelled link. There is one per pair of ends and label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its start.
    pub from: LinkEnd,
    /// Its end.
    pub to: LinkEnd,
    /// The relation of the start to the end; may be empty.
    #[serde(default)]
    pub label: String,
    /// Additional data.
    #[serde(
        default,
        skip_serializing_if = "is_empty",
        deserialize_with = "strict_metadata"
    )]
    pub metadata: Metadata,
}

fn is_empty(metadata: &Metadata) -> bool {
    metadata.0.is_empty()
}

/// Metadata without duplicate keys.
fn strict_metadata<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Metadata, D::Error> {
    let value = deserialize_strict(deserializer)?;
    Metadata::from_json(&value).map_err(serde::de::Error::custom)
}

impl LinkEnd {
    /// The drawer of this collection and id.
    pub fn drawer(collection: impl Into<String>, id: impl Into<String>) -> Self {
        Self::Drawer(DrawerRef {
            collection: collection.into(),
            id: id.into(),
        })
    }

    /// The room of this wing.
    pub fn room(wing: impl Into<String>, room: impl Into<String>) -> Self {
        Self::Room {
            wing: wing.into(),
            room: room.into(),
        }
    }
}

/// Selects facts. All fields that are present must match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FactQuery {
    /// With this id.
    pub id: Option<String>,
    /// With this subject or object.
    pub entity: Option<String>,
    /// With this subject.
    pub subject: Option<String>,
    /// With this predicate.
    pub predicate: Option<String>,
    /// With this object.
    pub object: Option<String>,
    /// Whether names are compared without letter case and surrounding space. Otherwise they are
    /// compared byte by byte. An id is always compared byte by byte.
    pub any_case: bool,
}

impl FactQuery {
    /// Whether a fact matches.
    pub fn matches(&self, fact: &Fact) -> bool {
        let is = |wanted: &Option<String>, name: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| wanted == name || (self.any_case && same_name(wanted, name)))
        };
        self.id.as_ref().is_none_or(|id| *id == fact.id)
            && is(&self.subject, &fact.subject)
            && is(&self.predicate, &fact.predicate)
            && is(&self.object, &fact.object)
            && (is(&self.entity, &fact.subject) || is(&self.entity, &fact.object))
    }
}

/// How many of the facts or links were new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Related {
    /// Number of added ones.
    pub added: u64,
    /// Number of existing ones, which were not changed.
    pub known: u64,
}

/// Facts and links of one palace. Every call is one transaction, in the same store as the drawers.
/// If one part of a call is refused, nothing is written.
pub trait Relations: Send + Sync {
    /// Adds facts. An existing id keeps its fact. A fact without an id is known already if one exists
    /// that says the same ([`Fact::says_the_same`]). Sources need not exist. Each new fact gets a
    /// sequence number.
    fn add_facts(&self, facts: &[Fact]) -> Result<Related>;
    /// Facts in insertion order, at most `limit` starting at `offset`. Damaged ones are omitted;
    /// see [`Relations::damaged`].
    fn facts(&self, query: &FactQuery, limit: usize, offset: usize) -> Result<Vec<Fact>>;
    /// Adds links. An existing link is not changed. Ends need not exist. Each new link gets a
    /// sequence number.
    fn add_links(&self, links: &[Link]) -> Result<Related>;
    /// Links that start or end at `end`, or all links, in insertion order, at most `limit` starting
    /// at `offset`. Damaged ones are omitted; see [`Relations::damaged`].
    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>>;
    /// The number of facts and the number of links, including damaged ones.
    fn counts(&self) -> Result<(u64, u64)>;
    /// Names of damaged facts and links, at most a hundred. Results omit them.
    fn damaged(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Calls `visit` with all facts that match a query, as of one commit and in insertion order,
    /// without holding them in memory.
    fn each_fact(&self, query: &FactQuery, visit: &mut dyn FnMut(Fact)) -> Result<()> {
        self.facts(query, usize::MAX, 0)?
            .into_iter()
            .for_each(visit);
        Ok(())
    }
    /// Ends the facts with these ids at the date `valid_to`. Returns the ended facts in their new
    /// state, in the order of the ids. Unknown ids are skipped, and so are facts that have already
    /// ended or begin later; see [`Fact::can_end`]. Each ended fact gets a sequence number.
    fn end_facts(&self, ids: &[String], valid_to: &str) -> Result<Vec<Fact>> {
        let _ = (ids, valid_to);
        Err(unsupported("ending facts"))
    }
    /// Calls [`Relations::end_facts`] and [`Relations::add_facts`] with `new` in one transaction.
    /// If no fact was ended, or the new fact exists and has an end, it is a conflict that names the
    /// current facts, and nothing is written.
    fn supersede(&self, ids: &[String], valid_to: &str, new: &Fact) -> Result<Vec<Fact>> {
        let _ = (ids, valid_to, new);
        Err(unsupported("superseding facts"))
    }
    /// Subjects and objects that equal `name` except for letter case and surrounding space, sorted.
    fn spellings(&self, name: &str) -> Result<Vec<String>> {
        let _ = name;
        Err(unsupported("spellings of names"))
    }
    /// Subjects and objects that begin with `beginning` except for letter case, at most `limit`,
    /// sorted.
    fn names_like(&self, beginning: &str, limit: usize) -> Result<Vec<String>> {
        let _ = (beginning, limit);
        Ok(Vec::new())
    }
    /// Removes links by ends and label, whatever their metadata. Returns the number of removed
    /// links. Each one gets a sequence number.
    fn remove_links(&self, links: &[Link]) -> Result<u64> {
        let _ = links;
        Err(unsupported("removing links"))
    }
}

/// Parses the date at which facts are ended.
pub fn validate_end(valid_to: &str) -> Result<DateSpan> {
    DateSpan::parse(valid_to).ok_or_else(|| {
        Error::invalid(
            format!("end {}", quoted(valid_to)),
            "is not a date; write a year, month, day or RFC 3339 moment",
        )
    })
}

/// The error of a supersession that ended no fact. `holding` are the current facts with the same
/// subject and predicate.
pub fn nothing_to_end(old: Option<&Fact>, holding: &[Fact]) -> Error {
    let old = match old {
        None => "the fact to supersede does not exist".to_owned(),
        Some(old) => format!(
            "{} cannot be superseded: {}",
            old.statement(),
            match &old.valid_to {
                Some(end) => format!("it ended {end}"),
                None => "it begins later".to_owned(),
            }
        ),
    };
    let named: Vec<String> = holding
        .iter()
        .take(3)
        .map(|fact| format!("{} (fact {})", fact.statement(), quoted(&fact.id)))
        .collect();
    let now = match named.as_slice() {
        [] => "no other fact holds".to_owned(),
        named => format!("now holds {}", named.join(", ")),
    };
    Error::Conflict {
        what: format!("{old}; {now}"),
    }
}

/// The error of a supersession whose new fact exists and has an end.
pub fn ended_already(fact: &Fact) -> Error {
    Error::Conflict {
        what: format!(
            "{} exists as fact {} and ended {}; give another start date",
            fact.statement(),
            quoted(&fact.id),
            fact.valid_to.as_deref().unwrap_or_default()
        ),
    }
}

fn unsupported(capability: &str) -> Error {
    Error::UnsupportedCapability {
        capability: capability.into(),
        reason: "the backend does not support it".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fact_and_a_link_read_what_they_wrote() {
        let fact = Fact {
            id: "f".into(),
            subject: "Alice".into(),
            confidence: Some(0.1),
            source: Some(DrawerRef {
                collection: "drawers".into(),
                id: "a".into(),
            }),
            metadata: Metadata::from_json(&json!({"tags": ["x"], "n": 1.0})).unwrap(),
            ..Fact::default()
        };
        let text = serde_json::to_string(&fact).unwrap();
        assert_eq!(serde_json::from_str::<Fact>(&text).unwrap(), fact);
        let link = Link {
            from: LinkEnd::drawer("drawers", "a"),
            to: LinkEnd::room("alice", ""),
            label: "about".into(),
            metadata: Metadata::default(),
        };
        let value = serde_json::to_value(&link).unwrap();
        assert_eq!(
            value,
            json!({"from": {"drawer": {"collection": "drawers", "id": "a"}},
                   "to": {"room": {"wing": "alice", "room": ""}}, "label": "about"})
        );
        assert_eq!(serde_json::from_value::<Link>(value).unwrap(), link);
    }

    #[test]
    fn unknown_fields_and_keys_that_stand_twice_are_refused() {
        for (text, word) in [
            (
                r#"{"subject":"a","predicate":"b","object":"c","until":"2020"}"#,
                "until",
            ),
            (
                r#"{"subject":"a","predicate":"b","object":"c","metadata":{"k":1,"k":2}}"#,
                "twice",
            ),
            (
                r#"{"subject":"a","predicate":"b","object":"c","source":{"collection":"c","id":"i","line":1}}"#,
                "line",
            ),
        ] {
            let error = serde_json::from_str::<Fact>(text).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let end = r#"{"room":{"wing":"w","floor":1}}"#;
        let error = serde_json::from_str::<LinkEnd>(end)
            .unwrap_err()
            .to_string();
        assert!(error.contains("floor"), "{error}");
    }
}
