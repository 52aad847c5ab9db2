//! What memory holds of some words, for one session: drawers of the project and drawers that belong
//! nowhere, but not what was just said in the session itself. What another project's sessions said
//! stays there.
//!
//! By words alone: opening the vectors would cost more than a hook may. A filter would, too; so all
//! drawers are asked for the best, and those that do not belong here are passed over.

use loci_palace::query::{self, Hit, Input as Question};
use loci_palace::{
    DEFAULT_COLLECTION, ErrorKind, Filter, Include, KeyTest, MetaValue, Palace, Result, Selection,
};

use super::input::Input;
use super::run::Call;

/// Drawers that are looked at, of all projects.
const CROWD: usize = 40;
/// Drawers of the project that are looked at where others have all of those: the newest. A word
/// search among them would cost as much as one of everything.
const NEWEST: usize = 100;

/// The best drawers for some words, the best first.
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
    let said = |hit: &Hit, key: &str| match hit.metadata.0.get(key) {
        Some(MetaValue::Str(value)) => Some(value.clone()),
        _ => None,
    };
    let admits = |hit: &Hit| {
        said(hit, "wing").is_none_or(|there| there == wing)
            && (own.is_none() || said(hit, "source_file").as_deref() != own)
    };
    let found = palace.query(&query::Request {
        k: CROWD,
        ..query::Request::new(Question::Words(words.to_owned()))
    });
    let mut hits = match found {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?.hits,
    };
    let is_crowded = hits.len() >= CROWD;
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

/// The newest drawers, those with most of the words first.
fn newest(palace: &Palace, selection: &Selection, words: &str) -> Result<Vec<Hit>> {
    let include = Include {
        documents: true,
        metadatas: true,
        ..Include::NONE
    };
    // The verb `list` also counts all drawers of the selection, which a hook has no time for.
    let collection = palace.collection(DEFAULT_COLLECTION, false)?;
    let found = collection.get_recent(NEWEST, selection, include)?;
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let drawers = found.ids.into_iter().zip(found.documents);
    let mut hits: Vec<Hit> = drawers
        .zip(found.metadatas)
        .map(|((id, document), metadata)| {
            let text = document.to_lowercase();
            let held = words.iter().filter(|word| text.contains(word.as_str()));
            let score = held.count() as f64;
            Hit::new(id, document, metadata, score)
        })
        .filter(|hit| hit.score > 0.0)
        .collect();
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ok(hits)
}

/// The day on which a drawer was said or written, if it is known.
pub(super) fn day_of(hit: &Hit) -> Option<&str> {
    match hit.metadata.0.get("authored_at") {
        Some(MetaValue::Str(moment)) => moment.get(..10),
        _ => None,
    }
}
