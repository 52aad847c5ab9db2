//! Limits the total work for one document. A stream may be drawn, and a font may be read under
//! another name, any number of times, so limits on each of them do not bound the whole.

/// The most work for one document, in bytes of unpacked content.
const MOST: usize = 512 * 1024 * 1024;

/// The work done for a document so far.
#[derive(Debug, Default)]
pub(super) struct Work(usize);

impl Work {
    /// Adds work that takes as long as reading this many bytes of content.
    pub(super) fn add(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes);
    }

    /// Adds the unpacking of a stream. A rejected stream has been unpacked up to the limit.
    pub(super) fn unpacked(&mut self, content: Option<&[u8]>, limit: usize) {
        self.add(content.map_or(limit, <[u8]>::len));
    }

    pub(super) fn is_done(&self) -> bool {
        self.0 > MOST
    }
}
