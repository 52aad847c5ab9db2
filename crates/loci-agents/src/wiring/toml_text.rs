//! Sets and removes tables below one key of a TOML file in place. As with JSON, the parser only
//! finds positions, so that everything else stays byte for byte.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, TableLike};

use super::splice::{Edit, Splice, apply, before, from, line_start, newline, next_line, within};
use super::written::Written;

/// The text, and its changes so far.
#[derive(Debug, Clone)]
pub(super) struct TomlText {
    text: String,
    edits: Vec<Edit>,
}

impl TomlText {
    /// Parses the text. The error gives the position.
    pub(super) fn parse(text: String) -> Result<Self, String> {
        match Document::parse(text.as_str()) {
            Ok(_) => Ok(Self {
                text,
                edits: Vec::new(),
            }),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let start = line_start(&text, at);
                Err(format!(
                    "line {}, column {}: {}",
                    1 + before(&text, at).matches('\n').count(),
                    1 + within(&text, &(start..at)).chars().count(),
                    error.message().lines().next().unwrap_or_default()
                ))
            }
        }
    }

    pub(super) fn into_parts(self) -> (String, Vec<Edit>) {
        (self.text, self.edits)
    }

    /// Returns the tables below `key`, by name, in file order.
    pub(super) fn tables(&self, key: &str) -> Vec<(String, Value)> {
        let Ok(document) = Document::parse(self.text.as_str()) else {
            return Vec::new();
        };
        document
            .get(key)
            .and_then(Item::as_table_like)
            .map(|tables| {
                tables
                    .iter()
                    .map(|(name, item)| (name.to_owned(), value(item)))
                    .collect()
            })
            .unwrap_or_default()
    }

    /// Replaces a value in the table `key.name`. Returns `false` if there is none.
    pub(super) fn put(&mut self, key: &str, name: &str, entry: &str, value: &Written) -> bool {
        let range = Document::parse(self.text.as_str())
            .ok()
            .and_then(|document| {
                let table = document.get(key)?.as_table_like()?.get(name)?;
                table.as_table_like()?.get(entry)?.as_value()?.span()
            });
        let Some(range) = range else {
            return false;
        };
        self.apply(vec![Splice {
            range,
            with: toml(value),
        }]);
        true
    }

    /// Appends the table `key.name`, which must not exist.
    pub(super) fn add(
        &mut self,
        key: &str,
        name: &str,
        entries: &[(String, Written)],
    ) -> Result<(), String> {
        let end = newline(&self.text);
        let mut lines = vec![format!("[{}.{}]", bare(key), bare(name))];
        lines.extend(
            entries
                .iter()
                .map(|(key, value)| format!("{} = {}", bare(key), toml(value))),
        );
        let table = lines.join(end) + end;
        let inline = inline_end(&self.text, key);
        let splice = match inline {
            Some((at, empty)) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{} = {}", bare(key), toml(value)))
                    .collect();
                let comma = if empty { " " } else { ", " };
                let entry = format!("{comma}{} = {{ {} }}", bare(name), entries.join(", "));
                Splice::insert(at, entry)
            }
            None => Splice::insert(self.text.len(), format!("{}{table}", self.gap(end))),
        };
        let before = self.clone();
        self.checked(vec![splice])?;
        // Below `[[key]]`, the new table would become part of the last element of that list.
        if self.tables(key).iter().any(|(found, _)| found == name) {
            return Ok(());
        }
        *self = before;
        Err(format!("`{key}` is not a table"))
    }

    /// Removes the table `key.name` and returns its text, with everything needed to restore it.
    pub(super) fn remove(&mut self, key: &str, name: &str) -> Result<String, String> {
        let regions = self.regions(key, name);
        let raw: Vec<&str> = regions
            .iter()
            .map(|region| within(&self.text, region))
            .collect();
        let raw = raw.concat();
        let splices = regions
            .into_iter()
            .map(|region| Splice::remove(self.with_blank_line(region)))
            .collect();
        self.checked(splices)?;
        Ok(raw)
    }

    /// Replaces the table `key.name` by another one, both as text.
    pub(super) fn restore(&mut self, key: &str, name: &str, raw: &str) -> Result<(), String> {
        let mut splices: Vec<Splice> = self
            .regions(key, name)
            .into_iter()
            .map(Splice::remove)
            .collect();
        match splices.first_mut() {
            Some(first) => raw.clone_into(&mut first.with),
            None => {
                let gap = self.gap(newline(&self.text));
                splices.push(Splice::insert(self.text.len(), format!("{gap}{raw}")));
            }
        }
        self.checked(splices)
    }

    fn apply(&mut self, splices: Vec<Splice>) {
        self.edits.extend(apply(&mut self.text, splices));
    }

    /// Applies the splices, unless the result would be invalid.
    fn checked(&mut self, splices: Vec<Splice>) -> Result<(), String> {
        let mut text = self.text.clone();
        let edits = apply(&mut text, splices);
        Document::parse(text.as_str()).map_err(|error| {
            format!(
                "the entry does not fit into the file as it is written: {}",
                error.message()
            )
        })?;
        self.text = text;
        self.edits.extend(edits);
        Ok(())
    }

    /// Returns the separator between the text and a table after it.
    fn gap(&self, end: &str) -> String {
        if self.text.trim_start_matches('\u{feff}').is_empty() {
            String::new()
        } else if !self.text.ends_with('\n') {
            format!("{end}{end}")
        } else {
            end.to_owned()
        }
    }

    /// Returns a region with the blank line before it, if a blank line or nothing follows.
    fn with_blank_line(&self, region: Range<usize>) -> Range<usize> {
        let head = before(&self.text, region.start);
        let tail = from(&self.text, region.end).trim_start_matches('\r');
        let line = head
            .strip_suffix("\r\n")
            .or_else(|| head.strip_suffix('\n'));
        match line {
            Some(line) if line.ends_with('\n') && (tail.is_empty() || tail.starts_with('\n')) => {
                line.len()..region.end
            }
            _ => region,
        }
    }

    /// Returns the lines of the table `key.name`.
    fn regions(&self, key: &str, name: &str) -> Vec<Range<usize>> {
        let Ok(document) = Document::parse(self.text.as_str()) else {
            return Vec::new();
        };
        let Some(tables) = document.get(key).and_then(Item::as_table_like) else {
            return Vec::new();
        };
        if inline_end(&self.text, key).is_some() {
            return inline_entry(&self.text, tables, name).into_iter().collect();
        }
        let mut regions = Vec::new();
        gather(&self.text, tables, name, &mut regions);
        regions.sort_by_key(|region| region.start);
        regions.dedup();
        regions
    }
}

/// Returns the start of the line of `at`, without a byte order mark, which belongs to the file.
fn own_start(text: &str, at: usize) -> usize {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    line_start(text, at).max(mark)
}

/// Collects every region of `parent.name`: a table with its lines, or the lines that name its
/// values.
fn gather(text: &str, parent: &dyn TableLike, name: &str, regions: &mut Vec<Range<usize>>) {
    let Some(item) = parent.get(name) else {
        return;
    };
    let header = item
        .span()
        .filter(|span| from(text, span.start).starts_with('['));
    match (item.as_table(), header) {
        (Some(table), Some(header)) => {
            let mut end = header.end;
            for (name, item) in table {
                if item.as_table().is_some() || item.is_array_of_tables() {
                    let mut inner = Vec::new();
                    gather(text, table, name, &mut inner);
                    // Dotted keys are lines of this table; other tables have regions of their own.
                    for region in inner {
                        if from(text, region.start).trim_start().starts_with('[') {
                            regions.push(region);
                        } else {
                            end = end.max(region.end.saturating_sub(1));
                        }
                    }
                } else if let Some(span) = item.span() {
                    end = end.max(span.end);
                }
            }
            regions.push(own_start(text, header.start)..next_line(text, end));
        }
        (Some(table), None) => {
            for (name, _) in table {
                gather(text, table, name, regions);
            }
        }
        (None, _) => {
            let key = parent.key(name).and_then(toml_edit::Key::span);
            let spans = key.zip(item.span());
            if let Some((key, value)) = spans {
                regions.push(own_start(text, key.start)..next_line(text, value.end));
            }
        }
    }
}

/// Returns the end of an inline table, and whether it is empty.
fn inline_end(text: &str, key: &str) -> Option<(usize, bool)> {
    let document = Document::parse(text).ok()?;
    let table = document.get(key)?.as_inline_table()?;
    let close = table.span()?.end.checked_sub(1)?;
    let inside = before(text, close).trim_end();
    Some((inside.len(), table.is_empty()))
}

/// Returns an entry of an inline table with one of its commas.
fn inline_entry(text: &str, table: &dyn TableLike, name: &str) -> Option<Range<usize>> {
    let key = table.key(name)?.span()?;
    let value = table.get(name)?.span()?;
    let head = before(text, key.start).trim_end();
    let behind = from(text, value.end);
    let blank = behind.len() - behind.trim_start().len();
    if head.ends_with(',') {
        Some(head.len() - 1..value.end)
    } else if behind.trim_start().starts_with(',') {
        Some(key.start..value.end + blank + 1)
    } else {
        Some(head.len()..value.end)
    }
}

fn value(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let entries = table
            .iter()
            .map(|(key, item)| (key.to_owned(), value(item)));
        return Value::Object(entries.collect::<Map<String, Value>>());
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => Value::from(text.value().as_str()),
        Some(toml_edit::Value::Integer(number)) => Value::from(*number.value()),
        Some(toml_edit::Value::Boolean(flag)) => Value::from(*flag.value()),
        Some(toml_edit::Value::Array(list)) => list
            .iter()
            .map(|item| value(&Item::Value(item.clone())))
            .collect(),
        Some(other) => Value::from(other.to_string()),
        None => Value::Null,
    }
}

fn toml(value: &Written) -> String {
    match value {
        Written::Text(text) => toml_edit::Value::from(text.as_str()).to_string(),
        Written::Number(number) => number.to_string(),
        Written::Flag(flag) => flag.to_string(),
        Written::Raw(raw) => raw.clone(),
        Written::List(list) => {
            let items: Vec<String> = list.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Written::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{} = {}", bare(key), toml(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Returns a key in TOML syntax: bare if that is allowed, else in quotes.
fn bare(key: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !key.is_empty() && key.chars().all(plain) {
        key.to_owned()
    } else {
        toml_edit::Value::from(key).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_stays_when_the_first_table_goes() {
        for before in ["\u{feff}", "\u{feff}# end\n"] {
            let mut toml = TomlText::parse(before.to_owned()).unwrap();
            let entries = [("command".to_owned(), Written::text("loci"))];
            toml.add("mcp_servers", "loci", &entries).unwrap();
            toml.remove("mcp_servers", "loci").unwrap();
            assert_eq!(toml.into_parts().0, before);
        }
    }

    #[test]
    fn a_list_of_tables_in_place_of_the_servers_is_refused_and_stays_as_it_is() {
        let list = "[[mcp_servers]]\nname = \"a\"\n";
        let mut toml = TomlText::parse(list.to_owned()).unwrap();
        let entries = [("command".to_owned(), Written::text("loci"))];
        let error = toml.add("mcp_servers", "loci", &entries).unwrap_err();
        assert_eq!(error, "`mcp_servers` is not a table");
        let (text, edits) = toml.into_parts();
        assert_eq!(text, list);
        assert!(edits.is_empty());
    }
}
