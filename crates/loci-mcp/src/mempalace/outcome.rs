//! The outcome of a MemPalace tool: a value, or a value with `error`, as in MemPalace. Only invalid
//! calls and palaces that cannot be read are errors of the protocol.

use loci_palace::{Error, ErrorKind, MaskTally, RECALLED, Result, Warning};
use serde_json::{Value, json};

use crate::hint::{Hints, Tools};
use crate::tool::{Answer, Call};

/// The result of a tool.
pub(super) type Outcome<T> = std::result::Result<T, Refusal>;

/// Why a tool returns no answer.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An argument is invalid; the answer reports it under `error`.
    Said(String),
    /// The call is malformed: an argument is missing or has the wrong type.
    Call(Error),
    /// The palace returned an error.
    Palace(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Palace(error)
    }
}

/// Refuses with a message.
pub(super) fn refuse<T>(sentence: impl Into<String>) -> Outcome<T> {
    Err(Refusal::Said(sentence.into()))
}

/// The answer of a tool that reads.
pub(super) fn reading(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    answered(hints, outcome, json!({}))
}

/// The answer of a tool that writes. A refusal has `success: false`.
pub(super) fn writing(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    answered(hints, outcome, json!({"success": false}))
}

/// The answer of a search. A refusal has an empty list.
pub(super) fn searching(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    answered(hints, outcome, json!({"results": []}))
}

/// The answer of a tool that returns a list. The text is the list; the structured answer, which is
/// always an object, has it under `result`.
pub(super) fn listing(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    match outcome {
        Ok(list @ Value::Array(_)) => {
            let text = list.to_string();
            Ok(Answer::new(json!({"result": list}), text))
        }
        other => reading(hints, other),
    }
}

fn answered(hints: &Hints, outcome: Outcome<Value>, mut refused: Value) -> Result<Answer> {
    let (sentence, hint) = match outcome {
        Ok(mut value) => {
            // Mining a transcript recognises these answers by this text, so they are not stored
            // twice.
            let recalled = [
                "results", "content", "drawers", "entries", "matches", "facts", "timeline",
            ];
            if let Some(object) = value
                .as_object_mut()
                .filter(|object| recalled.iter().any(|key| object.contains_key(*key)))
            {
                object.insert("about".into(), json!(RECALLED));
            }
            return Ok(Answer::new(value, String::new()));
        }
        Err(Refusal::Said(sentence)) => (sentence, None),
        Err(Refusal::Call(error)) => return Err(error),
        Err(Refusal::Palace(error)) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::Unsupported => {
                (error.to_string(), hints.of_error(&error))
            }
            _ => return Err(error),
        },
    };
    if let Some(object) = refused.as_object_mut() {
        object.insert("error".into(), sentence.into());
        if let Some(hint) = hint {
            object.insert("hint".into(), hint.into());
        }
    }
    Ok(Answer::new(refused, String::new()))
}

/// The hint of an error for the caller.
pub(super) fn hint(call: &Call<'_>, error: &Error) -> Option<String> {
    call.hints(Tools::MemPalace).of_error(error)
}

/// Adds warnings to an answer. Without warnings, no key is added.
pub(super) fn warn(call: &Call<'_>, answer: &mut Value, warnings: &[Warning]) {
    if let (Some(object), false) = (answer.as_object_mut(), warnings.is_empty()) {
        let warnings = call.hints(Tools::MemPalace).warnings(warnings);
        object.insert("warnings".into(), warnings);
    }
}

/// Adds the masked secrets to an answer, by kind. Without any, no key is added.
pub(super) fn report_masked(answer: &mut Value, masked: &MaskTally) {
    if let (Some(object), false) = (answer.as_object_mut(), masked.is_empty()) {
        object.insert("masked".into(), json!(masked));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HINTS: Hints = Hints {
        tools: Tools::MemPalace,
        offered: None,
    };

    #[test]
    fn a_refusal_is_an_answer_with_an_error() {
        let answer = writing(&HINTS, refuse("wing is empty")).unwrap();
        assert_eq!(
            answer.structured,
            json!({"success": false, "error": "wing is empty"})
        );
        let answer = reading(&HINTS, refuse("wing is empty")).unwrap();
        assert_eq!(answer.structured, json!({"error": "wing is empty"}));
    }

    #[test]
    fn a_wrong_call_and_a_broken_palace_are_errors() {
        let call = Refusal::Call(Error::invalid("argument `query`", "is missing"));
        assert!(reading(&HINTS, Err(call)).is_err());
        let busy = Refusal::Palace(Error::Busy {
            what: "palace".into(),
            waited: std::time::Duration::ZERO,
        });
        assert!(writing(&HINTS, Err(busy)).is_err());
    }

    #[test]
    fn a_list_is_the_text_and_an_object_holds_it() {
        let answer = listing(&HINTS, Ok(json!([{"room": "kitchen"}]))).unwrap();
        assert_eq!(answer.text, r#"[{"room":"kitchen"}]"#);
        assert_eq!(answer.structured, json!({"result": [{"room": "kitchen"}]}));
    }
}
