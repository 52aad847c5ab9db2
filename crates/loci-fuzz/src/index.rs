//! Target `index`: snapshot files of the vector index.

use loci_core::Metric;
use loci_index::fuzzing::forge;
use loci_index::{QueryVector, SlotSet, open, snapshot_rows};

use crate::input::Input;
use crate::scratch;

/// The input is a choice, the shape of a file, an offset to damage, and the bytes of its sections.
///
/// The file gets correct checksums around any content. Wrong checksums would be rejected first, so
/// without this no mutation would reach the code after the check. Then one byte is changed, which
/// must be noticed.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let metric = input.one_of(&[Metric::Cosine, Metric::L2, Metric::Ip]);
    let count = input.number() % 2_500;
    let dimension = 1 + usize::from(input.byte()) % 140;
    let wanted = input.number() % 600;
    let (place, change) = (input.number() * 97, input.byte().max(1));
    let Some((mut file, registration)) = forge(count as u64, dimension, metric, input.0) else {
        return;
    };
    let directory = scratch::directory();
    scratch::write(directory.path(), &registration.name, &file);
    let index = open(directory.path(), &registration).expect("a valid file opens");
    assert_eq!(index.rows().len(), count);
    let rows = snapshot_rows(&directory.path().join(&registration.name)).expect("rows are read");
    assert_eq!(rows.rows, index.rows());

    let vector: Vec<f32> = (0..dimension).map(|at| (at as f32 - 3.0) / 7.0).collect();
    let query = QueryVector::new(metric, &vector);
    let none = SlotSet::new(0);
    for warm in [false, true] {
        if warm {
            index.warm().expect("a valid file is loaded");
        }
        let found = index.candidates(&query, wanted, None, &none);
        assert!(found.rows.len() <= wanted.max(1).min(count.max(1)));
        assert!(found.rows.iter().all(|row| index.slot(*row).is_some()));
    }
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    if let Some(row) = index.rows().first() {
        assert!(index.agrees(*row, &bytes).is_some());
    }

    let place = place % file.len();
    file[place] ^= change;
    scratch::write(directory.path(), &registration.name, &file);
    let damaged = open(directory.path(), &registration).and_then(|index| index.warm());
    assert!(
        damaged.is_err(),
        "a changed byte at offset {place} is not noticed"
    );
    let _ = snapshot_rows(&directory.path().join(&registration.name));
}
