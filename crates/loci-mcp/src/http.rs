//! Many clients over streamable HTTP: hyper takes connections, a [`gate::Gate`] decides who may pass, rmcp speaks the protocol.

mod gate;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use loci_palace::{Error, Result};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::gate::{Gate, Pass};
use crate::ending::{Signals, end_after_signal, let_go, runtime, shut_down};
use crate::server::Server;
use crate::{MAX_MESSAGE_BYTES, Settings};

/// A token has at least so many bytes.
pub const MIN_TOKEN_BYTES: usize = 16;

/// Connections at the same time; others wait to be taken.
const CONNECTIONS: usize = 512;
/// Sessions at the same time; a client that wants one more is told to come back.
const SESSIONS: usize = 1_024;
/// A session without a word for so long is over.
const SESSION_IDLE: Duration = Duration::from_secs(12 * 3600);
/// The head of a request comes within this time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// And for its body: whoever sends a byte now and then must not keep others out.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Answers under way may take so long when the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Where and for whom a server listens.
#[derive(Clone)]
pub struct HttpSettings {
    /// The address; port 0 takes any that is free.
    pub address: SocketAddr,
    /// What clients must show; needed unless the address is a loopback one.
    pub token: Option<String>,
    /// Names by which clients may call this server, besides loopback names and its addresses.
    pub hosts: Vec<String>,
}

impl std::fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpSettings")
            .field("address", &self.address)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("hosts", &self.hosts)
            .finish()
    }
}

impl HttpSettings {
    /// Refuses to be open to others without a token, and tokens that can be guessed.
    fn check(&self) -> Result<()> {
        match &self.token {
            None if !self.address.ip().is_loopback() => Err(Error::invalid(
                format!("address {}", self.address),
                "can be reached from other machines; set a token with `--token` or `LOCI_MCP_TOKEN`",
            )),
            Some(token) if token.len() < MIN_TOKEN_BYTES => Err(Error::invalid(
                "the token",
                format!("is too short; give at least {MIN_TOKEN_BYTES} characters"),
            )),
            _ => Ok(()),
        }
    }
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What every connection works with.
struct Site {
    gate: Gate,
    service: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

/// Serves until a signal comes. `ready` is told the address once connections are taken.
pub fn serve_http(
    settings: &Settings,
    http: &HttpSettings,
    ready: &mut dyn FnMut(SocketAddr),
) -> Result<()> {
    http.check()?;
    end_after_signal()?;
    let runtime = runtime()?;
    runtime.block_on(serve(settings, http, ready))?;
    shut_down(runtime, true);
    Ok(())
}

async fn serve(
    settings: &Settings,
    http: &HttpSettings,
    ready: &mut dyn FnMut(SocketAddr),
) -> Result<()> {
    let mut signals = Signals::new()?;
    let refused = |error| Error::io("cannot listen at", http.address.to_string(), error);
    let listener = TcpListener::bind(http.address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let closing = CancellationToken::new();
    let server = settings.server(closing.clone());
    let shared = server.shared.clone();
    let site = Arc::new(site(server, http, &closing));
    ready(address);
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::select! {
        () = take_connections(&listener, &site, &connections, &closing) => {}
        () = signals.next() => {}
    }
    drop(listener);
    closing.cancel();
    // All connections are closed when all permits are back.
    let closed = connections.acquire_many(CONNECTIONS as u32);
    tokio::select! {
        _ = closed => {}
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
    // The gate looks at Host and Origin: it knows by which address a connection came.
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
    }
}

async fn take_connections(
    listener: &TcpListener,
    site: &Arc<Site>,
    connections: &Arc<Semaphore>,
    closing: &CancellationToken,
) {
    loop {
        let Ok(permit) = Arc::clone(connections).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (site, closing) = (Arc::clone(site), closing.clone());
                tokio::spawn(async move {
                    serve_connection(stream, &site, &closing).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Out of file descriptors, mostly: others must end first.
                tracing::warn!("cannot take a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, site: &Arc<Site>, closing: &CancellationToken) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let service = service_fn(|request| {
        let site = Arc::clone(site);
        async move { Ok::<_, Infallible>(site.answer(request, local).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection broke off: {error}");
    }
}

impl Site {
    async fn answer(&self, request: Request<Incoming>, local: SocketAddr) -> Answer {
        match self.gate.admit(&request, local.ip()) {
            Pass::Healthy => said(StatusCode::OK, "ok"),
            Pass::Enter if self.is_full(&request).await => said(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many sessions; try again later",
            ),
            Pass::Enter => {
                let ends_session = request.method() == Method::DELETE;
                let (head, body) = request.into_parts();
                let body = Limited::new(body, MAX_MESSAGE_BYTES).collect();
                let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
                    Ok(Ok(body)) => Full::new(body.to_bytes()),
                    Ok(Err(_)) => {
                        return said(StatusCode::PAYLOAD_TOO_LARGE, "too large, or cut off");
                    }
                    Err(_) => {
                        return said(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
                    }
                };
                let mut answer = self.service.handle(Request::from_parts(head, body)).await;
                // Official clients take 202 here for a failure and warn their users.
                if ends_session && answer.status() == StatusCode::ACCEPTED {
                    *answer.status_mut() = StatusCode::NO_CONTENT;
                }
                answer
            }
            Pass::Refused(status, why) => {
                let mut answer = said(status, why);
                if status == StatusCode::UNAUTHORIZED {
                    let challenge = HeaderValue::from_static("Bearer realm=\"loci\"");
                    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
                }
                answer
            }
        }
    }

    /// Whether the request could begin a session where no more are taken.
    async fn is_full(&self, request: &Request<Incoming>) -> bool {
        !request.headers().contains_key("mcp-session-id")
            && self.sessions.sessions.read().await.len() >= SESSIONS
    }
}

fn said(status: StatusCode, words: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(words.as_bytes())).boxed());
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}
