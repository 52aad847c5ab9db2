//! Search and the check for duplicates: Loci's hits under MemPalace's keys.

use jiff::Timestamp;
use loci_palace::search::{Answer, Hit, Request};
use loci_palace::{Advice, Filter, MatchedVia, Warning, check_duplicate, instruction_like};
use serde_json::{Value, json};

use super::drawers::{self, base_name, preview};
use super::outcome::{Outcome, Refusal, refuse, warn};
use super::overview::scope;
use super::parse;
use super::question;
use super::window::Window;
use crate::tool::Call;

/// Maximum number of characters of a hit's text. The whole text can be read by id.
const MOST_TEXT: usize = 10_000;
/// Maximum number of similar drawers in an answer.
const MOST_SIMILAR: usize = 5;

pub(super) fn search(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let asked = parse::required(arguments, "query")?;
    let limit = parse::whole(arguments, "limit", 5, (1, 100))?;
    let max_distance = parse::number(arguments, "max_distance")?.unwrap_or(1.5);
    let (mut filters, window) = scope(call)?;
    let source = parse::source(arguments)?;
    filters.extend(source.map(|source| Filter::eq("source_file", source)));
    let mut warnings = without_meaning(call)?;
    let question = question::asked(asked);
    let mut request = Request::new(question.text);
    request.k = limit;
    // MemPalace returns as many results as were asked for, whether they answer or not.
    request.min_probability = Some(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a distance needs no more")]
    let max_distance = max_distance as f32;
    request.max_distance = (max_distance > 0.0).then_some(max_distance);
    let found = found(call, request, filters, &window)?;
    if question.text.trim().is_empty() {
        warnings.push(Warning::BlankQuery);
    }
    let (results, in_scope) = match &found {
        Some(found) => {
            warnings.extend(found.warnings.iter().cloned());
            let hits = found.hits.iter().filter_map(hit_json);
            (hits.collect(), found.in_scope)
        }
        None => (Vec::new(), 0),
    };
    if results.iter().any(|hit| hit.get("flags").is_some()) {
        warnings.push(Warning::InstructionLike);
    }
    let echoed = |key: &str| arguments.value(key).cloned().unwrap_or_default();
    let mut answer = json!({
        "query": question.text,
        "filters": {
            "wing": trimmed(call, "wing")?,
            "room": trimmed(call, "room")?,
            "source_file": source,
            "since": echoed("since"),
            "before": echoed("before"),
        },
        "total_before_filter": in_scope,
        "results": results,
    });
    if let (Some(method), Some(answer)) = (question.method, answer.as_object_mut()) {
        answer.insert("query_sanitized".into(), true.into());
        let sanitizer = json!({
            "method": method,
            "original_length": asked.trim().chars().count(),
            "clean_length": question.text.chars().count(),
            "clean_query": question.text,
        });
        answer.insert("sanitizer".into(), sanitizer);
    }
    let context = parse::text(arguments, "context")?.unwrap_or_default();
    if let (false, Some(answer)) = (context.is_empty(), answer.as_object_mut()) {
        answer.insert("context_received".into(), true.into());
    }
    warn(call, &mut answer, &warnings);
    Ok(answer)
}

/// The hits; none before the first drawer is added. If there are other collections, a warning names
/// them.
fn found(
    call: &Call<'_>,
    mut request: Request,
    filters: Vec<Filter>,
    window: &Window,
) -> Outcome<Option<Answer>> {
    let palace = call.palace()?;
    let Some(collection) = drawers::collection(&palace)? else {
        let others = palace.search(&request).err();
        let others =
            others.filter(|error| matches!(error.advice(), Some(Advice::NameCollection { .. })));
        return Ok(others.map(|error| Answer::of_nothing(&error)));
    };
    request.selection = window.restrict(collection.as_ref(), filters)?;
    if request.query.trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(palace.search(&request)?))
}

fn trimmed<'a>(call: &Call<'a>, key: &str) -> Outcome<Option<&'a str>> {
    parse::optional_name(&call.arguments, key)
}

/// Settings of MemPalace's engine that Loci does not use. They are validated as in MemPalace, and a
/// warning says that they have no effect.
fn without_meaning(call: &Call<'_>) -> Outcome<Vec<Warning>> {
    let arguments = &call.arguments;
    for (key, choices) in [
        ("candidate_strategy", ["vector", "union"]),
        ("query_task", ["search", "code"]),
    ] {
        let value = parse::text(arguments, key)?.filter(|value| !value.is_empty());
        if value.is_some_and(|value| !choices.contains(&value)) {
            return refuse(format!("{key} must be one of: {}", choices.join(", ")));
        }
    }
    for key in ["cli_compatible", "include_media"] {
        arguments.flag(key).map_err(Refusal::Call)?;
    }
    let told = [
        (
            "candidate_strategy",
            json!("vector"),
            "words and meaning are always both searched",
        ),
        (
            "cli_compatible",
            json!(false),
            "results come as data, not as printed text",
        ),
        ("include_media", json!(false), "only texts are kept"),
        (
            "query_task",
            json!("search"),
            "one way of searching serves texts and code",
        ),
    ];
    let changed = told.into_iter().filter(|(key, usual, _)| {
        let value = arguments.value(key);
        value.is_some_and(|value| value != usual)
    });
    Ok(changed
        .map(|(key, _, why)| Warning::NoEffect {
            argument: key.to_owned(),
            reason: why.to_owned(),
        })
        .collect())
}

/// A hit under MemPalace's keys; `None` for a brief answer, which lacks most of them.
fn hit_json(hit: &Hit) -> Option<Value> {
    let details = hit.details.as_ref()?;
    let said = |key: &str| {
        details
            .metadata
            .get_str(key)
            .filter(|text| !text.is_empty())
    };
    let source = said("source_file").unwrap_or_default();
    let filed = said("filed_at").map_or_else(|| moment(details.created_at.0), str::to_owned);
    let (authored, authored_source) = match said("authored_at") {
        Some(authored) => (authored.to_owned(), "authored_at"),
        None => (filed.clone(), "filed_at"),
    };
    let (text, cut) = match hit.text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => (hit.text.get(..end).unwrap_or_default(), true),
        None => (hit.text.as_str(), hit.cut),
    };
    let mut shown = json!({
        "drawer_id": hit.id,
        "text": text,
        "wing": said("wing").unwrap_or("unknown"),
        "room": said("room").unwrap_or("unknown"),
        "source_file": if source.is_empty() { "?" } else { base_name(source) },
        "source_path": source,
        "created_at": filed,
        "filed_at": filed,
        "authored_at": authored,
        "authored_at_source": authored_source,
        "content_date": said("content_date"),
        "content_date_source": said("content_date_source").unwrap_or("unknown"),
        "similarity": details.distance.map(|distance| rounded((1.0 - distance).max(0.0), 3)),
        "distance": details.distance.map(|distance| rounded(distance, 4)),
        "effective_distance": details.distance.map(|distance| rounded(distance, 4)),
        "closet_boost": 0.0,
        "matched_via": matched_via(hit.matched_via, details.distance),
        "bm25_score": rounded(details.parts.words, 3),
    });
    if let Some(object) = shown.as_object_mut() {
        if cut {
            object.insert("text_cut".into(), true.into());
        }
        let also_in = hit.also_in.as_deref().unwrap_or_default();
        if !also_in.is_empty() {
            object.insert("also_in".into(), json!(also_in));
        }
    }
    Some(flagged(shown, "text"))
}

/// How a hit was found, in MemPalace's words.
fn matched_via(via: MatchedVia, distance: Option<f32>) -> &'static str {
    match (via, distance) {
        (MatchedVia::Lexical, None) => "bm25_backend",
        _ => "drawer",
    }
}

/// Adds a flag if a recalled text reads like an instruction.
pub(super) fn flagged(mut shown: Value, key: &str) -> Value {
    let text = shown.get(key).and_then(Value::as_str).unwrap_or_default();
    let orders = !instruction_like(text).is_empty();
    if let (true, Some(object)) = (orders, shown.as_object_mut()) {
        object.insert("flags".into(), json!(["instruction_like"]));
    }
    shown
}

/// A number with this many decimal places.
fn rounded(number: f32, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (f64::from(number) * scale).round() / scale
}

fn moment(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).map_or_else(|_| String::new(), |at| at.to_string())
}

pub(super) fn duplicates(call: &Call<'_>) -> Outcome<Value> {
    let content = parse::required(&call.arguments, "content")?;
    let threshold = parse::number(&call.arguments, "threshold")?
        .unwrap_or(0.9)
        .clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a similarity needs no more"
    )]
    let threshold = threshold as f32;
    let palace = call.palace()?;
    let check = palace.check_duplicate(&check_duplicate::Request {
        threshold,
        ..check_duplicate::Request::new(content)
    })?;
    let matches: Vec<Value> = check
        .similar
        .iter()
        .take(MOST_SIMILAR)
        .map(|drawer| {
            let place = |name: &Option<String>| match name.as_deref() {
                None | Some("") => "?".to_owned(),
                Some(name) => name.to_owned(),
            };
            let shown = json!({
                "id": drawer.id,
                "wing": place(&drawer.wing),
                "room": place(&drawer.room),
                "similarity": rounded(drawer.similarity, 3),
                "content": preview(drawer.text.as_deref().unwrap_or_default()),
            });
            flagged(shown, "content")
        })
        .collect();
    let mut answer = json!({"is_duplicate": !matches.is_empty(), "matches": matches});
    warn(call, &mut answer, &check.warnings);
    Ok(answer)
}
