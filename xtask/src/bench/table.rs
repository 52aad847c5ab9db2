//! Prints the figures of both sides as a Markdown table.

use serde_json::Value;

pub(crate) fn print(ours: &Value, theirs: &Value) {
    println!("\n| | chromadb 1.5.9 | Loci | ratio |\n|---|---|---|---|");
    for (title, key, unit, recall) in [
        (
            "bulk insert, batches of 100, CPU per record",
            "insert_ms",
            "ms",
            None,
        ),
        ("single add, CPU mean", "single_ms", "ms", None),
        (
            "query top 10, warm, CPU",
            "query_ms",
            "ms",
            Some("query_recall"),
        ),
        (
            "query + filter 1 %, CPU",
            "one_percent_ms",
            "ms",
            Some("one_percent_recall"),
        ),
        (
            "query + filter 10 %, CPU",
            "ten_percent_ms",
            "ms",
            Some("ten_percent_recall"),
        ),
        (
            "open + first query, fresh process, CPU",
            "cold_ms",
            "ms",
            None,
        ),
        ("resident memory of that process", "cold_mb", "MB", None),
        ("disk", "disk_mb", "MB", None),
    ] {
        let show =
            |side: &Value| match (number(side, key), recall.and_then(|key| number(side, key))) {
                (Some(value), Some(recall)) => format!("{value:.3} {unit}, recall {recall:.4}"),
                (Some(value), None) => format!("{value:.3} {unit}"),
                (None, _) => "–".into(),
            };
        let ratio = match (number(ours, key), number(theirs, key)) {
            (Some(ours), Some(theirs)) if ours > 0.0 => format!("{:.1}×", theirs / ours),
            _ => "–".into(),
        };
        println!("| {title} | {} | {} | {ratio} |", show(theirs), show(ours));
    }
    println!("\n| Loci alone | |\n|---|---|");
    for (key, value) in ours.as_object().into_iter().flatten() {
        if let Some(value) = value.as_f64() {
            println!("| {key} | {value:.3} |");
        }
    }
}

fn number(side: &Value, key: &str) -> Option<f64> {
    side.get(key).and_then(Value::as_f64)
}
