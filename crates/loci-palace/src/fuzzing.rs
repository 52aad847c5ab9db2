//! The reader of JSON lines, for the fuzz targets in `loci-fuzz`. Only with the feature `fuzzing`.

use std::io::BufRead;

use loci_core::Result;

use crate::import::json_lines::lines::Lines;
use crate::record::{JsonLine, JsonRelation};

/// The outcome of a line: the line as an export writes it, or the error.
pub type Outcome = std::result::Result<String, String>;

/// Reads all lines as an import does.
pub fn read_lines(input: &mut dyn BufRead) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut lines = Lines::new(input);
    while let Some((_, text)) = lines.next()? {
        outcomes.push(
            text.and_then(|text| JsonLine::parse(&text))
                .and_then(written)
                .map_err(|error| error.to_string()),
        );
    }
    Ok(outcomes)
}

fn written(line: JsonLine) -> Result<String> {
    let json = match line {
        JsonLine::Drawer(record) => {
            record.patch()?;
            record.history();
            serde_json::to_string(&record)
        }
        JsonLine::Source(line) => {
            line.source.clone().counted()?;
            serde_json::to_string(&line)
        }
        JsonLine::Project(line) => serde_json::to_string(&line),
        JsonLine::Fact(fact) => serde_json::to_string(&JsonRelation {
            fact: Some(fact),
            link: None,
        }),
        JsonLine::Link(link) => serde_json::to_string(&JsonRelation {
            fact: None,
            link: Some(link),
        }),
    };
    json.map_err(|error| loci_core::Error::invalid("line", error.to_string()))
}
