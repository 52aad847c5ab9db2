//! Target `hnsw`: the four files of a vector segment of ChromaDB.

use loci_core::Metric;
use loci_foreign::chroma::fuzzing::read_segment;

use crate::input::Input;
use crate::scratch;

/// The input is metric, dimension and three lengths, then header, records, vector lengths and
/// links.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let metric = input.one_of(&[Metric::Cosine, Metric::L2, Metric::Ip]);
    let dimension = Some(usize::from(input.byte())).filter(|dimension| *dimension > 0);
    let lengths = [input.number(), input.number(), input.number()];
    let directory = scratch::directory();
    let [header, records, vector_lengths] = lengths.map(|length| input.bytes(length));
    for (name, bytes) in [
        ("header.bin", header),
        ("data_level0.bin", records),
        ("length.bin", vector_lengths),
        ("link_lists.bin", input.0),
    ] {
        scratch::write(directory.path(), name, bytes);
    }
    let read = || {
        read_segment(directory.path(), metric, dimension)
            .expect("the files can be read")
            .expect("the records are there")
    };
    let facts = read();
    assert!(facts.count <= facts.labels.len());
    assert_eq!(facts.labels.len(), facts.vectors.len());
    // A record has at least a head, two links, one number and a label.
    assert!(
        facts.labels.len() <= records.len() / 24,
        "more records than bytes"
    );
    for vector in facts.vectors.iter().flatten() {
        assert_eq!(vector.len(), facts.dimension);
        assert!(
            vector.iter().all(|value| value.is_finite()),
            "a number is not finite"
        );
    }
    assert_eq!(read(), facts, "two readings differ");
}
