//! Serves many clients over streamable HTTP. hyper serves connections, a [`gate::Gate`] decides
//! which requests pass, [`limits`] bounds the resources of clients, and rmcp implements the
//! protocol.

mod auth;
mod gate;
mod limits;

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use loci_palace::{Error, Result, large_integer};
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use self::auth::{Auth, MIN_TOKEN_BYTES};
use self::gate::{ENDPOINT, Gate, Pass};
use self::limits::{Busy, ConnectionSlot, Connections, Held, InUse, StreamSlot, Streams, Uses};
use crate::ending::{Signals, end_after_signal, let_go, runtime, shut_down};
use crate::server::Server;
use crate::servers::Registration;
use crate::{MAX_MESSAGE_BYTES, Settings};

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// Maximum number of sessions. One more ends the session that has been idle for longest, whose
/// client starts a new one. If all are in use, the answer is 503.
const SESSIONS: usize = 1_024;
/// A session that is idle for this long is ended.
const SESSION_IDLE: Duration = Duration::from_secs(12 * 3600);
/// Timeout for the head of a request, also on a connection that was used before.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the body of a request: a slow client must not keep others out.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for pending answers when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Time for a connection whose place is needed to finish sending.
const LAST_BYTES: Duration = Duration::from_millis(250);
/// Maximum number of connections that are being refused; others are closed without an answer.
const REFUSALS: usize = 64;
/// Time for which a refused connection is read. Closing it with unread bytes would reset it, and
/// the client might not see the answer.
const LAST_REQUEST: Duration = Duration::from_millis(500);

/// The answer if there are too many connections.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 20\r\n\r\ntoo many connections";

/// The answer while the clock has a date that HTTP cannot represent.
const ODD_CLOCK: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 68\r\n\r\n\
    the clock of this machine is before 1970 or after 9999; set it right";

/// The address and the clients of a server.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The address; port 0 takes any free port.
    pub address: SocketAddr,
    /// How clients authenticate.
    pub auth: Auth,
    /// Host names that clients may use, besides loopback names and the addresses of the server.
    pub hosts: Vec<String>,
}

/// A server that accepts connections.
#[derive(Debug, Clone, Copy)]
pub struct Listening<'a> {
    /// Its address, with the port that was taken.
    pub address: SocketAddr,
    /// The file with its token, readable only by its user.
    pub file: &'a Path,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// The state that all connections share.
struct Site {
    gate: Gate,
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    streams: Arc<Streams>,
    uses: Arc<Uses>,
}

/// Serves until a signal arrives. `ready` is called when connections are accepted and the file with
/// the token is written. A server whose file cannot be written does not start.
pub fn serve_http(
    settings: &Settings,
    http: &HttpSettings,
    ready: &mut dyn FnMut(Listening<'_>),
) -> Result<()> {
    http.auth.check(http.address)?;
    end_after_signal()?;
    let runtime = runtime()?;
    runtime.block_on(serve(settings, http, ready))?;
    shut_down(runtime, true);
    Ok(())
}

async fn serve(
    settings: &Settings,
    http: &HttpSettings,
    ready: &mut dyn FnMut(Listening<'_>),
) -> Result<()> {
    let mut signals = Signals::new()?;
    let refused = |error| Error::io("cannot listen at", http.address.to_string(), error);
    let listener = TcpListener::bind(http.address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let registration = Registration::new(&settings.palace, address, &http.auth)?;
    let closing = CancellationToken::new();
    let server = settings.server(closing.clone());
    let shared = server.shared.clone();
    let site = Arc::new(site(server, http, &closing));
    ready(Listening {
        address,
        file: registration.path(),
    });
    let connections = Arc::new(Connections::default());
    tokio::select! {
        () = take_connections(&listener, &site, &connections, &closing) => {}
        () = signals.next() => {}
    }
    // The file is removed first, so that clients do not find a server that does not answer.
    drop(registration);
    drop(listener);
    closing.cancel();
    tokio::select! {
        () = all_closed(&connections) => {}
        () = tokio::time::sleep(LAST_ANSWERS) => {}
        () = signals.next() => {}
    }
    let_go(&shared, true, &mut signals).await;
    Ok(())
}

fn site(server: Server, http: &HttpSettings, closing: &CancellationToken) -> Site {
    let mut sessions = LocalSessionManager::default();
    let mut config = SessionConfig::default();
    config.keep_alive = Some(SESSION_IDLE);
    sessions.session_config = config;
    let sessions = Arc::new(sessions);
    // The gate checks Host and Origin, because it knows the local address of a connection.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .with_cancellation_token(closing.clone());
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), Arc::clone(&sessions), config);
    Site {
        gate: Gate::new(http),
        service,
        sessions,
        streams: Arc::default(),
        uses: Arc::default(),
    }
}

async fn all_closed(connections: &Connections) {
    while !connections.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn take_connections(
    listener: &TcpListener,
    site: &Arc<Site>,
    connections: &Arc<Connections>,
    closing: &CancellationToken,
) {
    let refusals = Arc::new(Semaphore::new(REFUSALS));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Usually there are no file descriptors left, and other connections must end first.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "hyper asks the same clock for the date of an answer"
        )]
        let now = SystemTime::now();
        if !is_date_of_http(now) {
            // hyper panics when it writes the date of such a clock.
            refuse_with(stream, ODD_CLOCK, &refusals);
        } else if let Some(seat) = connections.admit() {
            let (site, closing) = (Arc::clone(site), closing.clone());
            tokio::spawn(async move { serve_connection(stream, seat, &site, &closing).await });
        } else {
            refuse_with(stream, BUSY, &refusals);
        }
    }
}

/// Whether HTTP can represent this date.
fn is_date_of_http(now: SystemTime) -> bool {
    // A minute before the end of 9999, because an answer takes time.
    const LAST: Duration = Duration::from_secs(253_402_300_799 - 60);
    now.duration_since(SystemTime::UNIX_EPOCH)
        .is_ok_and(|since| since < LAST)
}

/// Refuses a connection, unless many are being refused already.
fn refuse_with(stream: TcpStream, answer: &'static [u8], refusals: &Arc<Semaphore>) {
    if let Ok(permit) = Arc::clone(refusals).try_acquire_owned() {
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LAST_REQUEST, refuse(stream, answer)).await;
            drop(permit);
        });
    }
}

/// Sends an answer that needs no request, and reads until the client closes.
async fn refuse(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    let mut rest = [0; 4_096];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

async fn serve_connection(
    stream: TcpStream,
    seat: ConnectionSlot,
    site: &Arc<Site>,
    closing: &CancellationToken,
) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let service = service_fn(|request| {
        let (site, busy) = (Arc::clone(site), seat.busy());
        async move { Ok::<_, Infallible>(site.answer(request, local, busy).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        // A connection whose place is needed does not start a new request.
        biased;
        () = seat.close.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let last = tokio::time::timeout(LAST_BYTES, connection.as_mut()).await;
            match last {
                Ok(ended) => ended,
                Err(_) if seat.is_idle() => Ok(()),
                // A request that was already read is answered before the connection ends.
                Err(_) => connection.await,
            }
        }
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection failed: {error}");
    }
}

impl Site {
    async fn answer(&self, request: Request<Incoming>, local: SocketAddr, busy: Busy) -> Answer {
        let is_stream = request.method() == Method::GET && request.uri().path() == ENDPOINT;
        let mut stream = None;
        let mut in_use = self.use_of(&request).await;
        let answer = match self.gate.admit(&request, local.ip()) {
            Pass::Healthy => plain(StatusCode::OK, "ok"),
            Pass::Enter if !self.has_place(&request).await => {
                later("too many sessions are in use; try again later")
            }
            Pass::Enter if is_stream && !self.has_room(&request, &mut stream) => {
                later("too many event streams; requests are still answered")
            }
            Pass::Enter => {
                let ends_session = request.method() == Method::DELETE;
                let (head, body) = request.into_parts();
                let body = Limited::new(body, MAX_MESSAGE_BYTES).collect();
                let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
                    Ok(Ok(body)) => body.to_bytes(),
                    Ok(Err(_)) => {
                        return plain(StatusCode::PAYLOAD_TOO_LARGE, "too large, or cut off");
                    }
                    Err(_) => {
                        return plain(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
                    }
                };
                if let Some(integer) = large_integer(&body, None) {
                    return plain_bytes(StatusCode::BAD_REQUEST, Bytes::from(integer.problem()));
                }
                let request = Request::from_parts(head, Full::new(body));
                let mut answer = self.service.handle(request).await;
                // Official clients treat 202 as a failure here and warn their users.
                if ends_session && answer.status() == StatusCode::ACCEPTED {
                    *answer.status_mut() = StatusCode::NO_CONTENT;
                }
                if let Some(begun) = session_of(answer.headers()).filter(|_| in_use.is_none()) {
                    in_use = Some(self.uses.begin(begun));
                }
                answer
            }
            Pass::Refused(status, why) => {
                let mut answer = plain(status, why);
                if status == StatusCode::UNAUTHORIZED {
                    let challenge = HeaderValue::from_static("Bearer realm=\"loci\"");
                    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                }
                answer
            }
        };
        answer.map(|body| {
            let held = Held {
                body,
                _busy: busy,
                _stream: stream,
                _in_use: in_use,
            };
            held.boxed()
        })
    }

    /// Reserves a place for an event stream. A request without a session is refused elsewhere.
    fn has_room(&self, request: &Request<Incoming>, stream: &mut Option<StreamSlot>) -> bool {
        let session = request.headers().get(SESSION).map(HeaderValue::as_bytes);
        let session = String::from_utf8_lossy(session.unwrap_or_default());
        *stream = self.streams.admit(&session);
        stream.is_some()
    }

    /// Marks the session of a request as used; `None` if there is no such session.
    async fn use_of(&self, request: &Request<Incoming>) -> Option<InUse> {
        let session = session_of(request.headers())?;
        let known = self.sessions.sessions.read().await.contains_key(&session);
        known.then(|| self.uses.begin(session))
    }

    /// Whether there is a place for the session that the request may start. If all places are
    /// taken, the session that has been idle for longest is ended.
    async fn has_place(&self, request: &Request<Incoming>) -> bool {
        if request.headers().contains_key(SESSION) {
            return true;
        }
        let sessions: HashSet<Arc<str>> = {
            let sessions = self.sessions.sessions.read().await;
            if sessions.len() < SESSIONS {
                return true;
            }
            sessions.keys().cloned().collect()
        };
        let Some(idlest) = self.uses.idlest(&sessions) else {
            return false;
        };
        if let Err(error) = self.sessions.close_session(&idlest).await {
            tracing::debug!("a session did not end cleanly: {error}");
        }
        true
    }
}

fn session_of(headers: &HeaderMap) -> Option<Arc<str>> {
    let session = headers.get(SESSION)?.to_str().ok()?;
    Some(Arc::from(session))
}

/// An answer to a client that may try again in some seconds.
fn later(words: &'static str) -> Answer {
    let mut answer = plain(StatusCode::SERVICE_UNAVAILABLE, words);
    let seconds = HeaderValue::from_static("5");
    answer.headers_mut().insert(RETRY_AFTER, seconds);
    answer
}

fn plain(status: StatusCode, words: &'static str) -> Answer {
    plain_bytes(status, Bytes::from_static(words.as_bytes()))
}

fn plain_bytes(status: StatusCode, words: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(words).boxed());
    *answer.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, text);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moments_that_http_can_write_are_dates() {
        let moment = |seconds: i64| {
            let distance = Duration::from_secs(seconds.unsigned_abs());
            let moment = if seconds < 0 {
                SystemTime::UNIX_EPOCH.checked_sub(distance)
            } else {
                SystemTime::UNIX_EPOCH.checked_add(distance)
            };
            moment.unwrap()
        };
        for good in [0, 1_800_000_000, 253_402_300_000] {
            assert!(is_date_of_http(moment(good)), "{good}");
        }
        for odd in [-1, -86_400, 253_402_300_799, 569_000_000_000] {
            assert!(!is_date_of_http(moment(odd)), "{odd}");
        }
        let answer = String::from_utf8_lossy(ODD_CLOCK);
        let (head, words) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("Content-Length: {}", words.len())),
            "{answer}"
        );
    }
}
