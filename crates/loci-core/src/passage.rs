//! Data that a backend derives from a drawer when it writes it, so that a search can rank the
//! drawer without reading its text.
//!
//! Every backend derives the same data from the same text and metadata, so equal drawers get equal
//! scores in every store. Each backend decides how to store it.

use loci_text::{IndexTerms, Tokenizer};
use xxhash_rust::xxh3::xxh3_64;

use crate::metadata::{MetaValue, Metadata};

/// Maximum number of tokens that are read from a text, and of distinct tokens that are kept.
const READ_TOKENS: usize = 8_192;
const KEPT_TOKENS: usize = 1_024;

/// The search data of one drawer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passage {
    /// Number of its source, if it has one. The name of the source cannot be derived from it.
    pub source: Option<u64>,
    /// Its first line in the source.
    pub line: i64,
    /// When the text was said or written, if the metadata has a date. For a drawer without a date,
    /// the time of adding counts.
    pub authored_at: Option<i64>,
    /// Number of its terms.
    pub length: u32,
    /// Terms of the speaker's name, separated by spaces.
    pub label: String,
    /// Distinct WordPiece tokens, ascending.
    pub tokens: Vec<u16>,
}

/// The part of a [`Passage`] that is expensive to derive. A backend computes it before its
/// transaction begins.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    /// The context it was prepared with.
    pub context: String,
    /// The terms of the text and of the context, separated by spaces, as the postings store them.
    pub joined: String,
    length: u32,
    tokens: Vec<u16>,
}

impl Prepared {
    /// Derives terms and tokens of a text and its [`context`].
    pub fn of(text: &str, context: String) -> Self {
        let IndexTerms { joined, count } = terms(text, &context);
        Self {
            joined,
            length: u32::try_from(count).unwrap_or(u32::MAX),
            tokens: tokens(text, &context),
            context,
        }
    }
}

impl Passage {
    /// The passage of a prepared text. `collection` keeps the sources of different collections
    /// apart. A drawer without text has neither terms nor tokens.
    pub fn of(
        collection: i64,
        text: Option<&str>,
        prepared: Option<&Prepared>,
        metadata: &Metadata,
    ) -> Self {
        Self {
            source: source(collection, metadata),
            line: line(metadata),
            authored_at: metadata.authored_at(),
            length: prepared.map_or(0, |prepared| prepared.length),
            label: label(text, metadata),
            tokens: prepared.map_or_else(Vec::new, |prepared| prepared.tokens.clone()),
        }
    }

    /// The passage of a drawer, derived in one step.
    pub fn derive(collection: i64, text: Option<&str>, metadata: &Metadata) -> Self {
        let prepared = text.map(|text| Prepared::of(text, context(metadata)));
        Self::of(collection, text, prepared.as_ref(), metadata)
    }
}

/// The [`label`] of what a user says in a chat.
pub const USER: &str = "user";
/// The [`label`] of what an assistant says in a chat.
pub const ASSISTANT: &str = "assist";

/// The terms of the speaker's name, separated by spaces: the metadata `speaker`, else `role` (`user`
/// or `assistant` in a chat), else a name at the start of the text. A turn of a chat often begins
/// with a word and a colon that is no name, so its role comes before that.
pub fn label(text: Option<&str>, metadata: &Metadata) -> String {
    let speaker = metadata
        .get_str("speaker")
        .or_else(|| metadata.get_str("role"))
        .or_else(|| text.and_then(loci_text::opening_label));
    speaker.map_or_else(String::new, |name| loci_text::index_terms(name).joined)
}

/// The text by which a mined drawer is found in addition to its own: the name of its file and the
/// headings above it. Other drawers have none. An exchange of a conversation has no file name,
/// because such files are named by a number.
pub fn context(metadata: &Metadata) -> String {
    let mined = ["start_line", "end_line"]
        .iter()
        .all(|key| matches!(metadata.get(key), Some(MetaValue::Int(_))));
    let Some(file) = metadata.get_str("source_file").filter(|_| mined) else {
        return String::new();
    };
    let heading = metadata.get_str("heading").unwrap_or_default();
    if metadata.get("exchange").is_some() {
        return heading.to_owned();
    }
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{name}\n{heading}")
}

/// The terms of a drawer in the postings: those of its text, then those of its [`context`].
pub fn terms(text: &str, context: &str) -> IndexTerms {
    let mut terms = loci_text::index_terms(text);
    if !context.is_empty() {
        let beside = loci_text::index_terms(context);
        if !beside.joined.is_empty() {
            if !terms.joined.is_empty() {
                terms.joined.push(' ');
            }
            terms.joined.push_str(&beside.joined);
        }
        terms.count += beside.count;
    }
    terms
}

fn source(collection: i64, metadata: &Metadata) -> Option<u64> {
    let file = metadata.get_str("source_file").unwrap_or_default();
    if file.is_empty() {
        return None;
    }
    let wing = metadata.get_str("wing").unwrap_or_default();
    let name = format!("{collection}\0{wing}\0{file}");
    Some(xxh3_64(name.as_bytes()) | 1)
}

fn line(metadata: &Metadata) -> i64 {
    use MetaValue::{Bool, Float, Int, List, Str};
    match metadata.get("start_line") {
        Some(Int(line)) => *line,
        Some(Float(line)) => *line as i64,
        Some(Str(line)) => line.parse().unwrap_or(0),
        Some(Bool(_) | List(_)) | None => 0,
    }
}

fn tokens(text: &str, context: &str) -> Vec<u16> {
    let mut ids = Vec::new();
    Tokenizer::builtin().encode_up_to(text, READ_TOKENS, &mut ids);
    if !context.is_empty() {
        Tokenizer::builtin().encode_up_to(context, READ_TOKENS, &mut ids);
    }
    let mut seen = vec![false; usize::from(u16::MAX) + 1];
    ids.retain(|id| {
        seen.get_mut(usize::from(*id))
            .is_some_and(|seen| !std::mem::replace(seen, true))
    });
    ids.truncate(KEPT_TOKENS);
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(json: &serde_json::Value) -> Metadata {
        Metadata::from_json(json).unwrap()
    }

    #[test]
    fn only_a_mined_drawer_is_found_by_its_file_name_and_headings() {
        let mined = serde_json::json!({
            "source_file": "/notes/boiler.md", "start_line": 1, "end_line": 2, "heading": "Repairs"
        });
        assert_eq!(context(&meta(&mined)), "boiler.md\nRepairs");
        let added = serde_json::json!({"source_file": "/notes/boiler.md", "heading": "Repairs"});
        assert_eq!(context(&meta(&added)), "");
    }

    #[test]
    fn a_source_is_distinguished_by_collection_wing_and_file() {
        let of = |collection, wing: &str, file: &str| {
            let metadata = meta(&serde_json::json!({"wing": wing, "source_file": file}));
            Passage::derive(collection, None, &metadata).source
        };
        let one = of(1, "w", "f");
        assert!(one.is_some());
        assert_eq!(one, of(1, "w", "f"));
        for other in [of(2, "w", "f"), of(1, "v", "f"), of(1, "w", "g")] {
            assert_ne!(one, other);
        }
        assert_eq!(of(1, "w", ""), None);
    }

    #[test]
    fn the_label_is_the_speaker_else_the_role_else_the_name_at_the_start() {
        let label = |text, metadata| label(Some(text), &meta(&metadata));
        let both = serde_json::json!({"speaker": "Ann Lee", "role": "user"});
        assert_eq!(label("Bo: hello", both), "ann lee");
        let role = serde_json::json!({"role": "assistant"});
        assert_eq!(label("Noted: on Thursday", role), "assist");
        assert_eq!(label("Bo: hello", serde_json::json!({})), "bo");
        assert_eq!(label("hello", serde_json::json!({"role": 7})), "");
    }

    #[test]
    fn a_passage_counts_the_terms_of_text_and_context() {
        let metadata = meta(&serde_json::json!({
            "source_file": "a.md", "start_line": 7, "end_line": 9, "speaker": "Ann Lee"
        }));
        let passage = Passage::derive(1, Some("the quagga sleeps"), &metadata);
        let joined = terms("the quagga sleeps", &context(&metadata)).joined;
        assert_eq!(passage.length as usize, joined.split(' ').count());
        assert_eq!((passage.line, passage.label.as_str()), (7, "ann lee"));
        assert!(passage.tokens.is_sorted() && !passage.tokens.is_empty());
        assert_eq!(Passage::derive(1, None, &metadata).length, 0);
    }
}
