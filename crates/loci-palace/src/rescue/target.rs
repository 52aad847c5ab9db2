//! The collection that records go into: made with the metric and embedder of the one they come from, or, when it is
//! there already, asked whether their vectors fit.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionOptions, Compatibility, EmbedderIdentity, ErrorKind, Result, Warning,
};
use loci_foreign::{ForeignCollection, Kind};

use super::maker::{contradiction, maker_of};
use crate::embedders::Resolved;
use crate::{MINILM_NAME, Palace};

/// What texts without a vector get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makes {
    /// Vectors of the collection's own embedder.
    Own,
    /// Vectors of the built-in table, kept apart.
    StandIn,
    /// Nothing.
    Nothing,
}

/// Where the records of one collection go.
pub(super) struct Target {
    /// The collection without an embedder; in a dry run it may be missing.
    pub(super) plain: Option<Arc<dyn Collection>>,
    /// The same with the embedder that makes what is missing.
    pub(super) making: Option<Arc<dyn Collection>>,
    pub(super) makes: Makes,
    /// Whether vectors that come along are taken.
    pub(super) takes_vectors: bool,
    /// The length they must have.
    pub(super) dimension: Option<usize>,
    pub(super) warnings: Vec<Warning>,
}

/// What is known of the collection here.
struct Standing {
    collection: Option<Arc<dyn Collection>>,
    pinned: Option<EmbedderIdentity>,
    dimension: Option<usize>,
}

impl Target {
    /// Finds or makes the collection. `dimension` is that of the vectors which come along, if any do.
    pub(super) fn find(
        palace: &Palace,
        name: &str,
        source: (Kind, &ForeignCollection),
        dimension: Option<usize>,
        dry_run: bool,
    ) -> Result<Self> {
        let (kind, from) = source;
        let maker = maker_of(kind, from, dimension);
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
        // Beside vectors of an embedder that nobody knows, others mean nothing.
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

    /// Opens the collection with an embedder, if that one answers.
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

    /// Whether vectors can be compared with those that the collection holds.
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
