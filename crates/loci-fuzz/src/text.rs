//! Target `text`: dates, words and names in questions and texts.

use jiff::civil::{Date, date};
use jiff::{ToSpan as _, Unit};
use loci_text::{QueryTerm, index_terms, matching_spans, opening_label, query_terms, when};

use crate::input::Input;

/// The input is the current day, and a question.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let today = today(&mut input);
    let text = input.text();
    dates(&text, today);
    terms(&text);
    if let Some(name) = opening_label(&text) {
        assert!(text.trim_start().starts_with(name) && !name.is_empty());
    }
}

/// Any day that a clock may show, most often a recent one.
fn today(input: &mut Input<'_>) -> Date {
    match input.byte() {
        0 => Date::MIN,
        1 => Date::MAX,
        2 => date(1, 1, 1),
        choice => {
            let years = i32::from(choice).pow(2) % 9_000 + 900;
            let days = input.number() as i32 % 366;
            date(i16::try_from(years).unwrap(), 1, 1)
                .checked_add(days.days())
                .unwrap()
        }
    }
}

fn dates(text: &str, today: Date) {
    if let Some(found) = when::find(text, today) {
        assert!(found.from < found.until, "{found:?}");
        let phrase = text.get(found.phrase.clone());
        assert!(phrase.is_some_and(|phrase| !phrase.is_empty()), "{found:?}");
        assert!(found.from.until((Unit::Day, found.until)).is_ok());
    }
    for line in text.lines() {
        if let Some(moment) = when::authored(line) {
            assert!(
                jiff::Timestamp::from_millisecond(moment).is_ok(),
                "{moment}"
            );
            assert_eq!(when::authored(&format!(" {line}\t")), Some(moment));
        }
    }
}

fn terms(text: &str) {
    let stored = index_terms(text);
    let count = stored.joined.split(' ').filter(|term| !term.is_empty());
    assert_eq!(count.count(), stored.count);
    for term in stored.joined.split(' ') {
        assert!(term.len() <= 64, "a term is too long: {term:?}");
        assert!(
            term.chars()
                .all(|c| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit()),
            "{term:?}"
        );
    }
    assert!(
        stored.joined.len() <= 64 + 16 * text.len(),
        "the terms grow"
    );
    let asked = query_terms(text, 32);
    assert!(asked.terms.len() <= 32);
    let patterns: Vec<String> = asked.terms.iter().map(QueryTerm::pattern).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let spans = matching_spans(text, &patterns);
    assert!(spans.is_sorted_by(|left, right| left.end < right.start));
    for span in &spans {
        assert!(text.get(span.clone()).is_some_and(|word| !word.is_empty()));
    }
    assert_eq!(
        asked.terms.is_empty(),
        spans.is_empty(),
        "the terms of a text are not found in it"
    );
}
