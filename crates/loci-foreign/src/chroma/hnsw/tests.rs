mod damage;
mod fixture;

use loci_core::Metric;
use loci_core::finding::Severity;
use proptest::prelude::*;

use super::*;
use fixture::{Fixture, codes, vectors};

#[test]
fn elements_are_small() {
    assert_eq!(size_of::<Element>(), 16);
}

#[test]
fn a_healthy_segment_gives_every_vector_and_no_finding() {
    for metric in [Metric::Cosine, Metric::L2, Metric::Ip] {
        let fixture = Fixture::new(metric, 6, 4, &vectors(300, 6));
        let segment = fixture.open(Some(6));
        assert_eq!(codes(&segment), [""; 0], "{metric:?}");
        assert!(segment.is_header_sound());
        assert_eq!(segment.dimension(), 6);
        assert_eq!((segment.count(), segment.elements().len()), (300, 300));
        // Also out of ascending order.
        for index in (0..300).chain((0..300).rev()).chain([7, 250, 8, 9]) {
            let vector = segment.vector(index).unwrap().unwrap();
            let expected = fixture.vectors.get(index).unwrap();
            if metric == Metric::Cosine {
                for (value, expected) in vector.iter().zip(expected) {
                    assert!((value - expected).abs() <= expected.abs() * 1e-6);
                }
            } else {
                assert_eq!(&vector, expected);
            }
        }
        assert_eq!(segment.vector(300).unwrap(), None);
    }
}

#[test]
fn a_zero_vector_is_good_if_its_recorded_length_is_zero() {
    let mut some = vectors(5, 3);
    some.push(vec![0.0; 3]);
    let fixture = Fixture::new(Metric::Cosine, 3, 4, &some);
    let segment = fixture.open(Some(3));
    assert_eq!(codes(&segment), [""; 0]);
    assert_eq!(segment.vector(5).unwrap().unwrap(), [0.0; 3]);
    fixture.put("length.bin", 20, &1.5_f32.to_le_bytes());
    let segment = fixture.open(Some(3));
    assert_eq!(codes(&segment), ["vectors_norm"]);
    assert_eq!(segment.vector(5).unwrap(), None);
}

#[test]
fn deleted_elements_are_marked_and_are_no_finding() {
    let fixture = Fixture::new(Metric::L2, 3, 4, &vectors(20, 3));
    fixture.put("data_level0.bin", fixture.record(4) + 2, &[1]);
    // A label that was added again.
    let label = fixture.record(4) + fixture.size() - 8;
    fixture.put("data_level0.bin", label, &6_u64.to_le_bytes());
    // The old content does not matter.
    fixture.put("data_level0.bin", label - 4, &f32::NAN.to_le_bytes());
    let segment = fixture.open(None);
    assert_eq!(codes(&segment), [""; 0]);
    let deleted = segment.elements().iter().filter(|element| element.deleted);
    assert_eq!(deleted.count(), 1);
    assert!(segment.elements().get(4).unwrap().deleted);
}

#[test]
fn a_missing_directory_or_data_file_is_no_segment() {
    let fixture = Fixture::new(Metric::L2, 3, 4, &vectors(5, 3));
    let open = |path: &Path| Segment::open(path, Metric::L2, None).unwrap();
    assert!(open(&fixture.directory().join("nowhere")).is_none());
    assert!(open(&fixture.directory().join("header.bin")).is_none());
    fixture.remove("data_level0.bin");
    assert!(open(&fixture.directory()).is_none());
    std::fs::create_dir(fixture.directory().join("data_level0.bin")).unwrap();
    assert!(open(&fixture.directory()).is_none());
}

#[test]
fn before_the_first_flush_nothing_is_wrong_whatever_the_files_hold() {
    let fixture = Fixture::new(Metric::Cosine, 6, 4, &[]);
    fixture.write("data_level0.bin", &[0xA7; 5000]);
    fixture.write("length.bin", &[0xFF; 400]);
    let segment = fixture.open(Some(6));
    assert_eq!(codes(&segment), [""; 0]);
    assert!(segment.is_header_sound());
    assert_eq!(segment.count(), 0);
    assert_eq!(segment.elements().len(), 5000 / fixture.size());
}

#[test]
fn records_past_the_count_are_read_and_not_judged() {
    let fixture = Fixture::new(Metric::Cosine, 6, 4, &vectors(50, 6));
    let mut data = fixture.read("data_level0.bin");
    data.extend(vec![0xFF; fixture.size() * 3 + 5]);
    fixture.write("data_level0.bin", &data);
    let segment = fixture.open(Some(6));
    assert_eq!(codes(&segment), [""; 0]);
    assert_eq!((segment.count(), segment.elements().len()), (50, 53));
    assert_eq!(
        segment.elements().last().unwrap().vector,
        VectorState::NotFinite
    );
}

#[test]
fn without_a_header_the_layout_is_found_for_every_usual_m() {
    for metric in [Metric::Cosine, Metric::L2] {
        for m in [8, 12, 16, 24, 32, 48, 64, 100, 128, 200, 256] {
            let fixture = Fixture::new(metric, 6, m, &vectors(40, 6));
            let healthy = fixture.open(Some(6));
            // A tail as 0.6 leaves it. The count comes from the link lists.
            let mut data = fixture.read("data_level0.bin");
            data.extend(vec![0; fixture.size() * 9]);
            fixture.write("data_level0.bin", &data);
            fixture.remove("header.bin");
            let segment = fixture.open(Some(6));
            assert_eq!(codes(&segment), ["header_missing"], "{metric:?} {m}");
            assert!(!segment.is_header_sound());
            assert_eq!(segment.dimension(), 6);
            assert_eq!((segment.count(), segment.elements().len()), (40, 49));
            for index in 0..40 {
                assert_eq!(
                    segment.vector(index).unwrap(),
                    healthy.vector(index).unwrap()
                );
            }
        }
    }
}

#[test]
fn without_header_and_dimension_nothing_is_read_and_that_is_said() {
    let fixture = Fixture::new(Metric::L2, 6, 16, &vectors(40, 6));
    fixture.remove("header.bin");
    let segment = fixture.open(None);
    assert_eq!(codes(&segment), ["header_missing"]);
    let finding = segment.findings().first().unwrap();
    assert_eq!(finding.file.as_deref(), Some("segment-1/header.bin"));
    assert_eq!(finding.evidence.get("records_read").unwrap(), 0);
    assert!(segment.elements().is_empty());
    assert_eq!((segment.dimension(), segment.count()), (0, 0));
    assert_eq!(segment.vector(0).unwrap(), None);
}

#[test]
fn without_a_header_garbage_is_not_taken_for_records() {
    let fixture = Fixture::new(Metric::Cosine, 6, 16, &[]);
    fixture.write("data_level0.bin", &[0xA7; 16_000]);
    fixture.remove("header.bin");
    let segment = fixture.open(Some(6));
    assert_eq!(codes(&segment), ["header_missing"]);
    assert!(segment.elements().is_empty());
}

#[test]
fn one_wrong_number_in_the_header_does_not_lose_the_records() {
    for offset in [4, 28, 36, 44, 60, 68, 76] {
        for dimension in [Some(6), None] {
            let fixture = Fixture::new(Metric::Cosine, 6, 16, &vectors(40, 6));
            fixture.put("header.bin", offset, &7777_u64.to_le_bytes());
            let segment = fixture.open(dimension);
            assert_eq!(codes(&segment), ["header_layout"], "{offset} {dimension:?}");
            assert!(!segment.is_header_sound());
            assert_eq!((segment.dimension(), segment.count()), (6, 40));
        }
    }
}

#[test]
fn a_wrong_dimension_of_the_collection_does_not_lose_the_records() {
    let fixture = Fixture::new(Metric::Cosine, 6, 16, &vectors(40, 6));
    let segment = fixture.open(Some(12));
    assert_eq!(codes(&segment), ["header_dimension"]);
    assert!(segment.is_header_sound());
    assert_eq!(segment.dimension(), 6);
    assert!(segment.vector(39).unwrap().is_some());
}

#[test]
fn a_header_of_another_segment_does_not_lose_the_records() {
    let fixture = Fixture::new(Metric::Cosine, 6, 16, &vectors(40, 6));
    let other = Fixture::new(Metric::Cosine, 12, 16, &vectors(10, 12));
    fixture.write("header.bin", &other.read("header.bin"));
    let segment = fixture.open(Some(6));
    assert_eq!(codes(&segment), ["header_dimension"]);
    assert!(!segment.is_header_sound());
    assert_eq!((segment.dimension(), segment.count()), (6, 40));
}

#[test]
fn a_change_of_any_file_is_noticed() {
    for name in FILES {
        let fixture = Fixture::new(Metric::L2, 3, 4, &vectors(5, 3));
        let segment = fixture.open(None);
        assert!(segment.unchanged());
        let mut bytes = fixture.read(name);
        bytes.push(0);
        fixture.write(name, &bytes);
        assert!(!segment.unchanged(), "{name}");
    }
}

#[test]
fn a_vector_that_is_overwritten_meanwhile_is_not_returned_broken() {
    let fixture = Fixture::new(Metric::L2, 3, 4, &vectors(5, 3));
    let segment = fixture.open(None);
    let place = fixture.record(2) + fixture.size() - 12;
    fixture.put("data_level0.bin", place, &f32::NAN.to_le_bytes());
    assert_eq!(segment.vector(2).unwrap(), None);
    fixture.write("data_level0.bin", &[]);
    assert_eq!(segment.vector(4).unwrap(), None);
}

#[test]
fn gigabytes_of_holes_are_not_read() {
    let fixture = Fixture::new(Metric::Cosine, 6, 16, &vectors(40, 6));
    fixture.stretch("link_lists.bin", 2 << 30);
    let segment = fixture.open(Some(6));
    assert_eq!(codes(&segment), ["links_trailing"]);
    fixture.stretch("data_level0.bin", 1 << 40);
    let segment = fixture.open(Some(6));
    assert_eq!(codes(&segment), ["links_trailing"]);
    assert_eq!(segment.elements().len(), 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn damaged_files_never_give_a_bad_vector_for_a_good_one(
        cosine in any::<bool>(),
        dimension in proptest::option::of(5..8_usize),
        flips in proptest::collection::vec((0..4_usize, any::<prop::sample::Index>(), any::<u8>()), 0..30),
        cut in proptest::option::of((0..4_usize, any::<prop::sample::Index>())),
    ) {
        let metric = if cosine { Metric::Cosine } else { Metric::L2 };
        let fixture = Fixture::new(metric, 6, 4, &vectors(30, 6));
        for (file, place, value) in flips {
            let name = FILES[file];
            let mut bytes = fixture.read(name);
            let place = place.index(bytes.len());
            *bytes.get_mut(place).unwrap() ^= value;
            fixture.write(name, &bytes);
        }
        if let Some((file, place)) = cut {
            let mut bytes = fixture.read(FILES[file]);
            bytes.truncate(place.index(bytes.len()));
            fixture.write(FILES[file], &bytes);
        }
        check(&fixture.open(dimension), metric)?;
    }

    #[test]
    fn any_bytes_can_be_read(
        files in proptest::array::uniform4(proptest::collection::vec(any::<u8>(), 0..600)),
        dimension in proptest::option::of(0..20_usize),
    ) {
        let fixture = Fixture::new(Metric::Cosine, 6, 4, &[]);
        for (name, bytes) in FILES.iter().zip(&files) {
            fixture.write(name, bytes);
        }
        check(&fixture.open(dimension), Metric::Cosine)?;
    }
}

/// A damaged vector is never reported as good.
fn check(segment: &Segment, metric: Metric) -> Result<(), TestCaseError> {
    prop_assert!(segment.count() <= segment.elements().len());
    for (index, element) in segment.elements().iter().enumerate() {
        let vector = segment.vector(index).unwrap();
        let usable = matches!(element.vector, VectorState::Good | VectorState::LengthBad);
        prop_assert_eq!(vector.is_some(), usable);
        let Some(vector) = vector else { continue };
        prop_assert!(vector.iter().all(|value| value.is_finite()));
        if metric == Metric::Cosine {
            let norm = vector
                .iter()
                .map(|value| f64::from(*value).powi(2))
                .sum::<f64>()
                .sqrt();
            let recorded = match element.vector {
                VectorState::Good => f64::from(*segment.lengths.get(index).unwrap()),
                _ => 1.0,
            };
            prop_assert!((norm - recorded).abs() <= recorded * 2e-3 + 1e-40);
        }
    }
    for finding in segment.findings() {
        prop_assert!(finding.severity == Severity::Note || !finding.consequence.is_empty());
        prop_assert!(
            finding
                .file
                .as_ref()
                .is_some_and(|file| file.starts_with("segment-1/"))
        );
    }
    Ok(())
}
