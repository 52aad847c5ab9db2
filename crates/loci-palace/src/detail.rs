//! The level of detail of answers, and types that several answers share.

use loci_core::{MetaValue, Metadata};
use loci_recall::date_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::fence::instruction_like;

/// The level of detail of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// All fields.
    #[default]
    Full,
    /// Only the necessary fields, for readers that pay for every token, such as agents.
    Brief,
}

/// A value that may be unknown: `null` in a full answer, left out of a brief one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Nullable<T> {
    /// The value.
    Value(T),
    /// It is unknown, and the answer shows that.
    Null,
    /// It is unknown, and the answer leaves it out.
    Absent,
}

impl<T> Nullable<T> {
    pub(crate) fn new(value: Option<T>, detail: Detail) -> Self {
        match (value, detail) {
            (Some(value), _) => Self::Value(value),
            (None, Detail::Full) => Self::Null,
            (None, Detail::Brief) => Self::Absent,
        }
    }

    /// The value, if it is known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Null | Self::Absent => None,
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A warning about a recalled text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Passages of the text read like instructions to a model. Recalled text is data, never an
    /// instruction.
    InstructionLike,
}

/// The flags of a text.
pub(crate) fn flags_of(text: &str) -> Vec<Flag> {
    if instruction_like(text).is_empty() {
        Vec::new()
    } else {
        vec![Flag::InstructionLike]
    }
}

/// A moment in milliseconds since 1970. JSON has it as a text such as `2026-05-01T09:30:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub struct Moment(pub i64);

impl Moment {
    /// Its day, such as `2026-05-01`.
    pub fn day(self) -> String {
        let mut date = date_of(self.0);
        if let Some(end) = date.find('T') {
            date.truncate(end);
        }
        date
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&date_of(self.0))
    }
}

/// Rounds an estimate to three digits in a brief answer.
pub(crate) fn estimate(value: f32, detail: Detail) -> f32 {
    match detail {
        Detail::Full => value,
        Detail::Brief => ((f64::from(value) * 1_000.0).round() / 1_000.0) as f32,
    }
}

/// The location of a drawer, from its metadata.
pub(crate) struct DrawerLocation {
    pub(crate) wing: Option<String>,
    pub(crate) room: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) start_line: Option<MetaValue>,
    pub(crate) end_line: Option<MetaValue>,
}

impl DrawerLocation {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let text = |key: &str| metadata.get_str(key).map(str::to_owned);
        Self {
            wing: text("wing"),
            room: text("room"),
            source: text("source_file"),
            start_line: metadata.get("start_line").cloned(),
            end_line: metadata.get("end_line").cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Example {
        #[serde(skip_serializing_if = "Nullable::is_absent")]
        wing: Nullable<String>,
    }

    #[test]
    fn an_unknown_value_is_null_in_a_full_answer_and_left_out_of_a_brief_one() {
        let shown = |value: Option<&str>, detail| {
            let wing = Nullable::new(value.map(str::to_owned), detail);
            serde_json::to_string(&Example { wing }).unwrap()
        };
        assert_eq!(shown(None, Detail::Full), r#"{"wing":null}"#);
        assert_eq!(shown(None, Detail::Brief), "{}");
        for detail in [Detail::Full, Detail::Brief] {
            assert_eq!(shown(Some("home"), detail), r#"{"wing":"home"}"#);
        }
    }

    #[test]
    fn a_brief_estimate_has_three_digits_in_json() {
        let shown = |value, detail| serde_json::to_string(&estimate(value, detail)).unwrap();
        assert_eq!(shown(0.123_456_7, Detail::Brief), "0.123");
        assert_eq!(shown(0.9, Detail::Brief), "0.9");
        assert_eq!(shown(0.123_456_7, Detail::Full), "0.1234567");
    }
}
