//! Prints the figures of both sides as a Markdown table. A ratio above 1 is in Loci's favour.

use super::Figures;
use super::hooks::EVENTS;
use crate::bench::mine::peer;

/// A figure: its title, its key, its divisor, its unit.
const ROWS: [(&str, &str, f64, &str); 8] = [
    (
        "handshake (start, `initialize`, `tools/list`), CPU",
        "handshake_ms",
        1.0,
        "ms",
    ),
    ("first search, CPU", "first_search_ms", 1.0, "ms"),
    ("search, warm, CPU", "search_ms", 1.0, "ms"),
    ("add one drawer, CPU", "add_ms", 1.0, "ms"),
    ("resident memory after 50 searches", "rss_bytes", 1e6, "MB"),
    ("tools", "tools", 1.0, ""),
    ("schema of the tools", "schema_bytes", 1e3, "kB"),
    ("tokens of that schema", "schema_tokens", 1.0, ""),
];

pub(super) fn print(drawers: usize, theirs: Option<&Figures>, ours: &Figures, large: &Figures) {
    println!(
        "\n| {drawers} drawers | {} | Loci | ratio | Loci, large palace |\n|---|---|---|---|---|",
        peer::NAME
    );
    for (title, key, divisor, unit) in ROWS {
        row(title, key, divisor, unit, theirs, ours, large);
    }
    for event in EVENTS {
        for (what, key) in [
            ("CPU", "ms"),
            ("CPU of processes that it leaves running", "background_ms"),
        ] {
            let title = format!("hook `{event}`, {what}");
            let key = format!("{event}_{key}");
            row(&title, &key, 1.0, "ms", theirs, ours, large);
        }
    }
    let title = "10 clients at a time: the largest resident memory";
    row(title, "ten_rss_bytes", 1e6, "MB", theirs, ours, large);
}

fn row(
    title: &str,
    key: &str,
    divisor: f64,
    unit: &str,
    theirs: Option<&Figures>,
    ours: &Figures,
    large: &Figures,
) {
    let read = |side: Option<&Figures>| side?.get(key).map(|number| number / divisor);
    let show = |number: Option<f64>| {
        number.map_or_else(
            || "–".to_owned(),
            |number| format!("{} {unit}", short(number)).trim().to_owned(),
        )
    };
    let (theirs, ours, large) = (read(theirs), read(Some(ours)), read(Some(large)));
    let ratio = match (theirs, ours) {
        (Some(theirs), Some(ours)) if ours > 0.0 && theirs > 0.0 => {
            format!("{:.1}×", theirs / ours)
        }
        _ => "–".into(),
    };
    println!(
        "| {title} | {} | {} | {ratio} | {} |",
        show(theirs),
        show(ours),
        show(large)
    );
}

/// About three significant digits.
fn short(number: f64) -> String {
    if number >= 100.0 || number.fract() == 0.0 {
        format!("{number:.0}")
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}
