//! add, upsert, update: one transaction per call. Everything that can be refused or computed
//! without the database (validation, embedding, encoding) happens before the transaction begins, so
//! that other writers wait as little as possible.

use std::borrow::Cow;
use std::collections::HashMap;

use loci_core::{
    Batch, Compatibility, DrawerRef, Embedder, EmbedderIdentity, Error, History, LinkEnd, Metadata,
    Outcome, Related, WriteResult,
};
use rusqlite::{Connection, params};

use super::SqliteCollection;
use super::history::{self, Written};
use super::meta::{CollectionRow, mismatch};
use super::passage::{self, Prepared};
use super::writer::{Change, Writer};
use crate::fault::{Attempt, Fault};
use crate::relations::Companions;
use crate::store::Head;

/// Which of the three writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Add,
    Upsert,
    Update,
}

impl Mode {
    fn doing(self) -> &'static str {
        match self {
            Self::Add => "adding drawers",
            Self::Upsert => "upserting drawers",
            Self::Update => "updating drawers",
        }
    }
}

/// Vectors made by the embedder, by position in the batch.
type Embedded = HashMap<usize, Vec<f32>>;

/// Writes records, together with facts and links. `histories` has one entry per record, or is
/// empty.
pub(crate) fn write(
    collection: &SqliteCollection,
    batch: &Batch,
    mode: Mode,
    companions: &Companions,
    histories: &[History],
) -> loci_core::Result<(WriteResult, Related)> {
    match mode {
        Mode::Update => batch.validate_update()?,
        Mode::Add | Mode::Upsert => batch.validate()?,
    }
    let mut embedded = match &collection.embedder {
        Some(embedder) => match embedded_before(batch, mode, embedder.as_ref())? {
            Some(embedded) => embedded,
            None => embed_changed(collection, embedder.as_ref(), batch)?,
        },
        None => Embedded::new(),
    };
    let prepared: Vec<Option<Prepared>> = (0..batch.len())
        .map(|at| {
            let context = batch
                .metadata(at)
                .map(|patch| passage::context(&Metadata::default().merged(patch)));
            batch
                .document(at)
                .map(|text| Prepared::of(text, context.unwrap_or_default()))
        })
        .collect();
    let mut everything_embedded = false;
    loop {
        let result = collection.store.write_embedded(mode.doing(), |db| {
            let written = apply(
                collection, &db.sql, batch, &prepared, mode, &embedded, histories,
            )?;
            let companions = renamed(companions, &collection.name, batch, &written.outcomes);
            let related = companions.insert(&db.sql)?;
            // Committed when this returns: every record with its facts and links. A crash before
            // that leaves nothing of the call.
            Ok((written, related))
        });
        match (result?, &collection.embedder) {
            (Some(written), _) => return Ok(written),
            // Another process changed a text in the meantime. Embed the texts that had looked
            // unchanged, too.
            (None, Some(embedder)) if !everything_embedded => {
                embedded = embed(embedder.as_ref(), batch, |_| true)?;
                everything_embedded = true;
            }
            (None, _) => {
                let place = &collection.store.place.directory;
                return Err(Fault::EmbedAgain.into_error(place, mode.doing()));
            }
        }
    }
}

/// The companions, with duplicate drawers replaced by the drawers that already exist.
fn renamed<'a>(
    companions: &'a Companions,
    collection: &str,
    batch: &Batch,
    outcomes: &[Outcome],
) -> Cow<'a, Companions> {
    let holders: HashMap<&str, &str> = batch
        .ids
        .iter()
        .zip(outcomes)
        .filter_map(|(id, outcome)| match outcome {
            Outcome::DuplicateOf(holder) => Some((id.as_str(), holder.as_str())),
            _ => None,
        })
        .collect();
    if holders.is_empty() {
        return Cow::Borrowed(companions);
    }
    let rename = |drawer: &mut DrawerRef| {
        if drawer.collection == collection
            && let Some(holder) = holders.get(drawer.id.as_str())
        {
            drawer.id = (*holder).to_owned();
        }
    };
    let mut companions = companions.clone();
    for fact in &mut companions.facts {
        fact.source.iter_mut().for_each(rename);
    }
    for link in &mut companions.links {
        for end in [&mut link.from, &mut link.to] {
            if let LinkEnd::Drawer(drawer) = end {
                rename(drawer);
            }
        }
    }
    Cow::Owned(companions)
}

/// Vectors that the caller already made from the texts with this embedder.
fn embedded_before(
    batch: &Batch,
    mode: Mode,
    embedder: &dyn Embedder,
) -> loci_core::Result<Option<Embedded>> {
    let Some(made) = batch.embedded.as_ref().filter(|_| mode == Mode::Add) else {
        return Ok(None);
    };
    let identity = embedder.identity();
    if made.embedder != identity {
        return Ok(None);
    }
    check_vectors(&identity, &made.vectors)?;
    let texts = (0..batch.len())
        .filter(|at| batch.document(*at).is_some() && batch.embedding(*at).is_none());
    let vectors = texts.filter_map(|at| Some((at, made.vectors.get(at)?.clone())));
    Ok(Some(vectors.collect()))
}

fn embed_changed(
    collection: &SqliteCollection,
    embedder: &dyn Embedder,
    batch: &Batch,
) -> loci_core::Result<Embedded> {
    let unchanged: Vec<bool> = collection.store.read("looking for changed texts", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let mut statement = db.sql.prepare_cached(
            "SELECT text FROM drawers d WHERE collection = ?1 AND id = ?2
             AND (EXISTS (SELECT 1 FROM vectors v WHERE v.row = d.row)
                  OR EXISTS (SELECT 1 FROM other_vectors o WHERE o.row = d.row))",
        )?;
        let mut unchanged = Vec::with_capacity(batch.len());
        for (at, id) in batch.ids.iter().enumerate() {
            let mut found = statement.query(params![row.id, id])?;
            let same = match found.next()? {
                Some(columns) => {
                    columns.get_ref(0)?.as_str_or_null().ok().flatten() == batch.document(at)
                }
                None => false,
            };
            unchanged.push(same);
        }
        Ok(unchanged)
    })?;
    embed(embedder, batch, |at| {
        !unchanged.get(at).copied().unwrap_or(false)
    })
}

fn embed(
    embedder: &dyn Embedder,
    batch: &Batch,
    wanted: impl Fn(usize) -> bool,
) -> loci_core::Result<Embedded> {
    let (positions, texts): (Vec<usize>, Vec<&str>) = (0..batch.len())
        .filter(|at| batch.embedding(*at).is_none() && wanted(*at))
        .filter_map(|at| batch.document(at).map(|text| (at, text)))
        .unzip();
    let vectors = embed_texts(embedder, &texts)?;
    Ok(positions.into_iter().zip(vectors).collect())
}

/// Embeds texts and checks the result: one valid vector per text. An embedder is not trusted.
pub(crate) fn embed_texts(
    embedder: &dyn Embedder,
    texts: &[&str],
) -> loci_core::Result<Vec<Vec<f32>>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let vectors = embedder.embed(texts)?;
    let identity = embedder.identity();
    if vectors.len() != texts.len() {
        return Err(broken(&identity));
    }
    check_vectors(&identity, &vectors)?;
    Ok(vectors)
}

/// Refuses vectors that no collection could store.
fn check_vectors(identity: &EmbedderIdentity, vectors: &[Vec<f32>]) -> loci_core::Result<()> {
    for vector in vectors {
        if vector.len() != identity.dimension {
            return Err(broken(identity));
        }
        loci_core::validate_vector("embedding made by the embedder", vector)?;
    }
    Ok(())
}

fn broken(identity: &EmbedderIdentity) -> Error {
    Error::Internal {
        doing: "embedding".into(),
        detail: format!(
            "embedder `{identity}` returned the wrong number of vectors, or vectors of the wrong length"
        ),
    }
}

/// Refuses vectors of an embedder that the collection cannot store.
fn check_embedded(
    row: &CollectionRow,
    compatibility: Compatibility,
    identity: &EmbedderIdentity,
    dimension: usize,
    batch: &Batch,
) -> Attempt<()> {
    match compatibility {
        Compatibility::Foreign => Err(mismatch(row, identity).into()),
        Compatibility::Same => {
            row.check_dimension(dimension)?;
            // In a collection without a dimension, the caller's vectors set it.
            match batch.dimension().filter(|given| *given != dimension) {
                Some(given) => Err(Error::DimensionMismatch {
                    collection: row.name.clone(),
                    expected: dimension,
                    got: given,
                }
                .into()),
                None => Ok(()),
            }
        }
        Compatibility::Compatible => Ok(()),
    }
}

fn apply(
    collection: &SqliteCollection,
    db: &Connection,
    batch: &Batch,
    prepared: &[Option<Prepared>],
    mode: Mode,
    embedded: &Embedded,
    histories: &[History],
) -> Attempt<WriteResult> {
    let head = Head::read(db)?;
    let row = collection.require(db, &head)?;
    if let Some(dimension) = batch.dimension() {
        row.check_dimension(dimension)?;
    }
    let compatibility = collection.compatibility(&row);
    let identity = collection.embedder.as_ref().map(|given| given.identity());
    if let (Some(vector), Some(identity)) = (embedded.values().next(), &identity) {
        check_embedded(&row, compatibility, identity, vector.len(), batch)?;
    }
    let apart = identity
        .as_ref()
        .filter(|_| compatibility == Compatibility::Compatible);
    let mut writer = Writer::new(db, head.seq, row);
    let mut outcomes = Vec::with_capacity(batch.len());
    for (at, id) in batch.ids.iter().enumerate() {
        let made = embedded.get(&at).map(Vec::as_slice);
        let history = histories.get(at);
        let origin = history::origin_row(db, writer.collection(), history)?;
        let change = Change {
            id,
            text: batch.document(at),
            prepared: prepared.get(at).and_then(Option::as_ref),
            patch: batch.metadata(at),
            vector: batch
                .embedding(at)
                .or_else(|| made.filter(|_| apart.is_none())),
            other: apart.zip(made),
            has_embedder: collection.embedder.is_some(),
            origin,
            created_at: history.and_then(|history| history.created_at),
        };
        let outcome = writer.record(&change, mode)?;
        if let Some(history) = history {
            let written = Written {
                collection: writer.collection(),
                id,
                text: batch.document(at),
                outcome: &outcome,
                row: writer.seq(),
                origin,
            };
            written.settle(db, history)?;
        }
        outcomes.push(outcome);
    }
    let used = identity
        .as_ref()
        .filter(|_| apart.is_none() && !embedded.is_empty());
    let (seq, warnings) = writer.finish(used)?;
    Ok(WriteResult {
        outcomes,
        seq,
        warnings,
        ..WriteResult::default()
    })
}
