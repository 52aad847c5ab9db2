//! How much an answer holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Every member.
    #[default]
    Full,
    /// Only what a reader who pays for every token needs.
    Brief,
}
