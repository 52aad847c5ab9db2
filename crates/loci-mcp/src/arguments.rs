//! Parses the arguments of a call. An error about a missing, mistyped, too long or unknown argument
//! names the argument.

use loci_palace::{Error, Metadata, MetadataPatch, Period, Result, parse_moment};
use serde_json::{Map, Value};

/// The members of an object of arguments. `null` counts as absent.
#[derive(Debug, Clone)]
pub(crate) struct Arguments<'a> {
    map: &'a Map<String, Value>,
    /// The path of the object, such as `drawers[2].`; empty for the arguments themselves.
    place: String,
}

/// Maximum number of elements of a list.
pub(crate) const MOST_ELEMENTS: usize = 100_000;

/// Other names that an argument is accepted under. Schemas list the first name only.
const OTHER_NAMES: [(&str, &[&str]); 1] = [("limit", &["k", "last"])];

/// The other names of an argument.
fn other_names(name: &str) -> &'static [&'static str] {
    let found = OTHER_NAMES.iter().find(|(listed, _)| *listed == name);
    found.map_or(&[], |(_, others)| others)
}

impl<'a> Arguments<'a> {
    /// The arguments of a call.
    pub(crate) fn new(map: &'a Map<String, Value>) -> Self {
        Self {
            map,
            place: String::new(),
        }
    }

    /// Refuses unknown members, and an argument that is given under two names.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        for listed in known {
            let names = std::iter::once(listed).chain(other_names(listed));
            let mut given = names.filter(|name| self.given(name).is_some());
            if let (Some(one), Some(other)) = (given.next(), given.next()) {
                return Err(Error::invalid(
                    self.named(one),
                    format!("is the same as `{other}`; give one of them"),
                ));
            }
        }
        let is_known = |key: &str| {
            let is = |listed: &&str| *listed == key || other_names(listed).contains(&key);
            known.iter().any(is)
        };
        let unknown = self.map.keys().find(|key| !is_known(key));
        match unknown {
            None => Ok(()),
            Some(key) => Err(Error::invalid(
                self.named(&shortened(key)),
                format!("unknown; known arguments: {}", known.join(", ")),
            )),
        }
    }

    /// Whether the argument is present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The raw value, under any name of the argument.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.given(self.given_name(name))
    }

    fn given(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// The name under which the caller gave an argument.
    fn given_name<'n>(&self, name: &'n str) -> &'n str {
        let mut others = other_names(name).iter();
        let is_given = |name: &&&str| self.given(name).is_some();
        match (self.given(name), others.find(is_given)) {
            (None, Some(other)) => other,
            _ => name,
        }
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.mistyped(name, "a string", other)),
        }
    }

    /// A required text that must not be blank.
    pub(crate) fn required_text(&self, name: &str) -> Result<&'a str> {
        let text = self.text(name)?.ok_or_else(|| self.missing(name))?;
        if text.trim().is_empty() {
            return Err(Error::invalid(self.named(name), "is empty"));
        }
        Ok(text)
    }

    /// A text of at most `most_bytes` bytes.
    pub(crate) fn short_text(&self, name: &str, most_bytes: usize) -> Result<Option<&'a str>> {
        let text = self.text(name)?;
        match text {
            Some(long) if long.len() > most_bytes => Err(Error::invalid(
                self.named(name),
                format!("has {} bytes; at most {most_bytes} are allowed", long.len()),
            )),
            other => Ok(other),
        }
    }

    /// One of some words.
    pub(crate) fn choice(
        &self,
        name: &str,
        choices: &[&'static str],
    ) -> Result<Option<&'static str>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let found = choices.iter().find(|choice| **choice == text);
        found.copied().map(Some).ok_or_else(|| {
            Error::invalid(
                self.named(name),
                format!(
                    "is `{}`; use one of: {}",
                    shortened(text),
                    choices.join(", ")
                ),
            )
        })
    }

    /// A whole number between two bounds, both included. A number in a string is accepted too.
    pub(crate) fn integer(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = match value {
            // Models write 5.0 for 5.
            Value::Number(number) => number.as_u64().or_else(|| {
                number
                    .as_f64()
                    .filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float))
                    .map(|float| float as u64)
            }),
            Value::String(text) => text.trim().parse().ok(),
            other => return Err(self.mistyped(name, "a whole number", other)),
        };
        number
            .filter(|number| (least..=most).contains(number))
            .map(Some)
            .ok_or_else(|| {
                Error::invalid(
                    self.named(name),
                    format!("is {value}; give a whole number from {least} to {most}"),
                )
            })
    }

    /// A number between two bounds, both included.
    pub(crate) fn number(&self, name: &str, least: f64, most: f64) -> Result<Option<f64>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            other => return Err(self.mistyped(name, "a number", other)),
        };
        number
            .filter(|number| (least..=most).contains(number))
            .map(Some)
            .ok_or_else(|| {
                Error::invalid(
                    self.named(name),
                    format!("is {value}; give a number from {least} to {most}"),
                )
            })
    }

    /// True or false; absent is false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(self.mistyped(name, "true or false", other)),
        }
    }

    /// A list of texts. A single text counts as a list of one.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text])),
            Some(Value::Array(values)) => {
                self.bounded(name, values.len())?;
                let texts = values.iter().map(|value| match value {
                    Value::String(text) => Ok(text.as_str()),
                    other => Err(self.mistyped(name, "a list of strings", other)),
                });
                texts.collect::<Result<_>>().map(Some)
            }
            Some(other) => Err(self.mistyped(name, "a list of strings", other)),
        }
    }

    /// A list of objects. A single object counts as a list of one.
    pub(crate) fn objects(&self, name: &str) -> Result<Option<Vec<Arguments<'a>>>> {
        let within = |at: usize, value: &'a Value| match value {
            Value::Object(map) => Ok(Arguments {
                map,
                place: format!("{}{name}[{at}].", self.place),
            }),
            other => Err(self.mistyped(name, "a list of objects", other)),
        };
        match self.value(name) {
            None => Ok(None),
            Some(Value::Array(values)) => {
                self.bounded(name, values.len())?;
                let objects = values.iter().enumerate();
                objects
                    .map(|(at, value)| within(at, value))
                    .collect::<Result<_>>()
                    .map(Some)
            }
            Some(value) => Ok(Some(vec![within(0, value)?])),
        }
    }

    /// Flat metadata.
    pub(crate) fn metadata(&self, name: &str) -> Result<Metadata> {
        self.value(name)
            .map_or_else(|| Ok(Metadata::default()), Metadata::from_json)
    }

    /// Changes to metadata: `null` removes a key.
    pub(crate) fn patch(&self, name: &str) -> Result<MetadataPatch> {
        self.value(name)
            .map_or_else(|| Ok(MetadataPatch::default()), MetadataPatch::from_json)
    }

    /// A moment: a date, or words such as `last week`.
    pub(crate) fn moment(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        parse_moment(text).map(Some).ok_or_else(|| {
            Error::invalid(
                self.named(name),
                format!(
                    "is `{}`, which is not a date; use one such as 2026-05-01, `last week` or `3 days ago`",
                    shortened(text)
                ),
            )
        })
    }

    /// The span of time between two moments.
    pub(crate) fn period(&self, since: &str, before: &str) -> Result<Option<Period>> {
        let period = Period {
            since: self.moment(since)?,
            before: self.moment(before)?,
        };
        if let (Some(from), Some(to)) = (period.since, period.before)
            && from >= to
        {
            return Err(Error::invalid(
                self.named(since),
                format!("is not earlier than `{before}`"),
            ));
        }
        Ok((period != Period::default()).then_some(period))
    }

    /// The error about a missing argument.
    pub(crate) fn missing(&self, name: &str) -> Error {
        Error::invalid(self.named(name), "is missing")
    }

    /// The name of an argument in errors.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("argument `{}{}`", self.place, self.given_name(name))
    }

    fn mistyped(&self, name: &str, wanted: &str, got: &Value) -> Error {
        let got = match got {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Error::invalid(self.named(name), format!("must be {wanted}, not {got}"))
    }

    fn bounded(&self, name: &str, elements: usize) -> Result<()> {
        if elements > MOST_ELEMENTS {
            return Err(Error::invalid(
                self.named(name),
                format!("has {elements} elements; at most {MOST_ELEMENTS} are allowed"),
            ));
        }
        Ok(())
    }
}

/// The beginning of an untrusted text, for a message that puts it in backticks.
pub(crate) fn shortened(text: &str) -> String {
    const MOST_CHARACTERS: usize = 60;
    let cut: String = text.chars().take(MOST_CHARACTERS).collect();
    let mut short = loci_palace::single_line(&cut).replace('`', "\\u{60}");
    if cut.len() < text.len() {
        short.push('…');
    }
    short
}
