//! Recognises statements in a conversation. What the user says counts. What the assistant proposes
//! counts if the user agrees in the next turn.

use super::cues::Cue;
use super::lexicon::Cues;
use super::prose::{lines, sentences, without_quotations, word_count};
use super::score::{Answered, Sentence, scored};
use super::statement::{
    About, Evidence, Kind, MOST_CHARACTERS, Recognised, Revision, Statement, one_line,
};
use super::topic::Topic;
use super::turns::{Speaker, Turn};

/// A statement needs this score.
const LEAST: f32 = 1.0;

/// Number of last turns of the assistant that may report the outcome of a session.
const LAST_REPORTS: usize = 3;

/// A conversation, its turns in order.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) title: String,
    /// The moment of each turn, in milliseconds since 1970.
    pub(super) moments: Vec<i64>,
    pub(super) turns: Vec<Turn>,
}

impl Session {
    /// Adds the statements of the conversation.
    pub(super) fn recognise(&self, into: &mut Recognised) {
        let said: Vec<&str> = self.turns.iter().map(|turn| head(&turn.text)).collect();
        let unit = into.unit(&format!("{}\n{}", self.title, said.join("\n")));
        *into.titles.entry(self.title.to_lowercase()).or_default() += 1;
        let mut context = Topic::default();
        let mut changes = false;
        let texts: Vec<String> = self
            .turns
            .iter()
            .map(|turn| without_quotations(&turn.text))
            .collect();
        let cued: Vec<Vec<Sentence<'_>>> = texts.iter().map(|text| Sentence::all(text)).collect();
        let turns = self.turns.iter().zip(&texts).zip(&cued).enumerate();
        for (at, ((turn, text), parts)) in turns {
            self.note_evidence(at, parts, unit, into);
            if turn.speaker == Speaker::Assistant || is_draft(text, parts) {
                continue;
            }
            let topic = Topic::of(text);
            context.add(&topic);
            let is_change = |part: &Sentence<'_>| part.cues.has(Cue::Change) && !part.is_question();
            if parts.iter().any(is_change) {
                into.revisions.push(Revision {
                    unit,
                    turn: at,
                    moment: self.moment(at),
                    topic: topic.clone(),
                });
            }
            changes |= parts.iter().any(|part| part.cues.has(Cue::Change));
            let about = About {
                topic,
                context: context.clone(),
                unit,
                turn: at,
                title: self.title.to_lowercase(),
                changes,
                has_number: text.chars().any(|letter| letter.is_ascii_digit()),
            };
            let answered = self.answered(at, &cued);
            if let Some(statement) = self.agreed(at, parts, &answered, &about) {
                if Cues::of(&statement.text).has(Cue::Change) {
                    into.revisions.push(Revision {
                        unit,
                        turn: at,
                        moment: statement.moment,
                        topic: statement.about.context.clone(),
                    });
                }
                into.statements.push(statement);
            }
            into.statements
                .extend(self.told(at, parts, &answered, &about));
        }
        if self.has_orders(&cued) {
            self.outcome(unit, into);
        }
        self.request(unit, into);
    }

    /// Whether the user asks for anything but an explanation.
    fn has_orders(&self, cued: &[Vec<Sentence<'_>>]) -> bool {
        let turns = self.turns.iter().zip(cued);
        let mut users = turns.filter(|(turn, _)| turn.speaker == Speaker::User);
        users.any(|(_, parts)| {
            let is_order = |part: &Sentence<'_>| {
                !part.is_question()
                    && !part.is_idle()
                    && (word_count(part.words) > 1 || part.cues.agrees.is_some())
            };
            !is_draft("…", parts) && parts.iter().any(is_order)
        })
    }

    fn moment(&self, at: usize) -> i64 {
        self.moments.get(at).copied().unwrap_or_default()
    }

    fn note_evidence(&self, at: usize, parts: &[Sentence<'_>], unit: usize, into: &mut Recognised) {
        let is_users = self
            .turns
            .get(at)
            .is_some_and(|turn| turn.speaker == Speaker::User);
        for part in parts {
            let is_open = part.cues.has(Cue::NotDone) || part.cues.has(Cue::Condition);
            if part.cues.has(Cue::Done) && !is_open && !part.is_question() {
                into.evidence.push(Evidence {
                    unit,
                    turn: at,
                    moment: self.moment(at),
                    is_users,
                    topic: Topic::of(part.words),
                });
            }
        }
    }

    /// What a turn of the user may answer.
    fn answered(&self, at: usize, cued: &[Vec<Sentence<'_>>]) -> Answered {
        let earlier = self.turns.get(..at).unwrap_or_default();
        let last = earlier
            .last()
            .filter(|turn| turn.speaker == Speaker::Assistant);
        let question = earlier
            .iter()
            .rposition(|turn| turn.speaker == Speaker::User)
            .and_then(|place| cued.get(place));
        let is_choice = |part: &Sentence<'_>| {
            part.cues.has(Cue::Choice) && (part.is_question() || word_count(part.words) <= 8)
        };
        let is_proposal =
            |part: &Sentence<'_>| part.cues.has(Cue::Proposal) || part.cues.has(Cue::Possible);
        let before = at.checked_sub(1).and_then(|before| cued.get(before));
        let here = cued.get(at).and_then(|parts| parts.first());
        Answered {
            is_proposal: last.is_some()
                && before.is_some_and(|parts| parts.iter().any(is_proposal)),
            is_asked: last.is_some_and(|turn| turn.text.trim_end().ends_with(['?', '？'])),
            is_choice: question.is_some_and(|parts| parts.iter().any(is_choice)),
            is_first: earlier.is_empty(),
            is_refused: here.is_some_and(|first| first.cues.agrees == Some(false)),
        }
    }

    /// The proposal of the assistant that the user agrees to.
    fn agreed(
        &self,
        at: usize,
        parts: &[Sentence<'_>],
        answered: &Answered,
        about: &About,
    ) -> Option<Statement> {
        let first = parts.first()?;
        let is_off =
            |part: &Sentence<'_>| part.cues.has(Cue::Undecided) || part.cues.has(Cue::Idle);
        if first.cues.agrees != Some(true) || first.is_question() || parts.iter().any(is_off) {
            return None;
        }
        let before = self.turns.get(at.checked_sub(1)?)?;
        let proposal = best_proposal(&before.text, &about.topic, first.cues.opens_with(Cue::Yes))?;
        // The result says more than "shall I?".
        let result = self
            .turns
            .get(at + 1)
            .and_then(|turn| Some((turn, first_result(&turn.text)?)));
        let (text, drawer) = match result.filter(|_| answered.is_asked) {
            Some((turn, result)) => (result, turn.drawer),
            None => (proposal, before.drawer),
        };
        let mut about = about.clone();
        let topic = Topic::of(text);
        about.topic.add(&topic);
        about.context.add(&topic);
        Some(Statement {
            kind: Kind::Decision,
            text: one_line(text),
            score: if Cues::of(proposal).has(Cue::Proposal) {
                1.7
            } else {
                1.2
            },
            drawer,
            moment: self.moment(at),
            about,
        })
    }

    /// What the user decides, demands or leaves open in a turn.
    fn told(
        &self,
        at: usize,
        parts: &[Sentence<'_>],
        answered: &Answered,
        about: &About,
    ) -> Option<Statement> {
        if parts.iter().any(|part| part.cues.has(Cue::Undecided)) {
            return None;
        }
        let mut best: Option<(usize, Kind, f32)> = None;
        for (place, part) in parts.iter().enumerate() {
            let Some((kind, score)) = scored(part, place, answered) else {
                continue;
            };
            if best.is_none_or(|(_, _, most)| score > most) {
                best = Some((place, kind, score));
            }
        }
        let (place, kind, score) = best.filter(|(_, _, score)| *score >= LEAST)?;
        let cues = parts.get(place)?.cues;
        let names_thing = parts.get(place)?.words.contains(['/', '_', '`', '#']);
        let is_firm =
            kind != Kind::Rule || cues.has(Cue::Rule) || cues.has(Cue::Wish) || names_thing;
        if !is_firm && !self.is_spoken_about(at, &about.topic) {
            return None;
        }
        let spoken: Vec<(usize, &str)> = parts
            .iter()
            .enumerate()
            .filter(|(number, part)| *number == place || !part.is_idle() && !part.is_question())
            .map(|(number, part)| (number, part.words))
            .collect();
        Some(Statement {
            kind,
            text: one_line(&around(&spoken, place)),
            score,
            drawer: self.turns.get(at)?.drawer,
            moment: self.moment(at),
            about: about.clone(),
        })
    }

    /// Whether other turns of the session are about the same. Small talk is not taken up.
    fn is_spoken_about(&self, at: usize, topic: &Topic) -> bool {
        let others = self
            .turns
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        others
            .into_iter()
            .any(|(_, turn)| Topic::of(head(&turn.text)).common(topic) > 0)
    }

    /// How the session ended: what the assistant reports last, rather something that is left open.
    fn outcome(&self, unit: usize, into: &mut Recognised) {
        let reports: Vec<(usize, &Turn, bool, String)> = self
            .turns
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, turn)| turn.speaker == Speaker::Assistant)
            .take(LAST_REPORTS)
            .filter_map(|(at, turn)| {
                let (is_open, text) = results(&turn.text)?;
                Some((at, turn, is_open, text))
            })
            .collect();
        let open = reports.iter().find(|(_, _, is_open, _)| *is_open);
        let found = open
            .or(reports.first())
            .map(|(at, turn, _, text)| (*at, *turn, text.clone()));
        if let Some((at, turn, text)) = found {
            into.statements.push(Statement {
                kind: Kind::Outcome,
                text: one_line(&text),
                score: 1.0,
                drawer: turn.drawer,
                moment: self.moment(at),
                about: About {
                    topic: Topic::of(&text),
                    unit,
                    turn: at,
                    title: self.title.to_lowercase(),
                    ..About::default()
                },
            });
        }
    }

    /// What the user asked for first.
    fn request(&self, unit: usize, into: &mut Recognised) {
        let first = self.turns.iter().find(|turn| turn.speaker == Speaker::User);
        if let Some(first) = first {
            let text = without_quotations(&first.text);
            let request = lines(&text).first().map(|line| one_line(line.words));
            into.statements.extend(request.map(|text| Statement {
                kind: Kind::Request,
                text,
                score: 0.2,
                drawer: first.drawer,
                moment: self.moment(0),
                about: About {
                    topic: Topic::of(&first.text),
                    unit,
                    ..About::default()
                },
            }));
        }
    }
}

/// A sentence and those around it, as many as fit.
fn around(sentences: &[(usize, &str)], place: usize) -> String {
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

/// Whether the user hands over a text to improve or translate. It says nothing about the project.
fn is_draft(text: &str, parts: &[Sentence<'_>]) -> bool {
    let is_asked = parts
        .first()
        .is_some_and(|first| first.cues.has(Cue::Draft));
    is_asked && text.contains([':', '：', '…', '\n'])
}

/// The sentence of an assistant that proposes something: rather the one that shares words with the
/// answer, rather a proposal than a possibility, rather a statement than a question. Only a clear yes
/// agrees to a possibility.
fn best_proposal<'a>(text: &'a str, answer: &Topic, is_clear: bool) -> Option<&'a str> {
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

fn first_result(text: &str) -> Option<&str> {
    let mut all = lines(text)
        .into_iter()
        .flat_map(|line| sentences(line.words));
    all.find(|words| Cues::of(words).has(Cue::Result) && word_count(words) > 1)
}

/// The results that an assistant reports, and whether they leave something open; `None` if it reports
/// none.
fn results(text: &str) -> Option<(bool, String)> {
    let all: Vec<Sentence<'_>> = Sentence::all(text);
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
        is_report(part) && is_open && part.cues.has(Cue::Result)
    };
    let open = all.iter().position(is_open);
    let place = open.or_else(|| all.iter().position(is_result))?;
    let spoken: Vec<(usize, &str)> = all
        .iter()
        .enumerate()
        .filter(|(_, part)| !part.is_question() && !part.cues.has(Cue::Proposal))
        .map(|(number, part)| (number, part.words))
        .collect();
    Some((open.is_some(), around(&spoken, place)))
}

/// The beginning of a turn.
fn head(text: &str) -> &str {
    let end = text
        .char_indices()
        .nth(400)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}
