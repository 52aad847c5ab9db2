//! One test per kind of damage, with exactly the findings that it must produce.

use loci_core::Metric;
use loci_core::finding::Severity;

use super::fixture::{Fixture, codes, vectors};
use crate::chroma::hnsw::{Segment, VectorState};

const COUNT: usize = 40;

fn damaged(damage: impl Fn(&Fixture)) -> (Fixture, Segment) {
    let fixture = Fixture::new(Metric::Cosine, 6, 16, &vectors(COUNT, 6));
    damage(&fixture);
    let segment = fixture.open(Some(6));
    (fixture, segment)
}

/// The only finding, with its severity.
fn only(segment: &Segment) -> (&'static str, Severity) {
    assert_eq!(segment.findings().len(), 1, "{:#?}", segment.findings());
    let finding = segment.findings().first().unwrap();
    (finding.code.as_str(), finding.severity)
}

/// The readable vectors.
fn saved(segment: &Segment) -> usize {
    (0..segment.elements().len())
        .filter(|index| segment.vector(*index).unwrap().is_some())
        .count()
}

/// ChromaDB allocates what the header claims. A flipped bit made every call fail.
#[test]
fn room_for_far_too_many_elements_is_told() {
    let fixture = Fixture::new(Metric::Cosine, 6, 4, &vectors(40, 6));
    let mut header = fixture.read("header.bin");
    header[16] ^= 1;
    fixture.write("header.bin", &header);
    assert_eq!(codes(&fixture.open(Some(6))), ["header_count"]);
}

#[test]
fn a_short_header_is_told_and_all_vectors_are_saved() {
    let (_, segment) = damaged(|fixture| fixture.stretch("header.bin", 60));
    assert_eq!(only(&segment), ("header_size", Severity::Error));
    assert_eq!(saved(&segment), COUNT);
}

#[test]
fn a_long_header_is_harmless() {
    let (_, segment) = damaged(|fixture| fixture.stretch("header.bin", 120));
    assert_eq!(only(&segment), ("header_size", Severity::Note));
    assert!(segment.is_header_sound());
}

#[test]
fn another_version_is_told() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 0, &[2]));
    assert_eq!(only(&segment), ("header_version", Severity::Error));
    assert_eq!(saved(&segment), COUNT);
}

#[test]
fn a_wrong_level_factor_is_told_and_the_header_still_holds() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 84, &f64::NAN.to_le_bytes()));
    assert_eq!(only(&segment), ("header_layout", Severity::Error));
    assert!(segment.is_header_sound());
}

#[test]
fn a_huge_count_is_told_and_all_vectors_are_saved() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 20, &u64::MAX.to_le_bytes()));
    assert_eq!(only(&segment), ("header_count", Severity::Error));
    assert!(!segment.is_header_sound());
    assert_eq!((segment.count(), saved(&segment)), (COUNT, COUNT));
}

#[test]
fn a_count_of_zero_with_an_entry_point_is_told() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 20, &0_u64.to_le_bytes()));
    assert_eq!(only(&segment), ("header_count", Severity::Error));
    assert_eq!((segment.count(), saved(&segment)), (COUNT, COUNT));
}

#[test]
fn a_low_count_is_told_and_the_records_behind_it_are_read() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 20, &30_u64.to_le_bytes()));
    assert_eq!(
        codes(&segment),
        ["header_count", "links_trailing", "neighbours_out_of_range"]
    );
    assert_eq!((segment.count(), saved(&segment)), (30, COUNT));
}

#[test]
fn one_neighbour_in_the_unused_tail_does_not_make_the_count_low() {
    let (_, segment) = damaged(|fixture| {
        fixture.stretch("data_level0.bin", fixture.record(60) as u64);
        let place = fixture.record(3) + 4;
        fixture.put("data_level0.bin", place, &50_u32.to_le_bytes());
    });
    assert_eq!(only(&segment), ("neighbours_out_of_range", Severity::Error));
}

#[test]
fn a_count_that_no_file_reaches_is_told() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 20, &50_u64.to_le_bytes()));
    assert_eq!(
        codes(&segment),
        ["header_count", "data_short", "length_short", "links_short"]
    );
    assert_eq!((segment.count(), saved(&segment)), (COUNT, COUNT));
}

#[test]
fn a_truncated_data_file_keeps_its_whole_records() {
    let (_, segment) = damaged(|fixture| {
        fixture.stretch("data_level0.bin", fixture.record(25) as u64 - 1);
    });
    assert_eq!(only(&segment), ("data_short", Severity::Error));
    assert_eq!((segment.count(), saved(&segment)), (24, 24));
}

#[test]
fn an_empty_data_file_is_short() {
    let (_, segment) = damaged(|fixture| fixture.stretch("data_level0.bin", 0));
    assert_eq!(only(&segment), ("data_short", Severity::Error));
    assert_eq!(segment.count(), 0);
}

#[test]
fn short_lengths_leave_directions() {
    let (fixture, segment) = damaged(|fixture| fixture.stretch("length.bin", 81));
    assert_eq!(only(&segment), ("length_short", Severity::Warning));
    assert_eq!(saved(&segment), COUNT);
    let last = segment.elements().last().unwrap();
    assert_eq!(last.vector, VectorState::LengthBad);
    let norm: f32 = segment
        .vector(39)
        .unwrap()
        .unwrap()
        .iter()
        .map(|value| value * value)
        .sum();
    assert!((norm - 1.0).abs() < 1e-3);
    fixture.remove("length.bin");
    let segment = fixture.open(Some(6));
    assert_eq!(only(&segment), ("length_short", Severity::Error));
}

#[test]
fn impossible_lengths_are_told_one_by_one() {
    let (_, segment) = damaged(|fixture| {
        for (index, value) in [f32::NAN, f32::INFINITY, -1.0, 0.0].iter().enumerate() {
            fixture.put("length.bin", index * 8, &value.to_le_bytes());
        }
    });
    assert_eq!(only(&segment), ("length_values", Severity::Warning));
    let evidence = &segment.findings().first().unwrap().evidence;
    assert_eq!(
        evidence.get("elements").unwrap(),
        &serde_json::json!([0, 2, 4, 6])
    );
    assert_eq!(evidence.get("elements_count").unwrap(), 4);
}

#[test]
fn lengths_mean_nothing_without_the_cosine_metric() {
    let fixture = Fixture::new(Metric::L2, 6, 16, &vectors(COUNT, 6));
    fixture.write("length.bin", &[0xFF; 80]);
    assert_eq!(codes(&fixture.open(Some(6))), [""; 0]);
}

#[test]
fn short_link_lists_are_told() {
    for length in [0, 9, 300] {
        let (_, segment) = damaged(|fixture| fixture.stretch("link_lists.bin", length));
        assert_eq!(only(&segment), ("links_short", Severity::Warning));
    }
    let (_, segment) = damaged(|fixture| fixture.remove("link_lists.bin"));
    assert_eq!(only(&segment), ("links_short", Severity::Error));
}

#[test]
fn bytes_behind_the_link_lists_are_harmless() {
    let (_, segment) = damaged(|fixture| {
        let mut links = fixture.read("link_lists.bin");
        links.push(1);
        fixture.write("link_lists.bin", &links);
    });
    assert_eq!(only(&segment), ("links_trailing", Severity::Note));
}

#[test]
fn an_impossible_level_is_told_with_its_place() {
    // The first entry has two levels of 68 bytes, the second is at 140.
    for size in [67_u32, 68 * 1000] {
        let (_, segment) = damaged(|fixture| {
            fixture.put("link_lists.bin", 140, &size.to_le_bytes());
        });
        assert_eq!(only(&segment), ("links_level", Severity::Error));
        let evidence = &segment.findings().first().unwrap().evidence;
        assert_eq!(evidence.get("element").unwrap(), 1);
        assert_eq!(evidence.get("offset").unwrap(), 140);
    }
}

#[test]
fn elements_above_the_highest_level_are_told() {
    let (_, segment) = damaged(|fixture| fixture.put("header.bin", 52, &1_i32.to_le_bytes()));
    assert_eq!(only(&segment), ("links_level", Severity::Warning));
}

#[test]
fn neighbours_that_do_not_exist_are_told() {
    let (fixture, segment) = damaged(|fixture| {
        fixture.put(
            "data_level0.bin",
            fixture.record(3) + 4,
            &40_u32.to_le_bytes(),
        );
    });
    assert_eq!(only(&segment), ("neighbours_out_of_range", Severity::Error));
    let finding = segment.findings().first().unwrap();
    assert_eq!(finding.file.as_deref(), Some("segment-1/data_level0.bin"));
    assert_eq!(
        finding.evidence.get("elements").unwrap(),
        &serde_json::json!([3])
    );
    // Beyond the count of neighbours, so it is never followed.
    fixture.put(
        "data_level0.bin",
        fixture.record(3) + 4,
        &4_u32.to_le_bytes(),
    );
    fixture.put(
        "data_level0.bin",
        fixture.record(3) + 12,
        &40_u32.to_le_bytes(),
    );
    assert_eq!(codes(&fixture.open(Some(6))), [""; 0]);
    let unused = fixture.record(3) + 12;
    fixture.put("data_level0.bin", unused, &4_u32.to_le_bytes());
    fixture.put("data_level0.bin", fixture.record(3), &33_u16.to_le_bytes());
    assert_eq!(codes(&fixture.open(Some(6))), ["neighbours_out_of_range"]);
}

#[test]
fn wrong_neighbours_at_upper_levels_are_told() {
    // Element 0, level 1: the count is at 4, the first neighbour at 8. Neighbour 11 exists, but not
    // at that level.
    for (place, value) in [(8, 40_u32), (8, 11), (4, 17)] {
        let (_, segment) = damaged(|fixture| {
            fixture.put("link_lists.bin", place, &value.to_le_bytes());
        });
        assert_eq!(only(&segment), ("neighbours_out_of_range", Severity::Error));
        let finding = segment.findings().first().unwrap();
        assert_eq!(finding.file.as_deref(), Some("segment-1/link_lists.bin"));
        assert_eq!(finding.evidence.get("elements_count").unwrap(), 1);
    }
}

#[test]
fn a_wrong_entry_point_is_told() {
    let put = |place: usize, value: i32| {
        let (_, segment) =
            damaged(|fixture| fixture.put("header.bin", place, &value.to_le_bytes()));
        only(&segment)
    };
    assert_eq!(put(56, 40), ("entry_point", Severity::Error));
    assert_eq!(put(56, 1), ("entry_point", Severity::Error));
    assert_eq!(put(52, 9), ("entry_point", Severity::Error));
    assert_eq!(put(52, -1), ("entry_point", Severity::Warning));
}

#[test]
fn zeroed_links_are_told() {
    let (_, segment) = damaged(|fixture| {
        for index in 0..COUNT {
            fixture.put("data_level0.bin", fixture.record(index), &[0; 132]);
        }
    });
    assert_eq!(only(&segment), ("graph_disconnected", Severity::Warning));
    assert_eq!(saved(&segment), COUNT);
}

#[test]
fn a_single_element_needs_no_neighbour() {
    let fixture = Fixture::new(Metric::L2, 6, 16, &vectors(1, 6));
    fixture.put("data_level0.bin", 0, &[0; 132]);
    assert_eq!(codes(&fixture.open(Some(6))), [""; 0]);
}

#[test]
fn duplicate_labels_are_listed() {
    let (_, segment) = damaged(|fixture| {
        let place = fixture.record(8) - 8;
        fixture.put("data_level0.bin", place, &3_u64.to_le_bytes());
    });
    assert_eq!(only(&segment), ("labels_duplicate", Severity::Warning));
    let evidence = &segment.findings().first().unwrap().evidence;
    assert_eq!(evidence.get("labels").unwrap(), &serde_json::json!([3]));
}

#[test]
fn broken_vectors_are_told_and_not_returned() {
    let at = |fixture: &Fixture, index: usize| fixture.record(index) + 132;
    let (_, segment) = damaged(|fixture| {
        fixture.put("data_level0.bin", at(fixture, 5), &f32::NAN.to_le_bytes());
        fixture.put("data_level0.bin", at(fixture, 6), &7.0_f32.to_le_bytes());
    });
    assert_eq!(codes(&segment), ["vectors_not_finite", "vectors_norm"]);
    assert_eq!(segment.vector(5).unwrap(), None);
    assert_eq!(segment.vector(6).unwrap(), None);
    assert_eq!(saved(&segment), COUNT - 2);
}
