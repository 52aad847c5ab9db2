//! Changes a JSON file with comments in place. The parser only finds positions. The text is changed
//! by splices, so that the comments, order, indentation and line ends of everything else stay as
//! they are.

mod layout;

use std::ops::Range;

use jsonc_parser::ast::{ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::splice::{Edit, Splice, apply, before, from, newline, within};
use super::written::{Layout, Written, quoted};

/// One step of a path: the key of an object, or the index of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathSegment<'a> {
    Key(&'a str),
    Element(usize),
}

pub(super) fn keys<'a>(keys: &[&'a str]) -> Vec<PathSegment<'a>> {
    keys.iter().copied().map(PathSegment::Key).collect()
}

/// The text, and its changes so far.
#[derive(Debug, Clone)]
pub(super) struct JsonText {
    text: String,
    edits: Vec<Edit>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The position of a value, and its children.
struct ValueSpan {
    range: Range<usize>,
    /// The start of the property, or of the value itself.
    start: usize,
    children: Option<Vec<Range<usize>>>,
    is_object: bool,
}

impl JsonText {
    /// Parses the text. The error gives the position.
    pub(super) fn parse(text: String) -> Result<Self, String> {
        let this = Self {
            text,
            edits: Vec::new(),
        };
        match this.tree()? {
            None | Some(Node::Object(_)) => Ok(this),
            Some(_) => Err("line 1, column 1: not an object".to_owned()),
        }
    }

    pub(super) fn into_parts(self) -> (String, Vec<Edit>) {
        (self.text, self.edits)
    }

    /// Returns the whole document as one value. An empty file is an empty object.
    pub(super) fn value(&self) -> Value {
        match self.tree() {
            Ok(Some(tree)) => value(&tree),
            _ => Value::Object(serde_json::Map::new()),
        }
    }

    pub(super) fn get(&self, steps: &[PathSegment<'_>]) -> Option<Value> {
        let tree = self.tree().ok()??;
        find(&tree, steps).map(|(node, _)| value(node))
    }

    /// Returns the source text of a value.
    pub(super) fn raw(&self, steps: &[PathSegment<'_>]) -> Option<String> {
        let place = self.place(steps)?;
        Some(within(&self.text, &place.range).to_owned())
    }

    /// Sets `value` at `path`, and creates the objects around it. Returns the paths of the created
    /// objects.
    pub(super) fn set(
        &mut self,
        path: &[&str],
        value: &Written,
    ) -> Result<Vec<Vec<String>>, String> {
        if let Some(place) = self.place(&keys(path)) {
            self.replace(&place, value);
            return Ok(Vec::new());
        }
        if self.place(&[]).is_none() {
            self.begin(path, value);
            return Ok(made(path, 0));
        }
        let known = (0..path.len())
            .rev()
            .find(|count| {
                self.place(&keys(path.get(..*count).unwrap_or_default()))
                    .is_some()
            })
            .unwrap_or_default();
        let (around, [key, rest @ ..]) = path.split_at(known) else {
            return Err("no key to set".to_owned());
        };
        self.add(
            &keys(around),
            Some(key),
            &Written::nested(rest, value.clone()),
        )?;
        Ok(made(path, known))
    }

    /// Appends `value` to the list at `path`. Returns the paths of what it created.
    pub(super) fn push(
        &mut self,
        path: &[&str],
        value: &Written,
    ) -> Result<Vec<Vec<String>>, String> {
        if self.place(&keys(path)).is_some() {
            self.add(&keys(path), None, value)?;
            return Ok(Vec::new());
        }
        let mut made = self.set(path, &Written::List(vec![value.clone()]))?;
        made.push(path.iter().map(|key| (*key).to_owned()).collect());
        Ok(made)
    }

    /// Replaces the value at `steps`.
    pub(super) fn put(&mut self, steps: &[PathSegment<'_>], value: &Written) {
        if let Some(place) = self.place(steps) {
            self.replace(&place, value);
        }
    }

    /// Removes the value at `steps`, with its comma and its line.
    pub(super) fn remove(&mut self, steps: &[PathSegment<'_>]) {
        let Some((last, around)) = steps.split_last() else {
            return;
        };
        let (Some(parent), Some(child)) = (self.place(around), self.place(steps)) else {
            return;
        };
        let children = parent.children.unwrap_or_default();
        let number = match last {
            PathSegment::Element(number) => *number,
            PathSegment::Key(_) => children
                .iter()
                .position(|range| range.start == child.start)
                .unwrap_or_default(),
        };
        let splices = layout::removal(&self.text, &parent.range, &children, number);
        self.apply(splices);
    }

    fn apply(&mut self, splices: Vec<Splice>) {
        self.edits.extend(apply(&mut self.text, splices));
    }

    fn replace(&mut self, place: &ValueSpan, value: &Written) {
        let (indent, own_line) = layout::indent_of(&self.text, place.start);
        let rendered = self.rendered(value, &indent, own_line || place.start == place.range.start);
        self.apply(vec![Splice {
            range: place.range.clone(),
            with: rendered,
        }]);
    }

    fn rendered(&self, value: &Written, indent: &str, on_lines: bool) -> String {
        let unit = self.unit();
        let layout = Layout {
            newline: newline(&self.text),
            unit: &unit,
            indent: indent.to_owned(),
        };
        value.render(Some(&layout).filter(|_| on_lines && !self.is_one_line()))
    }

    /// Adds the first value of a file that has none: empty, or only comments.
    fn begin(&mut self, path: &[&str], value: &Written) {
        let value = Written::nested(path, value.clone());
        let end = newline(&self.text);
        let rendered = self.rendered(&value, "", true);
        let alone = self.text.trim_start_matches(BYTE_ORDER_MARK).is_empty();
        let gap = if alone || self.text.ends_with('\n') {
            ""
        } else {
            end
        };
        let at = self.text.len();
        self.apply(vec![Splice::insert(at, format!("{gap}{rendered}{end}"))]);
    }

    fn add(
        &mut self,
        around: &[PathSegment<'_>],
        key: Option<&str>,
        value: &Written,
    ) -> Result<(), String> {
        let Some(place) = self.place(around) else {
            return Err("nothing to add to".to_owned());
        };
        if place.is_object != key.is_some() || place.children.is_none() {
            let (kind, name) = (
                if key.is_some() { "an object" } else { "a list" },
                name(around),
            );
            let line = 1 + before(&self.text, place.range.start).matches('\n').count();
            return Err(format!("line {line}: {name} is not {kind}"));
        }
        let children = place.children.unwrap_or_default();
        let one_line = self.is_one_line();
        let (unit, end) = (self.unit(), newline(&self.text));
        let item = |indent: Option<&str>| {
            let layout = indent.map(|indent| Layout {
                newline: end,
                unit: &unit,
                indent: indent.to_owned(),
            });
            let value = value.render(layout.as_ref());
            key.map_or_else(|| value.clone(), |key| format!("{}: {value}", quoted(key)))
        };
        let splices = layout::insertion(&self.text, &place.range, &children, one_line, &unit, item);
        self.apply(splices);
        Ok(())
    }

    /// Whether the file is written on one line, as programs do. A bare `{}` does not count, because
    /// people begin with it.
    fn is_one_line(&self) -> bool {
        let body = self.text.trim_start_matches(BYTE_ORDER_MARK).trim();
        let empty = body
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .is_none_or(|inside| inside.trim().is_empty());
        !body.contains('\n') && !empty
    }

    /// Returns one step of indentation in this file.
    fn unit(&self) -> String {
        self.place(&[])
            .and_then(|root| root.children?.first().cloned())
            .map(|first| layout::indent_of(&self.text, first.start))
            .filter(|(indent, own_line)| *own_line && !indent.is_empty())
            .map_or_else(|| "  ".to_owned(), |(indent, _)| indent)
    }

    fn place(&self, steps: &[PathSegment<'_>]) -> Option<ValueSpan> {
        let tree = self.tree().ok()??;
        let (node, property) = find(&tree, steps)?;
        let shift = self.mark();
        let moved = |range: Range<usize>| range.start + shift..range.end + shift;
        let range = moved(node.range().start..node.range().end);
        let children = match node {
            Node::Object(object) => Some(
                object
                    .properties
                    .iter()
                    .map(|property| moved(property.range.start..property.range.end))
                    .collect(),
            ),
            Node::Array(array) => Some(
                array
                    .elements
                    .iter()
                    .map(|element| moved(element.range().start..element.range().end))
                    .collect(),
            ),
            _ => None,
        };
        Some(ValueSpan {
            start: property.map_or(range.start, |property| property.range.start + shift),
            is_object: matches!(node, Node::Object(_)),
            range,
            children,
        })
    }

    /// Returns the length of the byte order mark.
    fn mark(&self) -> usize {
        if self.text.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len_utf8()
        } else {
            0
        }
    }

    fn tree(&self) -> Result<Option<Node<'_>>, String> {
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        parse_to_ast(
            from(&self.text, self.mark()),
            &CollectOptions::default(),
            &options,
        )
        .map(|result| result.value)
        .map_err(|error| {
            format!(
                "line {}, column {}: {}",
                error.line_display(),
                error.column_display(),
                error.kind()
            )
        })
    }
}

fn value(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        Node::NumberLit(number) => number.value.parse().map_or(Value::Null, Value::Number),
        Node::BooleanLit(flag) => Value::from(flag.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => array.elements.iter().map(value).collect(),
        Node::Object(object) => {
            let entries = object.properties.iter();
            Value::Object(
                entries
                    .map(|property| (property.name.as_str().to_owned(), value(&property.value)))
                    .collect(),
            )
        }
    }
}

/// Of two properties with the same name, the last one counts, as in every JSON program.
fn find<'t, 'a>(
    tree: &'t Node<'a>,
    steps: &[PathSegment<'_>],
) -> Option<(&'t Node<'a>, Option<&'t ObjectProp<'a>>)> {
    let (mut node, mut property) = (tree, None);
    for step in steps {
        match (step, node) {
            (PathSegment::Key(key), Node::Object(object)) => {
                let found = object
                    .properties
                    .iter()
                    .rfind(|property| property.name.as_str() == *key)?;
                (node, property) = (&found.value, Some(found));
            }
            (PathSegment::Element(number), Node::Array(array)) => {
                (node, property) = (array.elements.get(*number)?, None);
            }
            _ => return None,
        }
    }
    Some((node, property))
}

fn made(path: &[&str], known: usize) -> Vec<Vec<String>> {
    (known + 1..path.len())
        .filter_map(|count| path.get(..count))
        .map(|path| path.iter().map(|key| (*key).to_owned()).collect())
        .collect()
}

fn name(steps: &[PathSegment<'_>]) -> String {
    let names: Vec<String> = steps
        .iter()
        .map(|step| match step {
            PathSegment::Key(key) => (*key).to_owned(),
            PathSegment::Element(number) => number.to_string(),
        })
        .collect();
    if names.is_empty() {
        "the file".to_owned()
    } else {
        format!("`{}`", names.join("."))
    }
}
