//! Values to be written into configuration. An object keeps the order of its keys.

use serde_json::Value;

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written {
    Text(String),
    Number(u64),
    Flag(bool),
    List(Vec<Written>),
    Object(Vec<(String, Written)>),
    /// JSON from a file, unchanged.
    Raw(String),
}

/// The layout of a value: the line separator, and the indentation of the line in which it begins.
pub(super) struct Layout<'a> {
    pub(super) newline: &'a str,
    pub(super) unit: &'a str,
    pub(super) indent: String,
}

impl Written {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    pub(super) fn object<const N: usize>(entries: [(&str, Self); N]) -> Self {
        let named = |(key, value): (&str, Self)| (key.to_owned(), value);
        Self::Object(entries.into_iter().map(named).collect())
    }

    /// Wraps `value` in objects with these `keys`, the first outermost.
    pub(super) fn nested(keys: &[&str], value: Self) -> Self {
        keys.iter().rev().fold(value, |value, key| {
            Self::Object(vec![((*key).to_owned(), value)])
        })
    }

    /// Renders the value on several lines, or on one line without a layout.
    pub(super) fn render(&self, layout: Option<&Layout<'_>>) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Raw(raw) => raw.clone(),
            Self::List(list) if layout.is_none() || list.iter().all(Self::is_scalar) => {
                let items: Vec<String> = list.iter().map(|item| item.render(None)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::List(list) => {
                let items = list.iter().map(|item| (String::new(), item));
                block(['[', ']'], items, layout)
            }
            Self::Object(entries) if entries.is_empty() => "{}".to_owned(),
            Self::Object(entries) => {
                let items = entries
                    .iter()
                    .map(|(key, value)| (format!("{}: ", quoted(key)), value));
                block(['{', '}'], items, layout)
            }
        }
    }

    fn is_scalar(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Number(_) | Self::Flag(_))
    }
}

/// Returns a JSON string literal.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn block<'a>(
    [open, close]: [char; 2],
    items: impl Iterator<Item = (String, &'a Written)>,
    layout: Option<&Layout<'_>>,
) -> String {
    let Some(Layout {
        newline,
        unit,
        indent,
    }) = layout
    else {
        let items: Vec<String> = items
            .map(|(key, value)| format!("{key}{}", value.render(None)))
            .collect();
        return format!("{open}{}{close}", items.join(", "));
    };
    let inner = Layout {
        newline,
        unit,
        indent: format!("{indent}{unit}"),
    };
    let items: Vec<String> = items
        .map(|(key, value)| format!("{}{key}{}", inner.indent, value.render(Some(&inner))))
        .collect();
    let between = format!(",{newline}");
    format!(
        "{open}{newline}{}{newline}{indent}{close}",
        items.join(&between)
    )
}
