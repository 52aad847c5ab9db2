//! The core of the product's tests once more, on the backend that keeps palaces in memory: nothing that they need goes
//! around [`loci_palace::Backend`].
//!
//! Each file is compiled a second time. It takes its helpers from `super`, which is this module here.

#[path = "diaries.rs"]
mod diaries;
#[path = "linking.rs"]
mod linking;
#[path = "waking.rs"]
mod waking;

/// The helpers of the tests, where a palace is one in memory.
mod support {
    use std::path::Path;
    use std::sync::{Arc, LazyLock};

    use loci_contract::memory::MemoryBackend;
    use loci_palace::{OpenOptions, Palace, Registry};

    pub(crate) use crate::support::*;

    /// Palaces live as long as the process. Each opening is an instance of its own, as of another process.
    static PALACES: LazyLock<MemoryBackend> = LazyLock::new(MemoryBackend::new);

    pub(crate) fn options() -> OpenOptions {
        let mut backends = Registry::new();
        backends.register(Arc::new(PALACES.another_instance()));
        OpenOptions {
            backend: Some("memory".into()),
            backends,
            ..OpenOptions::create()
        }
    }

    pub(crate) fn open(path: &Path) -> Palace {
        Palace::open(path, &options()).unwrap()
    }
}
