//! An opened snapshot has the content that was built.

use std::os::unix::fs::PermissionsExt;

use loci_core::Metric;
use loci_index::{ContentDigest, QueryVector, SlotSet};

use crate::data::{Shape, Source, bytes};
use crate::fixture::{Fixture, IDENTITY, names, row_of, spec};

const METRICS: [Metric; 3] = [Metric::Cosine, Metric::L2, Metric::Ip];

#[test]
fn an_opened_snapshot_holds_the_rows_and_codes_that_were_pushed() {
    for metric in METRICS {
        for (dimension, count) in [
            (1, 3),
            (7, 40),
            (63, 33),
            (64, 32),
            (65, 100),
            (384, 257),
            (1000, 5),
        ] {
            let fixture = Fixture::new(Shape::Clusters(3), spec(dimension, metric), count);
            let index = fixture.open().unwrap();
            assert_eq!(index.registration(), &fixture.registration);
            assert_eq!(index.rows(), (0..count).map(row_of).collect::<Vec<_>>());
            assert_eq!(index.is_warm(), dimension < 64);
            for warm in [false, true] {
                for (slot, vector) in fixture.vectors.iter().enumerate() {
                    assert_eq!(index.slot(row_of(slot)), Some(slot));
                    assert_eq!(index.agrees(row_of(slot), &bytes(vector)), Some(true));
                }
                assert_eq!(index.warm().unwrap(), !warm && dimension >= 64);
                assert!(index.is_warm());
            }
        }
    }
}

#[test]
fn sections_that_are_read_in_several_pieces_hold_every_row() {
    // Scales, addends and factors have 12 bytes per row, and a piece has 128 kB.
    let fixture = Fixture::new(Shape::Clusters(3), spec(64, Metric::Cosine), 20_000);
    let index = fixture.open().unwrap();
    for (slot, vector) in fixture.vectors.iter().enumerate() {
        assert_eq!(index.agrees(row_of(slot), &bytes(vector)), Some(true));
    }
}

#[test]
fn the_registration_tells_what_the_truth_must_remember() {
    let fixture = Fixture::small();
    let registration = &fixture.registration;
    assert_eq!(
        names(fixture.dir.path()),
        std::slice::from_ref(&registration.name)
    );
    assert_eq!(registration.identity, IDENTITY);
    assert_eq!(
        (
            registration.covered,
            registration.count,
            registration.dimension
        ),
        (77, 100, 70)
    );
    assert_eq!(registration.bytes, fixture.bytes().len() as u64);
    let mut digest = ContentDigest::new();
    for (slot, vector) in fixture.vectors.iter().enumerate().rev() {
        digest.add(row_of(slot), &bytes(vector));
    }
    assert_eq!(registration.digest, digest.finish());
    let mode = fixture.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn another_vector_or_a_broken_one_does_not_agree() {
    let fixture = Fixture::small();
    for index in [fixture.open().unwrap(), fixture.open_warm()] {
        let vector = &fixture.vectors[3];
        assert_eq!(
            index.agrees(row_of(3), &bytes(&fixture.vectors[4])),
            Some(false)
        );
        assert_eq!(index.agrees(row_of(3), &bytes(vector)[1..]), Some(false));
        assert_eq!(index.agrees(row_of(3), &[]), Some(false));
        let mut broken = vector.clone();
        broken[0] = f32::NAN;
        assert_eq!(index.agrees(row_of(3), &bytes(&broken)), Some(false));
        assert_eq!(index.agrees(9, &bytes(vector)), None);
    }
}

#[test]
fn an_empty_snapshot_answers_completely_with_nothing() {
    for dimension in [3, 100] {
        let fixture = Fixture::of(Vec::new(), spec(dimension, Metric::Cosine));
        let index = fixture.open_warm();
        let query = QueryVector::new(Metric::Cosine, &vec![1.0; dimension]);
        let found = index.candidates(&query, 10, None, &SlotSet::new(0));
        assert!(found.complete && found.rows.is_empty());
    }
}

#[test]
fn a_query_of_another_dimension_or_metric_gets_nothing() {
    let fixture = Fixture::small();
    let index = fixture.open_warm();
    for query in [
        QueryVector::new(Metric::Cosine, &[]),
        QueryVector::new(Metric::Cosine, &[1.0; 71]),
        QueryVector::new(Metric::L2, &[1.0; 70]),
    ] {
        let found = index.candidates(&query, 10, None, &SlotSet::new(0));
        assert!(found.rows.is_empty() && !found.complete);
    }
}

#[test]
fn no_query_and_no_vector_is_too_strange_to_answer() {
    for metric in METRICS {
        for dimension in [5, 64] {
            let mut source = Source::new(Shape::Clusters(2), dimension, 4);
            let mut vectors: Vec<Vec<f32>> = (0..60).map(|_| source.draw()).collect();
            for (slot, size) in [0.0, 1e-45, -1e-20, 1e19, -3e38, 3e38]
                .into_iter()
                .enumerate()
            {
                vectors[slot * 9] = vec![size; dimension];
            }
            let fixture = Fixture::of(vectors, spec(dimension, metric));
            for index in [fixture.open().unwrap(), fixture.open_warm()] {
                for size in [0.0, 1e-45, 1e-20, 1.0, -3e38, 3e38, f32::NAN, f32::INFINITY] {
                    let query = QueryVector::new(metric, &vec![size; dimension]);
                    let found = index.candidates(&query, 20, None, &SlotSet::new(0));
                    assert_eq!(found.rows.len(), 20, "{metric:?} {dimension} {size}");
                }
            }
        }
    }
}
