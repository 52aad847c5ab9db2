//! Reads the operators of a question: `"exact phrase"`, `-word`, `wing:acme`, `since:2026-05`.
//!
//! Whatever is not an operator is a word to search for, so no question is an error.

use std::ops::Range;

use loci_core::{DocumentFilter, Filter, KeyTest, MetaValue, Period, Phrase, Selection, Warning};

use crate::moment::parse_moment;

/// More operators than this are read as words: the question is pasted text.
const MOST_OPERATORS: usize = 32;
/// A longer phrase is read as words.
const LONGEST_PHRASE: usize = 1_000;
/// What an opening quotation mark is closed by.
const QUOTES: [(char, &[char]); 4] = [
    ('"', &['"']),
    ('“', &['”', '"']),
    ('„', &['“', '”', '"']),
    ('«', &['»']),
];

/// A question whose operators are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The words to search for, those of phrases included.
    pub words: String,
    /// The phrases that every hit contains.
    pub phrases: Vec<Phrase>,
    /// The conditions.
    pub selection: Selection,
    /// The operators as typed.
    pub operators: Vec<String>,
    /// The operators among them that leave drawers out because of a word or phrase.
    pub left_out: Vec<String>,
    /// What looks like an operator, but has a value that cannot be read. It is searched as words.
    pub unread: Vec<String>,
}

/// What an operator is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Text,
    Wing,
    Room,
    Source,
    Path,
    Tag,
    Since,
    Before,
}

const KEYS: [(&str, Key); 7] = [
    ("wing:", Key::Wing),
    ("room:", Key::Room),
    ("source:", Key::Source),
    ("path:", Key::Path),
    ("tag:", Key::Tag),
    ("since:", Key::Since),
    ("before:", Key::Before),
];
/// Another form of `-`, for programs that take `-word` for an option.
const NOT: &str = "not:";

/// An operator as typed.
struct Operator<'t> {
    key: Key,
    is_negated: bool,
    value: &'t str,
    /// Where it is in the question.
    place: Range<usize>,
}

impl Question {
    /// Reads the operators of a question.
    pub fn parse(text: &str) -> Self {
        let operators = operators_in(text);
        if operators.len() > MOST_OPERATORS {
            return Self {
                words: text.to_owned(),
                ..Self::default()
            };
        }
        let mut question = Self::default();
        let mut conditions = Conditions::default();
        let mut at = 0;
        for operator in &operators {
            let typed = text.get(operator.place.clone()).unwrap_or_default();
            let is_read = conditions.add(operator);
            let is_word = !is_read || (operator.key == Key::Text && !operator.is_negated);
            question
                .words
                .push_str(text.get(at..operator.place.start).unwrap_or_default());
            question.words.push_str(match (is_read, is_word) {
                (false, _) => typed,
                (true, true) => operator.value,
                (true, false) => " ",
            });
            at = operator.place.end;
            if is_read {
                question.operators.push(typed.to_owned());
            } else {
                question.unread.push(typed.to_owned());
            }
            if is_read && operator.key == Key::Text && operator.is_negated {
                question.left_out.push(typed.to_owned());
            }
        }
        question.words.push_str(text.get(at..).unwrap_or_default());
        question.phrases.clone_from(&conditions.phrases);
        question.selection = conditions.selection();
        question
    }

    /// Whether it has conditions and no word, so that there is nothing to rank by.
    pub fn has_conditions_only(&self) -> bool {
        !self.selection.is_all() && loci_text::query_terms(&self.words, 1).terms.is_empty()
    }

    /// What a caller should know about the reading.
    pub(crate) fn warnings(&self) -> Option<Warning> {
        (!self.unread.is_empty()).then(|| Warning::ConditionsUnread {
            conditions: self.unread.clone(),
        })
    }

    /// Adds its conditions to those of a selection.
    pub fn narrow(&self, selection: &Selection) -> Selection {
        let own = &self.selection;
        let filters = [&selection.filter, &own.filter];
        let filters: Vec<Filter> = filters.into_iter().flatten().cloned().collect();
        let mut documents: Vec<DocumentFilter> = [&selection.document, &own.document]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        let document = if documents.len() > 1 {
            Some(DocumentFilter::And(documents))
        } else {
            documents.pop()
        };
        let periods = [selection.period, own.period];
        let since = periods.iter().flatten().filter_map(|one| one.since).max();
        let before = periods.iter().flatten().filter_map(|one| one.before).min();
        Selection {
            ids: selection.ids.clone(),
            filter: all_of(filters),
            document,
            period: (since.is_some() || before.is_some()).then_some(Period { since, before }),
        }
    }
}

/// All of some filters, without an `And` inside an `And`.
fn all_of(filters: Vec<Filter>) -> Option<Filter> {
    let flat = filters.into_iter().flat_map(|filter| match filter {
        Filter::And(parts) => parts,
        other @ (Filter::Or(_) | Filter::Key { .. } | Filter::Document(_)) => vec![other],
    });
    Filter::all(flat.collect())
}

/// The conditions of a question while it is read.
#[derive(Default)]
struct Conditions {
    /// Values of which a drawer needs one, by metadata key.
    any: Vec<(&'static str, Vec<KeyTest>)>,
    /// Conditions that all hold.
    all: Vec<Filter>,
    phrases: Vec<Phrase>,
    without: Vec<Phrase>,
    period: Period,
}

impl Conditions {
    /// Adds an operator; false if its value cannot be read.
    fn add(&mut self, operator: &Operator<'_>) -> bool {
        let value = operator.value.trim();
        let is_negated = operator.is_negated;
        let text = || MetaValue::Str(value.to_owned());
        match operator.key {
            Key::Text => {
                let phrase = Phrase::new(value).filter(|_| value.len() <= LONGEST_PHRASE);
                let Some(phrase) = phrase else { return false };
                let into = if is_negated {
                    &mut self.without
                } else {
                    &mut self.phrases
                };
                into.push(phrase);
            }
            Key::Wing => self.one_of("wing", is_negated, KeyTest::Eq(text()), KeyTest::Ne(text())),
            Key::Room => self.one_of("room", is_negated, KeyTest::Eq(text()), KeyTest::Ne(text())),
            Key::Source => {
                let tests = (KeyTest::Eq(text()), KeyTest::Ne(text()));
                self.one_of("source_file", is_negated, tests.0, tests.1);
            }
            Key::Path => {
                let part = value.to_owned();
                let tests = (KeyTest::Includes(part.clone()), KeyTest::NotIncludes(part));
                self.one_of("source_file", is_negated, tests.0, tests.1);
            }
            Key::Tag => {
                let tag = MetaValue::Str(value.trim_start_matches('#').to_lowercase());
                let test = if is_negated {
                    KeyTest::NotContains(tag)
                } else {
                    KeyTest::Contains(tag)
                };
                self.all.push(key_filter("tags", test));
            }
            Key::Since | Key::Before => {
                let Some(moment) = parse_moment(value).filter(|_| !is_negated) else {
                    return false;
                };
                if operator.key == Key::Since {
                    self.period.since = Some(moment);
                } else {
                    self.period.before = Some(moment);
                }
            }
        }
        true
    }

    fn one_of(&mut self, key: &'static str, is_negated: bool, test: KeyTest, negation: KeyTest) {
        if is_negated {
            self.all.push(key_filter(key, negation));
            return;
        }
        match self.any.iter_mut().find(|(known, _)| *known == key) {
            Some((_, tests)) => tests.push(test),
            None => self.any.push((key, vec![test])),
        }
    }

    fn selection(self) -> Selection {
        let mut filters = Vec::new();
        for (key, tests) in self.any {
            let mut any: Vec<Filter> = tests
                .into_iter()
                .map(|test| key_filter(key, test))
                .collect();
            if any.len() > 1 {
                filters.push(Filter::Or(any));
            } else {
                filters.append(&mut any);
            }
        }
        filters.extend(self.all);
        let with = self.phrases.into_iter().map(DocumentFilter::Phrase);
        let without = self.without.into_iter().map(DocumentFilter::NotPhrase);
        let mut documents: Vec<DocumentFilter> = with.chain(without).collect();
        let document = if documents.len() > 1 {
            Some(DocumentFilter::And(documents))
        } else {
            documents.pop()
        };
        Selection {
            ids: None,
            filter: Filter::all(filters),
            document,
            period: (self.period != Period::default()).then_some(self.period),
        }
    }
}

fn key_filter(key: &str, test: KeyTest) -> Filter {
    Filter::Key {
        key: key.to_owned(),
        test,
    }
}

/// The operators in a question, in order.
fn operators_in(text: &str) -> Vec<Operator<'_>> {
    let mut operators = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let start = at + (rest.len() - rest.trim_start().len());
        if let Some(operator) = operator_at(text, start) {
            at = operator.place.end;
            operators.push(operator);
            continue;
        }
        let word = text.get(start..).unwrap_or_default();
        at = start + word.find(char::is_whitespace).unwrap_or(word.len());
    }
    operators
}

/// The operator that begins at a position.
fn operator_at(text: &str, start: usize) -> Option<Operator<'_>> {
    let typed = text.get(start..)?;
    let (is_negated, rest) = match without_prefix(typed, NOT) {
        Some(rest) => (true, rest),
        None => match typed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, typed),
        },
    };
    let keyed = KEYS
        .iter()
        .find_map(|(name, key)| Some((*key, without_prefix(rest, name)?)));
    let (key, rest) = keyed.unwrap_or((Key::Text, rest));
    let value = text.len() - rest.len();
    if let Some(inside) = quoted_at(text, value) {
        let closing = text.get(inside.end..)?.chars().next()?;
        return Some(Operator {
            key,
            is_negated,
            value: text.get(inside.clone())?,
            place: start..inside.end + closing.len_utf8(),
        });
    }
    let end = value + rest.find(char::is_whitespace).unwrap_or(rest.len());
    let mut word = text.get(value..end)?;
    if key == Key::Text {
        // `-v` and `-5` are more often options and numbers than words to leave out.
        word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
        let begins_as_word = word.chars().next().is_some_and(char::is_alphabetic);
        if !is_negated || !begins_as_word || word.chars().nth(1).is_none() {
            return None;
        }
    }
    (!word.is_empty()).then_some(Operator {
        key,
        is_negated,
        value: word,
        place: start..end,
    })
}

/// The text after a prefix in any case.
fn without_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let begins = text.get(..prefix.len())?.eq_ignore_ascii_case(prefix);
    begins.then(|| text.get(prefix.len()..))?
}

/// What is inside the quotation marks that open at a position. A mark closes before white space or
/// punctuation, so `6" pipes and 8" pipes` has none.
fn quoted_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let open = rest.chars().next()?;
    let (_, closing) = QUOTES.iter().find(|(mark, _)| *mark == open)?;
    let inside = start + open.len_utf8();
    let rest = text.get(inside..)?;
    let end = rest.char_indices().find_map(|(at, mark)| {
        let after = rest.get(at + mark.len_utf8()..)?.chars().next();
        let is_end = after.is_none_or(|after| !after.is_alphanumeric());
        (closing.contains(&mark) && is_end).then_some(inside + at)
    })?;
    let is_empty = text.get(inside..end)?.trim().is_empty();
    (!is_empty).then_some(inside..end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> String {
        let question = Question::parse(text);
        question
            .words
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn operators_become_conditions_and_the_rest_is_searched() {
        let question = Question::parse(
            "why cap \"at 10 s\" -mongo wing:acme tag:#Ops path:docs/ since:2026-05",
        );
        assert_eq!(
            words("why cap \"at 10 s\" -mongo wing:acme"),
            "why cap at 10 s"
        );
        assert_eq!(question.operators.len(), 6);
        assert_eq!(question.left_out, ["-mongo"]);
        let phrases: Vec<&str> = question.phrases.iter().map(Phrase::text).collect();
        assert_eq!(phrases, ["at 10 s"]);
        let Some(Filter::And(parts)) = &question.selection.filter else {
            panic!("{:?}", question.selection.filter);
        };
        assert!(parts.contains(&Filter::eq("wing", "acme")));
        assert!(parts.contains(&key_filter("tags", KeyTest::Contains("ops".into()))));
        assert!(parts.contains(&key_filter(
            "source_file",
            KeyTest::Includes("docs/".into())
        )));
        assert!(
            question
                .selection
                .period
                .is_some_and(|period| period.since.is_some())
        );
    }

    #[test]
    fn a_repeated_place_means_one_of_them_and_tags_mean_all() {
        let question = Question::parse("wing:a Wing:\"b c\" tag:x tag:y");
        let Some(Filter::And(parts)) = question.selection.filter else {
            panic!("{:?}", question.selection.filter);
        };
        let either = Filter::Or(vec![Filter::eq("wing", "a"), Filter::eq("wing", "b c")]);
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.first(), Some(&either));
    }

    #[test]
    fn what_is_no_operator_is_searched_as_it_is() {
        for text in [
            "a - b",
            "-v",
            "x -5 degrees",
            "--json",
            "well-known",
            "wing:",
            "foo:bar",
            "6\" pipes and 8\" pipes",
            "an \"open quote",
            "\"\"",
            "\" \"",
            "it's",
            "",
            "https://example.org/path:1",
        ] {
            let question = Question::parse(text);
            assert_eq!(question.words, text);
            assert!(question.operators.is_empty(), "{text}: {question:?}");
            assert!(question.selection.is_all(), "{text}");
        }
        let unread = Question::parse("since:yesteryear what -since:2026");
        assert_eq!(unread.words, "since:yesteryear what -since:2026");
        assert_eq!(unread.unread, ["since:yesteryear", "-since:2026"]);
        assert!(unread.selection.is_all());
    }

    #[test]
    fn quotation_marks_of_other_languages_and_words_to_leave_out_are_read() {
        for text in ["„10 s“", "“10 s”", "«10 s»", "\"10 s\"."] {
            let question = Question::parse(text);
            assert_eq!(question.phrases.len(), 1, "{text}");
        }
        for text in ["-mongo", "not:mongo", "-\"mongo\"", "-mongo,"] {
            let question = Question::parse(text);
            let mongo = Phrase::new("mongo").map(DocumentFilter::NotPhrase);
            assert_eq!(question.selection.document, mongo, "{text}");
            assert_eq!(question.words.trim(), "", "{text}");
        }
    }

    #[test]
    fn conditions_of_the_question_are_added_to_those_of_the_request() {
        let selection = Selection {
            filter: Some(Filter::eq("wing", "a")),
            period: Some(Period {
                since: Some(1),
                before: None,
            }),
            ..Selection::default()
        };
        let narrowed = Question::parse("since:2026-05 room:b \"x y\"").narrow(&selection);
        let both = vec![Filter::eq("wing", "a"), Filter::eq("room", "b")];
        assert_eq!(narrowed.filter, Some(Filter::And(both)));
        assert!(narrowed.period.is_some_and(|period| period.since > Some(1)));
        assert!(narrowed.document.is_some());
    }

    proptest! {
        #[test]
        fn no_question_is_an_error(text in "[-a-z:\"“” #«»üд.0-9\n]{0,60}") {
            let question = Question::parse(&text);
            prop_assert!(question.operators.len() <= MOST_OPERATORS);
            if question.operators.is_empty() {
                prop_assert_eq!(question.words, text);
            }
        }
    }
}
