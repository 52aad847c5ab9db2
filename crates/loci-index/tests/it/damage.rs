//! Any damage to the bytes or to the path of the file is detected, and nothing panics.

use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::PermissionsExt;

use loci_core::Metric;
use loci_index::{Damage, QueryVector, SlotSet, VectorIndex, drift_files, set_aside};

use crate::fixture::{Fixture, row_of};

const HEADER_BYTES: usize = 4096;

#[test]
fn every_flipped_header_byte_is_noticed() {
    let fixture = Fixture::small();
    let sound = fixture.bytes();
    for at in 0..HEADER_BYTES {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(fixture.path(), &bytes).unwrap();
        assert!(
            matches!(fixture.open(), Err(Damage::Header(_))),
            "byte {at}"
        );
    }
    fs::write(fixture.path(), &sound).unwrap();
    assert!(fixture.damage().is_none());
}

#[test]
fn every_flipped_section_byte_is_noticed_at_open_or_at_warm() {
    let fixture = Fixture::small();
    let sound = fixture.bytes();
    let mut seen = std::collections::BTreeMap::new();
    for at in HEADER_BYTES..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(fixture.path(), &bytes).unwrap();
        match fixture.damage() {
            Some(Damage::Section { name }) => *seen.entry(name).or_insert(0) += 1,
            other => panic!("byte {at}: {other:?}"),
        }
    }
    let expected = [
        ("bits", 4 * 128 * 32 / 8),
        ("centre", 280),
        ("codes", 3500),
        ("rows", 800),
        ("terms", 1200),
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn every_truncation_is_noticed() {
    let fixture = Fixture::small();
    let sound = fixture.bytes();
    let steps = (0..sound.len())
        .step_by(97)
        .chain([4095, 4096, 4097, sound.len() - 1]);
    for length in steps {
        fs::write(fixture.path(), &sound[..length]).unwrap();
        match fixture.open() {
            Err(Damage::Length { found, expected }) => {
                assert_eq!((found, expected), (length as u64, sound.len() as u64));
            }
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn extension_is_noticed() {
    let fixture = Fixture::small();
    for extra in [1, 4096] {
        let mut bytes = fixture.bytes();
        bytes.resize(bytes.len() + extra, 0);
        fs::write(fixture.path(), bytes).unwrap();
        assert!(matches!(fixture.open(), Err(Damage::Length { .. })));
    }
}

#[test]
fn only_regular_files_are_read_and_nothing_blocks() {
    let fixture = Fixture::small();
    let elsewhere = fixture.dir.path().join("elsewhere");
    fs::rename(fixture.path(), &elsewhere).unwrap();
    assert!(matches!(fixture.open(), Err(Damage::Missing)));

    let set_aside_and_check = || {
        assert!(
            matches!(fixture.open(), Err(Damage::NotAFile)),
            "{:?}",
            fixture.open()
        );
        assert!(
            set_aside(fixture.dir.path(), &fixture.registration.name)
                .unwrap()
                .is_some()
        );
        assert!(matches!(fixture.open(), Err(Damage::Missing)));
    };
    fs::create_dir(fixture.path()).unwrap();
    fs::write(fixture.path().join("inside"), "kept").unwrap();
    set_aside_and_check();
    std::os::unix::fs::symlink(&elsewhere, fixture.path()).unwrap();
    set_aside_and_check();
    std::os::unix::fs::symlink("/nowhere", fixture.path()).unwrap();
    set_aside_and_check();
    let made = std::process::Command::new("mkfifo")
        .arg(fixture.path())
        .status()
        .unwrap();
    assert!(made.success());
    set_aside_and_check();
    let socket = std::os::unix::net::UnixListener::bind(fixture.path()).unwrap();
    set_aside_and_check();
    drop(socket);
    assert_eq!(drift_files(fixture.dir.path()).len(), 5);

    fs::rename(&elsewhere, fixture.path()).unwrap();
    assert!(fixture.damage().is_none());
}

#[test]
fn a_file_without_read_permission_is_unreadable() {
    let fixture = Fixture::small();
    fs::set_permissions(fixture.path(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(fixture.path()).is_ok() {
        return; // The superuser reads everything.
    }
    assert!(matches!(fixture.open(), Err(Damage::Unreadable(_))));
}

fn answer(index: &dyn VectorIndex, fixture: &Fixture) -> Vec<u64> {
    let query = QueryVector::new(Metric::Cosine, &fixture.vectors[7]);
    index.candidates(&query, 5, None, &SlotSet::new(0)).rows
}

#[test]
fn changes_to_the_file_after_warming_have_no_effect() {
    let fixture = Fixture::small();
    let index = fixture.open_warm();
    let before = answer(&*index, &fixture);
    assert_eq!(before[0], row_of(7));
    fs::File::options()
        .write(true)
        .open(fixture.path())
        .unwrap()
        .set_len(10)
        .unwrap();
    assert_eq!(answer(&*index, &fixture), before);
    fs::remove_file(fixture.path()).unwrap();
    assert_eq!(answer(&*index, &fixture), before);
    assert!(!index.warm().unwrap());
}

#[test]
fn damage_between_open_and_warm_is_reported_and_the_index_goes_on_cold() {
    type Harm = fn(&mut fs::File);
    let harms: [(Harm, &str); 3] = [
        (
            |file| file.set_len(5000).unwrap(),
            "bytes, 7596 were registered",
        ),
        (
            |file| file.set_len(0).unwrap(),
            "bytes, 7596 were registered",
        ),
        (
            |file| {
                file.seek(std::io::SeekFrom::Start(6000)).unwrap();
                file.write_all(b"overwritten in place").unwrap();
            },
            "`codes` is damaged",
        ),
    ];
    for (harm, message) in harms {
        let fixture = Fixture::small();
        let index = fixture.open().unwrap();
        let before = answer(&*index, &fixture);
        harm(
            &mut fs::File::options()
                .write(true)
                .open(fixture.path())
                .unwrap(),
        );
        for _ in 0..2 {
            let damage = index.warm().unwrap_err().to_string();
            assert!(damage.contains(message), "{damage}");
            assert!(!index.is_warm());
            assert_eq!(answer(&*index, &fixture), before);
        }
    }
}

#[test]
fn a_file_replaced_or_deleted_after_opening_still_warms_from_what_was_opened() {
    let fixture = Fixture::small();
    for replace in [true, false] {
        let index = fixture.open().unwrap();
        let kept = fixture.bytes();
        fs::remove_file(fixture.path()).unwrap();
        if replace {
            fs::write(fixture.path(), "something else").unwrap();
        }
        assert!(index.warm().unwrap());
        assert_eq!(answer(&*index, &fixture)[0], row_of(7));
        fs::write(fixture.path(), kept).unwrap();
    }
}

#[test]
fn random_garbage_of_the_right_length_is_not_an_index() {
    let fixture = Fixture::small();
    let mut random = fastrand::Rng::with_seed(9);
    let length = fixture.bytes().len();
    for _ in 0..50 {
        let garbage: Vec<u8> = std::iter::repeat_with(|| random.u8(..))
            .take(length)
            .collect();
        fs::write(fixture.path(), garbage).unwrap();
        assert!(matches!(fixture.open(), Err(Damage::Header(_))));
    }
    fs::write(fixture.path(), vec![0; length]).unwrap();
    assert!(matches!(fixture.open(), Err(Damage::Header(_))));
}
