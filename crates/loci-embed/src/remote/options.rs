//! The settings of a remote embedder.

use std::fmt;
use std::time::Duration;

use crate::http;

/// A key that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// The location of a server and the settings of requests.
#[derive(Clone)]
pub struct RemoteOptions {
    /// The URL without `/embeddings`, for example `http://localhost:11434/v1`.
    pub url: String,
    /// The model's name on the server.
    pub model: String,
    /// Length of its vectors. If it is absent, a request determines it.
    pub dimension: Option<usize>,
    /// Sent as a bearer token.
    pub key: Option<Secret>,
    /// Maximum number of texts per request.
    pub batch: usize,
    /// Maximum time for one request and its response.
    pub timeout: Duration,
    /// Maximum number of attempts per request, including the first.
    pub attempts: u32,
    /// Pause after the first failure. It doubles each time.
    pub backoff: Duration,
}

impl RemoteOptions {
    /// No key, batches of 64 texts, and a minute for each of four attempts.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            dimension: None,
            key: None,
            batch: 64,
            timeout: Duration::from_secs(60),
            attempts: 4,
            backoff: Duration::from_millis(500),
        }
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = http::parse(&self.url).map(|uri| http::redacted(&uri));
        f.debug_struct("RemoteOptions")
            .field("url", &url.unwrap_or_else(|_| "***".into()))
            .field("model", &self.model)
            .field("dimension", &self.dimension)
            .field("key", &self.key)
            .field("batch", &self.batch)
            .field("timeout", &self.timeout)
            .field("attempts", &self.attempts)
            .field("backoff", &self.backoff)
            .finish()
    }
}

/// The key for a URL: `LOCI_EMBEDDER_KEY`, or `OPENAI_API_KEY` if the server is OpenAI's own.
pub(super) fn key(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Secret> {
    let value = |name| variable(name).filter(|key| !key.trim().is_empty());
    let openai = || {
        let uri = http::parse(url).ok()?;
        let theirs =
            uri.scheme_str() == Some("https") && uri.host()?.eq_ignore_ascii_case("api.openai.com");
        theirs.then(|| value("OPENAI_API_KEY"))?
    };
    value("LOCI_EMBEDDER_KEY")
        .or_else(openai)
        .map(|key| Secret::new(key.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openai_key_goes_to_openai_alone() {
        let both = |name: &str| Some(format!("value of {name}"));
        let only = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-openai".to_owned());
        let own = Some(Secret::new("value of LOCI_EMBEDDER_KEY"));
        for url in [
            "http://localhost:11434/v1",
            "https://api.openai.com.example.org/v1",
            "https://api.openai.com@example.org/v1",
            "https://example.org/api.openai.com/v1",
            "http://api.openai.com/v1",
            "nonsense",
        ] {
            assert_eq!(key(url, only), None, "{url}");
            assert_eq!(key(url, both), own, "{url}");
        }
        for url in ["https://api.openai.com/v1", "https://API.OpenAI.com:443/v1"] {
            assert_eq!(key(url, only), Some(Secret::new("sk-openai")));
            assert_eq!(key(url, both), own);
        }
        assert_eq!(key("https://api.openai.com/v1", |_| Some(" ".into())), None);
    }
}
