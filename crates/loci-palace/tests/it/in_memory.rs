//! The core of the product's tests once more, on the backend that keeps palaces in memory: nothing that they need goes
//! around [`loci_palace::Backend`].
//!
//! Each file is compiled a second time. It takes its helpers from `super`, which is this module here.

/// There are no files and no other processes to test with.
macro_rules! on_disk {
    ($($test:item)*) => {};
}

#[path = "adding.rs"]
mod adding;
#[path = "diaries.rs"]
mod diaries;
#[path = "facts.rs"]
mod facts;
#[path = "forgotten.rs"]
mod forgotten;
#[path = "linking.rs"]
mod linking;
#[path = "mined.rs"]
mod mined;
#[path = "mined_links.rs"]
mod mined_links;
#[path = "mining.rs"]
mod mining;
#[path = "projects.rs"]
mod projects;
#[path = "recall.rs"]
mod recall;
#[path = "undo.rs"]
mod undo;
#[path = "wake_up_statements.rs"]
mod wake_up_statements;
#[path = "waking.rs"]
mod waking;

/// The helpers of the tests, where a palace is one in memory.
mod support {
    use std::path::Path;
    use std::sync::{Arc, LazyLock};

    use loci_contract::memory::MemoryBackend;
    use loci_palace::{OpenOptions, Palace, Registry};

    pub(crate) use crate::support::*;

    pub(crate) const ON_DISK: bool = false;

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
