//! Garbage in the recorded lengths of cosine vectors: the direction is kept, and every other length
//! stays.

use std::collections::BTreeMap;
use std::fs;

use loci_foreign::chroma::{Diagnosis, Origin};

use crate::chroma_scenes::best::{self, Layout};
use crate::chroma_scenes::expected::{close, same_direction};
use crate::chroma_scenes::scene::{DATA, Scene};

/// Element → id, for the vectors that need their recorded length: not those deleted since the flush,
/// and not those with a vector in the queue, which is in its original form. Elements have another
/// order each time chromadb writes the directory.
fn need_their_length(scene: &Scene) -> BTreeMap<usize, String> {
    let layout = Layout::of(scene);
    let data = fs::read(scene.file(DATA)).unwrap();
    let labels = &scene.expected.labels[&scene.vector_segment()];
    let queue = best::queue(scene);
    let ids: BTreeMap<u64, &String> = labels
        .iter()
        .filter(|(id, _)| !queue.contains(*id) && scene.expected.first().record(id).is_some())
        .map(|(id, label)| (*label, id))
        .collect();
    layout
        .elements(&data)
        .enumerate()
        .filter_map(|(at, element)| Some((at, (*ids.get(&layout.label_of(element))?).clone())))
        .collect()
}

/// Overwrites the lengths of some elements. Returns the ids that lose their length by this.
fn spoil(scene: &Scene, values: &BTreeMap<usize, f32>) -> Vec<String> {
    let path = scene.file("length.bin");
    let mut bytes = fs::read(&path).unwrap();
    for (element, value) in values {
        bytes[element * 4..][..4].copy_from_slice(&value.to_le_bytes());
    }
    fs::write(path, bytes).unwrap();
    let mut lost: Vec<String> = need_their_length(scene)
        .into_iter()
        .filter(|(element, _)| values.contains_key(element))
        .map(|(_, id)| id)
        .collect();
    lost.sort();
    lost
}

/// Reads everything. Returns the ids whose vector has no known length.
fn without_length(scene: &Scene) -> Vec<String> {
    let diagnosis = Diagnosis::of(&scene.directory).unwrap();
    let survey = &diagnosis.surveys[0];
    let mut lost = Vec::new();
    for live in &survey.live {
        let vector = diagnosis.directory.vector(survey, live).unwrap().unwrap();
        let record = scene.expected.first().record(&live.id).unwrap();
        let written = record.embedding.as_ref().unwrap();
        if matches!(
            live.origin,
            Origin::Segment {
                direction: true,
                ..
            }
        ) {
            assert!(same_direction(&vector, written), "{}", live.id);
            let length: f32 = vector.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-3, "{}", live.id);
            lost.push(live.id.clone());
        } else {
            assert!(close(&vector, written), "{}", live.id);
        }
    }
    let told = diagnosis
        .all()
        .any(|finding| finding.code.as_str() == "length_values");
    assert_eq!(told, !lost.is_empty());
    lost.sort();
    lost
}

#[test]
fn a_length_that_is_absurd_beside_the_others_counts_as_lost() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let values = [0.0, -7.0, f32::NAN, f32::INFINITY, 1e30, 1e-20, 1e6, 1e-5];
    let elements = need_their_length(&scene).into_keys().step_by(40);
    let spoiled = spoil(&scene, &elements.zip(values).collect());
    assert_eq!(spoiled.len(), values.len());
    assert_eq!(without_length(&scene), spoiled);
}

#[test]
fn a_run_of_garbage_lengths_costs_only_lengths() {
    let Some(scene) = Scene::standard() else {
        return;
    };
    let mut random = fastrand::Rng::with_seed(3);
    let garbage = (200..250).map(|element| {
        // In practice, garbage may be a plausible length by chance. None of these values is.
        let value = loop {
            let value = f32::from_bits(random.u32(..));
            if !(0.001..1e5).contains(&value) {
                break value;
            }
        };
        (element, value)
    });
    let spoiled = spoil(&scene, &garbage.collect());
    assert!(!spoiled.is_empty());
    assert_eq!(without_length(&scene), spoiled);
}

#[test]
fn lengths_that_differ_by_three_orders_of_magnitude_are_all_kept() {
    let Some(scene) = Scene::of_lengths(0.02, 20.0) else {
        return;
    };
    assert_eq!(without_length(&scene), [""; 0]);
}
