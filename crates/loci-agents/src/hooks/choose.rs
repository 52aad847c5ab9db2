//! Chooses the drawers that are worth adding to a prompt. Nobody asked for them, so a drawer must be
//! relevant with a probability that a drawer of a search need not have: one wrong memory costs more
//! than ten missing ones.
//!
//! Only words are searched, because opening the vectors would take longer than a hook may. A filter
//! would, too. The search therefore takes the best of all drawers. Only if the best one does not
//! belong to the project, the project is searched on its own.

use loci_palace::search::{self, Hit};
use loci_palace::{Date, ErrorKind, Filter, KeyTest, Palace, Result, Selection};

use super::excerpt::beginning;

/// The minimum relevance of a drawer of the project, or of no project.
pub const MIN_RELEVANCE: f32 = 0.33;
/// The minimum relevance of a drawer of another project.
pub const MIN_RELEVANCE_ELSEWHERE: f32 = 0.6;
/// How many drawers are considered.
const CONSIDERED: usize = 8;
/// How many drawers of all projects are searched for.
const SEARCHED: usize = 20;
/// How much of a prompt is searched for. Long pasted text is not the question.
const QUERY_BYTES: usize = 600;

/// A prompt and its context.
#[derive(Debug, Clone)]
pub struct Prompt<'a> {
    /// The text.
    pub text: &'a str,
    /// The wing of the project in which it was typed. Without one, no drawer is of another project.
    pub wing: Option<&'a str>,
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
    /// How likely it is that the drawer helps with the prompt.
    pub relevance: f32,
    /// The relevance that it needs.
    pub needed: f32,
    /// Its wing, if that is another one than the wing of the prompt.
    pub elsewhere: Option<String>,
}

impl Candidate {
    /// Whether it is relevant enough.
    pub fn is_relevant(&self) -> bool {
        self.relevance >= self.needed
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
    let is_foreign = |hit: &Hit| is_own(hit) || elsewhere(hit).is_some();
    let here = match everywhere.first().filter(|best| is_foreign(best)) {
        Some(_) => find(palace, prompt, scope(prompt))?,
        None => everywhere.clone(),
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for hit in here.into_iter().chain(everywhere) {
        let is_known = candidates.iter().any(|other| other.hit.id == hit.id);
        let Some(details) = hit.details.as_ref().filter(|_| !is_known && !is_own(&hit)) else {
            continue;
        };
        let elsewhere = elsewhere(&hit);
        candidates.push(Candidate {
            relevance: details.relevance.probability(),
            needed: match elsewhere {
                Some(_) => MIN_RELEVANCE_ELSEWHERE,
                None => MIN_RELEVANCE,
            },
            elsewhere,
            hit,
        });
    }
    candidates.sort_by(|one, other| {
        let excess = |candidate: &Candidate| candidate.relevance - candidate.needed;
        excess(other).total_cmp(&excess(one))
    });
    candidates.truncate(CONSIDERED);
    Ok(candidates)
}

fn find(palace: &Palace, prompt: &Prompt<'_>, selection: Selection) -> Result<Vec<Hit>> {
    let found = palace.search(&search::Request {
        k: SEARCHED,
        selection,
        today: prompt.today,
        words_only: true,
        hits_only: true,
        ..search::Request::new(beginning(prompt.text.trim(), QUERY_BYTES))
    });
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        found => Ok(found?.hits),
    }
}

/// The drawers of the project without those of the session.
fn scope(prompt: &Prompt<'_>) -> Selection {
    let key = |key: &str, test| Filter::Key {
        key: key.into(),
        test,
    };
    let wing = prompt
        .wing
        .map(|wing| key("wing", KeyTest::Eq(wing.into())));
    let own = prompt
        .transcript
        .map(|own| key("source_file", KeyTest::Ne(own.into())));
    match (wing, own) {
        (Some(wing), Some(own)) => Selection::matching(Filter::And(vec![wing, own])),
        (Some(one), None) | (None, Some(one)) => Selection::matching(one),
        (None, None) => Selection::all(),
    }
}
