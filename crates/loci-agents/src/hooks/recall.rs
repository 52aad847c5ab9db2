//! Searches memory for some words in one session: drawers of the project and drawers without a
//! project, but not the session's own recent messages. The sessions of other projects are excluded.
//!
//! It searches by words only, because opening the vectors would take longer than a hook may. A
//! filter would, too. The search therefore takes the best of all drawers and drops those that do
//! not belong here.

use loci_palace::query::{self, Hit, Input as Question};
use loci_palace::{
    DEFAULT_COLLECTION, ErrorKind, Filter, Include, KeyTest, MetaValue, Palace, Result, Selection,
};

use super::input::Input;
use super::run::Call;

/// How many drawers of all projects are examined.
const MAX_CANDIDATES: usize = 40;
/// How many of the newest drawers of the project are searched if all hits belong to other projects.
const NEWEST: usize = 100;

/// Returns the best drawers for some words, the best first.
pub(super) fn recall(
    call: &Call,
    palace: &Palace,
    input: &Input,
    wing: &str,
    words: &str,
) -> Result<Vec<Hit>> {
    let transcript = input.transcript(&call.home.home);
    let own = transcript.map(|path| path.canonicalize().unwrap_or(path));
    let own = own.as_deref().and_then(|path| path.to_str());
    let value = |hit: &Hit, key: &str| match hit.metadata.0.get(key) {
        Some(MetaValue::Str(value)) => Some(value.clone()),
        _ => None,
    };
    let admits = |hit: &Hit| {
        value(hit, "wing").is_none_or(|there| there == wing)
            && (own.is_none() || value(hit, "source_file").as_deref() != own)
    };
    let mut hits = find(palace, words, Selection::all())?;
    let is_crowded = hits.len() >= MAX_CANDIDATES;
    hits.retain(admits);
    if hits.is_empty() && is_crowded {
        let here = Filter::Key {
            key: "wing".into(),
            test: KeyTest::Eq(wing.into()),
        };
        hits = newest(palace, &Selection::matching(here), words)?;
        hits.retain(admits);
    }
    Ok(hits)
}

fn find(palace: &Palace, words: &str, selection: Selection) -> Result<Vec<Hit>> {
    let found = palace.query(&query::Request {
        k: MAX_CANDIDATES,
        selection,
        ..query::Request::new(Question::Words(words.to_owned()))
    });
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        found => Ok(found?.hits),
    }
}

/// Searches the newest drawers of a selection.
fn newest(palace: &Palace, selection: &Selection, words: &str) -> Result<Vec<Hit>> {
    // The verb `list` also counts all drawers of the selection, which takes too long for a hook.
    let collection = palace.collection(DEFAULT_COLLECTION, false)?;
    let found = collection.get_recent(NEWEST, selection, Include::NONE)?;
    if found.ids.is_empty() {
        return Ok(Vec::new());
    }
    find(palace, words, Selection::ids(found.ids))
}
