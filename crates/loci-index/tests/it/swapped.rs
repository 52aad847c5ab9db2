//! Valid files that are not the registered one, and registrations that no file can satisfy.

use std::fs;

use loci_core::Metric;
use loci_index::{BuildSpec, Builder, Damage, Identity, Registration, open};

use crate::data::bytes;
use crate::fixture::{Fixture, IDENTITY, build, row_of, spec};

/// Replaces the fixture's snapshot with one built to `other`.
fn swapped(other: BuildSpec, change: impl Fn(&mut Vec<Vec<f32>>)) -> Damage {
    let fixture = Fixture::small();
    let mut vectors = fixture.vectors.clone();
    change(&mut vectors);
    let foreign = build(fixture.dir.path(), other, &vectors);
    fs::rename(fixture.dir.path().join(&foreign.name), fixture.path()).unwrap();
    open(fixture.dir.path(), &foreign).unwrap_err();
    fixture.open().unwrap_err()
}

#[test]
fn a_file_of_another_owner_is_recognised() {
    let sound = spec(70, Metric::Cosine);
    let of = |identity| swapped(BuildSpec { identity, ..sound }, |_| {});
    assert!(matches!(
        of(Identity {
            palace: [1; 16],
            ..IDENTITY
        }),
        Damage::ForeignPalace
    ));
    assert!(matches!(
        of(Identity {
            generation: 4,
            ..IDENTITY
        }),
        Damage::OtherGeneration {
            expected: 5,
            found: 4
        }
    ));
    assert!(matches!(
        of(Identity {
            collection: 3,
            ..IDENTITY
        }),
        Damage::OtherCollection {
            expected: 2,
            found: 3
        }
    ));
}

#[test]
fn an_older_or_newer_file_is_recognised() {
    let sound = spec(70, Metric::Cosine);
    for (covered, rows) in [(76, 90), (78, 100), (1, 100)] {
        let damage = swapped(BuildSpec { covered, ..sound }, |vectors| {
            vectors.truncate(rows);
        });
        assert!(
            matches!(damage, Damage::OtherCoverage { expected: 77, found } if found == covered),
            "{damage}"
        );
    }
}

#[test]
fn a_file_with_one_other_vector_is_not_the_registered_one() {
    let sound = spec(70, Metric::Cosine);
    let damage = swapped(sound, |vectors| vectors[50][3] += 0.5);
    assert!(
        matches!(damage, Damage::Header("is not the registered one")),
        "{damage}"
    );
    let damage = swapped(
        BuildSpec {
            metric: Metric::Ip,
            ..sound
        },
        |_| {},
    );
    assert!(
        matches!(damage, Damage::Header("is not the registered one")),
        "{damage}"
    );
}

#[test]
fn a_file_of_the_same_vectors_but_other_codes_is_not_the_registered_one() {
    let fixture = Fixture::small();
    let mut builder = Builder::create(fixture.dir.path(), spec(70, Metric::Cosine), &[]).unwrap();
    for (slot, vector) in fixture.vectors.iter().enumerate() {
        builder.push(row_of(slot), &bytes(vector)).unwrap();
    }
    let other = builder.finish().unwrap();
    assert_eq!(other.digest, fixture.registration.digest);
    fs::rename(fixture.dir.path().join(&other.name), fixture.path()).unwrap();
    assert!(matches!(
        fixture.open(),
        Err(Damage::Header("is not the registered one"))
    ));
}

#[test]
fn the_same_content_built_twice_is_the_same_file() {
    let fixture = Fixture::small();
    let again = build(
        fixture.dir.path(),
        spec(70, Metric::Cosine),
        &fixture.vectors,
    );
    assert_ne!(again.name, fixture.registration.name);
    assert_eq!(again.checksum, fixture.registration.checksum);
    fs::rename(fixture.dir.path().join(&again.name), fixture.path()).unwrap();
    assert!(fixture.damage().is_none());
}

#[test]
fn a_registration_that_claims_too_much_allocates_nothing() {
    let fixture = Fixture::small();
    let claims: [fn(&mut Registration); 6] = [
        |claim| claim.count = u64::MAX,
        |claim| claim.count = 1 << 31,
        |claim| claim.dimension = usize::MAX,
        |claim| claim.dimension = 0,
        |claim| claim.bytes = u64::MAX,
        // A count and a length that match each other, but not the file: 8 TB of codes.
        |claim| {
            claim.count = 1 << 31;
            claim.dimension = 8192;
            claim.bytes =
                4096 + claim.count * (4096 + 12 + 8) + 8192 * 4 + (claim.count / 32) * 32768;
        },
    ];
    for claim in claims {
        let mut registration = fixture.registration.clone();
        claim(&mut registration);
        let damage = open(fixture.dir.path(), &registration).unwrap_err();
        assert!(matches!(damage, Damage::Header(_)), "{damage}");
    }
}

#[test]
fn a_registered_name_never_leads_out_of_the_directory() {
    let fixture = Fixture::small();
    for name in ["", ".", "..", "../x", "/etc/passwd", "palace.sqlite3"] {
        let registration = Registration {
            name: name.into(),
            ..fixture.registration.clone()
        };
        let damage = open(fixture.dir.path(), &registration).unwrap_err();
        assert!(
            matches!(damage, Damage::Name(_)) && !damage.leaves_something(),
            "{damage}"
        );
    }
}
