//! Memory for the large parts of a snapshot.
//!
//! A process that searches once spends more time on the page faults of this memory than on reading
//! the file into it. Linux can back it by pages of 2 MB, of which there are few, if it is asked to.
#![expect(unsafe_code, reason = "advises Linux about the memory of a vector")]

use crate::damage::Damage;

/// The size of a large page of x86-64 and ARM64.
const LARGE_PAGE: usize = 2 << 20;

/// An empty vector with this capacity.
pub(crate) fn reserve(capacity: usize) -> Result<Vec<u8>, Damage> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(capacity)
        .map_err(|_| Damage::Unreadable(std::io::ErrorKind::OutOfMemory.into()))?;
    if capacity >= 2 * LARGE_PAGE {
        prefer_large_pages(&mut bytes);
    }
    Ok(bytes)
}

/// Asks for large pages. If there are none, the memory is as it was.
#[cfg(target_os = "linux")]
fn prefer_large_pages(bytes: &mut Vec<u8>) {
    let start = bytes.as_mut_ptr();
    let skipped = start.align_offset(LARGE_PAGE);
    let Some(rest) = bytes.capacity().checked_sub(skipped) else {
        return;
    };
    let length = rest / LARGE_PAGE * LARGE_PAGE;
    // SAFETY: the range is inside of the vector's memory, and the advice changes no content.
    let _ = unsafe {
        rustix::mm::madvise(
            start.add(skipped).cast(),
            length,
            rustix::mm::Advice::LinuxHugepage,
        )
    };
}

#[cfg(not(target_os = "linux"))]
fn prefer_large_pages(_bytes: &mut Vec<u8>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_any_size_can_be_filled() {
        for capacity in [0, 1, LARGE_PAGE, 2 * LARGE_PAGE, 5 * LARGE_PAGE + 77] {
            let mut bytes = reserve(capacity).unwrap();
            assert!(bytes.capacity() >= capacity);
            bytes.resize(capacity, 7);
            assert!(bytes.iter().all(|byte| *byte == 7));
        }
        assert!(reserve(usize::MAX).is_err());
    }
}
