//! Schemas are an interface: prompts and clients are written against them. They are compared with files beside this one;
//! `LOCI_RENEW_SNAPSHOTS=1 cargo test -p loci-mcp` writes those anew, for a reviewer to read.

use std::path::Path;

use loci_mcp::ToolSet;
use serde_json::{Value, json};

/// What the tools of a session may cost a model, all in all.
const MOST_TOKENS: usize = 1_500;
const MOST_TOOLS: usize = 8;

/// The longest form that goes over the wire: the stateless revision adds hints for caches.
fn listing(tools: ToolSet) -> Value {
    let mut listing = tools.listing();
    listing["ttlMs"] = json!(3_600_000);
    listing["cacheScope"] = json!("public");
    listing
}

fn tools(listing: &Value) -> &Vec<Value> {
    listing["tools"].as_array().unwrap()
}

#[test]
fn the_default_tools_cost_few_tokens() {
    let listing = listing(ToolSet::Core);
    let text = listing.to_string();
    let bytes_to_tokens = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| bytes_to_tokens.encode_ordinary(text).len();
    for tool in tools(&listing) {
        println!("{:5} {}", count(&tool.to_string()), tool["name"]);
    }
    // Models count differently: a fifth more, to be sure.
    let tokens = count(&text) * 6 / 5;
    println!("{tokens:5} tokens in all, {} bytes", text.len());
    assert_eq!(tools(&listing).len(), MOST_TOOLS);
    assert!(tokens <= MOST_TOKENS, "{tokens} tokens");
    // Whatever the tokenizer: JSON has more than three and a half bytes to a token.
    assert!(text.len() * 2 / 7 <= MOST_TOKENS, "{} bytes", text.len());
}

#[test]
fn schemas_are_what_they_were() {
    for (set, name) in [
        (ToolSet::Core, "core"),
        (ToolSet::Full, "full"),
        (ToolSet::Mempalace, "mempalace"),
    ] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/{name}.json"));
        let now = serde_json::to_string_pretty(&set.listing()).unwrap() + "\n";
        if std::env::var_os("LOCI_RENEW_SNAPSHOTS").is_some() {
            std::fs::write(&file, &now).unwrap();
        }
        let before = std::fs::read_to_string(&file).unwrap();
        assert!(
            before == now,
            "the schemas of `{name}` changed; `LOCI_RENEW_SNAPSHOTS=1 cargo test -p loci-mcp` writes them anew:\n{now}"
        );
    }
}

#[test]
fn every_tool_says_what_it_takes_gives_and_may_do() {
    for set in [ToolSet::Core, ToolSet::Full, ToolSet::Mempalace] {
        let listing = set.listing();
        for tool in tools(&listing) {
            assert!(tool["description"].as_str().unwrap().len() > 10, "{tool}");
            assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
            let hints = tool["annotations"].as_object().unwrap();
            assert_eq!(hints["openWorldHint"], false, "{tool}");
            assert!(
                hints.contains_key("readOnlyHint") || hints.contains_key("destructiveHint"),
                "{tool}"
            );
            let input = &tool["inputSchema"];
            assert_eq!(input["type"], "object", "{tool}");
            let properties = input["properties"].as_object().unwrap();
            // Some models refuse tools with an argument that has no type.
            for (name, schema) in properties {
                assert!(schema["type"].is_string(), "{name} of {tool}");
            }
            for required in input["required"].as_array().into_iter().flatten() {
                assert!(
                    properties.contains_key(required.as_str().unwrap()),
                    "{tool}"
                );
            }
        }
    }
}

#[test]
fn only_tools_that_remove_for_good_are_destructive() {
    let listing = ToolSet::Full.listing();
    let with = |hint: &str| -> Vec<&str> {
        tools(&listing)
            .iter()
            .filter(|tool| tool["annotations"][hint] == true)
            .map(|tool| tool["name"].as_str().unwrap())
            .collect()
    };
    assert_eq!(
        with("destructiveHint"),
        ["loci_update", "loci_forget", "loci_runs"]
    );
    assert_eq!(
        with("readOnlyHint"),
        [
            "loci_search",
            "loci_get",
            "loci_list",
            "loci_wake_up",
            "loci_duplicates",
            "loci_why_not",
            "loci_verify"
        ]
    );
}

#[test]
fn no_name_stands_twice() {
    for set in [ToolSet::Full, ToolSet::Mempalace] {
        let listing = set.listing();
        let mut names: Vec<&str> = tools(&listing)
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

/// The arguments in a schema, also those of objects in lists.
fn each_argument(schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
        visit(name, argument);
        // The members of a fact explain themselves.
        if name != "facts" {
            each_argument(&argument["items"], visit);
        }
    }
}

#[test]
fn every_argument_has_a_description_and_a_number_of_results_is_a_limit() {
    // MemPalace's tools have the arguments of MemPalace.
    for set in [ToolSet::Core, ToolSet::Full] {
        for tool in tools(&set.listing()) {
            each_argument(&tool["inputSchema"], &mut |name, argument| {
                let about = argument["description"].as_str().unwrap_or_default();
                assert!(about.len() > 3, "{name} of {}", tool["name"]);
                assert!(!["k", "last"].contains(&name), "{name} of {}", tool["name"]);
            });
        }
    }
}
