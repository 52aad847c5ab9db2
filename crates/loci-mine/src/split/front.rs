//! Reads the frontmatter of Markdown.
//!
//! Of YAML, only the usual parts of frontmatter are read: scalars and lists of scalars at the top
//! level. Everything else is left out. Nothing here is an error, because the text keeps its
//! frontmatter word for word.

use std::ops::Range;

/// A block with more pairs than this is not metadata.
const MOST_PAIRS: usize = 256;

/// A value of frontmatter.
#[derive(Debug, Clone, PartialEq)]
pub enum FrontValue {
    /// Text, a date, or anything that is not of another kind.
    Str(String),
    /// An integer.
    Int(i64),
    /// A decimal number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A list of scalars, each as text.
    List(Vec<String>),
}

/// Returns the frontmatter of a Markdown text as flat pairs. It is YAML between `---` lines, or
/// TOML between `+++` lines, at the very start. Scalars and lists of scalars are kept. Nested and
/// unreadable values are left out.
pub fn frontmatter(text: &str) -> Vec<(String, FrontValue)> {
    let Some(block) = block(text).and_then(|block| text.get(block)) else {
        return Vec::new();
    };
    let mut lines: Vec<&str> = block.lines().collect();
    lines.pop();
    let body = lines.get(1..).unwrap_or_default();
    if block.starts_with("+++") {
        toml(&body.join("\n"))
    } else {
        yaml(body)
    }
}

/// Returns where the frontmatter of a text ends; 0 if it has none.
pub(crate) fn frontmatter_end(text: &str) -> usize {
    block(text).map_or(0, |block| block.end)
}

/// Returns the position of the frontmatter of `text`, with both of its delimiters.
pub(super) fn block(text: &str) -> Option<Range<usize>> {
    let ends: &[&str] = match text.get(..3)? {
        "---" => &["---", "..."],
        "+++" => &["+++"],
        _ => return None,
    };
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        end += line.len();
        let line = line.trim_end();
        if number == 0 {
            if line.len() != 3 {
                return None;
            }
        } else if ends.contains(&line) {
            return Some(0..end);
        }
    }
    None
}

fn toml(body: &str) -> Vec<(String, FrontValue)> {
    let Ok(table) = body.parse::<toml::Table>() else {
        return Vec::new();
    };
    let pairs = table.into_iter().filter_map(|(key, value)| {
        let value = match value {
            toml::Value::String(text) => FrontValue::Str(text),
            toml::Value::Integer(number) => FrontValue::Int(number),
            toml::Value::Float(number) => FrontValue::Float(number),
            toml::Value::Boolean(truth) => FrontValue::Bool(truth),
            toml::Value::Datetime(time) => FrontValue::Str(time.to_string()),
            toml::Value::Array(items) => {
                FrontValue::List(items.iter().map(toml_item).collect::<Option<_>>()?)
            }
            toml::Value::Table(_) => return None,
        };
        Some((key, value))
    });
    pairs.take(MOST_PAIRS).collect()
}

fn toml_item(item: &toml::Value) -> Option<String> {
    match item {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Datetime(time) => Some(time.to_string()),
        toml::Value::Array(_) | toml::Value::Table(_) => None,
    }
}

fn yaml(lines: &[&str]) -> Vec<(String, FrontValue)> {
    let mut pairs = Vec::new();
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first()
        && pairs.len() < MOST_PAIRS
    {
        rest = after;
        if line.starts_with([' ', '\t', '#', '-']) {
            continue;
        }
        let Some((key, value)) = key_and_value(line) else {
            continue;
        };
        // The value of a key is indented, or it is a list that is not.
        let belongs = |line: &&&str| {
            line.trim().is_empty() || line.starts_with([' ', '\t', '#']) || line.starts_with("- ")
        };
        let (body, after) = rest.split_at(rest.iter().take_while(belongs).count());
        rest = after;
        if let Some(value) = yaml_value(value, body) {
            pairs.push((key.to_owned(), value));
        }
    }
    pairs
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = match line.split_once(": ") {
        Some(pair) => pair,
        None => (line.trim_end().strip_suffix(':')?, ""),
    };
    let key = key.trim().trim_matches(['"', '\'']);
    (!key.is_empty()).then(|| (key, value.trim()))
}

/// Returns the value that begins as `value` on the line of the key and continues in `body`.
fn yaml_value(value: &str, body: &[&str]) -> Option<FrontValue> {
    let lines = || body.iter().map(|line| line.trim());
    let content = || lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    match value.as_bytes().first() {
        None | Some(b'#') => {
            let items = content().map(|line| line.strip_prefix("- ").and_then(yaml_item));
            let items = items.collect::<Option<Vec<_>>>()?;
            (!items.is_empty()).then_some(FrontValue::List(items))
        }
        Some(b'|') => Some(FrontValue::Str(
            lines().collect::<Vec<_>>().join("\n").trim().to_owned(),
        )),
        Some(b'>') => Some(FrontValue::Str(
            lines().collect::<Vec<_>>().join(" ").trim().to_owned(),
        )),
        Some(b'[') => {
            let all = std::iter::once(value).chain(content()).collect::<Vec<_>>();
            let all = all.join(" ");
            let inner = without_comment(&all).strip_prefix('[')?.strip_suffix(']')?;
            flow_items(inner).map(FrontValue::List)
        }
        Some(b'{' | b'&' | b'*' | b'!') => None,
        Some(_) => {
            let all = std::iter::once(value).chain(content()).collect::<Vec<_>>();
            scalar(&all.join(" "))
        }
    }
}

/// Returns the items of an inline list; `None` if one of them is nested.
fn flow_items(inner: &str) -> Option<Vec<String>> {
    let mut items = Vec::new();
    let mut quote = None;
    let mut start = 0;
    let ends = inner.char_indices().chain([(inner.len(), ',')]);
    for (at, character) in ends {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') if inner.get(start..at)?.trim().is_empty() => {
                quote = Some(character);
            }
            (None, '[' | '{') => return None,
            (None, ',') => {
                let item = inner.get(start..at)?.trim();
                if !item.is_empty() {
                    items.push(unquoted(item).unwrap_or_else(|| item.to_owned()));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    quote.is_none().then_some(items)
}

/// Returns an item of a list; `None` if it is nested.
fn yaml_item(item: &str) -> Option<String> {
    let item = item.trim();
    if item.starts_with(['[', '{', '&', '*', '!', '|', '>']) || item.starts_with("- ") {
        return None;
    }
    if let Some(text) = unquoted(item) {
        return Some(text);
    }
    let item = without_comment(item);
    (!item.contains(": ") && !item.ends_with(':')).then(|| item.to_owned())
}

fn scalar(value: &str) -> Option<FrontValue> {
    if let Some(text) = unquoted(value) {
        return Some(FrontValue::Str(text));
    }
    let value = without_comment(value);
    Some(match value {
        "" | "~" | "null" | "Null" | "NULL" => return None,
        "true" | "True" | "TRUE" => FrontValue::Bool(true),
        "false" | "False" | "FALSE" => FrontValue::Bool(false),
        _ => number(value).unwrap_or_else(|| FrontValue::Str(value.to_owned())),
    })
}

fn number(value: &str) -> Option<FrontValue> {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    // A number with a leading zero is a code, such as a postal code.
    if digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.") {
        return None;
    }
    if let Ok(number) = value.parse() {
        return Some(FrontValue::Int(number));
    }
    let float = value
        .parse::<f64>()
        .ok()
        .filter(|float| float.is_finite())?;
    Some(FrontValue::Float(float))
}

/// Returns the text in quotes, if only a comment follows them.
fn unquoted(value: &str) -> Option<String> {
    let quote = value
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let mut text = String::new();
    let mut characters = value.get(1..)?.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if quote == '"' => match characters.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            _ if character == quote => {
                let rest = characters.as_str();
                if quote == '\'' && rest.starts_with('\'') {
                    characters.next();
                    text.push('\'');
                    continue;
                }
                let rest = rest.trim();
                return (rest.is_empty() || rest.starts_with('#')).then_some(text);
            }
            _ => text.push(character),
        }
    }
    None
}

fn without_comment(value: &str) -> &str {
    value
        .split_once(" #")
        .map_or(value, |(before, _)| before)
        .trim()
}
