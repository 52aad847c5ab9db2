//! Lower limits of recall. Seeds are fixed, so a failure means that the codes changed.

use loci_core::Metric;
use loci_index::{QueryVector, SlotSet};

use crate::data::{Shape, Source};
use crate::fixture::{Fixture, spec};

const ROWS: usize = 5000;

fn fixture_and_queries(
    shape: Shape,
    dimension: usize,
    metric: Metric,
) -> (Fixture, Vec<QueryVector>) {
    let mut source = Source::new(shape, dimension, 21);
    let vectors = (0..ROWS).map(|_| source.draw()).collect();
    let queries = (0..30)
        .map(|_| QueryVector::new(metric, &source.draw()))
        .collect();
    (Fixture::of(vectors, spec(dimension, metric)), queries)
}

#[test]
fn warm_recall_of_fifty_candidates_is_at_least_99_percent() {
    for metric in [Metric::Cosine, Metric::L2, Metric::Ip] {
        for shape in [Shape::Clusters(100), Shape::Latent(32), Shape::Sparse(40)] {
            let (fixture, queries) = fixture_and_queries(shape, 384, metric);
            let recall = fixture.recall(&*fixture.open_warm(), &queries, 50, None);
            assert!(recall >= 0.99, "{metric:?} {shape:?}: {recall}");
        }
    }
}

#[test]
fn the_one_bit_stage_alone_has_a_recall_of_98_percent_in_a_tenth_of_the_rows() {
    for metric in [Metric::Cosine, Metric::L2] {
        for shape in [Shape::Clusters(100), Shape::Latent(32), Shape::Sparse(40)] {
            let (fixture, queries) = fixture_and_queries(shape, 384, metric);
            let index = fixture.open().unwrap();
            assert!(!index.is_warm());
            let recall = fixture.recall(&*index, &queries, ROWS / 10, None);
            assert!(recall >= 0.98, "{metric:?} {shape:?}: {recall}");
        }
    }
}

#[test]
fn the_one_bit_stage_alone_tells_vectors_of_different_lengths_apart() {
    let mut random = fastrand::Rng::with_seed(6);
    for metric in [Metric::L2, Metric::Ip] {
        let mut source = Source::new(Shape::Clusters(50), 128, 8);
        let mut draw = || {
            let length = 0.1 + 2.0 * random.f32() * random.f32();
            source
                .draw()
                .iter()
                .map(|number| number * length)
                .collect::<Vec<f32>>()
        };
        let vectors: Vec<Vec<f32>> = (0..ROWS).map(|_| draw()).collect();
        let queries: Vec<_> = (0..30).map(|_| QueryVector::new(metric, &draw())).collect();
        let fixture = Fixture::of(vectors, spec(128, metric));
        let recall = fixture.recall(&*fixture.open().unwrap(), &queries, ROWS / 10, None);
        assert!(recall >= 0.98, "{metric:?}: {recall}");
    }
}

#[test]
fn short_vectors_are_found_by_their_eight_bit_codes() {
    for metric in [Metric::Cosine, Metric::L2, Metric::Ip] {
        for dimension in [2, 3, 16, 63] {
            let (fixture, queries) = fixture_and_queries(Shape::Clusters(20), dimension, metric);
            // In two dimensions thousands of angles share a code, so more candidates are needed.
            let wanted = if dimension < 4 { 500 } else { 50 };
            let recall = fixture.recall(&*fixture.open().unwrap(), &queries, wanted, None);
            assert!(recall >= 0.99, "{metric:?} {dimension}: {recall}");
        }
    }
}

#[test]
fn filtered_recall_is_at_least_999_in_a_thousand() {
    let (fixture, queries) = fixture_and_queries(Shape::Clusters(100), 384, Metric::Cosine);
    let index = fixture.open_warm();
    for step in [2, 10, 100] {
        let mut allowed = SlotSet::new(ROWS);
        (0..ROWS).step_by(step).for_each(|slot| {
            allowed.insert(slot);
        });
        let recall = fixture.recall(&*index, &queries, 50, Some(&allowed));
        assert!(recall >= 0.999, "every {step}th: {recall}");
    }
}

#[test]
fn data_far_from_the_origin_is_still_distinguished() {
    let mut source = Source::new(Shape::Clusters(50), 128, 8);
    let mut draw = || {
        source
            .draw()
            .iter()
            .map(|number| number + 1000.0)
            .collect::<Vec<f32>>()
    };
    let vectors: Vec<Vec<f32>> = (0..2000).map(|_| draw()).collect();
    let queries: Vec<_> = (0..20)
        .map(|_| QueryVector::new(Metric::L2, &draw()))
        .collect();
    let fixture = Fixture::of(vectors, spec(128, Metric::L2));
    let recall = fixture.recall(&*fixture.open_warm(), &queries, 50, None);
    assert!(recall >= 0.99, "{recall}");
}
