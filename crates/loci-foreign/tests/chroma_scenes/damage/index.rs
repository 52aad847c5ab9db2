//! Damages to the files of an HNSW segment.

use std::fs::{self, File};

use super::super::best::Layout;
use super::super::scene::{DATA, PICKLE, Scene, copy_tree};

const HEADER: &str = "header.bin";
const LENGTH: &str = "length.bin";
const LINKS: &str = "link_lists.bin";
/// The offset of the number of elements in the header.
const COUNT: usize = 20;
/// An arbitrary UUID that is not a segment.
const ORPHAN: &str = "0d15ea5e-0000-4000-8000-000000000000";

fn edit(scene: &Scene, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = scene.file(name);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Replaces files with those from after the flush.
fn take(scene: &Scene, names: &[&str]) {
    let flushed = scene.other.as_ref().unwrap().join(scene.vector_segment());
    for name in names {
        fs::copy(flushed.join(name), scene.file(name)).unwrap();
    }
}

pub fn crash_header_only(scene: &Scene) {
    take(scene, &[HEADER]);
}

pub fn crash_mid_hnsw_save(scene: &Scene) {
    take(scene, &[HEADER, DATA]);
}

pub fn crash_after_hnsw_save(scene: &Scene) {
    take(scene, &[HEADER, DATA, LENGTH, LINKS]);
}

pub fn crash_before_max_seq_id(scene: &Scene) {
    take(scene, &[HEADER, DATA, LENGTH, LINKS, PICKLE]);
}

pub fn crash_truncated_pickle(scene: &Scene) {
    crash_before_max_seq_id(scene);
    edit(scene, PICKLE, |bytes| bytes.truncate(bytes.len() / 2));
}

pub fn pickle_empty(scene: &Scene) {
    edit(scene, PICKLE, Vec::clear);
}

/// One bit in the length of a string, so that the string has no end.
pub fn pickle_bitflip(scene: &Scene) {
    edit(scene, PICKLE, |bytes| {
        let half = bytes.len() / 2;
        let opcode = (half..bytes.len() - 5)
            .find(|&at| bytes[at] == b'X' && bytes[at + 1] < 32 && bytes[at + 2..at + 5] == [0; 3]);
        bytes[opcode.unwrap() + 4] ^= 0x40;
    });
}

pub fn pickle_deleted(scene: &Scene) {
    fs::remove_file(scene.file(PICKLE)).unwrap();
}

pub fn segment_dir_deleted(scene: &Scene) {
    fs::remove_dir_all(scene.segment()).unwrap();
}

pub fn segment_renamed_drift(scene: &Scene) {
    let aside = format!("{}.drift-20260101-120000", scene.vector_segment());
    fs::rename(scene.segment(), scene.directory.join(aside)).unwrap();
}

/// The files of an earlier state, as from a backup.
pub fn stale_segment(scene: &Scene) {
    take(scene, &[HEADER, DATA, LENGTH, LINKS, PICKLE]);
}

pub fn header_deleted(scene: &Scene) {
    fs::remove_file(scene.file(HEADER)).unwrap();
}

pub fn header_truncated(scene: &Scene) {
    edit(scene, HEADER, |bytes| bytes.truncate(50));
}

fn recount(scene: &Scene, change: impl FnOnce(u64) -> u64) {
    edit(scene, HEADER, |bytes| {
        let place = &mut bytes[COUNT..COUNT + 8];
        let count = u64::from_le_bytes((&*place).try_into().unwrap());
        place.copy_from_slice(&change(count).to_le_bytes());
    });
}

pub fn header_count_huge(scene: &Scene) {
    recount(scene, |_| 1_000_000_000);
}

pub fn header_count_low(scene: &Scene) {
    recount(scene, |count| count - count / 6);
}

pub fn header_count_plus500(scene: &Scene) {
    recount(scene, |count| count + count / 6);
}

pub fn data_truncated_half(scene: &Scene) {
    edit(scene, DATA, |bytes| bytes.truncate(bytes.len() / 2));
}

pub fn data_empty(scene: &Scene) {
    edit(scene, DATA, Vec::clear);
}

pub fn data_links_out_of_range(scene: &Scene) {
    let layout = Layout::of(scene);
    edit(scene, DATA, |bytes| {
        for element in bytes.chunks_exact_mut(layout.size) {
            for link in element[4..layout.vector].chunks_exact_mut(4) {
                link.copy_from_slice(&0x7fff_fff0_u32.to_le_bytes());
            }
        }
    });
}

pub fn data_links_zeroed(scene: &Scene) {
    let layout = Layout::of(scene);
    edit(scene, DATA, |bytes| {
        for element in bytes.chunks_exact_mut(layout.size) {
            element[..2].fill(0);
            element[4..layout.vector].fill(0);
        }
    });
}

/// 200 bytes at a random offset.
pub fn data_random_flips(scene: &Scene) {
    flip(scene, DATA, 200);
}

pub fn linklists_bitflips(scene: &Scene) {
    flip(scene, LINKS, 20);
}

fn flip(scene: &Scene, name: &str, count: usize) {
    let mut random = fastrand::Rng::with_seed(7);
    edit(scene, name, |bytes| {
        for _ in 0..count {
            let at = random.usize(..bytes.len());
            bytes[at] ^= 1 << random.u8(..8);
        }
    });
}

/// A quarter of the vectors are swapped in pairs, so that no norm changes.
pub fn data_vectors_scrambled(scene: &Scene) {
    let layout = Layout::of(scene);
    edit(scene, DATA, |bytes| {
        let quarter = bytes.len() / layout.size / 4;
        for pair in bytes[..quarter * layout.size].chunks_exact_mut(2 * layout.size) {
            let (one, other) = pair.split_at_mut(layout.size);
            one[layout.vector..layout.label]
                .swap_with_slice(&mut other[layout.vector..layout.label]);
        }
    });
}

pub fn linklists_empty(scene: &Scene) {
    edit(scene, LINKS, Vec::clear);
}

pub fn linklists_truncated(scene: &Scene) {
    edit(scene, LINKS, |bytes| bytes.truncate(bytes.len() / 2));
}

/// 2 GiB, almost all of them a hole.
pub fn linklists_sparse_bloat(scene: &Scene) {
    let file = File::options().write(true).open(scene.file(LINKS)).unwrap();
    file.set_len(2 << 30).unwrap();
}

pub fn length_garbage(scene: &Scene) {
    let mut random = fastrand::Rng::with_seed(8);
    edit(scene, LENGTH, |bytes| random.fill(bytes));
}

pub fn length_empty(scene: &Scene) {
    edit(scene, LENGTH, Vec::clear);
}

pub fn orphan_segment_dir(scene: &Scene) {
    copy_tree(&scene.segment(), &scene.directory.join(ORPHAN));
}
