//! How a tool of MemPalace ends: with a value, or with an `error` in the value, as its users know it. Only calls that make no
//! sense and palaces that cannot be read are errors of the protocol.

use loci_palace::{Error, ErrorKind, MaskTally, RECALLED, Result, Warning};
use serde_json::{Value, json};

use crate::hint::{Hints, Tools};
use crate::tool::{Answer, Call};

/// What a tool gives, or why it does not.
pub(super) type Outcome<T> = std::result::Result<T, Refusal>;

/// Why a tool gives no answer.
#[derive(Debug)]
pub(super) enum Refusal {
    /// What was given cannot be used; the answer says so under `error`.
    Said(String),
    /// The call itself is wrong: something is missing or of another type.
    Call(Error),
    /// The palace said no.
    Palace(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Palace(error)
    }
}

/// Refuses with a sentence.
pub(super) fn refuse<T>(sentence: impl Into<String>) -> Outcome<T> {
    Err(Refusal::Said(sentence.into()))
}

/// The answer of a tool that reads.
pub(super) fn reading(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    answered(hints, outcome, json!({}))
}

/// The answer of a tool that writes: a refusal also says that it had no success.
pub(super) fn writing(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    answered(hints, outcome, json!({"success": false}))
}

/// The answer of a search: a refusal also holds an empty list.
pub(super) fn searching(hints: &Hints, outcome: Outcome<Value>) -> Result<Answer> {
    answered(hints, outcome, json!({"results": []}))
}

/// A list stands by itself in the text; the structured answer, which is always an object, holds it under `result`.
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
            // What a transcript keeps of these answers is known again by it, and not remembered twice.
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

/// What the caller can do about an error.
pub(super) fn hint(call: &Call<'_>, error: &Error) -> Option<String> {
    call.hints(Tools::MemPalace).of_error(error)
}

/// Puts warnings into an answer; none, no key.
pub(super) fn warn(call: &Call<'_>, answer: &mut Value, warnings: &[Warning]) {
    if let (Some(object), false) = (answer.as_object_mut(), warnings.is_empty()) {
        let warnings = call.hints(Tools::MemPalace).warnings(warnings);
        object.insert("warnings".into(), warnings);
    }
}

/// Puts the secrets that were masked into an answer, by kind; none, no key.
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
