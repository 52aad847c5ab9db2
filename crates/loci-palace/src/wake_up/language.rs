//! The words by which statements are recognised, one file for each language. The language of a text
//! is not detected: all cues apply to every text, so that a person may mix languages.
//!
//! A cue is a word or some words in lower case. It matches whole words; `*` at its end matches the
//! beginning of a word. Chinese cues match anywhere, because Chinese has no spaces.

mod chinese;
mod english;
mod french;
mod german;
mod russian;
mod spanish;

/// The words of one language.
pub(super) struct Language {
    /// Words that mark the sentence that contains them.
    pub(super) cues: &'static [(Cue, &'static [&'static str])],
    /// Headings, and words before a colon, that announce what follows.
    pub(super) labels: &'static [(Label, &'static [&'static str])],
}

/// All languages. A new one is a file and a line here.
pub(super) const LANGUAGES: [Language; 6] = [
    english::ENGLISH,
    german::GERMAN,
    russian::RUSSIAN,
    spanish::SPANISH,
    french::FRENCH,
    chinese::CHINESE,
];

/// What a word marks the sentence as that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// A decision.
    Decision,
    /// A decision if the sentence answers a question or a proposal.
    Leaning,
    /// A rule.
    Rule,
    /// A preference of the user.
    Preference,
    /// A rule if it opens the sentence.
    Stop,
    /// Always or never. It is a rule, unless the sentence describes what happens.
    Frequency,
    /// A wish, which is weaker than a rule.
    Wish,
    /// Something that is to be done.
    Task,
    /// Something that is missing, which is weaker than a task.
    Need,
    /// Something is done.
    Done,
    /// Something is not done: `Done` in the same sentence does not count.
    NotDone,
    /// It holds only if something else does.
    Condition,
    /// It replaces an earlier statement.
    Change,
    /// With a number, it is a decision.
    Final,
    /// It holds for a while only.
    Provisional,
    /// An answer that agrees.
    Yes,
    /// A word that may agree, or only acknowledge.
    Okay,
    /// An answer that disagrees.
    No,
    /// A proposal, of an assistant.
    Proposal,
    /// Something that an assistant calls possible.
    Possible,
    /// A question between two things.
    Choice,
    /// The beginning of a question without a question mark.
    Question,
    /// A result of work, of an assistant.
    Result,
    /// What a person is.
    Role,
    /// What a person is responsible for.
    Duty,
    /// A date by which something happens.
    Deadline,
    /// What is not wanted beside what is wanted.
    Contrast,
    /// Something does not work: `always` and `never` are no rules beside it.
    Trouble,
    /// Another sense of a cue, or small talk.
    Idle,
    /// A joke or irony.
    Joke,
    /// Praise; irony if it opens a sentence about something that went wrong.
    Praise,
    /// Nothing is decided yet.
    Undecided,
    /// A text that the assistant is asked to improve follows.
    Draft,
    /// The subject of a sentence that describes something.
    Pronoun,
    /// The user as the subject: a plan or a feeling, not a rule.
    Myself,
    /// Thanks and the like, which may stand beside a statement.
    Chat,
}

/// What a heading or a word before a colon announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Decision,
    Rule,
    Task,
    Person,
}
