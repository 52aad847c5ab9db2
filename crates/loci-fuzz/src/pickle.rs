//! Target `pickle`: `index_metadata.pickle` of ChromaDB.

use std::collections::{BTreeMap, HashSet};

use loci_foreign::chroma::fuzzing::{Labels, read_pickle};

use crate::input::Input;

/// Reads the bytes as a file, then a file written from the bytes, whole and truncated.
pub fn run(data: &[u8]) {
    let labels = read_pickle(data);
    check(&labels, data.len());
    assert_eq!(read_pickle(data), labels, "two readings differ");
    written(data);
}

fn check(labels: &Labels, bytes: usize) {
    let pairs = &labels.pairs;
    assert!(
        pairs.is_sorted_by(|left, right| left.1 < right.1),
        "labels are not ascending, or one occurs twice"
    );
    let ids: HashSet<&str> = pairs.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids.len(), pairs.len(), "an id has two labels");
    let found = pairs.len() as u64 + labels.disputed;
    assert!(found <= bytes as u64, "more pairs than bytes");
    assert!(!labels.is_cut_short || labels.damage.is_some());
    assert!(labels.confirmed.is_sorted());
}

/// Checks that a file as ChromaDB 1.x writes it returns its pairs, and only those when truncated.
fn written(data: &[u8]) {
    let mut input = Input(data);
    let cut = input.number();
    let mut by_id: BTreeMap<String, u32> = BTreeMap::new();
    let mut labels = HashSet::new();
    while !input.0.is_empty() {
        let label = u32::from(input.byte()) << 3 | u32::from(input.byte() & 7);
        let length = usize::from(input.byte() % 24);
        let id = Input(input.bytes(length)).text();
        if labels.insert(label) && by_id.insert(id, label).is_none() {
            continue;
        }
        // A duplicate id or label is a conflict, which is not tested here.
        return;
    }
    let file = pickled(&by_id);
    let mut expected: Vec<(String, u64)> = by_id
        .into_iter()
        .map(|(id, label)| (id, u64::from(label)))
        .collect();
    expected.sort_by_key(|(_, label)| *label);
    let whole = read_pickle(&file);
    assert_eq!(whole.damage, None);
    assert_eq!(whole.pairs, expected);
    let short = read_pickle(&file[..cut % file.len()]);
    assert!(short.damage.is_some(), "a truncated file has no damage");
    assert!(
        short.pairs.iter().all(|pair| expected.contains(pair)),
        "a truncated file gives pairs that were not written"
    );
}

fn pickled(by_id: &BTreeMap<String, u32>) -> Vec<u8> {
    fn text(file: &mut Vec<u8>, text: &str) {
        file.push(b'X');
        file.extend((text.len() as u32).to_le_bytes());
        file.extend(text.as_bytes());
    }
    fn number(file: &mut Vec<u8>, number: u32) {
        file.push(b'J');
        file.extend(number.to_le_bytes());
    }
    let mut file = b"\x80\x03}(".to_vec();
    text(&mut file, "id_to_label");
    file.extend(b"}(");
    for (id, label) in by_id {
        text(&mut file, id);
        number(&mut file, *label);
    }
    file.push(b'u');
    text(&mut file, "label_to_id");
    file.extend(b"}(");
    for (id, label) in by_id {
        number(&mut file, *label);
        text(&mut file, id);
    }
    file.extend(b"uu.");
    file
}
