//! Vectors from a server with the OpenAI protocol: Ollama, llama.cpp, vLLM, OpenAI itself.
//!
//! Texts leave the machine only through this module, and only to the configured URL: redirects are
//! not followed. The key never appears in a message.

mod answer;
mod options;

use std::fmt;
use std::time::Duration;

use loci_core::{Embedder, EmbedderIdentity, Error, Result};
use serde::Serialize;
use ureq::Agent;
use ureq::http::uri::Authority;
use ureq::http::{HeaderValue, Uri};

use crate::{http, kernels};
pub use options::{RemoteOptions, Secret};

/// Maximum bytes of text per request, unless a single text is longer.
const BATCH_BYTES: usize = 128 << 10;
/// Maximum length of a vector while the dimension is unknown.
const LARGEST_DIMENSION: usize = 16 << 10;
/// Maximum bytes per number in a response.
const NUMBER_BYTES: usize = 32;
/// Maximum bytes of a response besides the numbers.
const OVERHEAD_BYTES: usize = 1 << 20;
/// Maximum bytes that are read of an error response.
const ERROR_BYTES: u64 = 64 << 10;

/// An embedder on a server.
pub struct RemoteEmbedder {
    options: RemoteOptions,
    dimension: usize,
    endpoint: Uri,
    /// The endpoint without its secrets.
    url: String,
    authorization: Option<HeaderValue>,
    agent: Agent,
}

/// Why an attempt failed.
enum Failure {
    /// Another attempt may succeed. The duration is the pause that the server requested, if any.
    Passing(Error, Option<Duration>),
    Lasting(Error),
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

impl RemoteEmbedder {
    /// Prepares to use a server. If the options have no dimension, one request determines it.
    pub fn connect(options: RemoteOptions) -> Result<Self> {
        let base = http::parse(&options.url)?;
        let endpoint = endpoint(&base, options.key.is_some())?;
        let authorization = options.key.as_ref().map(authorization).transpose()?;
        let config = http::config()?
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(options.timeout.min(Duration::from_secs(15))))
            .timeout_global(Some(options.timeout));
        let mut embedder = Self {
            dimension: options.dimension.unwrap_or_default(),
            url: http::redacted(&endpoint),
            endpoint,
            authorization,
            agent: config.build().into(),
            options,
        };
        if embedder.options.dimension == Some(0) {
            return Err(embedder.refused("the dimension must not be 0".into()));
        }
        if embedder.options.dimension.is_none() {
            let vectors = embedder.request(&["palace"])?;
            embedder.dimension = vectors.first().map_or(0, Vec::len);
        }
        Ok(embedder)
    }

    /// The key for a URL: `LOCI_EMBEDDER_KEY`, or else `OPENAI_API_KEY`, which is only used for
    /// `https://api.openai.com`.
    pub fn key_from_environment(url: &str) -> Option<Secret> {
        options::key(url, |name| std::env::var(name).ok())
    }

    /// One request, retried while that may help.
    fn request(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut failures = 0;
        loop {
            match self.attempt(texts) {
                Ok(vectors) => return Ok(vectors),
                Err(Failure::Lasting(error)) => return Err(error),
                Err(Failure::Passing(error, asked)) => {
                    failures += 1;
                    if failures >= self.options.attempts {
                        return Err(error);
                    }
                    std::thread::sleep(http::pause(self.options.backoff, failures, asked));
                }
            }
        }
    }

    fn attempt(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Failure> {
        let lasting = |problem| Failure::Lasting(self.refused(problem));
        let body = serde_json::to_vec(&Request {
            model: &self.options.model,
            input: texts,
        });
        let body = body.map_err(|error| lasting(error.to_string()))?;
        let mut request = self.agent.post(&self.endpoint);
        request = request.header("content-type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let mut answer = request
            .send(body.as_slice())
            .map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let known = (self.dimension > 0).then_some(self.dimension);
        let numbers = texts
            .len()
            .saturating_mul(known.unwrap_or(LARGEST_DIMENSION));
        let limit = numbers
            .saturating_mul(NUMBER_BYTES)
            .saturating_add(OVERHEAD_BYTES);
        if status.is_success() {
            let body = answer.body_mut().with_config().limit(limit as u64);
            let body = body.read_to_vec().map_err(|error| match error {
                ureq::Error::BodyExceedsLimit(_) => {
                    lasting(format!("its answer is larger than {limit} bytes"))
                }
                error => self.unreachable(&error),
            })?;
            let mut vectors = answer::vectors(&body, texts.len(), known).map_err(lasting)?;
            for vector in &mut vectors {
                kernels::normalise(vector);
            }
            return Ok(vectors);
        }
        let asked = http::retry_after(answer.headers());
        let body = answer.body_mut().with_config().limit(ERROR_BYTES);
        let key = self.options.key.as_ref().map(Secret::expose);
        let message = answer::message(&body.read_to_vec().unwrap_or_default(), key);
        let problem = format!("the server answered {status}: {message}");
        Err(if http::is_temporary(status) {
            Failure::Passing(self.unavailable(problem), asked)
        } else {
            lasting(problem)
        })
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let described = self.unavailable(error.to_string());
        if http::is_transient(error) {
            Failure::Passing(described, None)
        } else {
            Failure::Lasting(described)
        }
    }

    fn unavailable(&self, problem: String) -> Error {
        http::unavailable("cannot embed with", &self.url, problem)
    }

    fn refused(&self, problem: String) -> Error {
        Error::invalid(format!("embedder `{}`", self.url), problem)
    }
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity {
            name: format!("openai:{}", self.options.model),
            dimension: self.dimension,
            digest: String::new(),
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch_length(rest, self.options.batch));
            vectors.extend(self.request(batch)?);
            rest = after;
        }
        Ok(vectors)
    }
}

impl fmt::Debug for RemoteEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteEmbedder")
            .field("options", &self.options)
            .field("dimension", &self.dimension)
            .finish_non_exhaustive()
    }
}

/// The number of texts in the next request, at least one.
fn batch_length(texts: &[&str], most: usize) -> usize {
    let mut bytes = 0_usize;
    let fitting = texts.iter().take(most).take_while(|text| {
        bytes = bytes.saturating_add(text.len());
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1).min(texts.len())
}

/// The URL of embeddings below a base URL. A key replaces user and password in it.
fn endpoint(base: &Uri, has_key: bool) -> Result<Uri> {
    let path = base.path().trim_end_matches('/');
    let query = base.query().map(|query| format!("?{query}"));
    let authority = base.authority().map(Authority::as_str);
    let authority = authority.unwrap_or_default();
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) if has_key => host,
        _ => authority,
    };
    http::parse(&format!(
        "{}://{authority}{path}/embeddings{}",
        base.scheme_str().unwrap_or("http"),
        query.unwrap_or_default()
    ))
}

fn authorization(key: &Secret) -> Result<HeaderValue> {
    let value = HeaderValue::try_from(format!("Bearer {}", key.expose()));
    let mut value = value.map_err(|_| {
        Error::invalid(
            "key of the embedder",
            "it contains a character that is not allowed in a key",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
