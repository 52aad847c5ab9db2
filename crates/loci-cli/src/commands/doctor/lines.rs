//! Checks files of JSON lines, one line at a time.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use loci_palace::{Error, ForeignKind, path_text, shell_quoted};
use serde_json::json;

use crate::commands::import::unknown;
use crate::failure::{Exit, Result};
use crate::reply::Reply;

/// Maximum number of line numbers in the answer.
const NAMED: usize = 10;

/// The longest line that an import accepts.
const LONGEST_LINE: u64 = 8 << 20;

/// Counts of the lines.
#[derive(Default)]
struct Lines {
    objects: u64,
    others: u64,
    /// Numbers of the first lines that are not JSON objects.
    named: Vec<u64>,
}

pub(super) fn run(path: &Path) -> Result<Reply> {
    let lines = read(path).map_err(|source| Error::io("cannot read", path, source))?;
    if lines.objects == 0 && lines.others > 0 {
        return Err(unknown(path));
    }
    let healthy = lines.others == 0;
    let command = format!("loci import jsonl {}", shell_quoted(path));
    let mut text = format!(
        "`{}`: JSON lines, {} record(s)\n",
        path_text(path),
        lines.objects
    );
    if healthy {
        let _ = writeln!(
            text,
            "each line is a JSON object; `{command}` imports them and reports invalid records"
        );
    } else {
        let named: Vec<String> = lines.named.iter().map(u64::to_string).collect();
        let _ = writeln!(
            text,
            "{} line(s) are not JSON objects, the first: {}; `{command}` imports the others",
            lines.others,
            named.join(", ")
        );
    }
    let answer = json!({
        "kind": ForeignKind::JsonLines,
        "path": path_text(path),
        "healthy": healthy,
        "records": lines.objects,
        "findings": lines.named.iter().map(|line| json!({"code": "no_object", "line": line})).collect::<Vec<_>>(),
    });
    Ok(Reply::new(&answer, text)?.exit_if(!healthy, Exit::Nothing))
}

fn read(path: &Path) -> std::io::Result<Lines> {
    let mut input = BufReader::with_capacity(256 << 10, loci_files::foreign::open(path)?);
    let (mut lines, mut number, mut line) = (Lines::default(), 0, Vec::new());
    loop {
        line.clear();
        if input
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(lines);
        }
        // The rest of a line that is too long for an import is skipped without buffering it.
        let is_cut = line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n");
        if is_cut {
            input.skip_until(b'\n')?;
        }
        number += 1;
        let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        let text = text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if !is_cut
            && text.starts_with(b"{")
            && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
        {
            lines.objects += 1;
        } else {
            lines.others += 1;
            if lines.named.len() < NAMED {
                lines.named.push(number);
            }
        }
    }
}
