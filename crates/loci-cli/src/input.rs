//! Reads input that is not a flag: text on stdin, JSON arguments, vector files.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::path::Path;

use loci_palace::{
    DocumentFilter, Error, Filter, MAX_DIMENSION, MAX_DOCUMENT_BYTES, MetaValue, MetadataPatch,
    Period, Selection, SourceMatch, parse_json, parse_moment, validate_vector,
};

use crate::args::{FilterArguments, PlaceArguments};
use crate::failure::{Failure, Result};
use crate::session::Session;

/// Size limit of a vector file: room for 8,192 numbers written out at length.
const MAX_VECTOR_FILE_BYTES: u64 = 64 * MAX_DIMENSION as u64;

/// Size limit of a question. The search reports how much of a long one it reads.
const MAX_QUESTION_BYTES: u64 = 16 << 20;

/// The text of a drawer: the argument, or stdin when it is `-` or, with `pipe`, missing.
pub(crate) fn text(argument: Option<&str>, pipe: bool) -> Result<Option<String>> {
    let text = match argument {
        Some("-") => stdin_text()?,
        Some(text) => text.to_owned(),
        None if !pipe => return Ok(None),
        None if std::io::stdin().is_terminal() => {
            return Err(Failure::usage(
                "there is no text",
                "pass it as an argument, or pipe it in",
            ));
        }
        None => stdin_text()?,
    };
    if text.trim().is_empty() {
        return Err(Error::invalid("text", "empty; a drawer holds at least one word").into());
    }
    Ok(Some(text))
}

fn stdin_text() -> Result<String> {
    let bytes = read_all(
        &mut std::io::stdin().lock(),
        "stdin",
        MAX_DOCUMENT_BYTES as u64 + 1,
    )?;
    if bytes.len() > MAX_DOCUMENT_BYTES {
        let problem =
            format!("longer than {MAX_DOCUMENT_BYTES} bytes, the limit of one drawer; split it");
        return Err(Error::invalid("text", problem).into());
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid("text", "not valid UTF-8").into())
}

fn read_all(input: &mut dyn Read, name: &str, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::io("cannot read", name, source))?;
    Ok(bytes)
}

/// A vector: a JSON array of numbers, or raw little-endian 32-bit floats. `-` is stdin.
pub(crate) fn vector(path: &Path) -> Result<Vec<f32>> {
    let limit = MAX_VECTOR_FILE_BYTES + 1;
    let bytes = if path == Path::new("-") {
        read_all(&mut std::io::stdin().lock(), "stdin", limit)?
    } else {
        let mut file = loci_files::foreign::open_stream(path)
            .map_err(|source| Error::io("cannot read", path, source))?;
        read_all(&mut file, &path.to_string_lossy(), limit)?
    };
    let what = format!("vector `{}`", path.display());
    if bytes.len() as u64 > MAX_VECTOR_FILE_BYTES {
        let problem = format!("longer than any vector of {MAX_DIMENSION} numbers");
        return Err(Error::invalid(what, problem).into());
    }
    let vector = parse_vector(&what, &bytes)?;
    validate_vector(&what, &vector)?;
    Ok(vector)
}

fn parse_vector(what: &str, bytes: &[u8]) -> Result<Vec<f32>, Error> {
    // The bytes of real vectors are never all printable, so text is never mistaken for numbers.
    let is_text = bytes
        .iter()
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let starts_as_array = bytes.trim_ascii_start().starts_with(b"[");
    if is_text || starts_as_array {
        match serde_json::from_slice(bytes) {
            Ok(vector) => return Ok(vector),
            Err(error) if is_text => {
                let problem = format!("not a JSON array of numbers: {error}");
                return Err(Error::invalid(what, problem));
            }
            Err(_) => {}
        }
    }
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        let problem = format!(
            "neither a JSON array nor raw 32-bit floats: {} bytes is not a multiple of 4",
            bytes.len()
        );
        return Err(Error::invalid(what, problem));
    }
    Ok(numbers
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect())
}

/// The metadata of a write: `--metadata`, overridden by `--wing`, `--room` and `--source`.
pub(crate) fn metadata(
    json: Option<&str>,
    place: &PlaceArguments,
    source: Option<&str>,
) -> Result<MetadataPatch> {
    let mut patch = match json {
        Some(text) => parse_json("`--metadata`", text)
            .and_then(|json| MetadataPatch::from_json(&json))
            .map_err(Failure::Argument)?,
        None => MetadataPatch::default(),
    };
    let flags = [
        ("wing", place.wing.as_deref()),
        ("room", place.room.as_deref()),
        ("source_file", source),
    ];
    for (key, value) in flags {
        if let Some(value) = value {
            patch.0.insert(key.into(), Some(MetaValue::from(value)));
        }
    }
    Ok(patch)
}

/// The drawers among which `--source` looks for a source.
#[derive(Clone, Copy)]
pub(crate) enum Sources<'a> {
    /// Those of the palace, in one collection or in all.
    Palace(&'a Session<'a>, Option<&'a str>),
    /// Those of files that are not read yet.
    Unread,
}

/// The filter that `--where`, `--where-document`, `--wing`, `--room` and `--source` describe. The
/// palace is opened only for `--source`.
pub(crate) fn selection(filter: &FilterArguments, sources: Sources<'_>) -> Result<Selection> {
    let mut conditions = Vec::new();
    let place = [("wing", &filter.place.wing), ("room", &filter.place.room)];
    for (key, value) in place {
        if let Some(value) = value {
            conditions.push(Filter::eq(key, value.as_str()));
        }
    }
    if let Some(text) = &filter.metadata {
        conditions.push(where_filter(text)?);
    }
    let document = filter
        .document
        .as_deref()
        .map(DocumentFilter::parse_text)
        .transpose()
        .map_err(Failure::Argument)?;
    let period = period(filter)?;
    if let Some(source) = &filter.source {
        conditions.push(match sources {
            Sources::Palace(session, collection) => session
                .existing()?
                .match_source(source, collection)?
                .filter(),
            Sources::Unread => SourceMatch::unknown(source).widest_filter(),
        });
    }
    Ok(Selection {
        ids: None,
        filter: Filter::all(conditions),
        document,
        period,
    })
}

/// The period that `--since` and `--before` describe.
fn period(filter: &FilterArguments) -> Result<Option<Period>> {
    let moment = |flag: &str, text: &Option<String>| -> Result<Option<i64>> {
        let Some(text) = text else { return Ok(None) };
        let moment = parse_moment(text).ok_or_else(|| {
            Failure::Argument(Error::invalid(
                format!("`{flag} {text}`"),
                "not a date; use one such as 2026-05-01, 'last week' or '3 days ago'",
            ))
        })?;
        Ok(Some(moment))
    };
    let period = Period {
        since: moment("--since", &filter.since)?,
        before: moment("--before", &filter.before)?,
    };
    if let (Some(since), Some(before)) = (period.since, period.before)
        && since >= before
    {
        let (since, before) = (filter.since.as_deref(), filter.before.as_deref());
        let what = format!("`--since {}`", since.unwrap_or_default());
        let problem = format!("not earlier than `--before {}`", before.unwrap_or_default());
        return Err(Failure::Argument(Error::invalid(what, problem)));
    }
    Ok((period != Period::default()).then_some(period))
}

/// A question: the words as typed, or stdin.
pub(crate) fn question(words: &[OsString]) -> Result<String> {
    if words.len() == 1 && words.iter().any(|word| word == "-") {
        let bytes = read_all(&mut std::io::stdin().lock(), "stdin", MAX_QUESTION_BYTES)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    Ok(words.join(" "))
}

/// A metadata filter as typed.
pub(crate) fn where_filter(text: &str) -> Result<Filter> {
    Filter::parse_text(text).map_err(Failure::Argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_recognised_by_its_content() {
        assert_eq!(parse_vector("v", b" [1, 0.5]\n").unwrap(), [1.0, 0.5]);
        let raw: Vec<u8> = [1.0_f32, 0.5]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        assert_eq!(parse_vector("v", &raw).unwrap(), [1.0, 0.5]);
        // 0x5b is `[`: such a float begins like an array but is not one.
        let bracket = [0x5b, 0x00, 0x80, 0x3f];
        assert_eq!(
            parse_vector("v", &bracket).unwrap(),
            [f32::from_le_bytes(bracket)]
        );
    }

    #[test]
    fn text_is_never_taken_for_raw_numbers() {
        for text in ["[NaN, 1]", "[1, 2", "1.0 2.0\n", "{\"a\": 12}"] {
            assert!(parse_vector("v", text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse_vector("v", &[0, 1, 2]).is_err());
    }
}
