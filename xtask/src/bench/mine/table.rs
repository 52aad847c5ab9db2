//! Prints the figures of both sides as a Markdown table. A ratio above 1 is in Loci's favour.

use super::Figures;
use super::corpus::Corpus;
use super::cost::Mined;
use super::peer;

/// A figure: its title, how to read it, its unit, whether less is better.
type Row = (&'static str, fn(&Mined) -> f64, &'static str, bool);

const ROWS: [Row; 6] = [
    ("drawers", |mined| mined.drawers as f64, "", false),
    ("CPU", |mined| mined.cost.cpu_s, " s", true),
    ("drawers per CPU second", Mined::drawers_per_s, "", false),
    ("text per CPU second", Mined::mb_per_s, " MB", false),
    ("peak resident memory", Mined::rss_mb, " MB", true),
    ("disk / text", Mined::disk_per_text, "", true),
];

pub(crate) fn print(figures: &Figures, whole: &Corpus, small: &Corpus) {
    for (title, theirs, ours) in [
        (
            format!("each with its own embedder, {small} (MiniLM, `static`)"),
            "peer small model",
            "loci small static",
        ),
        (
            format!("engines alone, {whole} (a hash, no vectors)"),
            "peer whole hash",
            "loci whole none",
        ),
        (
            format!("its engine alone beside Loci with `static`, {whole}"),
            "peer whole hash",
            "loci whole static",
        ),
    ] {
        let (theirs, ours) = (figures.get(theirs), figures.get(ours));
        if theirs.is_some() || ours.is_some() {
            compare(&title, theirs, ours);
        }
    }
    let share = |first: Option<&Mined>, again: Option<&Mined>| {
        let (first, again) = (first?.cost.cpu_s, again?.cost.cpu_s);
        Some((again, 100.0 * again / first))
    };
    let theirs = share(
        figures.get("peer whole hash"),
        figures.get("peer again hash"),
    );
    let ours = share(
        figures.get("loci whole static"),
        figures.get("loci again static"),
    );
    let show = |side: Option<(f64, f64)>| {
        side.map_or_else(
            || "–".to_owned(),
            |(cpu, percent)| format!("{cpu:.3} s, {percent:.1} % of the first"),
        )
    };
    let ratio = match (theirs, ours) {
        (Some((theirs, _)), Some((ours, _))) if ours > 0.0 => format!("{:.1}×", theirs / ours),
        _ => "–".into(),
    };
    println!(
        "| again, nothing changed, CPU | {} | {} | {ratio} |",
        show(theirs),
        show(ours)
    );
}

fn compare(title: &str, theirs: Option<&Mined>, ours: Option<&Mined>) {
    println!(
        "\n| {title} | {} | Loci | ratio |\n|---|---|---|---|",
        peer::NAME
    );
    for (row, (title, read, unit, less)) in ROWS.into_iter().enumerate() {
        let show = |side: Option<&Mined>| {
            side.map_or_else(
                || "–".to_owned(),
                |side| format!("{}{unit}", short(read(side))),
            )
        };
        let ratio = match (theirs.map(read), ours.map(read)) {
            (Some(theirs), Some(ours)) if row > 0 && ours > 0.0 && theirs > 0.0 => {
                format!("{:.1}×", if less { theirs / ours } else { ours / theirs })
            }
            _ => "–".into(),
        };
        println!("| {title} | {} | {} | {ratio} |", show(theirs), show(ours));
    }
}

/// About three significant digits.
fn short(number: f64) -> String {
    if number >= 100.0 || number.fract() == 0.0 {
        format!("{number:.0}")
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.3}")
    }
}
