//! Resources: drawers by name, and the state of the palace.

use loci_palace::{Error, Fence, Result, get, printable_json, quoted};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use crate::core;
use crate::drawer::{Passage, parse_uri};
use crate::handle::PalaceHandle;
use crate::hint::Tools;
use crate::server::message;

const STATUS_URI: &str = "loci://status";

/// The listed resources. Drawers are not listed, because they are too many; a search returns their
/// names.
pub(crate) fn listed() -> Vec<Resource> {
    vec![
        Resource::new(STATUS_URI, "status")
            .with_description("Counts, wings, rooms and health of the memory")
            .with_mime_type("application/json"),
    ]
}

/// The templates of resource names.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("loci://drawer/{collection}/{id}", "drawer")
            .with_description("A drawer, word for word, in a fence")
            .with_mime_type("text/plain"),
    ]
}

/// Reads a resource.
pub(crate) fn read(handle: &PalaceHandle, uri: &str) -> Result<ReadResourceResult> {
    if uri == STATUS_URI {
        let status = core::status(&*handle.existing()?)?;
        let status = status.hinted(&handle.hints(Tools::Loci));
        let contents = ResourceContents::text(printable_json(status.structured.to_string()), uri)
            .with_mime_type("application/json");
        return Ok(ReadResourceResult::new(vec![contents]));
    }
    let unknown = || Error::invalid("resource", "unknown");
    let (collection, id) = parse_uri(uri).ok_or_else(unknown)?;
    let palace = handle.existing()?;
    let answer = palace.get(&get::Request {
        ids: vec![id],
        collection: Some(collection),
        ..get::Request::default()
    })?;
    let drawer = answer.drawers.first().ok_or_else(unknown)?;
    let fence = Fence::new();
    let text = format!(
        "{}\n{}",
        fence.meaning(),
        Passage::of_drawer(drawer).fenced(&fence)
    );
    Ok(ReadResourceResult::new(vec![ResourceContents::text(
        text, uri,
    )]))
}

/// The protocol error for a resource that cannot be read.
pub(crate) fn refused(handle: &PalaceHandle, uri: &str, error: &Error) -> ErrorData {
    ErrorData::resource_not_found(
        format!("cannot read {}: {}", quoted(uri), message(handle, error)),
        None,
    )
}
