//! Leaves out what no longer holds: statements that a later one replaces, tasks that were done, and
//! repetitions.

use loci_recall::date_of;

use super::statement::{Evidence, Form, Kind, Recognised, Statement};

/// From this weight on, a later statement is about the same thing.
const SAME: f32 = 2.0;
/// A title of more sessions than this is not about their topic.
const SAME_TITLE: usize = 4;
/// From this share of common words on, two statements mean the same.
const REPEATED: f32 = 0.7;

/// Removes the statements that no longer hold. Returns the tasks among them.
pub(super) fn revise(recognised: &mut Recognised) -> Vec<String> {
    let kept: Vec<bool> = recognised
        .statements
        .iter()
        .map(|statement| !recognised.is_replaced(statement) && !recognised.is_done(statement))
        .collect();
    let (mut kept, mut settled) = (kept.into_iter(), Vec::new());
    recognised.statements.retain(|statement| {
        let is_kept = kept.next().unwrap_or(true);
        if !is_kept && statement.kind == Kind::Task {
            settled.push(statement.text.clone());
        }
        is_kept
    });
    settled
}

impl Recognised {
    /// Whether a later statement, of another session or note, is about the same thing.
    fn is_replaced(&self, earlier: &Statement) -> bool {
        let same = if earlier.about.is_record {
            SAME + 1.0
        } else {
            SAME
        };
        let is_revised = matches!(earlier.kind, Kind::Decision | Kind::Note | Kind::Request)
            && self.revisions.iter().any(|revision| {
                let shared = self
                    .frequencies
                    .shared(&earlier.about.topic, &revision.topic);
                if revision.unit == earlier.about.unit {
                    return revision.turn > earlier.about.turn && shared >= same;
                }
                // A file without a date is neither earlier nor later.
                earlier.moment > 0 && revision.moment > earlier.moment && shared >= same
            });
        is_revised
            || self.is_ended(earlier)
            || self.statements.iter().any(|later| {
                let is_dated = (later.moment > 0) == (earlier.moment > 0);
                let is_later = is_dated
                    && (later.moment, later.about.unit) > (earlier.moment, earlier.about.unit);
                is_later
                    && later.about.unit != earlier.about.unit
                    && (self.replaces(later, earlier) || self.repeats(later, earlier))
            })
    }

    /// Whether a decision agrees with a fact that has ended since.
    fn is_ended(&self, earlier: &Statement) -> bool {
        let day = date_of(earlier.moment);
        earlier.kind == Kind::Decision
            && earlier.moment > 0
            && self.ended.iter().any(|ended| {
                let shared = earlier.about.topic.common(&ended.topic);
                // The statement of the last day may be the one that ended it.
                let is_before = day.get(..10).unwrap_or_default() < ended.until.as_str();
                is_before
                    && shared > 0
                    && shared * 2 >= ended.topic.len().min(4)
                    && earlier.about.topic.common(&ended.now) == 0
            })
    }

    fn replaces(&self, later: &Statement, earlier: &Statement) -> bool {
        if earlier.kind == Kind::Outcome {
            return later.kind == Kind::Outcome && self.is_same_title(later, earlier);
        }
        let holds = |kind| matches!(kind, Kind::Decision | Kind::Rule | Kind::Note);
        if !holds(later.kind) || !holds(earlier.kind) {
            return false;
        }
        let own = self
            .frequencies
            .shared(&earlier.about.topic, &later.about.topic);
        let shared = self
            .frequencies
            .shared(&earlier.about.topic, &later.about.context);
        let same_title = self.is_same_title(later, earlier);
        let both_numbers = later.about.has_number && earlier.about.has_number;
        if !(later.about.changes || same_title) {
            return own >= 3.0 && both_numbers;
        }
        if same_title && later.kind == Kind::Decision && earlier.kind == Kind::Decision {
            return true;
        }
        let about = shared + if both_numbers && same_title { 1.0 } else { 0.0 };
        let least = if same_title { 1.0 } else { 1.5 };
        if about < least {
            return false;
        }
        let needed = if earlier.kind == Kind::Rule {
            SAME + 1.0
        } else {
            SAME
        };
        about + f32::from(u8::from(later.about.changes)) + f32::from(u8::from(same_title)) >= needed
    }

    /// Whether two statements of one kind have mostly the same words.
    fn repeats(&self, later: &Statement, earlier: &Statement) -> bool {
        let least = earlier.about.topic.len().min(later.about.topic.len());
        later.kind == earlier.kind
            && least >= 3
            && self
                .frequencies
                .shared(&earlier.about.topic, &later.about.topic)
                >= REPEATED * least as f32
    }

    /// Whether a task was reported as done later, or the end of a rule that holds until then.
    fn is_done(&self, task: &Statement) -> bool {
        (task.kind == Kind::Task || task.kind == Kind::Rule && task.about.is_temporary)
            && self
                .evidence
                .iter()
                .any(|evidence| self.is_evidence_of(evidence, task))
    }

    fn is_evidence_of(&self, evidence: &Evidence, task: &Statement) -> bool {
        let about = &task.about;
        let is_later = evidence.moment > task.moment && task.moment > 0;
        let common = about.topic.common(&evidence.topic);
        match evidence.form {
            Form::Report => {}
            // A later note with almost all words of the task is about its result.
            Form::Mention => {
                return is_later && common >= 3 && common * 4 >= about.topic.len() * 3;
            }
            // A request that has no other words than the task asks for it.
            Form::Request => {
                return is_later
                    && evidence.unit != about.unit
                    && common >= 2
                    && common == evidence.topic.len();
            }
        }
        if evidence.unit == about.unit {
            let shared = self.frequencies.shared(&about.topic, &evidence.topic);
            return evidence.turn > about.turn && (evidence.is_users || shared >= 1.0);
        }
        if !is_later {
            return false;
        }
        let in_sentence = self.frequencies.shared(&about.topic, &evidence.topic);
        let Some(unit) = self.units.get(evidence.unit) else {
            return false;
        };
        let in_unit = self.frequencies.shared(&about.topic, unit);
        // A short sentence is about the task if most of its words are.
        let is_about = in_sentence >= 1.0 && in_sentence * 2.0 >= evidence.topic.len() as f32;
        // "Done with that one" is about the text around it.
        let is_reference = evidence.topic.len() <= 1;
        let needed = if evidence.is_users && (in_sentence > 0.0 || is_reference) {
            2.0
        } else {
            3.0
        };
        is_about && evidence.is_users || in_sentence >= 2.0 || in_unit >= needed
    }

    /// Whether two statements are of sessions with the same title. A title that many sessions have,
    /// such as "New session", does not count.
    fn is_same_title(&self, one: &Statement, other: &Statement) -> bool {
        let title = &one.about.title;
        !title.is_empty()
            && *title == other.about.title
            && self
                .titles
                .get(title)
                .is_some_and(|sessions| *sessions <= SAME_TITLE)
    }
}
