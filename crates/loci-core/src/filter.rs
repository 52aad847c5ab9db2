//! Filters: a typed tree parsed from the JSON language of Chroma and MemPalace.
//!
//! Parsing refuses every unknown operator at any depth; no condition is dropped.
//! [`Filter::matches`] defines the meaning of a filter. A backend may evaluate it in any way that
//! gives the same answer.

mod eval;
mod parse;

use loci_text::Phrase;

use crate::metadata::MetaValue;

/// A condition on a drawer's metadata, or on its text through the key `#document`.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of these hold.
    And(Vec<Filter>),
    /// At least one of these holds.
    Or(Vec<Filter>),
    /// A condition on one metadata key.
    Key {
        /// The metadata key.
        key: String,
        /// The condition.
        test: KeyTest,
    },
    /// A condition on the text.
    Document(DocumentFilter),
}

/// A condition on one metadata key. Negative conditions also hold for drawers without the key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyTest {
    /// Equal to the scalar.
    Eq(MetaValue),
    /// Not [`KeyTest::Eq`].
    Ne(MetaValue),
    /// A number that has this order relative to the operand.
    Order(Ordering, MetaValue),
    /// Equal to one of the scalars.
    In(Vec<MetaValue>),
    /// Not [`KeyTest::In`].
    NotIn(Vec<MetaValue>),
    /// A list that contains the scalar.
    Contains(MetaValue),
    /// Not [`KeyTest::Contains`].
    NotContains(MetaValue),
    /// A string that begins with this one, case-sensitively.
    StartsWith(String),
    /// A string that contains this one. ASCII letters may differ in case.
    Includes(String),
    /// Not [`KeyTest::Includes`].
    NotIncludes(String),
}

/// Order comparisons; numbers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// `$gt`
    Greater,
    /// `$gte`
    GreaterOrEqual,
    /// `$lt`
    Less,
    /// `$lte`
    LessOrEqual,
}

/// A condition on a drawer's text. The negative ones also hold for drawers without text.
#[derive(Debug, Clone)]
pub enum DocumentFilter {
    /// All of these hold.
    And(Vec<DocumentFilter>),
    /// At least one of these holds.
    Or(Vec<DocumentFilter>),
    /// The text contains this string, case-sensitively and literally.
    Contains(String),
    /// Not [`DocumentFilter::Contains`].
    NotContains(String),
    /// The regular expression is found somewhere in the text.
    Regex(regex::Regex),
    /// Not [`DocumentFilter::Regex`].
    NotRegex(regex::Regex),
    /// The text contains this phrase.
    Phrase(Phrase),
    /// Not [`DocumentFilter::Phrase`].
    NotPhrase(Phrase),
}

impl PartialEq for DocumentFilter {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::And(a), Self::And(b)) | (Self::Or(a), Self::Or(b)) => a == b,
            (Self::Contains(a), Self::Contains(b))
            | (Self::NotContains(a), Self::NotContains(b)) => a == b,
            (Self::Regex(a), Self::Regex(b)) | (Self::NotRegex(a), Self::NotRegex(b)) => {
                a.as_str() == b.as_str()
            }
            (Self::Phrase(a), Self::Phrase(b)) | (Self::NotPhrase(a), Self::NotPhrase(b)) => a == b,
            _ => false,
        }
    }
}

impl Filter {
    /// `key` equals `value`.
    pub fn eq(key: impl Into<String>, value: impl Into<MetaValue>) -> Self {
        Self::Key {
            key: key.into(),
            test: KeyTest::Eq(value.into()),
        }
    }

    /// All of `filters`; `None` when there are none.
    pub fn all(mut filters: Vec<Filter>) -> Option<Self> {
        if filters.len() > 1 {
            Some(Self::And(filters))
        } else {
            filters.pop()
        }
    }
}
