//! Creates snapshot files with valid checksums around arbitrary bytes, for the fuzz targets in
//! `loci-fuzz`. Only with the feature `fuzzing`.

use loci_core::Metric;
use xxhash_rust::xxh3::xxh3_64;

use crate::layout::{Header, Layout, Version};
use crate::registration::{Identity, Registration, new_name};

/// A file whose sections contain these bytes, repeated as often as needed, and its registration.
/// `None` if no file can have this many rows of this dimension.
pub fn forge(
    count: u64,
    dimension: usize,
    metric: Metric,
    bytes: &[u8],
) -> Option<(Vec<u8>, Registration)> {
    let layout = Layout::new(Version::NEWEST, count, dimension)?;
    let mut source = bytes.iter().copied().cycle();
    let mut sections = Vec::new();
    let mut checksums = [0; 5];
    for (number, length) in layout.lengths.into_iter().enumerate() {
        let mut section: Vec<u8> = (&mut source).take(length as usize).collect();
        section.resize(length as usize, 0);
        // Rows must be ascending; otherwise the file is refused when it is opened.
        if number == 2 {
            let mut row = 0;
            for bytes in section.as_chunks_mut::<8>().0 {
                row += 1 + u64::from(u64::from_le_bytes(*bytes) as u8);
                *bytes = row.to_le_bytes();
            }
        }
        if let Some(checksum) = checksums.get_mut(number) {
            *checksum = xxh3_64(&section);
        }
        sections.extend(section);
    }
    let identity = Identity {
        palace: [7; 16],
        generation: 1,
        collection: 1,
    };
    let header = Header {
        version: Version::NEWEST,
        identity,
        covered: 1,
        count,
        dimension,
        metric,
        digest: [0; 16],
        checksums,
    };
    let mut file = header.encode()?;
    let checksum = xxh3_64(&file);
    file.extend(sections);
    let registration = Registration {
        name: new_name(1, 1),
        identity,
        covered: 1,
        count,
        dimension,
        metric,
        digest: [0; 16],
        checksum,
        bytes: file.len() as u64,
    };
    Some((file, registration))
}
