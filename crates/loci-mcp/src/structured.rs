//! Converts answers of verbs to structured content: the members of the answer, and the notice about
//! recalled text. Warnings get their hints when the answer is sent.

use loci_palace::{Error, Result, Warning};
use serde::Serialize;
use serde_json::Value;

use crate::drawer::NOTICE;
use crate::tool::Content;

/// An answer of a verb. `about` comes first, before any recalled text.
#[derive(Serialize)]
struct Structured<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'static str>,
    #[serde(flatten)]
    answer: &'a T,
}

/// An answer without recalled text.
pub(crate) fn structured(answer: &impl Serialize, warnings: &[Warning]) -> Result<Content> {
    value_of(None, answer, warnings)
}

/// An answer with recalled text, with the notice that it is data.
pub(crate) fn recalled(answer: &impl Serialize, warnings: &[Warning]) -> Result<Content> {
    value_of(Some(NOTICE), answer, warnings)
}

/// The same, with the typed data of warnings. Use it only for warnings that repeat arguments of the
/// caller: stored names could read like instructions.
pub(crate) fn structured_with_data(
    answer: &impl Serialize,
    warnings: &[Warning],
) -> Result<Content> {
    Ok(Content {
        with_data: true,
        ..value_of(None, answer, warnings)?
    })
}

fn value_of(
    about: Option<&'static str>,
    answer: &impl Serialize,
    warnings: &[Warning],
) -> Result<Content> {
    let failed = |error: serde_json::Error| Error::Internal {
        doing: "writing the answer as JSON".into(),
        detail: error.to_string(),
    };
    // Converted through text, because a direct `Value` writes the 32-bit 0.9 as 0.8999999761581421.
    let text = serde_json::to_string(&Structured { about, answer }).map_err(failed)?;
    let value: Value = serde_json::from_str(&text).map_err(failed)?;
    Ok(Content {
        value,
        warnings: warnings.to_vec(),
        with_data: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::{Hints, Tools};

    /// Advertised schemas are short. What they name must be members of the verb's answer.
    #[test]
    fn every_advertised_property_is_a_member_of_the_answer_of_its_verb() {
        use loci_palace::{add, check_duplicate, forget, get, list, search, update, why_not};
        use schemars::schema_for;
        let verbs = [
            ("loci_search", schema_for!(search::Answer)),
            ("loci_get", schema_for!(get::Answer)),
            ("loci_add", schema_for!(add::Answer)),
            ("loci_update", schema_for!(update::Answer)),
            ("loci_forget", schema_for!(forget::Answer)),
            ("loci_list", schema_for!(list::Answer)),
            ("loci_duplicates", schema_for!(check_duplicate::Answer)),
            ("loci_why_not", schema_for!(why_not::Worded)),
        ];
        let mut tools = crate::core::tools();
        tools.extend(crate::full::tools());
        for (name, schema) in verbs {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let advertised = (tool.output)();
            for required in advertised["required"].as_array().into_iter().flatten() {
                let member = schema.pointer(&format!("/properties/{}", required.as_str().unwrap()));
                assert!(member.is_some(), "{name} has no {required}");
            }
            for (property, shape) in advertised["properties"].as_object().into_iter().flatten() {
                let member = schema.pointer(&format!("/properties/{property}"));
                let member = member.unwrap_or_else(|| panic!("{name} has no `{property}`"));
                let kind = member.get("type");
                let same = kind.is_none_or(|kind| match kind {
                    Value::Array(kinds) => kinds.contains(&shape["type"]),
                    kind => *kind == shape["type"],
                });
                assert!(same, "{name}.{property}: {member} is not {shape}");
            }
        }
    }

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
        let content = recalled(&answer, &answer.warnings).unwrap();
        let hints = Hints {
            tools: Tools::Loci,
            offered: None,
        };
        let sent = crate::tool::Answer::new(content, "found").hinted(&hints);
        assert!(sent.text.starts_with("found\nwarning: "), "{}", sent.text);
        let value = sent.structured;
        assert_eq!(value["score"].to_string(), "0.9");
        assert!(value["warnings"][0]["hint"].is_string(), "{value}");
        assert!(value.to_string().starts_with(r#"{"about":"#));
    }
}
