//! Reads single turns of a conversation: what they propose, choose, refuse and report.

use super::language::Cue;
use super::lexicon::Cues;
use super::prose::{lines, sentences, without_quotations, word_count};
use super::score::Sentence;
use super::statement::MOST_CHARACTERS;
use super::topic::Topic;

/// Whether other turns of the session are about the same. Small talk is not taken up.
pub(super) fn is_taken_up(at: usize, topic: &Topic, heads: &[Topic]) -> bool {
    let others = heads.iter().enumerate().filter(|(other, _)| *other != at);
    others.into_iter().any(|(_, head)| head.common(topic) > 0)
}

/// Whether the user refuses something in a turn, or takes it back.
pub(super) fn is_refused(parts: Option<&Vec<Sentence<'_>>>) -> bool {
    parts.is_some_and(|parts| {
        let first = parts.first();
        first.is_some_and(|first| first.cues.agrees == Some(false))
            || parts.iter().any(|part| part.cues.has(Cue::Undecided))
    })
}

/// The number or letter of an option at the beginning of a turn: `2`, `b, please`, `option 3`.
pub(super) fn mark_of_option(text: &str) -> Option<char> {
    let text = text.trim_start();
    let text = match text.get(..7) {
        Some(start) if start.eq_ignore_ascii_case("option ") => text.get(7..)?,
        _ => text,
    };
    let mut letters = text.chars();
    let mark = letters.next()?.to_ascii_lowercase();
    let is_mark = matches!(mark, '1'..='9' | 'a'..='f');
    let ends = match letters.next() {
        None => true,
        Some('.' | ',' | ')' | ':' | '!' | ';') => letters.next().is_none_or(char::is_whitespace),
        Some(_) => false,
    };
    (is_mark && ends).then_some(mark)
}

/// The option of a list in one text, such as `1) a file, 2) a database`.
pub(super) fn option_of(text: &str, mark: char) -> Option<&str> {
    let start = text.find(&format!("{mark}) ")).map(|at| at + 3)?;
    let rest = text.get(start..)?;
    let next = char::from_u32(mark as u32 + 1)?;
    let ends = [
        rest.find(&format!("{next})")),
        rest.find(&format!("({next})")),
        rest.find('\n'),
        rest.find(". "),
    ];
    let end = ends.into_iter().flatten().min().unwrap_or(rest.len());
    let option = rest.get(..end)?.trim_matches([' ', ',', ';', '(', '.']);
    (word_count(option) > 0).then_some(option)
}

/// A sentence and those around it, as many as fit.
pub(super) fn around(sentences: &[(usize, &str)], place: usize) -> String {
    let at = sentences
        .iter()
        .position(|(number, _)| *number == place)
        .unwrap_or_default();
    let (mut from, mut to) = (at, at + 1);
    let length = |from: usize, to: usize| {
        let chosen = sentences.get(from..to).unwrap_or_default();
        chosen
            .iter()
            .map(|(_, words)| words.chars().count() + 1)
            .sum::<usize>()
    };
    while to < sentences.len() && length(from, to + 1) <= MOST_CHARACTERS {
        to += 1;
    }
    while from > 0 && length(from - 1, to) <= MOST_CHARACTERS {
        from -= 1;
    }
    let chosen = sentences.get(from..to).unwrap_or_default();
    let words: Vec<&str> = chosen.iter().map(|(_, words)| *words).collect();
    words.join(" ")
}

/// Whether the user hands over a text to improve or translate. It is not about the project.
pub(super) fn is_draft(text: &str, parts: &[Sentence<'_>]) -> bool {
    let is_asked = parts
        .first()
        .is_some_and(|first| first.cues.has(Cue::Draft));
    is_asked && text.contains([':', '：', '…', '\n'])
}

/// The sentence of an assistant that proposes something: rather the one that shares words with the
/// answer, rather a proposal than a possibility, rather a statement than a question. Only a clear yes
/// agrees to a possibility.
pub(super) fn best_proposal<'a>(text: &'a str, answer: &Topic, is_clear: bool) -> Option<&'a str> {
    let all = lines(text)
        .into_iter()
        .flat_map(|line| sentences(line.words));
    let mut best: Option<(usize, &str)> = None;
    for words in all {
        let cues = Cues::of(words);
        if !(cues.has(Cue::Proposal) || is_clear && cues.has(Cue::Possible)) {
            continue;
        }
        let score = 4 * usize::from(cues.has(Cue::Proposal))
            + 2 * Topic::of(words).common(answer).min(3)
            + usize::from(!words.ends_with(['?', '？']));
        if best.is_none_or(|(most, _)| score >= most) {
            best = Some((score, words));
        }
    }
    best.map(|(_, words)| words)
}

pub(super) fn first_result(text: &str) -> Option<&str> {
    let mut all = lines(text)
        .into_iter()
        .flat_map(|line| sentences(line.words));
    all.find(|words| Cues::of(words).has(Cue::Result) && word_count(words) > 1)
}

/// The results that an assistant reports, and whether they leave something open; `None` if it reports
/// none. The last turn of a session counts as a report, whatever its words are.
pub(super) fn results(text: &str, is_last: bool) -> Option<(bool, String)> {
    let text = without_quotations(text);
    let all: Vec<Sentence<'_>> = Sentence::all(&text);
    let is_report = |part: &Sentence<'_>| {
        !part.is_question() && word_count(part.words) > 2 && !part.cues.has(Cue::Proposal)
    };
    let is_result = |part: &Sentence<'_>| {
        let is_count = part
            .words
            .starts_with(|letter: char| letter.is_ascii_digit());
        let is_now = part.cues.has(Cue::Result) && (is_count || part.words.ends_with("now."));
        is_report(part) && (part.cues.opens_with(Cue::Result) || is_now)
    };
    let is_open = |part: &Sentence<'_>| {
        let is_open = part.cues.has(Cue::NotDone) || part.cues.has(Cue::Task);
        let is_needed = part.cues.has(Cue::Need) && !part.cues.has(Cue::Possible);
        is_report(part) && (is_open || is_needed)
    };
    let open = all.iter().position(is_open);
    let place = open
        .or_else(|| all.iter().position(is_result))
        .or_else(|| is_last.then(|| all.iter().position(is_report)).flatten())?;
    let usable: Vec<(usize, &str)> = all
        .iter()
        .enumerate()
        .filter(|(_, part)| !part.is_question() && !part.cues.has(Cue::Proposal))
        .map(|(number, part)| (number, part.words))
        .collect();
    Some((open.is_some(), around(&usable, place)))
}

/// The beginning of a turn.
pub(super) fn head(text: &str) -> &str {
    let end = text
        .char_indices()
        .nth(400)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}
