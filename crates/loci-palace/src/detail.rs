//! How much an answer holds, and values that answers of several verbs share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence::instruction_like;

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

/// What a reader should know about a stored text before it is shown to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// A passage reads like an instruction to a model.
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
