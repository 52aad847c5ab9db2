//! What a tool advertises is part of what its verbs answer.

use loci_mcp::ToolSet;
use loci_palace::{diary, facts, mine, verify, wake_up};
use schemars::{JsonSchema, schema_for};
use serde_json::{Map, Value};

/// The members of an answer with their schemas.
fn members<Answer: JsonSchema>() -> Map<String, Value> {
    let schema = schema_for!(Answer).to_value();
    schema["properties"].as_object().unwrap().clone()
}

/// The members of all answers that a tool may give.
fn answers_of(tool: &str) -> Option<Map<String, Value>> {
    let answers = match tool {
        "loci_facts" => vec![
            members::<facts::add::Answer>(),
            members::<facts::query::Answer>(),
            members::<facts::timeline::Answer>(),
            members::<facts::supersede::Answer>(),
            members::<facts::invalidate::Answer>(),
            members::<facts::conflicts::Answer>(),
        ],
        "loci_diary" => vec![
            members::<diary::write::Answer>(),
            members::<diary::read::Answer>(),
        ],
        "loci_wake_up" => vec![members::<wake_up::Answer>()],
        "loci_mine" => vec![members::<mine::Answer>()],
        "loci_verify" => vec![members::<verify::Answer>()],
        _ => return None,
    };
    Some(answers.into_iter().flatten().collect())
}

#[test]
fn every_advertised_member_of_an_answer_is_in_the_schema_of_a_verbs_answer() {
    let listing = ToolSet::Full.listing();
    let mut checked = 0;
    for tool in listing["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let Some(answers) = answers_of(name) else {
            continue;
        };
        let advertised = &tool["outputSchema"];
        for member in advertised["required"].as_array().into_iter().flatten() {
            let member = member.as_str().unwrap();
            assert!(
                answers.contains_key(member),
                "`{member}` of {name} is in no answer"
            );
            checked += 1;
        }
        let typed = advertised["properties"].as_object().into_iter().flatten();
        for (member, schema) in typed {
            let answer = answers.get(member);
            let answer = answer.unwrap_or_else(|| panic!("`{member}` of {name} is in no answer"));
            // An object is a reference to its own schema.
            let kind = answer.get("type").and_then(Value::as_str);
            assert_eq!(kind.unwrap_or("object"), schema["type"], "{name}: {member}");
            checked += 1;
        }
    }
    assert!(checked >= 12, "{checked}");
}
