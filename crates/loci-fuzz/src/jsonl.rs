//! Target `jsonl`: the reader of `loci import jsonl`.

use std::io::BufReader;

use loci_palace::fuzzing::{Outcome, read_lines};

/// The input is a file of lines.
pub fn run(data: &[u8]) {
    let lines = read(data, 8192);
    assert_eq!(read(data, 7), lines, "lines depend on how they arrive");
    let count = data.split(|byte| *byte == b'\n').count();
    let expected = count - usize::from(data.is_empty() || data.ends_with(b"\n"));
    assert_eq!(lines.len(), expected, "a line is lost");
    // A line that is exported and read again is the same. A vector may contain a number that is not
    // finite, which is written as null. Such a record is refused later, so it is skipped here.
    for line in lines.iter().flatten().filter(|line| !line.contains("null")) {
        let again = read(line.as_bytes(), 8192);
        assert_eq!(again, [Ok(line.clone())], "{line}");
    }
}

fn read(data: &[u8], capacity: usize) -> Vec<Outcome> {
    let mut input = BufReader::with_capacity(capacity, data);
    read_lines(&mut input).expect("bytes in memory can be read")
}
