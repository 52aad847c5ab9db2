//! `--format path:line:text`: one line per hit for editors and other programs, as grep prints them.

use std::str::FromStr;

use loci_palace::search::Hit;
use unicode_width::UnicodeWidthChar;

use crate::print::Printer;

/// The fields of a line, separated by colons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fields(Vec<Field>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Path,
    Line,
    Column,
    Text,
    Id,
    Title,
    Wing,
    Room,
    Date,
    Probability,
}

const NAMES: [(&str, Field); 10] = [
    ("path", Field::Path),
    ("line", Field::Line),
    ("column", Field::Column),
    ("text", Field::Text),
    ("id", Field::Id),
    ("title", Field::Title),
    ("wing", Field::Wing),
    ("room", Field::Room),
    ("date", Field::Date),
    ("probability", Field::Probability),
];

impl FromStr for Fields {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let field = |name: &str| {
            let known = NAMES.iter().find(|(known, _)| *known == name);
            known.map(|(_, field)| *field).ok_or_else(|| {
                let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                format!(
                    "`{name}` is not a field; the fields are {}",
                    names.join(", ")
                )
            })
        };
        text.split(':')
            .map(field)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Fields {
    /// One line per hit.
    pub(crate) fn lines(&self, printer: Printer, hits: &[Hit]) -> String {
        let mut lines = String::new();
        for hit in hits {
            let values = self.0.iter().map(|field| value(printer, *field, hit));
            lines.push_str(&values.collect::<Vec<_>>().join(":"));
            lines.push('\n');
        }
        lines
    }
}

fn value(printer: Printer, field: Field, hit: &Hit) -> String {
    let name = |name: Option<&String>| name.map(|name| printer.name(name)).unwrap_or_default();
    match field {
        // A drawer that is from no file has its id there, so that the line says what it is.
        Field::Path => name(hit.source.value().or(Some(&hit.id))),
        Field::Line => hit.line.unwrap_or(1).to_string(),
        Field::Column => column(hit).to_string(),
        Field::Text => printer.name(best_line(hit).trim_end()),
        Field::Id => printer.name(&hit.id),
        Field::Title => name(hit.title.as_ref()),
        Field::Wing => name(hit.wing.value()),
        Field::Room => name(hit.room.value()),
        Field::Date => hit.date.clone(),
        Field::Probability => format!("{:.3}", hit.probability),
    }
}

/// The line that matches best, with its line end.
fn best_line(hit: &Hit) -> &str {
    let start = hit.details.as_ref().map_or(0, |details| details.best_line);
    let rest = hit.text.get(start..).unwrap_or_default();
    rest.split_inclusive('\n').next().unwrap_or_default()
}

/// The column of the first match in the line, from 1.
fn column(hit: &Hit) -> usize {
    let Some(details) = &hit.details else {
        return 1;
    };
    let start = details.best_line;
    let line = start..start + best_line(hit).len();
    let first = details
        .marks
        .iter()
        .find(|mark| line.contains(&mark.span.start));
    let before = first.and_then(|mark| hit.text.get(start..mark.span.start));
    let before = before.unwrap_or_default();
    1 + before.chars().filter(|c| c.width() != Some(0)).count()
}
