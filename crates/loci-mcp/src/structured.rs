//! Answers of verbs as structured content: the verb's own members, the notice about recalled text, and
//! warnings with hints for agents.

use loci_palace::{Error, Result, Warning};
use serde::Serialize;
use serde_json::Value;

use crate::drawer::NOTICE;
use crate::hint::{self, Tools};

/// An answer of a verb. `about` stands first, before any text that was recalled.
#[derive(Serialize)]
struct Structured<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
    #[serde(flatten)]
    answer: &'a T,
}

/// An answer that holds no recalled text.
pub(crate) fn structured(answer: &impl Serialize, warnings: &[Warning]) -> Result<Value> {
    value_of(None, answer, warnings)
}

/// An answer that holds recalled text, with the notice that it is data.
pub(crate) fn recalled(answer: &impl Serialize, warnings: &[Warning]) -> Result<Value> {
    value_of(Some(NOTICE), answer, warnings)
}

fn value_of(
    about: Option<&'static str>,
    answer: &impl Serialize,
    warnings: &[Warning],
) -> Result<Value> {
    let failed = |error: serde_json::Error| Error::Internal {
        doing: "writing the answer as JSON".into(),
        detail: error.to_string(),
    };
    // By way of a text: a `Value` made directly writes 0.9 of 32 bits as 0.8999999761581421.
    let text = serde_json::to_string(&Structured { about, answer }).map_err(failed)?;
    let mut value: Value = serde_json::from_str(&text).map_err(failed)?;
    if let Some(listed) = value.get_mut("warnings") {
        *listed = hint::warnings(warnings, Tools::Loci);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Answer {
        score: f32,
        warnings: Vec<Warning>,
    }

    #[test]
    fn numbers_stay_as_short_as_they_are_and_warnings_get_hints() {
        let answer = Answer {
            score: 0.9,
            warnings: vec![Warning::Empty {
                problem: "nothing".into(),
            }],
        };
        let value = recalled(&answer, &answer.warnings).unwrap();
        assert_eq!(value["score"].to_string(), "0.9");
        assert!(value["warnings"][0]["hint"].is_string(), "{value}");
        assert!(value.to_string().starts_with(r#"{"about":"#));
    }
}
