//! Computes new vectors from the texts of records whose vector is in no file.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use loci_core::{Embedder, Error, Result};
use loci_foreign::chroma::{Directory, LiveRecord, Origin, Survey};

/// How many texts are embedded at a time.
const BATCH: usize = 64;

/// The models of the collections, in the order of [`Directory::collections`]. `None` for a
/// collection whose model is unknown, unavailable or not needed.
#[derive(Clone, Default)]
pub struct Models(pub Vec<Option<Arc<dyn Embedder>>>);

impl fmt::Debug for Models {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|model| Some(model.as_ref()?.identity()));
        formatter.debug_list().entries(names).finish()
    }
}

impl Models {
    pub(super) fn has(&self, collection: usize) -> bool {
        self.0.get(collection).is_some_and(Option::is_some)
    }

    /// Embeds the records of a collection that have a text and no vector. The vectors are keyed by
    /// the position of the record.
    pub(super) fn embed(
        &self,
        directory: &Directory,
        collection: usize,
        survey: &Survey,
    ) -> Result<HashMap<usize, Vec<f32>>> {
        let Some(Some(model)) = self.0.get(collection) else {
            return Ok(HashMap::new());
        };
        let (positions, live): (Vec<usize>, Vec<&LiveRecord>) = survey
            .live
            .iter()
            .enumerate()
            .filter(|(_, live)| live.origin == Origin::Missing)
            .unzip();
        let mut made = HashMap::new();
        let mut texts: Vec<(usize, String)> = Vec::new();
        let mut positions = positions.into_iter();
        directory.for_each_text(
            collection,
            &live,
            survey.metadata_watermark,
            &mut |record| {
                let position = positions.next();
                if let (Some(position), Some(text)) = (position, record.document) {
                    texts.push((position, text));
                }
                if texts.len() >= BATCH {
                    embed(model.as_ref(), survey.dimension, &mut texts, &mut made)?;
                }
                Ok(())
            },
        )?;
        embed(model.as_ref(), survey.dimension, &mut texts, &mut made)?;
        Ok(made)
    }
}

fn embed(
    model: &dyn Embedder,
    dimension: Option<usize>,
    texts: &mut Vec<(usize, String)>,
    made: &mut HashMap<usize, Vec<f32>>,
) -> Result<()> {
    let waiting = std::mem::take(texts);
    if waiting.is_empty() {
        return Ok(());
    }
    let batch: Vec<&str> = waiting.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = model.embed(&batch)?;
    for ((position, _), vector) in waiting.iter().zip(vectors) {
        if dimension.is_some_and(|dimension| dimension != vector.len()) {
            let numbers = dimension.unwrap_or_default();
            return Err(Error::invalid(
                format!("model `{}`", model.identity().name),
                format!(
                    "makes vectors of {} numbers; the collection has {numbers}",
                    vector.len()
                ),
            ));
        }
        made.insert(*position, vector);
    }
    Ok(())
}
