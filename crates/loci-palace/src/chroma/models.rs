//! Repairs ChromaDB directories with the models of their collections.

use std::path::Path;
use std::sync::Arc;

use loci_chroma::{Models, RepairOptions};
use loci_core::{Advice, Compatibility, Embedder, Error, Result};
use loci_foreign::{ForeignCollection, Kind};

use crate::Palace;
use crate::chroma::{RepairAnswer, repair};
use crate::foreign_embedder::embedder_of;

impl Palace {
    /// Repairs a ChromaDB directory. Records whose vector is in no file are embedded again from
    /// their text by the collection's own model. If that model is unknown or unavailable, this
    /// fails and changes nothing.
    pub fn repair_chroma_with_models(
        &self,
        path: &Path,
        options: &RepairOptions,
    ) -> Result<RepairAnswer> {
        let source = loci_foreign::open(path, Some(Kind::Chroma))?;
        source.require_readable()?;
        let mut models = Vec::new();
        for (at, collection) in source.collections().iter().enumerate() {
            let missing = source.vector_counts(at).unwrap_or_default().missing;
            models.push(match missing {
                0 => None,
                _ => Some(self.model_of(collection)?),
            });
        }
        drop(source);
        repair(
            path,
            &RepairOptions {
                models: Models(models),
                ..options.clone()
            },
        )
    }

    fn model_of(&self, collection: &ForeignCollection) -> Result<Arc<dyn Embedder>> {
        let unavailable = |reason: String| {
            Error::UnsupportedCapability {
                capability: format!("new vectors for collection `{}`", collection.name),
                reason,
            }
            .advise(Advice::SetRecordsAside)
        };
        let Some(maker) = embedder_of(Kind::Chroma, collection, collection.dimension) else {
            return Err(unavailable(
                "the model that made its vectors is not recorded".into(),
            ));
        };
        let model = self.embedder(&maker.name).map_err(|error| {
            unavailable(format!(
                "its model `{}` is not available: {error}",
                maker.name
            ))
        })?;
        model
            .filter(|model| model.compatibility(&maker) == Compatibility::Same)
            .ok_or_else(|| unavailable(format!("its model `{maker}` is not available")))
    }
}
