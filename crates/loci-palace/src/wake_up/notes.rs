//! Recognises statements in notes and diary entries.

use super::language::{Cue, Label};
use super::lexicon::{Cues, label_of};
use super::prose::{Line, lines, sentences};
use super::score::{has_name, is_rule};
use super::statement::{About, Evidence, Form, Kind, Recognised, Revision, Statement, one_line};
use super::topic::Topic;

/// A note with at most this many characters is one statement.
const SHORT: usize = 260;

/// A note or a diary entry.
pub(super) struct Note<'a> {
    pub(super) text: &'a str,
    pub(super) drawer: usize,
    pub(super) moment: i64,
    pub(super) is_diary: bool,
}

impl Note<'_> {
    pub(super) fn recognise(&self, into: &mut Recognised) {
        let unit = into.unit(self.text);
        let prose = lines(self.text);
        for line in &prose {
            for words in sentences(line.words) {
                let cues = Cues::of(words);
                let is_open = cues.has(Cue::NotDone) || cues.has(Cue::Condition);
                let is_done = cues.has(Cue::Done) && !is_open || line.is_checked;
                if is_done {
                    into.evidence.push(Evidence {
                        unit,
                        turn: line.number,
                        moment: self.moment,
                        is_users: true,
                        form: Form::Report,
                        topic: Topic::of(words),
                    });
                }
            }
        }
        let all = prose.iter().map(|line| Cues::of(line.words));
        let is_open = |cues: Cues| {
            let open = [Cue::Task, Cue::Need, Cue::NotDone, Cue::Undecided];
            open.into_iter().any(|cue| cues.has(cue))
        };
        if !self.is_diary && !is_todo(self.text) && !all.into_iter().any(is_open) {
            into.evidence.push(Evidence {
                unit,
                turn: 0,
                moment: self.moment,
                is_users: true,
                form: Form::Mention,
                topic: Topic::of(self.text),
            });
        }
        if prose
            .iter()
            .any(|line| Cues::of(line.words).has(Cue::Change))
        {
            into.revisions.push(Revision {
                unit,
                turn: 0,
                moment: self.moment,
                topic: Topic::of(self.text),
            });
        }
        if self.is_diary {
            self.open_ends(&prose, unit, into);
            return;
        }
        if self.text.chars().count() <= SHORT
            && prose.iter().filter(|line| line.is_item).count() < 2
        {
            let all: Vec<&str> = prose.iter().map(|line| line.words).collect();
            let text = all.join(" ");
            let cues = Cues::of(&text);
            let label = text
                .split_once([':', '：'])
                .and_then(|(words, _)| label_of(words));
            let (kind, score) = note_kind(&text, cues, label);
            into.statements
                .extend(self.statement(kind, score, &text, unit, cues));
            return;
        }
        let before = into.statements.len();
        let mut heading = None;
        for line in prose.iter().filter(|line| !line.is_checked) {
            if line.heading > 0 {
                heading = label_of(line.words);
                continue;
            }
            let cues = Cues::of(line.words);
            let before = line
                .words
                .split_once([':', '：'])
                .and_then(|(words, _)| label_of(words));
            let label = before.or(heading);
            let (kind, score) = note_kind(line.words, cues, label);
            if label.is_some() || kind != Kind::Note {
                into.statements
                    .extend(self.statement(kind, score, line.words, unit, cues));
            }
        }
        if let Some(first) = prose.first().filter(|_| into.statements.len() == before) {
            let cues = Cues::of(first.words);
            into.statements
                .extend(self.statement(Kind::Note, 0.8, first.words, unit, cues));
        }
    }

    /// What a diary entry leaves open.
    fn open_ends(&self, prose: &[Line<'_>], unit: usize, into: &mut Recognised) {
        for line in prose {
            for words in sentences(line.words) {
                let cues = Cues::of(words);
                let label = words
                    .split_once([':', '：'])
                    .and_then(|(words, _)| label_of(words));
                let is_open =
                    cues.has(Cue::Task) || cues.has(Cue::Need) || label == Some(Label::Task);
                if is_open && !cues.has(Cue::Idle) {
                    into.statements
                        .extend(self.statement(Kind::Task, 1.7, words, unit, cues));
                }
            }
        }
    }

    fn statement(
        &self,
        kind: Kind,
        score: f32,
        text: &str,
        unit: usize,
        cues: Cues,
    ) -> Option<Statement> {
        if text.trim().is_empty() || score <= 0.0 {
            return None;
        }
        let (topic, context) = (Topic::of(text), Topic::of(self.text));
        Some(Statement {
            kind,
            text: one_line(text),
            score,
            drawer: self.drawer,
            moment: self.moment,
            about: About {
                topic,
                context,
                unit,
                changes: cues.has(Cue::Change),
                has_number: text.chars().any(|letter| letter.is_ascii_digit()),
                is_temporary: cues.has(Cue::Deadline),
                ..About::default()
            },
        })
    }
}

/// Whether a text begins with `todo`, which is a common word elsewhere.
fn is_todo(text: &str) -> bool {
    let start = text.trim_start().get(..4);
    start.is_some_and(|start| start.eq_ignore_ascii_case("todo"))
}

/// The kind and score of a note.
fn note_kind(text: &str, cues: Cues, label: Option<Label>) -> (Kind, f32) {
    if cues.has(Cue::Joke) || cues.has(Cue::Undecided) {
        return (Kind::Note, 0.0);
    }
    match label {
        Some(Label::Task) => return (Kind::Task, 2.0),
        Some(Label::Decision) => return (Kind::Decision, 2.0),
        Some(Label::Rule) => return (Kind::Rule, 2.0),
        Some(Label::Person) => return (Kind::Person, 1.8),
        None => {}
    }
    if cues.has(Cue::Task) || is_todo(text) {
        return (Kind::Task, 2.0);
    }
    if is_person(text, cues) {
        return (Kind::Person, 1.8);
    }
    let is_firm =
        is_rule(cues) || cues.has(Cue::Decision) || cues.has(Cue::Wish) || cues.has(Cue::Need);
    if cues.has(Cue::Done) && !cues.has(Cue::NotDone) && !is_firm {
        return (Kind::Note, 0.0);
    }
    if cues.has(Cue::Decision) && !is_rule(cues) {
        (Kind::Decision, 2.0)
    } else if is_rule(cues) {
        (Kind::Rule, 2.0)
    } else if cues.has(Cue::Need) || cues.has(Cue::Deadline) {
        (Kind::Task, 1.6)
    } else if cues.has(Cue::Wish) {
        (Kind::Rule, 1.4)
    } else {
        (Kind::Note, 0.8)
    }
}

/// Whether a note describes people: `Ann = operations`, `Ann - photos`, `Ann is the editor`,
/// `Editor: Ann`.
fn is_person(text: &str, cues: Cues) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_named = first.chars().next().is_some_and(char::is_uppercase);
    let start: String = text.chars().take(48).collect();
    let is_equated = [" = ", " - ", " – ", " — "]
        .iter()
        .any(|mark| start.contains(mark));
    (cues.has(Cue::Role) || cues.has(Cue::Duty)) && has_name(text) && !cues.has(Cue::Idle)
        || is_named && is_equated && !is_rule(cues)
        || text.matches(" = ").count() > 1
}
