//! Flags of stored text. A front end that shows the text to a model shows its flags with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fence::instruction_like;

/// What a reader should know about a stored text before it is shown to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Flag {
    /// A passage reads like an instruction to a model.
    InstructionLike,
}

impl Flag {
    /// The flags of a text.
    pub fn of(text: &str) -> Vec<Self> {
        if instruction_like(text).is_empty() {
            Vec::new()
        } else {
            vec![Self::InstructionLike]
        }
    }
}
