//! The search side of a drawer: what ranking must know of it without reading its text.
//!
//! Derived from text and metadata in the same transaction. `verify --deep` compares it with what they give now,
//! `repair` makes it anew.

use loci_core::{MetaValue, Metadata};
use loci_text::{IndexTerms, Tokenizer};
use rusqlite::{Connection, OptionalExtension, params};
use xxhash_rust::xxh3::xxh3_64;

use crate::fault::Attempt;

/// Tokens of a text that are looked at, and different ones that are kept.
const READ_TOKENS: usize = 8_192;
const KEPT_TOKENS: usize = 1_024;

/// What is kept of one drawer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Passage {
    /// Number of its source; 0 when it has none.
    pub(crate) source: i64,
    /// Where it begins in its source.
    pub(crate) line: i64,
    /// When it was said or written, if its metadata tells.
    pub(crate) authored_at: Option<i64>,
    /// Number of its terms.
    pub(crate) terms: i64,
    /// Terms of the name of who speaks, joined by spaces.
    pub(crate) label: String,
    /// Different WordPiece tokens, ascending, two bytes each.
    pub(crate) tokens: Vec<u8>,
}

/// What takes time to find out about a text. Made before a transaction begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// The context it was prepared with.
    pub(crate) context: String,
    /// Its terms and those of the context, joined by spaces.
    pub(crate) joined: String,
    count: i64,
    tokens: Vec<u8>,
}

impl Prepared {
    pub(crate) fn of(text: &str, context: String) -> Self {
        let IndexTerms { joined, count } = terms(text, &context);
        Self {
            joined,
            count: count as i64,
            tokens: tokens(text, &context),
            context,
        }
    }
}

/// What a mined drawer is found by beside its text: the name of its file and the headings above it. Other drawers have
/// none. An exchange of a conversation has no file name: such files are called by a number.
pub(crate) fn context(metadata: &Metadata) -> String {
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

/// The terms that the postings hold of a drawer.
pub(crate) fn terms(text: &str, context: &str) -> IndexTerms {
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

impl Passage {
    /// The passage of a text that was prepared.
    pub(crate) fn of(
        collection: i64,
        text: Option<&str>,
        prepared: Option<&Prepared>,
        metadata: &Metadata,
    ) -> Self {
        let speaker = metadata
            .get_str("speaker")
            .or_else(|| text.and_then(loci_text::opening_label));
        Self {
            source: source(collection, metadata),
            line: line(metadata),
            authored_at: metadata.authored_at(),
            terms: prepared.map_or(0, |prepared| prepared.count),
            label: speaker.map_or_else(String::new, |name| loci_text::index_terms(name).joined),
            tokens: prepared.map_or_else(Vec::new, |prepared| prepared.tokens.clone()),
        }
    }

    /// Writes what metadata alone decide; whether there was a passage to write it to.
    pub(crate) fn update_place(&self, db: &Connection, row: u64) -> Attempt<bool> {
        let changed = db
            .prepare_cached(
                "UPDATE passages SET source = ?2, line = ?3, label = ?5,
                     authored_at = coalesce(?4, (SELECT created_at FROM drawers WHERE row = ?1), 0)
                 WHERE row = ?1",
            )?
            .execute(params![
                row as i64,
                self.source,
                self.line,
                self.authored_at,
                self.label
            ])?;
        Ok(changed > 0)
    }

    /// Writes it. A drawer without a date counts as of the day it was added.
    pub(crate) fn insert(&self, db: &Connection, collection: i64, row: u64) -> Attempt<()> {
        db.prepare_cached(
            "INSERT INTO passages (row, collection, source, line, authored_at, terms, label, tokens)
             VALUES (?1, ?2, ?3, ?4,
                     coalesce(?5, (SELECT created_at FROM drawers WHERE row = ?1), 0), ?6, ?7, ?8)",
        )?
        .execute(params![
            row as i64,
            collection,
            self.source,
            self.line,
            self.authored_at,
            self.terms,
            self.label,
            self.tokens
        ])?;
        Ok(())
    }

    /// Whether the stored one is this.
    pub(crate) fn is_stored(&self, db: &Connection, collection: i64, row: u64) -> Attempt<bool> {
        Ok(db
            .prepare_cached(
                "SELECT 1 FROM passages p WHERE row = ?1 AND collection = ?2 AND source = ?3 AND line = ?4
                 AND authored_at = coalesce(?5, (SELECT created_at FROM drawers WHERE row = ?1), 0)
                 AND terms = ?6 AND label = ?7 AND tokens = ?8",
            )?
            .exists(params![
                row as i64,
                collection,
                self.source,
                self.line,
                self.authored_at,
                self.terms,
                self.label,
                self.tokens
            ])?)
    }
}

/// Removes the passage of a row; gives the number of its terms.
pub(crate) fn delete(db: &Connection, row: u64) -> Attempt<i64> {
    Ok(db
        .prepare_cached("DELETE FROM passages WHERE row = ?1 RETURNING terms")?
        .query_row([row as i64], |columns| {
            Ok(columns.get_ref(0)?.as_i64().unwrap_or_default())
        })
        .optional()?
        .unwrap_or_default())
}

/// Makes all passages, their sums and the postings anew from the drawers.
pub(crate) fn rebuild(db: &Connection) -> Attempt<()> {
    db.execute("DELETE FROM passages", [])?;
    let mut statement =
        db.prepare("SELECT row, collection, text, metadata FROM drawers ORDER BY row")?;
    let mut rows = statement.query([])?;
    while let Some(columns) = rows.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        let collection: i64 = columns.get(1)?;
        let text = columns.get_ref(2)?.as_str_or_null().ok().flatten();
        let metadata = columns
            .get_ref(3)?
            .as_str()
            .ok()
            .and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default();
        let prepared = text.map(|text| Prepared::of(text, context(&metadata)));
        let passage = Passage::of(collection, text, prepared.as_ref(), &metadata);
        passage.insert(db, collection, row)?;
    }
    db.execute(
        "UPDATE collections SET terms =
             (SELECT coalesce(sum(p.terms), 0) FROM passages p WHERE p.collection = collections.id)",
        [],
    )?;
    super::rows::rebuild_postings(db)
}

/// The passage that a stored drawer should have.
pub(crate) fn expected(collection: i64, text: Option<&str>, metadata: &Metadata) -> Passage {
    let prepared = text.map(|text| Prepared::of(text, context(metadata)));
    Passage::of(collection, text, prepared.as_ref(), metadata)
}

/// A number for the source of a drawer: nothing of its name is kept here.
fn source(collection: i64, metadata: &Metadata) -> i64 {
    let file = metadata.get_str("source_file").unwrap_or_default();
    if file.is_empty() {
        return 0;
    }
    let wing = metadata.get_str("wing").unwrap_or_default();
    let name = format!("{collection}\0{wing}\0{file}");
    xxh3_64(name.as_bytes()) as i64 | 1
}

fn line(metadata: &Metadata) -> i64 {
    use loci_core::MetaValue::{Bool, Float, Int, List, Str};
    match metadata.get("start_line") {
        Some(Int(line)) => *line,
        Some(Float(line)) => *line as i64,
        Some(Str(line)) => line.parse().unwrap_or(0),
        Some(Bool(_) | List(_)) | None => 0,
    }
}

fn tokens(text: &str, context: &str) -> Vec<u8> {
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
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}
