//! Reads tunnels: links between rooms, or between the drawers that they name.

use std::path::Path;

use loci_core::finding::{Finding, Severity};
use loci_core::{DrawerRef, Link, LinkEnd, Metadata};
use serde_json::Value;

use super::TARGET;
use super::companions::Companions;
use crate::fields;
use crate::palace::LostRecord;

/// The keys that form the link itself.
const STRUCTURE: [&str; 3] = ["source", "target", "label"];

/// Reads tunnels into links.
pub(super) fn read(path: &Path, value: &Value, found: &mut Companions) {
    let tunnels = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut unreadable = 0_u64;
    for tunnel in tunnels {
        match link(tunnel, found) {
            Some(link) => found.links.push(link),
            None => {
                unreadable += 1;
                found.lost_links.push(LostRecord {
                    id: None,
                    reason: "a tunnel lacks an end".into(),
                });
            }
        }
    }
    if !value.is_array() || unreadable > 0 {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        found.findings.push(
            Finding::new(
                "tunnels_damaged",
                Severity::Warning,
                "tunnels cannot be read",
            )
            .file(name)
            .with("tunnels", unreadable)
            .then("MemPalace leaves them out, or treats the file as empty"),
        );
    }
}

fn link(tunnel: &Value, found: &mut Companions) -> Option<Link> {
    let mut metadata = Metadata::default();
    for (key, value) in tunnel.as_object()? {
        if !STRUCTURE.contains(&key.as_str()) {
            fields::put_json(&mut metadata, key, value, &mut found.summary);
        }
    }
    // A tunnel between drawers is also one between rooms. Fields that the link lacks go into the
    // metadata.
    let sides = [
        (tunnel.get("source")?, "source"),
        (tunnel.get("target")?, "target"),
    ];
    let drawers = sides.iter().all(|(side, _)| drawer(side).is_some());
    for (side, name) in sides {
        if drawers {
            for key in ["wing", "room"] {
                let value = side.get(key).unwrap_or(&Value::Null);
                fields::put_json(
                    &mut metadata,
                    &format!("{name}_{key}"),
                    value,
                    &mut found.summary,
                );
            }
        } else if let Some(id) = side.get("drawer_id") {
            fields::put_json(
                &mut metadata,
                &format!("{name}_drawer_id"),
                id,
                &mut found.summary,
            );
        }
    }
    let [from, to] = sides.map(|(side, _)| if drawers { drawer(side) } else { room(side) });
    Some(Link {
        from: from?,
        to: to?,
        label: text(tunnel, "label").unwrap_or_default(),
        metadata,
    })
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn drawer(side: &Value) -> Option<LinkEnd> {
    let id = text(side, "drawer_id").filter(|id| !id.is_empty())?;
    let collection = TARGET.to_owned();
    Some(LinkEnd::Drawer(DrawerRef { collection, id }))
}

fn room(side: &Value) -> Option<LinkEnd> {
    Some(LinkEnd::Room {
        wing: text(side, "wing").filter(|wing| !wing.is_empty())?,
        room: text(side, "room").unwrap_or_default(),
    })
}
