//! Code that downloads and remote embedders share: client settings, retries, and printing a URL
//! without its secrets.

use std::time::Duration;

use loci_core::{Error, Result};
use ureq::config::{AutoHeaderValue, ConfigBuilder};
use ureq::http::{HeaderMap, StatusCode, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

/// Maximum pause between two attempts, whatever the server requests.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The settings of every client. A status code is a response, not an error.
pub(crate) fn config() -> Result<ConfigBuilder<AgentScope>> {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .accept_encoding(AutoHeaderValue::None)
        .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")));
    // If TLS is intercepted, other tools on the machine use this variable too.
    let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) else {
        return Ok(config);
    };
    let pem = loci_files::foreign::read(std::path::Path::new(&path))
        .map_err(|error| Error::io("cannot read", &path, error))?;
    let certificates: Vec<_> = ureq::tls::parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    let roots = RootCerts::new_with_certs(&certificates);
    Ok(config.tls_config(TlsConfig::builder().root_certs(roots).build()))
}

/// Parses an `http` or `https` URL. The error does not repeat the URL, because it may contain a
/// password.
pub(crate) fn parse(url: &str) -> Result<Uri> {
    let refused = |problem: String| Error::invalid("URL", problem);
    let uri: Uri = url
        .parse()
        .map_err(|error| refused(format!("it cannot be read: {error}")))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(uri),
        _ => Err(refused(
            "give it as `http://host/path` or `https://host/path`".into(),
        )),
    }
}

/// The URL without user, password and query.
pub(crate) fn redacted(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let host = uri.host().unwrap_or_default();
    let port = uri.port().map(|port| format!(":{port}"));
    format!(
        "{scheme}://{host}{}{}",
        port.unwrap_or_default(),
        uri.path()
    )
}

/// A network error, with the URL of the server.
pub(crate) fn unavailable(action: &'static str, url: &str, problem: String) -> Error {
    Error::io(action, url, std::io::Error::other(problem))
}

/// Whether the same request may succeed later.
pub(crate) fn is_transient(error: &ureq::Error) -> bool {
    match error {
        // The certificate is not trusted.
        ureq::Error::Io(error) => error.kind() != std::io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Protocol(_) => true,
        _ => false,
    }
}

/// Whether the status asks for another attempt.
pub(crate) fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error()
        || status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
}

/// The seconds in the `Retry-After` header, if it has any.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("retry-after")?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// The pause after this many failures: as long as the server requested, or twice as long each time,
/// with jitter.
pub(crate) fn pause(first: Duration, failures: u32, asked: Option<Duration>) -> Duration {
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let own = doubled
        .min(LONGEST_PAUSE)
        .mul_f64(0.5 + fastrand::f64() / 2.0);
    asked.map_or(own, |asked| asked.min(LONGEST_PAUSE).max(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_user_password_and_query() {
        let uri = parse("https://me:hunter2@example.org:8443/v1?api-key=hunter2").unwrap();
        assert_eq!(redacted(&uri), "https://example.org:8443/v1");
        for wrong in [
            "ftp://me:hunter2@host/",
            "hunter2",
            "http://",
            "",
            "http:// me:hunter2@x/",
        ] {
            let message = parse(wrong).unwrap_err().to_string();
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn pauses_grow_and_a_server_can_lengthen_them_up_to_a_cap() {
        let first = Duration::from_millis(100);
        for failures in 1..40 {
            let longest = first
                .saturating_mul(1 << (failures - 1).min(16))
                .min(LONGEST_PAUSE);
            let pause = pause(first, failures, None);
            assert!(pause <= longest && pause >= longest / 2, "{failures}");
        }
        let asked = |seconds| pause(first, 1, Some(Duration::from_secs(seconds)));
        assert_eq!(asked(7), Duration::from_secs(7));
        assert_eq!(asked(86_400), LONGEST_PAUSE);
        assert!(asked(0) >= first / 2);
    }
}
