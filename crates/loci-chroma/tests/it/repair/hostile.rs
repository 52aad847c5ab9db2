//! Malicious directories: a repair touches nothing outside.

use std::fs;

use loci_chroma::{RepairOptions, repair};

use crate::scene::Scene;

/// A downloaded palace named the reader's home directory as a segment, and `repair` renamed it.
#[test]
fn a_segment_that_names_a_place_outside_is_never_touched() {
    for name in ["absolute", "../outside", "."] {
        let scene = Scene::fixture("chroma-0.6-flushed");
        let outside = scene.directory.parent().unwrap().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::copy(
            scene.file("data_level0.bin"),
            outside.join("data_level0.bin"),
        )
        .unwrap();
        let forged = match name {
            "absolute" => outside.to_str().unwrap().to_owned(),
            other => other.to_owned(),
        };
        scene
            .sql()
            .execute(
                "UPDATE segments SET id = ?1 WHERE id = ?2",
                [&forged, &scene.vector_segment()],
            )
            .unwrap();
        let _ = repair(&scene.directory, &RepairOptions::default());
        assert!(outside.join("data_level0.bin").is_file(), "{name}");
        assert!(scene.directory.is_dir(), "{name}");
    }
}
