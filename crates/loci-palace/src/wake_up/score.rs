//! The score of a sentence of the user: whether it decides, demands or leaves something open.

use super::language::{Cue, Label};
use super::lexicon::{Cues, is_ideograph, label_of};
use super::prose::{lines, sentences, word_count};
use super::statement::Kind;
use super::topic::Topic;

/// A sentence with its cues.
pub(super) struct Sentence<'a> {
    pub(super) words: &'a str,
    pub(super) cues: Cues,
}

impl<'a> Sentence<'a> {
    pub(super) fn all(text: &'a str) -> Vec<Self> {
        let all = lines(text)
            .into_iter()
            .flat_map(|line| sentences(line.words));
        all.map(|words| Self {
            words,
            cues: Cues::of(words),
        })
        .collect()
    }

    pub(super) fn is_question(&self) -> bool {
        self.words.ends_with(['?', '？', '吗', '呢'])
            || self.cues.opens_with(Cue::Question)
                && !self.words.ends_with(['.', '!', '。', '！'])
                && !self.words.contains(['.', ':'])
    }

    /// Whether it is a greeting, thanks, an aside or a joke.
    pub(super) fn is_idle(&self) -> bool {
        self.cues.has(Cue::Idle)
            || self.cues.has(Cue::Joke)
            || self.cues.opens_with(Cue::Chat) && word_count(self.words) <= 3
    }
}

/// Whether a turn is ironic: a joke, or praise for something that went wrong.
pub(super) fn is_ironic(parts: &[Sentence<'_>]) -> bool {
    let is_praise =
        |part: &Sentence<'_>| part.cues.opens_with(Cue::Praise) && part.cues.has(Cue::Trouble);
    parts
        .iter()
        .any(|part| part.cues.has(Cue::Joke) || is_praise(part))
}

/// What a turn of the user may answer.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one property of the turns before it"
)]
pub(super) struct Answered {
    /// Whether the assistant proposes something in the turn before it.
    pub(super) is_proposal: bool,
    /// Whether that turn ends with a question.
    pub(super) is_asked: bool,
    /// Whether the user asked to choose between things before.
    pub(super) is_choice: bool,
    /// Whether the turn begins with a refusal.
    pub(super) is_refused: bool,
    /// Whether it is the first turn of the session.
    pub(super) is_first: bool,
    /// Whether the assistant reports a result in the turn before it.
    pub(super) is_after_result: bool,
}

/// The kind and score of a sentence of the user.
pub(super) fn scored(
    part: &Sentence<'_>,
    place: usize,
    answered: &Answered,
) -> Option<(Kind, f32)> {
    let cues = part.cues;
    let is_answer = answered.is_proposal || answered.is_asked || answered.is_choice;
    let is_marked = cues.is_any() || is_answer && place < 2 || part.words.contains([':', '：']);
    if !is_marked || part.is_idle() || part.is_question() || word_count(part.words) < 2 {
        return None;
    }
    let topic = Topic::of(part.words).len();
    if topic == 0 {
        return None;
    }
    let labelled = part
        .words
        .split_once([':', '：'])
        .and_then(|(words, _)| label_of(words));
    if cues.has(Cue::Task) || labelled == Some(Label::Task) {
        return Some((Kind::Task, 2.0));
    }
    let mut rule: f32 = 0.0;
    // A session begins with what is wanted or what goes wrong now, not with a rule.
    let is_report = answered.is_first
        && !(cues.has(Cue::Rule) || cues.has(Cue::Preference) || cues.opens_with(Cue::Stop))
        && !cues.opens_with(Cue::Frequency);
    if is_rule(cues) && !is_report {
        rule += 2.0;
    } else if cues.has(Cue::Wish) && (!answered.is_first || cues.has(Cue::Contrast)) {
        rule += 1.0;
    }
    let mut decision: f32 = 0.0;
    if cues.has(Cue::Decision) || is_verdict(part.words) {
        decision += 2.0;
    }
    let has_number = part.words.contains(|letter: char| letter.is_ascii_digit());
    if cues.has(Cue::Leaning) {
        decision += if cues.has(Cue::Deadline) { 1.5 } else { 0.5 };
        // "make it 10 s" corrects what the assistant reported.
        if answered.is_after_result && has_number {
            decision += 0.8;
        }
    }
    let has_words = topic > usize::from(cues.agrees.is_some());
    let is_settled = cues.has(Cue::Trouble) || cues.has(Cue::Done);
    if is_answer && place < 2 && has_words && !is_settled {
        decision += 1.0;
        if answered.is_choice {
            decision += 0.3;
        }
        if answered.is_refused {
            decision += 0.5;
        }
    }
    if cues.has(Cue::Provisional) {
        decision -= 0.5;
    }
    if rule == 0.0 && decision == 0.0 && !cues.has(Cue::Final) {
        return (cues.has(Cue::Duty) && has_name(part.words)).then_some((Kind::Person, 1.2));
    }
    if cues.has(Cue::Final) && has_number {
        decision += 1.2;
    }
    if cues.has(Cue::Trouble) {
        decision -= 1.0;
    }
    Some(
        if rule > decision || is_rule(cues) && !cues.has(Cue::Decision) {
            (Kind::Rule, rule + decision * 0.2)
        } else {
            (Kind::Decision, decision + rule * 0.2)
        },
    )
}

/// Whether a sentence demands something. `always` and `never` also describe habits and errors.
pub(super) fn is_rule(cues: Cues) -> bool {
    if cues.has(Cue::Trouble) {
        return false;
    }
    if cues.starts_with(Cue::Myself) {
        return cues.opens_with(Cue::Preference);
    }
    cues.has(Cue::Rule)
        || cues.has(Cue::Preference)
        || cues.has(Cue::Frequency) && !cues.opens_with(Cue::Pronoun)
        || cues.opens_with(Cue::Stop)
}

/// Whether a sentence has the form "REST it is" or "REST then".
fn is_verdict(words: &str) -> bool {
    let words = words
        .trim_end_matches(|letter: char| !letter.is_alphanumeric())
        .to_lowercase();
    let before = words
        .strip_suffix(" it is")
        .or_else(|| words.strip_suffix(" then"));
    before.is_some_and(|before| {
        word_count(before) <= 4
            && !matches!(before, "there" | "here" | "what" | "so" | "ok" | "and")
    })
}

/// Whether a word of a sentence begins with a capital letter. Scripts without capital letters may
/// name somebody anywhere.
pub(super) fn has_name(words: &str) -> bool {
    words.chars().any(is_ideograph)
        || words.split_whitespace().any(|word| {
            word.chars().next().is_some_and(char::is_uppercase) && word.chars().count() > 2
        })
}
