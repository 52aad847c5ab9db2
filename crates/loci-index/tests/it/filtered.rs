//! Filters and masks apply inside the search: no forbidden row is returned, and no other row is
//! missing.

use std::collections::BTreeSet;

use loci_core::Metric;
use loci_index::{QueryVector, SlotSet};

use crate::data::Shape;
use crate::fixture::{Fixture, row_of, spec};

fn some(random: &mut fastrand::Rng, len: usize, percent: u32) -> SlotSet {
    let mut set = SlotSet::new(len);
    (0..len)
        .filter(|_| random.u32(..100) < percent)
        .for_each(|slot| {
            set.insert(slot);
        });
    set
}

#[test]
fn answers_obey_filter_and_mask_and_are_full_when_enough_rows_exist() {
    const ROWS: usize = 6000;
    let fixture = Fixture::new(Shape::Clusters(30), spec(64, Metric::Cosine), ROWS);
    let mut random = fastrand::Rng::with_seed(2);
    for index in [fixture.open().unwrap(), fixture.open_warm()] {
        for (allowed, masked, wanted) in [
            (100, 0, 10),
            (100, 50, 10),
            (100, 99, 100),
            (50, 5, 50),
            (10, 10, 50),
            (1, 0, 10),
            (1, 50, 1000),
            (0, 0, 5),
            (100, 100, 5),
            (100, 0, 6001),
            (100, 1, 0),
            (90, 10, 4000),
        ] {
            let filter = (allowed < 100).then(|| some(&mut random, ROWS, allowed));
            let mask = some(&mut random, ROWS, masked);
            let eligible: BTreeSet<u64> = (0..ROWS)
                .filter(|slot| {
                    filter.as_ref().is_none_or(|set| set.contains(*slot)) && !mask.contains(*slot)
                })
                .map(row_of)
                .collect();
            let query = QueryVector::new(Metric::Cosine, &fixture.vectors[random.usize(..ROWS)]);
            let found = index.candidates(&query, wanted, filter.as_ref(), &mask);
            assert_eq!(found.rows.len(), wanted.min(eligible.len()));
            assert_eq!(
                found.rows.iter().collect::<BTreeSet<_>>().len(),
                found.rows.len(),
                "a row is returned twice"
            );
            assert!(found.rows.iter().all(|row| eligible.contains(row)));
            assert_eq!(found.complete, eligible.len() <= wanted);
        }
    }
}

#[test]
fn a_masked_row_is_not_found_by_its_own_vector() {
    let fixture = Fixture::new(Shape::Clusters(30), spec(384, Metric::Cosine), 500);
    for index in [fixture.open().unwrap(), fixture.open_warm()] {
        for slot in [0, 31, 32, 499] {
            let query = QueryVector::new(Metric::Cosine, &fixture.vectors[slot]);
            let mut masked = SlotSet::new(500);
            assert_eq!(
                index.candidates(&query, 5, None, &masked).rows[0],
                row_of(slot)
            );
            masked.insert(slot);
            let found = index.candidates(&query, 5, None, &masked);
            assert!(found.rows.len() == 5 && !found.rows.contains(&row_of(slot)));
        }
    }
}

#[test]
fn sets_of_another_size_are_harmless() {
    let fixture = Fixture::small();
    let index = fixture.open_warm();
    let query = QueryVector::new(Metric::Cosine, &fixture.vectors[0]);
    let found = index.candidates(&query, 500, Some(&SlotSet::full(10)), &SlotSet::new(3));
    assert_eq!(found.rows, (0..10).map(row_of).collect::<Vec<_>>());
    let found = index.candidates(&query, 500, Some(&SlotSet::full(9999)), &SlotSet::full(90));
    assert_eq!(found.rows, (90..100).map(row_of).collect::<Vec<_>>());
}

#[test]
fn equal_vectors_come_back_in_the_order_of_their_rows() {
    let fixture = Fixture::of(vec![vec![0.5; 64]; 3000], spec(64, Metric::Cosine));
    for index in [fixture.open().unwrap(), fixture.open_warm()] {
        let query = QueryVector::new(Metric::Cosine, &[1.0; 64]);
        let found = index.candidates(&query, 7, None, &SlotSet::new(0));
        assert_eq!(found.rows, (0..7).map(row_of).collect::<Vec<_>>());
    }
}
