//! A build ends with a complete file or with none.

use std::fs;
use std::process::Command;

use loci_core::{Error, ErrorKind, Metric};
use loci_index::{Builder, remove_leftovers, set_aside};

use crate::data::bytes;
use crate::fixture::{Fixture, build, names, spec};

#[test]
fn a_dropped_builder_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Builder::create(dir.path(), spec(70, Metric::Cosine), &[]).unwrap();
    for row in 0..5000 {
        builder.push(row, &bytes(&[1.0; 70])).unwrap();
    }
    assert!(names(dir.path())[0].contains(".tmp"));
    drop(builder);
    assert!(names(dir.path()).is_empty());
}

#[test]
fn leftovers_of_a_killed_builder_are_removed_and_the_rest_stays() {
    let fixture = Fixture::small();
    let dir = fixture.dir.path();
    let keep = fixture.registration.name.clone();
    // As after SIGKILL: no destructor runs.
    std::mem::forget(Builder::create(dir, spec(70, Metric::Cosine), &[]).unwrap());
    let unregistered = build(dir, spec(70, Metric::Cosine), &fixture.vectors).name;
    let damaged = build(dir, spec(70, Metric::Cosine), &fixture.vectors).name;
    let drift = set_aside(dir, &damaged).unwrap().unwrap();
    let directory = unregistered.replace("flat-2-77", "flat-2-78");
    fs::create_dir(dir.join(&directory)).unwrap();
    fs::write(dir.join("notes.tmp"), "not ours").unwrap();

    assert_eq!(
        remove_leftovers(dir, std::slice::from_ref(&keep)).unwrap(),
        2
    );
    let mut rest = vec![drift, directory, keep.clone(), "notes.tmp".into()];
    rest.sort();
    assert_eq!(names(dir), rest);
    assert_eq!(remove_leftovers(dir, &[keep]).unwrap(), 0);
    assert!(fixture.damage().is_none());
    assert_eq!(remove_leftovers(&dir.join("missing"), &[]).unwrap(), 0);
}

#[test]
fn vectors_that_cannot_be_encoded_are_refused_by_row() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Builder::create(dir.path(), spec(3, Metric::L2), &[]).unwrap();
    builder.push(5, &bytes(&[1.0, 2.0, 3.0])).unwrap();
    for (row, vector) in [
        (8, bytes(&[1.0, 2.0])),
        (8, bytes(&[1.0, 2.0, 3.0])[..11].to_vec()),
        (8, bytes(&[1.0, f32::NAN, 3.0])),
        (8, bytes(&[1.0, f32::INFINITY, 3.0])),
        (5, bytes(&[1.0, 2.0, 3.0])),
        (4, bytes(&[1.0, 2.0, 3.0])),
    ] {
        let error = builder.push(row, &vector).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("row {row}")), "{error}");
    }
    builder.push(8, &bytes(&[4.0, 5.0, 6.0])).unwrap();
    assert_eq!(
        builder.finish().unwrap().count,
        2,
        "a refused vector leaves nothing behind"
    );
}

#[test]
fn a_dimension_out_of_range_or_a_missing_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for dimension in [0, 8193, usize::MAX] {
        let error = Builder::create(dir.path(), spec(dimension, Metric::L2), &[1.0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    assert!(Builder::create(&dir.path().join("missing"), spec(3, Metric::L2), &[]).is_err());
    assert!(names(dir.path()).is_empty());
}

const FULL_DISK: &str = "LOCI_TEST_FULL_DISK_DIR";

/// Runs in a child process with a limited file size; see the next test.
#[test]
fn child_builds_on_a_full_disk() {
    let Some(dir) = std::env::var_os(FULL_DISK) else {
        return;
    };
    let result =
        Builder::create(dir.as_ref(), spec(70, Metric::Cosine), &[]).and_then(|mut builder| {
            for row in 0..20_000 {
                builder.push(row, &bytes(&[row as f32; 70]))?;
            }
            builder.finish()
        });
    assert!(matches!(result, Err(Error::Full { .. })), "{result:?}");
}

#[test]
fn a_full_disk_is_reported_as_such_and_leaves_no_file() {
    // In units of 512 bytes: less than the header, within the codes, within the last sections.
    for limit in [1, 1000, 2000] {
        let dir = tempfile::tempdir().unwrap();
        let output = Command::new("sh")
            .args([
                "-c",
                "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"",
                "sh",
            ])
            .arg(limit.to_string())
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "builder::child_builds_on_a_full_disk",
                "--nocapture",
            ])
            .env(FULL_DISK, dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{limit}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(names(dir.path()).is_empty(), "{limit}");
    }
}
