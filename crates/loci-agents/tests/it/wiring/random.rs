//! Random files: any JSON in any layout, any TOML.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::scene::Scene;

/// Choices that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn blank(&mut self) -> &'static str {
        const BLANKS: [&str; 12] = [
            "",
            "",
            "",
            " ",
            "  ",
            "\t",
            "\n",
            "\r\n",
            "\n    ",
            " // é, { \"a\": 1 }\n",
            " /* b, } */ ",
            "\n  /* c\n */\n",
        ];
        BLANKS[self.roll(BLANKS.len() as u64) as usize]
    }
}

/// The value as text, with white space, comments and trailing commas anywhere.
fn rendered(value: &Value, dice: &mut Dice) -> String {
    let items: Vec<String> = match value {
        Value::Array(list) => list.iter().map(|item| rendered(item, dice)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| {
                let key = Value::from(key.as_str()).to_string();
                format!(
                    "{key}{}:{}{}",
                    dice.blank(),
                    dice.blank(),
                    rendered(value, dice)
                )
            })
            .collect(),
        other => return other.to_string(),
    };
    let [open, close] = if value.is_array() {
        ["[", "]"]
    } else {
        ["{", "}"]
    };
    let mut text = open.to_owned();
    let count = items.len();
    for (number, item) in items.into_iter().enumerate() {
        text += dice.blank();
        text += &item;
        text += dice.blank();
        if number + 1 < count || dice.roll(4) == 0 {
            text += ",";
        }
    }
    text + dice.blank() + close
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zé\"\\\\/*{},]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn settings() -> impl Strategy<Value = Value> {
    let object = || prop::collection::btree_map("[a-z]{1,4}", value(), 0..4);
    let events = prop::collection::btree_map(
        prop_oneof![
            Just("Stop".to_owned()),
            Just("SessionEnd".to_owned()),
            Just("AfterAgent".to_owned())
        ],
        prop::collection::vec(value(), 0..3),
        0..3,
    );
    (
        object(),
        prop::option::of(object()),
        prop::option::of(events),
    )
        .prop_map(|(root, servers, hooks)| {
            let mut root: Map<String, Value> = root.into_iter().collect();
            if let Some(servers) = servers {
                root.insert(
                    "mcpServers".into(),
                    Value::Object(servers.into_iter().collect()),
                );
            }
            if let Some(hooks) = hooks {
                root.insert("hooks".into(), json!(hooks));
            }
            Value::Object(root)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_comes_back_byte_for_byte(value in settings(), seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let text = format!("{}{}{}", dice.blank(), rendered(&value, dice), dice.blank());
        let scene = Scene::new();
        scene.write(".gemini/settings.json", &text);
        let before = scene.json(".gemini/settings.json");
        scene.connect(&["gemini"]);
        let after = scene.json(".gemini/settings.json");
        prop_assert!(after["mcpServers"]["loci"].is_object());
        prop_assert!(after["hooks"]["AfterAgent"].as_array().is_some());
        prop_assert!(scene.connect(&["gemini"]).is_empty());
        scene.disconnect();
        prop_assert_eq!(scene.read(".gemini/settings.json"), text);
        // Without the old bytes, at least the meaning is restored.
        scene.connect(&["gemini"]);
        std::fs::remove_dir_all(scene.home.state.join("wiring/backups")).unwrap();
        scene.disconnect();
        prop_assert_eq!(scene.json(".gemini/settings.json"), before);
    }

    #[test]
    fn any_toml_comes_back_byte_for_byte(
        lines in prop::collection::vec("(# c|\\[mcp_servers\\.[a-d]\\]|\\[x\\.[a-d]\\]|\\[\\[y\\]\\]|[e-z] = [0-9]|[e-z]\\.q = \"[a-z\\[]{0,3}\"|)", 0..10),
        crlf in any::<bool>(),
        ends in any::<bool>(),
    ) {
        let newline = if crlf { "\r\n" } else { "\n" };
        let mut text = lines.join(newline);
        if ends {
            text += newline;
        }
        let before = text.parse::<toml_edit::DocumentMut>();
        prop_assume!(before.is_ok());
        let scene = Scene::new();
        scene.write(".codex/config.toml", &text);
        scene.connect(&["codex"]);
        prop_assert!(scene.read(".codex/config.toml").contains("[mcp_servers.loci]"));
        prop_assert!(scene.connect(&["codex"]).is_empty());
        scene.disconnect();
        prop_assert_eq!(scene.read(".codex/config.toml"), text.as_str());
        scene.connect(&["codex"]);
        std::fs::remove_dir_all(scene.home.state.join("wiring/backups")).unwrap();
        scene.disconnect();
        let left = scene.read(".codex/config.toml");
        prop_assert_eq!(left.trim_end(), text.trim_end());
    }
}
