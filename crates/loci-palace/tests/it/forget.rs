//! What was forgotten is in no file of the palace.

use std::path::Path;

use crate::support::files_below;

/// Scans every byte of every file for every word.
pub(crate) fn assert_nowhere<'a>(palace: &Path, words: impl IntoIterator<Item = &'a str>) {
    let words: Vec<&str> = words.into_iter().collect();
    for file in files_below(palace) {
        let bytes = std::fs::read(&file).unwrap();
        let found = found_words(&bytes, &words);
        assert!(found.is_empty(), "{} still holds {found:?}", file.display());
    }
}

/// The words of the list that stand in the bytes; each begins with `uq`.
pub(crate) fn found_words<'a>(bytes: &[u8], words: &[&'a str]) -> Vec<&'a str> {
    words
        .iter()
        .filter(|word| {
            let needle = word.as_bytes();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
        .copied()
        .collect()
}
