//! Decides which requests pass. Browsers are a danger for a server on a loopback address: a page
//! can send requests to it, or let its own name point to it (DNS rebinding). So the Host must be a
//! name of this server, and the Origin too, if there is one. Other users of the machine are another
//! danger, so the token is required, unless the owner uses `--no-auth`.

use std::net::IpAddr;

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Request, StatusCode, Uri};

use super::{Auth, HttpSettings};

/// The path of the protocol.
pub(super) const ENDPOINT: &str = "/mcp";
/// The path of the health check.
const HEALTH: &str = "/healthz";

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The request goes to the protocol.
    Enter,
    /// The request is a health check.
    Healthy,
    /// The request is refused, for this reason.
    Refused(StatusCode, &'static str),
}

/// The rules.
pub(super) struct Gate {
    auth: Auth,
    /// In lower case.
    hosts: Vec<String>,
}

impl Gate {
    pub(super) fn new(http: &HttpSettings) -> Self {
        let hosts = http.hosts.iter().map(|host| bare(host)).collect();
        Self {
            auth: http.auth.clone(),
            hosts,
        }
    }

    /// Decides about a request that arrived at this address.
    pub(super) fn admit<B>(&self, request: &Request<B>, local: IpAddr) -> Pass {
        let (headers, uri) = (request.headers(), request.uri());
        let host = match uri.authority() {
            Some(authority) => Some(bare(authority.host())),
            None => only(headers, &HOST).and_then(host_of),
        };
        if !host.is_some_and(|host| self.knows(&host, local)) {
            return Pass::Refused(
                StatusCode::FORBIDDEN,
                "this Host is not served here; `--allow-host` allows a name",
            );
        }
        if headers.contains_key(ORIGIN) {
            let origin = only(headers, &ORIGIN).and_then(origin_host);
            if !origin.is_some_and(|origin| self.knows(&origin, local)) {
                return Pass::Refused(StatusCode::FORBIDDEN, "this Origin is not allowed here");
            }
        }
        match uri.path() {
            HEALTH if matches!(*request.method(), Method::GET | Method::HEAD) => Pass::Healthy,
            ENDPOINT if self.is_trusted(headers) => Pass::Enter,
            ENDPOINT => Pass::Refused(
                StatusCode::UNAUTHORIZED,
                "send the token: `Authorization: Bearer TOKEN`",
            ),
            _ => Pass::Refused(StatusCode::NOT_FOUND, "there is only /mcp and /healthz"),
        }
    }

    /// Whether a name without a port is a name of this server.
    fn knows(&self, host: &str, local: IpAddr) -> bool {
        let address: Option<IpAddr> = host.parse().ok();
        host == "localhost"
            || address.is_some_and(|address| {
                address.is_loopback() || address.to_canonical() == local.to_canonical()
            })
            || self.hosts.iter().any(|known| known == host)
    }

    fn is_trusted(&self, headers: &HeaderMap) -> bool {
        let Some(token) = self.auth.token() else {
            return true;
        };
        only(headers, &AUTHORIZATION)
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .is_some_and(|(_, given)| is_same(given.trim(), token))
    }
}

/// The value of a header that occurs once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn host_of(value: &str) -> Option<String> {
    let authority: Authority = value.parse().ok()?;
    // A Host must not contain a user and password.
    (!authority.as_str().contains('@')).then(|| bare(authority.host()))
}

fn origin_host(value: &str) -> Option<String> {
    let uri: Uri = value.parse().ok()?;
    matches!(uri.scheme_str(), Some("http" | "https")).then_some(())?;
    host_of(uri.authority()?.as_str())
}

/// A host in lower case, without the brackets of an IPv6 address.
fn bare(host: &str) -> String {
    let host = host.trim();
    host.strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(host)
        .to_ascii_lowercase()
}

/// Compares two tokens in constant time.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given
        .bytes()
        .zip(token.bytes())
        .fold(0_u8, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differences) == 0 && given.len() == token.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn gate(auth: Auth) -> Gate {
        Gate::new(&HttpSettings {
            address: ([127, 0, 0, 1], 0).into(),
            auth,
            hosts: vec!["Nas.Local".into()],
        })
    }

    fn asked(gate: &Gate, headers: &[(&str, &str)]) -> Pass {
        let mut request = Request::builder().method("POST").uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        gate.admit(&request.body(()).unwrap(), [192, 168, 1, 5].into())
    }

    fn status(pass: &Pass) -> u16 {
        match pass {
            Pass::Enter | Pass::Healthy => 200,
            Pass::Refused(status, _) => status.as_u16(),
        }
    }

    #[test]
    fn only_names_of_this_server_are_served() {
        let gate = gate(Auth::None);
        for (host, expected) in [
            ("localhost", 200),
            ("LOCALHOST:8787", 200),
            ("127.0.0.1:1", 200),
            ("[::1]:8787", 200),
            ("192.168.1.5:8787", 200),
            ("nas.local", 200),
            ("192.168.1.6", 403),
            ("evil.example", 403),
            ("localhost.evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            ("localhost@evil.example", 403),
            ("evil.example@localhost", 403),
            ("", 403),
        ] {
            assert_eq!(status(&asked(&gate, &[("host", host)])), expected, "{host}");
        }
        assert_eq!(status(&asked(&gate, &[])), 403, "no Host");
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(status(&asked(&gate, &two)), 403, "two Hosts");
    }

    #[test]
    fn pages_of_other_places_are_refused() {
        let gate = gate(Auth::None);
        for (origin, expected) in [
            ("http://localhost:5173", 200),
            ("https://127.0.0.1", 200),
            ("http://[::1]:80", 200),
            ("https://nas.local", 200),
            ("https://evil.example", 403),
            ("null", 403),
            ("http://localhost.evil.example", 403),
            ("file://localhost", 403),
            ("http://localhost@evil.example", 403),
        ] {
            let headers = [("host", "localhost"), ("origin", origin)];
            assert_eq!(status(&asked(&gate, &headers)), expected, "{origin}");
        }
    }

    #[test]
    fn a_token_is_asked_of_everybody() {
        let gate = gate(Auth::Token(TOKEN.into()));
        for (value, expected) in [
            ("Bearer 0123456789abcdef", 200),
            ("bearer 0123456789abcdef", 200),
            ("Bearer 0123456789abcdeF", 401),
            ("Bearer 0123456789abcde", 401),
            ("Bearer 0123456789abcdef0", 401),
            ("Bearer ", 401),
            ("Bearer", 401),
            ("Basic 0123456789abcdef", 401),
            ("0123456789abcdef", 401),
        ] {
            let headers = [("host", "localhost"), ("authorization", value)];
            assert_eq!(status(&asked(&gate, &headers)), expected, "{value}");
        }
        assert_eq!(status(&asked(&gate, &[("host", "localhost")])), 401);
    }
}
