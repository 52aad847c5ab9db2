//! Changes of configuration files, for the fuzz targets in `loci-fuzz`. It needs the feature
//! `fuzzing`.

use serde_json::{Map, Value};

use super::json_text::{JsonText, keys};
use super::splice::Edit;
use super::toml_text::TomlText;
use super::written::Written;

/// The key of the servers.
pub const SERVERS: &str = "mcpServers";
/// The name of the server that is added.
pub const NAME: &str = "loci";
/// The list to which a command is appended.
pub const HOOK: [&str; 2] = ["hooks", "Stop"];

/// One change of a text.
#[derive(Debug)]
pub struct Step {
    /// The text after the change.
    pub text: String,
    /// The parsed value of the text.
    pub value: Value,
    /// What was changed.
    pub edits: Vec<Edit>,
}

/// Returns the entry that is added: a server that runs a command.
pub fn entry() -> Value {
    serde_json::json!({ "command": "/bin/loci", "args": ["mcp", "é\"\\"] })
}

fn entries() -> Vec<(String, Written)> {
    vec![
        ("command".to_owned(), Written::text("/bin/loci")),
        ("args".to_owned(), Written::texts(["mcp", "é\"\\"])),
    ]
}

/// Changes a JSON file: adds a server, removes it again, and adds a hook command. `None` if it
/// cannot be parsed; a step is missing if it was rejected.
pub fn change_json(text: &str) -> Option<(Value, [Option<Step>; 3])> {
    let original = JsonText::parse(text.to_owned()).ok()?;
    let before = original.value();
    let path = [SERVERS, NAME];
    let mut added = original.clone();
    let is_added = added.set(&path, &Written::Object(entries())).is_ok();
    let mut removed = added.clone();
    removed.remove(&keys(&path));
    let mut hooked = original;
    let is_hooked = hooked.push(&HOOK, &Written::Object(entries())).is_ok();
    let step = |json: JsonText| {
        let value = json.value();
        let (text, edits) = json.into_parts();
        Step { text, value, edits }
    };
    Some((
        before,
        [
            is_added.then(|| step(added)),
            is_added.then(|| step(removed)),
            is_hooked.then(|| step(hooked)),
        ],
    ))
}

/// Changes a TOML file: adds a server and removes it again. The values hold only the servers.
pub fn change_toml(text: &str) -> Option<(Value, [Option<Step>; 2])> {
    let original = TomlText::parse(text.to_owned()).ok()?;
    let servers =
        |toml: &TomlText| Value::Object(toml.tables(SERVERS).into_iter().collect::<Map<_, _>>());
    let before = servers(&original);
    if before.get(NAME).is_some() {
        return None;
    }
    let mut added = original;
    let is_added = added.add(SERVERS, NAME, &entries()).is_ok();
    let mut removed = added.clone();
    let is_removed = removed.remove(SERVERS, NAME).is_ok();
    let step = |toml: TomlText| {
        let value = servers(&toml);
        let (text, edits) = toml.into_parts();
        Step { text, value, edits }
    };
    Some((
        before,
        [
            is_added.then(|| step(added)),
            (is_added && is_removed).then(|| step(removed)),
        ],
    ))
}

/// Whether the text can be parsed.
pub fn is_toml(text: &str) -> bool {
    TomlText::parse(text.to_owned()).is_ok()
}
