//! Composes the text that is added to a prompt: for each drawer the passage around the words of the
//! prompt, with the place that it comes from.

use loci_palace::{Fence, Metadata, count_tokens, quoted};
use serde::Serialize;

use super::choose::Candidate;
use super::excerpt::excerpt;
use super::place::Place;

/// The token limit of one passage.
const PASSAGE_TOKENS: usize = 160;
/// How many passages are added.
const MAX_PASSAGES: usize = 3;

/// The text that is added to a prompt.
#[derive(Debug, Clone)]
pub struct Injection {
    /// The text for the model.
    pub text: String,
    /// The passages in it.
    pub passages: Vec<Passage>,
}

impl Injection {
    pub(super) fn drawers(&self) -> Vec<String> {
        let passages = self.passages.iter();
        passages.map(|passage| passage.drawer.clone()).collect()
    }
}

/// One passage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    /// The id of the drawer.
    pub drawer: String,
    /// Its file and line, or its session and date.
    pub place: String,
    /// Its wing, if that is another one than the wing of the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wing: Option<String>,
    /// How relevant the drawer is to the prompt, from 0 to 1.
    pub relevance: f32,
    /// The text of the passage.
    pub text: String,
}

/// Composes the text of some drawers; `None` if there are none, or if not even one passage fits the
/// limit. Paths below `folder` are relative to it.
pub fn inject(
    relevant: &[&Candidate],
    wing: &str,
    folder: &str,
    budget: usize,
) -> Option<Injection> {
    let fence = Fence::new();
    let mut text = format!(
        "From Loci's memory of {}, possibly related to the prompt. {}",
        quoted(wing),
        fence.meaning()
    );
    let mut tokens = count_tokens(&text);
    let mut passages: Vec<Passage> = Vec::new();
    for candidate in relevant {
        let hit = &candidate.hit;
        let is_repeated = passages.iter().any(|other| hit.text.contains(&other.text));
        if is_repeated || passages.len() == MAX_PASSAGES {
            continue;
        }
        let header = |line, is_cut| header(candidate, folder, line, is_cut);
        let empty = count_tokens(&fence.recalled(&header(0, true), ""));
        let room = budget.saturating_sub(tokens + empty).min(PASSAGE_TOKENS);
        let passage = excerpt(&hit.text, candidate.matched_words(), room);
        if passage.text.trim().is_empty() {
            break;
        }
        let fenced = fence.recalled(&header(passage.line, passage.is_cut), &passage.text);
        let cost = count_tokens(&fenced);
        if tokens + cost > budget {
            break;
        }
        tokens += cost;
        text.push('\n');
        text.push_str(&fenced);
        passages.push(Passage {
            drawer: hit.id.clone(),
            place: place(candidate, folder, passage.line),
            wing: candidate.elsewhere.clone(),
            relevance: candidate.relevance,
            text: passage.text,
        });
    }
    (!passages.is_empty()).then_some(Injection { text, passages })
}

/// The first line of a passage.
fn header(candidate: &Candidate, folder: &str, line: usize, is_cut: bool) -> String {
    let mut header = format!("drawer {}", candidate.hit.id);
    if is_cut {
        header.push_str(", in part");
    }
    if let Some(wing) = &candidate.elsewhere {
        header.push_str(", from another project, ");
        header.push_str(&quoted(wing));
    }
    header.push_str(", ");
    header.push_str(&place(candidate, folder, line));
    header
}

/// Returns the place of a passage that begins `line` lines below the beginning of its drawer.
pub(super) fn place(candidate: &Candidate, folder: &str, line: usize) -> String {
    let hit = &candidate.hit;
    let empty = Metadata::default();
    let metadata = hit.details.as_ref().map(|details| &details.metadata);
    let place = Place {
        metadata: metadata.unwrap_or(&empty),
        title: candidate.title.as_deref(),
        day: &hit.date,
        folder,
        line,
    };
    place.describe()
}
