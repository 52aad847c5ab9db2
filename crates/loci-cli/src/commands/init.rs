//! `loci init`: a palace with a collection in it.

use loci_palace::{CollectionOptions, ErrorKind, Metric};
use serde_json::json;

use crate::args::{InitArguments, MetricArgument};
use crate::failure::{Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &InitArguments, session: &Session<'_>) -> Result<Reply> {
    let created = match session.look() {
        Ok(()) => false,
        Err(Failure::Palace(error)) if error.kind() == ErrorKind::NotFound => true,
        Err(failure) => return Err(failure),
    };
    let metric = arguments.metric.map(|metric| match metric {
        MetricArgument::Cosine => Metric::Cosine,
        MetricArgument::L2 => Metric::L2,
        MetricArgument::Ip => Metric::Ip,
    });
    let options = CollectionOptions {
        metric,
        embedder: None,
    };
    // An invalid collection name must not leave an empty palace behind.
    loci_palace::validate_collection_name(&arguments.collection)?;
    let palace = session.initialised()?;
    palace.require_creation()?;
    let known = palace.collections()?;
    let added = known.iter().all(|known| known.name != arguments.collection);
    let collection = palace.collection_with(&arguments.collection, true, &options)?;
    let path = palace.place().to_string();
    let text = if created {
        format!("created the palace `{path}`")
    } else if added {
        format!(
            "the palace `{path}` exists; added the collection `{}`",
            arguments.collection
        )
    } else {
        format!("the palace `{path}` exists; nothing in it was changed")
    };
    let answer = json!({
        "palace": palace.place().to_string(),
        "created": created,
        "collection": collection.name(),
        "metric": collection.metric().as_str(),
    });
    Reply::new(&answer, text)
}
