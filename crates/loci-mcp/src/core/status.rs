//! `loci_list` without arguments, and the resource `loci://status`: counts and health.

use std::fmt::Write as _;

use loci_palace::{Detail, Palace, Result, status};

use crate::drawer::{fenced, one_line};
use crate::structured::structured;
use crate::tool::Answer;

/// Counts and health.
pub(crate) fn status(palace: &Palace) -> Result<Answer> {
    let answer = palace.status(&status::Request {
        detail: Detail::Brief,
        places: true,
    })?;
    let mut text = format!(
        "{} drawer(s), {} fact(s), {} link(s)\n",
        answer.total, answer.facts, answer.links
    );
    let mut places = String::new();
    for (name, counts) in [("wings", &answer.wings), ("rooms", &answer.rooms)] {
        let listed: Vec<String> = counts
            .iter()
            .flatten()
            .map(|(value, count)| format!("{} {count}", one_line(value)))
            .collect();
        if !listed.is_empty() {
            let _ = writeln!(places, "{name}: {}", listed.join(", "));
        }
    }
    text.push_str(&fenced("places", &places));
    Ok(Answer::new(structured(&answer, &answer.warnings)?, text))
}
