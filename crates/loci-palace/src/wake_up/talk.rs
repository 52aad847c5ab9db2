//! Recognises statements in a conversation. Statements of the user count. A proposal of the
//! assistant counts if the user agrees in the next turn.

use super::language::Cue;
use super::lexicon::Cues;
use super::prose::{has_mail, lines, sentences, without_quotations, word_count};
use super::replies::{
    around, best_proposal, first_result, head, is_draft, is_refused, is_taken_up, mark_of_option,
    option_of, results,
};
use super::score::{Answered, Sentence, is_ironic, scored};
use super::statement::{About, Evidence, Form, Kind, Recognised, Revision, Statement, one_line};
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
        let heads: Vec<Topic> = self
            .turns
            .iter()
            .map(|turn| Topic::of(head(&turn.text)))
            .collect();
        let mut all = Topic::of(&self.title);
        for head in &heads {
            all.add(head);
        }
        let unit = into.add_unit(all);
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
            if turn.speaker == Speaker::Assistant || is_draft(text, parts) || is_ironic(parts) {
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
                ..About::default()
            };
            let answered = self.answered(at, &cued);
            let agreed = self
                .chosen(at, &about)
                .or_else(|| self.agreed(at, parts, &answered, &about));
            if let Some(statement) = agreed {
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
                .extend(self.stated(at, parts, &answered, &about, &heads));
        }
        self.note_request(&heads, &cued, unit, into);
        if self.has_orders(&cued) {
            self.outcome(&cued, unit, into);
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
                    form: Form::Report,
                    topic: Topic::of(part.words),
                });
            }
        }
    }

    /// Notes what the user asked for first as done, if the last turn of the assistant reports a result
    /// and leaves nothing open.
    fn note_request(
        &self,
        heads: &[Topic],
        cued: &[Vec<Sentence<'_>>],
        unit: usize,
        into: &mut Recognised,
    ) {
        let is_assistant = |turn: &Turn| turn.speaker == Speaker::Assistant;
        let last = self.turns.iter().rposition(is_assistant);
        let Some((last, parts)) = last.and_then(|last| Some((last, cued.get(last)?))) else {
            return;
        };
        let is_open = |part: &Sentence<'_>| part.cues.has(Cue::NotDone) || part.cues.has(Cue::Task);
        let is_result = |part: &Sentence<'_>| part.cues.opens_with(Cue::Result);
        if let Some(request) = heads.first()
            && self.turns.first().is_some_and(|turn| !is_assistant(turn))
            && parts.iter().any(is_result)
            && !parts.iter().any(is_open)
        {
            into.evidence.push(Evidence {
                unit,
                turn: last,
                moment: self.moment(last),
                is_users: true,
                form: Form::Request,
                topic: request.clone(),
            });
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
            is_after_result: last.is_some()
                && before.is_some_and(|parts| {
                    parts.iter().any(|part| part.cues.opens_with(Cue::Result))
                }),
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
        // The result is more precise than "shall I?".
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

    /// The numbered option of the assistant that the user chooses: `2. the Pi has a backup`.
    fn chosen(&self, at: usize, about: &About) -> Option<Statement> {
        let here = self.turns.get(at)?;
        let before = self.turns.get(at.checked_sub(1)?)?;
        if before.speaker != Speaker::Assistant {
            return None;
        }
        let option = option_of(&before.text, mark_of_option(&here.text)?)?;
        // The assistant often repeats the choice: "SQLite it is".
        let next = self.turns.get(at + 1).filter(|next| {
            let topic = Topic::of(head(&next.text));
            topic.common(&Topic::of(option)) > 0
        });
        let first = next.and_then(|next| {
            let line = lines(&next.text).into_iter().next()?;
            Some((sentences(line.words).into_iter().next()?, next.drawer))
        });
        let (text, drawer) = first.unwrap_or((option, before.drawer));
        let mut about = about.clone();
        about.topic.add(&Topic::of(option));
        about.context.add(&Topic::of(option));
        Some(Statement {
            kind: Kind::Decision,
            text: one_line(text),
            score: 1.8,
            drawer,
            moment: self.moment(at),
            about,
        })
    }

    /// What the user decides, demands or leaves open in a turn.
    fn stated(
        &self,
        at: usize,
        parts: &[Sentence<'_>],
        answered: &Answered,
        about: &About,
        heads: &[Topic],
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
        let is_firm = kind != Kind::Rule
            || cues.has(Cue::Rule)
            || cues.has(Cue::Preference)
            || cues.has(Cue::Wish)
            || cues.opens_with(Cue::Stop)
            || names_thing;
        if !is_firm && !is_taken_up(at, &about.topic, heads) {
            return None;
        }
        let usable: Vec<(usize, &str)> = parts
            .iter()
            .enumerate()
            .filter(|(number, part)| *number == place || !part.is_idle() && !part.is_question())
            .map(|(number, part)| (number, part.words))
            .collect();
        Some(Statement {
            kind,
            text: one_line(&around(&usable, place)),
            score,
            drawer: self.turns.get(at)?.drawer,
            moment: self.moment(at),
            about: about.clone(),
        })
    }

    /// How the session ended: what the assistant reports last, rather something that is left open.
    fn outcome(&self, cued: &[Vec<Sentence<'_>>], unit: usize, into: &mut Recognised) {
        let reports: Vec<(usize, &Turn, bool, String)> = self
            .turns
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, turn)| turn.speaker == Speaker::Assistant)
            .take(LAST_REPORTS)
            .filter(|(at, _)| !is_refused(cued.get(at + 1)))
            .enumerate()
            .filter_map(|(number, (at, turn))| {
                let is_answer = number == 0 && self.is_work(at, cued);
                let (is_open, text) = results(&turn.text, is_answer)?;
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

    /// Whether the user asks for work before a turn, not for an explanation or a text.
    fn is_work(&self, at: usize, cued: &[Vec<Sentence<'_>>]) -> bool {
        let asked = at.checked_sub(1);
        let (Some(turn), Some(parts)) = (
            asked.and_then(|asked| self.turns.get(asked)),
            asked.and_then(|asked| cued.get(asked)),
        ) else {
            return false;
        };
        let asks = |part: &Sentence<'_>| {
            part.is_question() || part.cues.has(Cue::Question) || part.cues.has(Cue::Choice)
        };
        turn.speaker == Speaker::User
            && !is_draft("…", parts)
            && !has_mail(&turn.text)
            && !parts.iter().any(asks)
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
