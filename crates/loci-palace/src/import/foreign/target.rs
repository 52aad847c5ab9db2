//! The collection that receives the records. It is created with the metric and embedder of the
//! source. If it already exists, it is checked whether the vectors fit.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionOptions, Compatibility, EmbedderIdentity, ErrorKind, Result, Warning,
};
use loci_foreign::{ForeignCollection, Kind};

use crate::embedders::Resolved;
use crate::foreign_embedder::{contradiction, embedder_of};
use crate::{MINILM_NAME, Palace};

/// How texts without a vector are embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makes {
    /// By the collection's own embedder.
    Own,
    /// By the built-in table, stored separately.
    StandIn,
    /// Not at all.
    Nothing,
}

/// The target of one collection.
pub(super) struct Target {
    /// The collection without an embedder. May be missing in a dry run.
    pub(super) plain: Option<Arc<dyn Collection>>,
    /// The collection with the embedder that makes missing vectors.
    pub(super) making: Option<Arc<dyn Collection>>,
    pub(super) makes: Makes,
    /// Whether the vectors of the source are imported.
    pub(super) takes_vectors: bool,
    /// The length that they must have.
    pub(super) dimension: Option<usize>,
    pub(super) warnings: Vec<Warning>,
}

/// The state of an existing collection.
struct Standing {
    collection: Option<Arc<dyn Collection>>,
    pinned: Option<EmbedderIdentity>,
    dimension: Option<usize>,
}

impl Target {
    /// Opens or creates the collection. `dimension` is that of the vectors in the source, if there
    /// are any.
    pub(super) fn find(
        palace: &Palace,
        name: &str,
        source: (Kind, &ForeignCollection),
        dimension: Option<usize>,
        dry_run: bool,
    ) -> Result<Self> {
        let (kind, from) = source;
        let maker = embedder_of(kind, from, dimension);
        let standing = Standing::of(palace, name)?;
        let fresh = standing.pinned.is_none() && standing.dimension.is_none();
        let mut warnings: Vec<Warning> = contradiction(from, dimension)
            .map(|problem| Warning::EmbedderContradicted {
                collection: from.name.clone(),
                problem,
            })
            .into_iter()
            .collect();
        let takes_vectors = match &standing.collection {
            None => true,
            Some(collection) => {
                let collection = collection.as_ref();
                let fits = fresh || standing.fits(collection, from, maker.as_ref(), dimension);
                if fits && collection.metric() != from.metric {
                    warnings.push(another_metric(collection, from));
                }
                if !fits && dimension.is_some() {
                    warnings.push(standing.misfit(name, from, maker.as_ref()));
                }
                fits
            }
        };
        let collection = match standing.collection {
            Some(collection) => Some(collection),
            None if dry_run => None,
            None => Some(palace.create_collection(name, from.metric)?),
        };
        let pinned = if fresh && takes_vectors {
            if let (Some(maker), false) = (&maker, dry_run) {
                palace.collection(name, false)?.pin_embedder(maker)?;
            }
            maker
        } else {
            standing.pinned
        };
        let dimension = match (takes_vectors, &pinned) {
            (true, Some(pinned)) => Some(pinned.dimension),
            (true, None) => standing.dimension.or(dimension),
            (false, _) => standing.dimension,
        };
        // Vectors of another embedder cannot be compared with those of an unknown one.
        let resolved = if dimension.is_some() && pinned.is_none() {
            Resolved::default()
        } else {
            palace.embedder_for(name, pinned.as_ref(), dimension)?
        };
        let mut target = Self {
            plain: collection,
            making: None,
            makes: Makes::Nothing,
            takes_vectors,
            dimension,
            warnings,
        };
        target.equip(palace, name, resolved, pinned.as_ref())?;
        Ok(target)
    }

    /// Opens the collection with an embedder, if that embedder is available.
    fn equip(
        &mut self,
        palace: &Palace,
        name: &str,
        resolved: Resolved,
        pinned: Option<&EmbedderIdentity>,
    ) -> Result<()> {
        self.warnings.extend(resolved.warnings);
        let Some(embedder) = resolved.embedder else {
            return Ok(());
        };
        self.makes = match pinned.map(|pinned| embedder.compatibility(pinned)) {
            None | Some(Compatibility::Same) => Makes::Own,
            Some(Compatibility::Compatible) => Makes::StandIn,
            Some(Compatibility::Foreign) => return Ok(()),
        };
        if self.plain.is_some() {
            let options = CollectionOptions {
                metric: None,
                embedder: Some(embedder),
            };
            self.making = Some(palace.collection_with(name, false, &options)?);
        }
        Ok(())
    }
}

impl Standing {
    fn of(palace: &Palace, name: &str) -> Result<Self> {
        match palace.collection(name, false) {
            Ok(collection) => Ok(Self {
                pinned: collection.embedder()?,
                dimension: collection.dimension()?,
                collection: Some(collection),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self {
                collection: None,
                pinned: None,
                dimension: None,
            }),
            Err(error) => Err(error),
        }
    }

    /// Whether the vectors are comparable with those in the collection.
    fn fits(
        &self,
        collection: &dyn Collection,
        from: &ForeignCollection,
        maker: Option<&EmbedderIdentity>,
        dimension: Option<usize>,
    ) -> bool {
        match (&self.pinned, maker) {
            (Some(pinned), Some(maker)) => pinned == maker,
            (None, None) => self.dimension == dimension && collection.metric() == from.metric,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn misfit(
        &self,
        name: &str,
        from: &ForeignCollection,
        maker: Option<&EmbedderIdentity>,
    ) -> Warning {
        Warning::VectorsNotTaken {
            from: from.name.clone(),
            made_by: maker.cloned(),
            into: name.to_owned(),
            pinned: self.pinned.clone(),
            model: maker
                .filter(|maker| maker.name == MINILM_NAME)
                .map(|maker| maker.name.clone()),
        }
    }
}

fn another_metric(collection: &dyn Collection, from: &ForeignCollection) -> Warning {
    Warning::AnotherMetric {
        from: from.name.clone(),
        measured: from.metric,
        into: collection.name().to_owned(),
        measures: collection.metric(),
    }
}
