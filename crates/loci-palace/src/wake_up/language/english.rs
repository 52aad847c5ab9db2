//! The cues and labels of English.

use super::{Cue, Label, Language};

pub(super) const ENGLISH: Language = Language {
    cues: CUES,
    labels: LABELS,
};

#[rustfmt::skip]
const CUES: &[(Cue, &[&str])] = &[
    (Cue::Decision, &[
        "we decided", "we have decided", "we've decided", "decision", "decisions", "decided:",
        "decided that", "let's go with", "lets go with", "we go with", "we're going with",
        "i'm going with", "going with", "go with", "go ahead with", "we agreed", "agreed:", "agreed on",
        "it is decided", "settled on", "from now on", "from here on", "going forward", "as of today",
        "we'll use", "we will use", "we use", "we do it", "we will", "we keep", "we stay", "we stick",
        "let's keep", "let's use", "let's stick", "let's do", "let's stay", "let's move", "stick with",
        "stay with", "stays", "stay on", "switch to", "switching to", "moving to", "we move to",
        "moves to", "move to", "is the default", "are the default", "is our main", "our main",
        "that's final", "that's it", "scrap", "reverting", "mandatory", "parked until", "parked",
        "on hold", "no longer", "instead of", "off the table", "goes away", "final:", "signed off",
        "we settled", "we picked", "we chose", "i chose", "is canonical", "source of truth",
        "from here", "back to", "switching:", "new:", "ok'd", "okayed", "approved", "we take",
        "we stay with",
    ]),
    (Cue::Leaning, &[
        "then", "use", "keep", "drop", "skip", "make it", "option", "only", "both", "neither", "simple",
        "just",
    ]),
    (Cue::Rule, &[
        "don't", "do not", "dont", "must", "must not", "mustn't", "please don't", "remember",
        "remember:", "remember that", "no exceptions", "not allowed", "forbidden", "forbid", "forbids",
        "make sure", "avoid", "important:", "rule:", "convention:", "only through", "by hand only",
        "only by", "nobody else", "no one else", "under no circumstances", "has to stay",
        "have to stay", "without asking", "ask before", "tell me before", "ask me before",
        "ask me first", "keep our", "in english", "in german", "no pasting", "is final",
        "should always", "should never", "stop doing", "stop using", "not even", "free of", "be gentle",
        "hands off", "off limits", "style:", "in this repo", "in this project", "in this codebase",
        "in our repo", "everywhere", "write that down", "write this down", "note that down",
        "confidential", "no more",
    ]),
    (Cue::Frequency, &[
        "always", "never",
    ]),
    (Cue::Wish, &[
        "please", "pls", "only", "every", "once", "i want", "i like", "needs an", "at most", "at least",
        "no more than", "by default", "keep the", "keep that", "keep it", "only in",
    ]),
    (Cue::Task, &[
        "todo:", "to do:", "to-do", "open:", "still open", "open issue", "open point", "open question",
        "next:", "next step", "next steps", "action:", "action item", "actions:", "not done",
        "still missing", "still needs", "missing:", "remaining:", "left to do", "put it on the list",
        "somebody has to", "someone has to", "blocked by", "follow up", "follow-up", "don't forget",
        "dont forget", "fixme", "haven't done", "untouched", "not begun", "not started", "unfinished",
    ]),
    (Cue::Need, &[
        "needs to", "need to", "needs a", "has to", "have to", "must be", "we should", "due", "pending",
        "remains", "blocked", "have not", "waiting for", "not yet", "deadline", "milestone",
        "needs the",
    ]),
    (Cue::Done, &[
        "done", "closed", "finished", "fixed", "merged", "shipped", "released", "resolved", "settled",
        "complete", "completed", "solved", "works now", "is in", "in now", "green", "deployed",
        "implemented", "covers", "renewed", "ordered", "arrived", "installed", "replaced", "sent",
        "removed", "rotated", "migrated", "that one's", "nice, in", "can go", "works again", "verified",
        "closing", "fine again", "ok again", "is live", "are live", "live:",
    ]),
    (Cue::NotDone, &[
        "not done", "not yet", "not finished", "isn't done", "not fixed", "not merged", "not pushed",
        "unfinished", "not tested", "untested", "not enabled", "nothing wired", "not kept",
    ]),
    (Cue::Condition, &[
        "when", "before", "once", "if", "unless",
    ]),
    (Cue::Change, &[
        "from now on", "from here on", "instead", "instead of", "no longer", "anymore", "any more",
        "scrap", "revert*", "switch*", "moves to", "move to", "moving to", "moved to", "again",
        "forget", "rip", "goes away", "done with", "changed my mind", "off the table", "after all",
        "back to", "replace", "replaces", "replaced", "we drop", "drop the", "actually", "doesn't work",
        "doesnt work", "supersedes", "not anymore", "nightmare", "killing us", "is out", "void",
        "for everything", "too expensive", "too slow",
    ]),
    (Cue::Final, &[
        "in the end", "finally", "after all",
    ]),
    (Cue::Provisional, &[
        "for now", "for the moment", "temporarily",
    ]),
    (Cue::Yes, &[
        "yes", "yeah", "yep", "yup", "exactly", "agreed", "do it", "do that", "go for it", "go ahead",
        "sounds good", "sounds right", "fine by me", "let's do that", "let's go with that",
        "works for me", "makes sense", "please do", "lgtm", "deal",
    ]),
    (Cue::Okay, &[
        "ok", "okay", "sure", "nice", "great", "good", "fine", "right", "correct", "perfect",
    ]),
    (Cue::No, &[
        "no", "nope", "nah", "not", "absolutely not", "no way", "way too", "too fancy", "overkill",
        "lol no", "hell no", "please no", "don't", "rather not", "i'd rather", "reject", "rejected",
    ]),
    (Cue::Proposal, &[
        "i suggest", "i propose", "i'd propose", "i recommend", "i'd recommend", "recommend", "i would",
        "i'd", "i'd add", "should i", "shall i", "want me to", "would you like", "how about",
        "what about", "proposal", "my suggestion",
    ]),
    (Cue::Possible, &[
        "could", "might", "may help", "then", "so:", "would be", "would remove", "options", "option",
        "alternatives", "alternatively", "works without", "i could", "you could", "we could", "i can",
    ]),
    (Cue::Choice, &[
        "or", "vs", "versus", "yes or no", "should we", "should i", "shall we", "do we want", "which",
        "alternatives", "what would you do", "how should", "how do we", "what next", "options",
    ]),
    (Cue::Question, &[
        "what", "what's", "whats", "why", "how", "where", "when", "who", "which", "can you",
        "could you", "can we", "could we", "do you", "does", "did", "did we", "is there", "are there",
        "should", "shall", "would", "will you", "any idea", "is it", "are we", "have you", "has",
        "do we", "do i", "can i",
    ]),
    (Cue::Result, &[
        "done", "added", "i added", "fixed", "merged", "removed", "changed", "converted", "implemented",
        "created", "deployed", "migrated", "patched", "switched", "updated", "wrote", "built", "builds",
        "pushed", "committed", "passed", "green", "verified", "tested", "measured", "restored",
        "installed", "moved", "renamed", "replaced", "released", "clamped", "started", "finished",
        "generated", "configured", "disabled", "enabled", "reverted", "exported", "imported",
        "registered", "uploaded", "downloaded", "extended", "cleaned", "paired", "parsed", "rewrote",
        "rebuilt", "upgraded", "backfilled", "not yet", "untested", "not tested", "still", "regression",
        "local on", "not pushed", "i wrote", "i set", "i have not", "set to", "tests pass",
        "tests are green", "is green", "are green", "now", "set `",
    ]),
    (Cue::Role, &[
        "owner", "product owner", "lead", "tech lead", "team", "team:", "treasurer", "chair",
        "president", "manager", "maintainer", "reviewer", "reviewer:", "contact", "contact:",
        "contacts:", "customer", "client", "designer", "developer", "engineer", "operations", "ops",
        "dpo", "boss", "supervisor", "advisor", "professor", "prof.", "editor", "translator", "auditor",
        "auditor:", "wife", "husband", "partner", "colleague", "intern", "who is who", "people:",
        "stakeholder*", "is doing", "pm", "qa", "cto", "ceo", "coordinator", "curator", "librarian",
        "teacher", "doctor", "lawyer", "accountant", "our admin", "sysadmin", "on call", "publisher",
        "photographer", "volunteer*", "secretary", "director", "head of", "principal", "offline laptop",
        "my word", "his word", "her word",
    ]),
    (Cue::Duty, &[
        "owns", "maintains", "reviews", "signs", "signed by", "sign off", "signs off", "takes the",
        "takes over", "stands in", "hands over", "handles", "looks after", "responsible", "in charge",
        "approves", "runs the",
    ]),
    (Cue::Deadline, &[
        "by end of", "until", "till", "deadline", "due", "goes out", "freeze", "milestone", "launch",
        "release", "goal:", "goal", "target", "by the end", "expires",
    ]),
    (Cue::Contrast, &[
        "not", "no", "without", "instead",
    ]),
    (Cue::Trouble, &[
        "fail*", "error*", "crash*", "hang", "hangs", "hung", "break*", "broken", "wrong", "slow",
        "timeout*", "times out", "bug", "bugs", "annoying", "weird", "flaky", "lost", "burned", "burnt",
        "dead", "again broken", "worse",
    ]),
    (Cue::Idle, &[
        "never mind", "nevermind", "i remember", "do you remember", "remember me", "remember when",
        "you remember", "i always", "i never", "never hung", "never seen", "never happened",
        "it always", "it never", "always on", "as always", "like always", "decided to just",
        "i decided to", "never would have", "i'd rather be", "every single time", "every time i",
        "who cares", "why does", "every now", "almost always", "nearly always", "always forget",
        "lol same", "should we always", "forever", "i've decided to", "we always had", "used to",
    ]),
    (Cue::Undecided, &[
        "just thinking", "thinking out loud", "thinking about", "no wait", "don't know yet",
        "dont know yet", "not sure yet", "maybe some other", "maybe we should", "not sure", "no idea",
        "joking", "forget it", "let me think", "not decided", "undecided", "scratch that",
        "on second thought", "maybe one day", "some day", "someday", "one day maybe", "idea:", "ideas:",
        "might be nice", "would be nice",
    ]),
    (Cue::Draft, &[
        "polish", "proofread", "translate", "rewrite this", "this mail", "this email", "this e-mail",
        "this letter", "this text", "this paragraph", "reply to",
    ]),
    (Cue::Pronoun, &[
        "i", "it", "he", "she", "they", "that", "this", "my", "i'll", "i'm", "i've", "i'd", "it's",
        "he's", "she's", "they're", "that's", "there's",
    ]),
    (Cue::Chat, &[
        "thanks", "thank you", "thx", "ta", "cheers", "good night", "good morning", "morning", "hello",
        "hi", "hey", "bye", "see you", "you're a star", "well done", "cool", "wow", "ugh", "hm", "hmm",
        "k",
    ]),
    (Cue::Preference, &[
        "i prefer", "we prefer", "prefer", "i'd rather", "i would rather", "rather not", "i hate",
        "i don't want", "i don't like",
    ]),
    (Cue::Stop, &[
        "stop", "quit",
    ]),
    (Cue::Joke, &[
        "lol", "lmao", "rofl", "haha", "hahaha", "hehe", "xd", "just kidding", "kidding", "/s",
        "what could go wrong", "what could possibly go wrong", "yeah right", "yeah sure", "oh sure",
        "oh great", "oh joy", "just great", "how lovely",
    ]),
    (Cue::Praise, &[
        "great", "nice", "wonderful", "fantastic", "brilliant", "lovely", "awesome", "perfect",
    ]),
    (Cue::Myself, &[
        "i", "i'll", "i'm", "i've", "i'd", "my",
    ]),
];

#[rustfmt::skip]
const LABELS: &[(Label, &[&str])] = &[
    (Label::Decision, &[
        "decision", "decisions", "decided", "decision outcome", "agreed", "agreement", "agreements",
        "resolution", "resolved", "outcome",
    ]),
    (Label::Rule, &[
        "convention", "conventions", "rule", "rules", "principles", "policy", "policies", "guidelines",
        "style", "code style", "coding conventions", "house rules", "team rules", "preferences",
        "preference", "remember", "important", "note to self", "dos and don'ts", "working agreement",
        "working agreements",
    ]),
    (Label::Task, &[
        "todo", "todos", "to do", "to-do", "action", "actions", "action items", "next", "next step",
        "next steps", "open", "open items", "open points", "open questions", "open tasks", "tasks",
        "still missing", "missing", "still open", "remaining", "not done", "follow-ups", "blockers",
        "backlog",
    ]),
    (Label::Person, &[
        "people", "team", "contacts", "contact", "who is who", "who's who", "roles", "members",
        "maintainers", "owners", "stakeholders", "responsibilities",
    ]),
];
