//! What a palace keeps besides drawers: facts with the time in which they hold, and labelled links. A backend that keeps them
//! gives [`Relations`] through [`crate::Backend::relations`].

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::metadata::Metadata;

/// A statement: subject, predicate, object, and when it holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fact {
    /// Its name in the palace; the same statement from the same source has the same one.
    pub id: String,
    /// Who or what it is about.
    pub subject: String,
    /// What is said of it.
    pub predicate: String,
    /// Whom or what it relates to.
    pub object: String,
    /// Since when it holds, as written: a year, month, day or moment (RFC 3339); absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// Until when; absent while it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The drawer it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<DrawerRef>,
    /// Whatever else is known of it.
    #[serde(default)]
    pub metadata: Metadata,
}

/// A drawer by collection and id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DrawerRef {
    /// Its collection.
    pub collection: String,
    /// Its id.
    pub id: String,
}

/// What a link joins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkEnd {
    /// A drawer.
    Drawer(DrawerRef),
    /// A room of a wing.
    Room {
        /// The wing.
        wing: String,
        /// The room; empty for the wing as a whole.
        room: String,
    },
}

/// A directed, labelled link. There is one per pair of ends and label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Where it starts.
    pub from: LinkEnd,
    /// Where it leads.
    pub to: LinkEnd,
    /// What the one is to the other; may be empty.
    pub label: String,
    /// Whatever else is known of it.
    #[serde(default)]
    pub metadata: Metadata,
}

/// Which facts are asked for; what is absent does not restrict.
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
}

/// How many of what was given were new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Related {
    /// Written.
    pub added: u64,
    /// There already, unchanged.
    pub known: u64,
}

/// Facts and links of one palace. Every call is one transaction, in the same file as the drawers.
pub trait Relations: Send + Sync {
    /// Adds facts; one whose id is there stays as it is. Ends need not exist.
    fn add_facts(&self, facts: &[Fact]) -> Result<Related>;
    /// Facts in the order added, `limit` at most from `offset` on.
    fn facts(&self, query: &FactQuery, limit: usize, offset: usize) -> Result<Vec<Fact>>;
    /// Adds links; one that is there stays as it is.
    fn add_links(&self, links: &[Link]) -> Result<Related>;
    /// Links that start or end at `end`, or all of them, in the order added, `limit` at most from `offset` on.
    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>>;
    /// How many facts and how many links there are.
    fn counts(&self) -> Result<(u64, u64)>;
}
