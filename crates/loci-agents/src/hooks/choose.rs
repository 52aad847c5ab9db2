//! Chooses the drawers that are worth adding to a prompt. Nobody asked for them, so a drawer must be
//! more relevant than the hit of a search: one wrong memory costs more than ten missing ones.
//!
//! Only words are searched, because opening the vectors would take longer than a hook may. The first
//! search takes the best of all drawers. If some of them belong to other projects, the project is
//! searched by itself as well: how relevant a drawer is depends on how many others it competes with.

use loci_palace::search::{self, Hit};
use loci_palace::{
    DEFAULT_COLLECTION, Date, ErrorKind, Filter, Palace, Result, Selection, rarity_of,
};

use super::excerpt::beginning;
use super::inject::place;

/// The minimum relevance of a drawer of the project, or of no project.
pub const MIN_RELEVANCE: f32 = 0.5;
/// The minimum relevance of a drawer of another project.
pub const MIN_RELEVANCE_ELSEWHERE: f32 = 0.9;
/// The minimum likelihood that a drawer which is not relevant itself replaces one that is.
const MIN_LIKELIHOOD: f32 = 0.2;
/// How many drawers are considered.
const CONSIDERED: usize = 8;
/// How many drawers of all projects are searched for.
const SEARCHED: usize = 40;
/// How much of a prompt is read. Long pasted text is not the question.
const READ_BYTES: usize = 600;
/// How many words of a prompt are searched for: the rarest ones. A word that occurs in most drawers
/// costs 4 ms per 100,000 of them.
const SEARCHED_WORDS: usize = 16;

/// A prompt and its context.
#[derive(Debug, Clone)]
pub struct Prompt<'a> {
    /// The text.
    pub text: &'a str,
    /// The wing of the project in which it was typed. Without one, no drawer is of another project.
    pub wing: Option<&'a str>,
    /// Whether drawers of other wings may be chosen, if they match strongly and the wing has nothing.
    pub other_wings: bool,
    /// The transcript of the session. Its drawers are not added, because the agent knows them.
    pub transcript: Option<&'a str>,
    /// The day on which it was typed.
    pub today: Date,
}

/// A drawer that was considered.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The drawer.
    pub hit: Hit,
    /// How relevant the drawer is to the prompt, from 0 to 1.
    pub relevance: f32,
    /// The relevance that it needs.
    pub needed: f32,
    /// Its wing, if that is another one than the wing of the prompt.
    pub elsewhere: Option<String>,
    /// Whether it is added because it seems to replace a relevant drawer.
    pub is_later: bool,
    /// The title of its conversation.
    pub title: Option<String>,
}

impl Candidate {
    /// Its file and line, or its session and date. Paths below `folder` are relative to it.
    pub fn place(&self, folder: &str) -> String {
        place(self, folder, 0)
    }

    /// The words of the prompt that it contains.
    pub fn matched_words(&self) -> &[String] {
        let details = self.hit.details.as_ref();
        details.map_or(&[], |details| &details.matched_words)
    }

    fn likelihood_of_later(&self) -> f32 {
        let later = self
            .hit
            .details
            .as_ref()
            .and_then(|details| details.later_drawer.as_ref());
        later.map_or(0.0, |later| later.likelihood)
    }

    /// Whether it is relevant enough, or seems to replace a drawer that is.
    pub fn is_relevant(&self) -> bool {
        self.is_later || self.relevance >= self.needed
    }
}

/// Whether a prompt is a command to the agent's program, which is not searched for.
pub fn is_command(prompt: &str) -> bool {
    prompt.trim_start().starts_with(['/', '!', '#'])
}

/// Returns the drawers that could be added to a prompt, the best first, whether they are relevant
/// enough or not.
pub fn choose(palace: &Palace, prompt: &Prompt<'_>) -> Result<Vec<Candidate>> {
    if is_command(prompt.text) {
        return Ok(Vec::new());
    }
    let everywhere = find(palace, prompt, Selection::all())?;
    let is_own = |hit: &Hit| {
        let source = hit.source.value().map(String::as_str);
        source.is_some() && source == prompt.transcript
    };
    let elsewhere = |hit: &Hit| {
        let wing = hit.wing.value()?;
        prompt
            .wing
            .is_some_and(|here| here != wing)
            .then(|| wing.clone())
    };
    // Beside drawers of other projects, those of this one would seem less relevant than they are.
    let here = match prompt.wing {
        Some(wing) if everywhere.iter().any(|hit| elsewhere(hit).is_some()) => find(
            palace,
            prompt,
            Selection::matching(Filter::eq("wing", wing)),
        )?,
        _ => Vec::new(),
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for hit in here.into_iter().chain(everywhere) {
        let is_known = candidates.iter().any(|other| other.hit.id == hit.id);
        let Some(details) = hit.details.as_ref().filter(|_| !is_known && !is_own(&hit)) else {
            continue;
        };
        let elsewhere = elsewhere(&hit);
        if elsewhere.is_some() && !prompt.other_wings {
            continue;
        }
        candidates.push(Candidate {
            relevance: details.relevance.value(),
            needed: match elsewhere {
                Some(_) => MIN_RELEVANCE_ELSEWHERE,
                None => MIN_RELEVANCE,
            },
            elsewhere,
            is_later: false,
            title: None,
            hit,
        });
    }
    // Other projects are of interest only if this one has nothing to say.
    let is_relevant_here = |one: &Candidate| one.elsewhere.is_none() && one.is_relevant();
    if candidates.iter().any(is_relevant_here) {
        candidates.retain(|one| one.elsewhere.is_none());
    }
    candidates.sort_by(|one, other| {
        let excess = |candidate: &Candidate| candidate.relevance - candidate.needed;
        excess(other).total_cmp(&excess(one))
    });
    let mut candidates = later_first(candidates, is_own);
    candidates.truncate(CONSIDERED);
    // Reading a title takes as long as reading a few drawers, so only what may be added has one.
    for candidate in candidates.iter_mut().filter(|one| one.is_relevant()) {
        if let Some(details) = &candidate.hit.details {
            candidate.title = palace.title_of(DEFAULT_COLLECTION, &details.metadata)?;
        }
    }
    Ok(candidates)
}

/// Puts the later statement before each relevant one that it seems to replace. The agent gets both:
/// only a person knows which of them holds.
fn later_first(candidates: Vec<Candidate>, is_own: impl Fn(&Hit) -> bool) -> Vec<Candidate> {
    let mut ordered: Vec<Candidate> = Vec::with_capacity(candidates.len() + 2);
    let mut rest = candidates;
    while !rest.is_empty() {
        let candidate = rest.remove(0);
        let is_known = |id: &str| ordered.iter().any(|other| other.hit.id == id);
        let later = candidate.hit.later.as_deref();
        if let Some(id) = later.filter(|id| candidate.is_relevant() && !is_known(id)) {
            let likelihood = candidate.likelihood_of_later();
            let listed = rest.iter().position(|other| other.hit.id == id);
            let later = match listed {
                Some(at) => Some(rest.remove(at)),
                None => candidate.hit.later_hit().map(|hit| Candidate {
                    relevance: 0.0,
                    hit,
                    ..candidate.clone()
                }),
            };
            let is_added = |later: &Candidate| {
                (later.is_relevant() || likelihood >= MIN_LIKELIHOOD) && !is_own(&later.hit)
            };
            let later = later.filter(is_added);
            ordered.extend(later.map(|later| Candidate {
                is_later: true,
                ..later
            }));
        }
        ordered.push(candidate);
    }
    ordered
}

fn find(palace: &Palace, prompt: &Prompt<'_>, selection: Selection) -> Result<Vec<Hit>> {
    let found = palace.search(&search::Request {
        k: SEARCHED,
        selection,
        today: prompt.today,
        unasked: true,
        ..search::Request::new(query_of(prompt.text))
    });
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        found => Ok(found?.hits),
    }
}

/// The part of a prompt that is searched for: all of it, or the rarest words if there are many.
fn query_of(prompt: &str) -> String {
    let prompt = beginning(prompt.trim(), READ_BYTES);
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '\'';
    let words = prompt.split(|letter| !is_part(letter));
    let mut words: Vec<(usize, &str, f32)> = words
        .enumerate()
        .map(|(at, word)| (at, word, rarity_of(word)))
        .filter(|(_, _, rarity)| *rarity > 0.0)
        .collect();
    if words.len() <= SEARCHED_WORDS {
        return prompt.to_owned();
    }
    words.sort_by(|one, other| other.2.total_cmp(&one.2));
    words.truncate(SEARCHED_WORDS);
    words.sort_by_key(|word| word.0);
    let words: Vec<&str> = words.into_iter().map(|word| word.1).collect();
    words.join(" ")
}
