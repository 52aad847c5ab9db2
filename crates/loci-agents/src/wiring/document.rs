//! A configuration file in any format, as a list of servers and a list of hooks.

use serde_json::Value;

use super::agents::{Format, HookStyle, Servers, Shape};
use super::entry;
use super::json_text::{JsonText, PathSegment, keys};
use super::splice::Edit;
use super::toml_text::TomlText;
use super::written::Written;

/// The text of a file.
#[derive(Debug, Clone)]
pub(super) enum Document {
    Json(JsonText),
    Toml(TomlText),
}

/// A command that runs on an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Handler {
    pub(super) event: String,
    /// The index in the list of the event.
    pub(super) number: usize,
    /// The index in its group, if the agent has groups.
    pub(super) within: Option<usize>,
    /// Whether it is the only handler in its group.
    pub(super) alone: bool,
    pub(super) command: String,
}

impl Document {
    pub(super) fn parse(format: Format, text: String) -> Result<Self, String> {
        match format {
            Format::Json => JsonText::parse(text).map(Self::Json),
            Format::Toml => TomlText::parse(text).map(Self::Toml),
        }
    }

    pub(super) fn into_parts(self) -> (String, Vec<Edit>) {
        match self {
            Self::Json(json) => json.into_parts(),
            Self::Toml(toml) => toml.into_parts(),
        }
    }

    /// Returns the keys above the servers. OpenCode's second version has one more key, and still
    /// reads files of the first.
    pub(super) fn within(&self, servers: &Servers) -> Vec<&'static str> {
        let mut within = servers.within.to_vec();
        if let (Self::Json(json), Shape::Local) = (self, servers.shape) {
            within.push("servers");
            let inner = json.get(&keys(&within));
            let is_server = |value: &Value| value.get("type").is_some_and(Value::is_string);
            if !inner.is_some_and(|inner| inner.is_object() && !is_server(&inner)) {
                within.pop();
            }
        }
        within
    }

    pub(super) fn servers(&self, within: &[&str]) -> Vec<(String, Value)> {
        match (self, within) {
            (Self::Json(json), _) => match json.get(&keys(within)) {
                Some(Value::Object(entries)) => entries.into_iter().collect(),
                _ => Vec::new(),
            },
            (Self::Toml(toml), [key]) => toml.tables(key),
            (Self::Toml(_), _) => Vec::new(),
        }
    }

    /// Adds a server. Returns the objects that were created for it.
    pub(super) fn add_server(
        &mut self,
        within: &[&str],
        name: &str,
        entries: Vec<(String, Written)>,
    ) -> Result<Vec<Vec<String>>, String> {
        match (self, within) {
            (Self::Json(json), _) => json.set(&below(within, name), &Written::Object(entries)),
            (Self::Toml(toml), [key]) => toml.add(key, name, &entries).map(|()| Vec::new()),
            (Self::Toml(_), _) => Err("no such table".to_owned()),
        }
    }

    /// Changes what a server runs, and keeps the rest of its entry.
    pub(super) fn rerun_server(
        &mut self,
        within: &[&str],
        name: &str,
        shape: Shape,
        run: &entry::Run,
    ) -> Result<(), String> {
        for (key, value) in entry::running(shape, run) {
            match (&mut *self, within) {
                (Self::Json(json), _) => {
                    let mut path = below(within, name);
                    path.push(key);
                    json.set(&path, &value)?;
                }
                (Self::Toml(toml), [table]) => {
                    if !toml.put(table, name, key, &value) {
                        toml.remove(table, name)?;
                        return toml.add(table, name, &entry::server(shape, run));
                    }
                }
                (Self::Toml(_), _) => {}
            }
        }
        Ok(())
    }

    /// Replaces an entry and returns its old text.
    pub(super) fn replace_server(
        &mut self,
        within: &[&str],
        name: &str,
        entries: Vec<(String, Written)>,
    ) -> Result<String, String> {
        match (self, within) {
            (Self::Json(json), _) => {
                let path = keys(&below(within, name));
                let raw = json.raw(&path).unwrap_or_default();
                json.put(&path, &Written::Object(entries));
                Ok(raw)
            }
            (Self::Toml(toml), [key]) => {
                let raw = toml.remove(key, name)?;
                toml.add(key, name, &entries)?;
                Ok(raw)
            }
            (Self::Toml(_), _) => Err("no such table".to_owned()),
        }
    }

    /// Removes a server and returns its text.
    pub(super) fn remove_server(&mut self, within: &[&str], name: &str) -> Result<String, String> {
        match (self, within) {
            (Self::Json(json), _) => {
                let path = keys(&below(within, name));
                let raw = json.raw(&path).unwrap_or_default();
                json.remove(&path);
                Ok(raw)
            }
            (Self::Toml(toml), [key]) => toml.remove(key, name),
            (Self::Toml(_), _) => Err("no such table".to_owned()),
        }
    }

    /// Restores the text of a replaced or removed server.
    pub(super) fn restore_server(
        &mut self,
        within: &[&str],
        name: &str,
        raw: &str,
    ) -> Result<(), String> {
        match (self, within) {
            (Self::Json(json), _) => json
                .set(&below(within, name), &Written::Raw(raw.to_owned()))
                .map(|_| ()),
            (Self::Toml(toml), [key]) => toml.restore(key, name, raw),
            (Self::Toml(_), _) => Err("no such table".to_owned()),
        }
    }

    /// Returns all commands that run on events.
    pub(super) fn handlers(&self, style: HookStyle) -> Vec<Handler> {
        let Self::Json(json) = self else {
            return Vec::new();
        };
        let Some(Value::Object(events)) = json.get(&keys(&["hooks"])) else {
            return Vec::new();
        };
        let mut handlers = Vec::new();
        for (event, list) in &events {
            let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
            for (number, item) in list.iter().enumerate() {
                let commands = match style {
                    HookStyle::Flat => vec![(None, item)],
                    HookStyle::Groups => item
                        .get("hooks")
                        .and_then(Value::as_array)
                        .map(|group| {
                            group
                                .iter()
                                .enumerate()
                                .map(|(at, item)| (Some(at), item))
                                .collect()
                        })
                        .unwrap_or_default(),
                };
                let alone = commands.len() == 1;
                handlers.extend(commands.into_iter().filter_map(|(within, handler)| {
                    Some(Handler {
                        event: event.clone(),
                        number,
                        within,
                        alone,
                        command: handler.get("command")?.as_str()?.to_owned(),
                    })
                }));
            }
        }
        handlers
    }

    /// Removes a handler, and its group if it is empty then. Returns the text that restores it.
    pub(super) fn remove_handler(&mut self, handler: &Handler) -> String {
        let Self::Json(json) = self else {
            return String::new();
        };
        let mut steps = vec![
            PathSegment::Key("hooks"),
            PathSegment::Key(&handler.event),
            PathSegment::Element(handler.number),
        ];
        let group = json.get(&steps);
        let raw = match handler.within.filter(|_| !handler.alone) {
            None => json.raw(&steps).unwrap_or_default(),
            Some(within) => {
                steps.extend([PathSegment::Key("hooks"), PathSegment::Element(within)]);
                let handler = json.raw(&steps).unwrap_or_default();
                let matcher = group.as_ref().and_then(|group| group.get("matcher"));
                let matcher = matcher
                    .map(|matcher| format!("\"matcher\": {matcher}, "))
                    .unwrap_or_default();
                format!("{{ {matcher}\"hooks\": [{handler}] }}")
            }
        };
        json.remove(&steps);
        raw
    }
}

fn below<'a>(within: &[&'a str], name: &'a str) -> Vec<&'a str> {
    let mut path = within.to_vec();
    path.push(name);
    path
}
