//! The models that can be downloaded, and the limits of a download.

use std::time::Duration;

use crate::minilm::MINILM_NAME;

/// A model that can be downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel<'a> {
    /// Its name in the store.
    pub name: &'a str,
    /// The URL of its file.
    pub url: &'a str,
    /// SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: &'a str,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Digest of its weights. If the store has them already, nothing is downloaded.
    pub digest: &'a str,
}

/// The models that [`ModelStore::pull`](crate::ModelStore::pull) knows.
pub const KNOWN_MODELS: &[KnownModel<'static>] = &[KnownModel {
    name: MINILM_NAME,
    url: "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/model.safetensors",
    sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    bytes: 90_868_376,
    digest: "b6d6b2e19e1647be30ca97dfb03cd448df44d3d07cefcf54b63e7f9fc8daafc8",
}];

/// The progress of a download, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes on disk, including those of earlier calls.
    pub done: u64,
    /// Size of the file.
    pub total: u64,
}

/// The time limits of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullLimits {
    /// Maximum wait for a connection.
    pub connect: Duration,
    /// Maximum wait for the next bytes.
    pub stall: Duration,
    /// Maximum number of consecutive attempts with almost no progress, including the first.
    pub attempts: u32,
    /// Pause after the first failure. It doubles each time.
    pub backoff: Duration,
}

impl Default for PullLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            attempts: 5,
            backoff: Duration::from_millis(500),
        }
    }
}
