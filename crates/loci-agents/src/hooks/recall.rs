//! What memory holds of some words, for one session: drawers of the project and drawers that belong nowhere, but not what was
//! just said in the session itself. What another project's sessions said stays there.
//!
//! By words alone: opening the vectors would cost more than a hook may. A filter would, too; so all drawers are asked for the
//! best, and those that do not belong here are passed over.

use loci_palace::{
    DEFAULT_COLLECTION, ErrorKind, Filter, KeyTest, LexicalHit, MetaValue, Palace, Result,
    Selection,
};

use super::input::Input;
use super::run::Call;

/// Drawers that are looked at, of all projects.
const CROWD: usize = 40;
/// Drawers that are looked at where other projects have all of those.
const FEW: usize = 8;

/// The best drawers for some words, the best first.
pub(super) fn recall(
    call: &Call,
    palace: &Palace,
    input: &Input,
    wing: &str,
    words: &str,
) -> Result<Vec<LexicalHit>> {
    let collection = match palace.collection(DEFAULT_COLLECTION, false) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let transcript = input.transcript(&call.home.home);
    let own = transcript.map(|path| path.canonicalize().unwrap_or(path));
    let own = own.as_deref().and_then(|path| path.to_str());
    let said = |hit: &LexicalHit, key: &str| match hit.metadata.0.get(key) {
        Some(MetaValue::Str(value)) => Some(value.clone()),
        _ => None,
    };
    let admits = |hit: &LexicalHit| {
        said(hit, "wing").is_none_or(|there| there == wing)
            && (own.is_none() || said(hit, "source_file").as_deref() != own)
    };
    let mut hits = collection
        .lexical_search(words, CROWD, &Selection::all())?
        .hits;
    let is_crowded = hits.len() >= CROWD;
    hits.retain(admits);
    if hits.is_empty() && is_crowded {
        let here = Filter::Key {
            key: "wing".into(),
            test: KeyTest::Eq(wing.into()),
        };
        hits = collection
            .lexical_search(words, FEW, &Selection::matching(here))?
            .hits;
        hits.retain(admits);
    }
    Ok(hits)
}

/// The day on which a drawer was said or written, if it is known.
pub(super) fn day_of(hit: &LexicalHit) -> Option<&str> {
    match hit.metadata.0.get("authored_at") {
        Some(MetaValue::Str(moment)) => moment.get(..10),
        _ => None,
    }
}
