//! Serves one client over two byte streams, such as stdin and stdout, with one message per line.

use std::time::Duration;

use loci_palace::Result;
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::ending::{Signals, end_after_signal, let_go, runtime, shut_down};
use crate::lines::Lines;
use crate::server::Server;

/// Time for running calls to be answered after the client closes its end.
const GRACE: Duration = Duration::from_secs(1);
/// Time for the session to end after that.
const LAST_GRACE: Duration = Duration::from_secs(15);

/// Serves the client at stdin and stdout until it disconnects or a signal arrives.
pub fn serve_stdio(settings: &Settings) -> Result<()> {
    end_after_signal()?;
    let runtime = runtime()?;
    let hurry = runtime.block_on(serve(settings))?;
    shut_down(runtime, hurry);
    Ok(())
}

/// Serves the client at the other ends of these streams until it closes them. The caller handles
/// signals.
pub async fn serve_streams<R, W>(settings: &Settings, from_client: R, to_client: W)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (closing, client_gone) = (CancellationToken::new(), CancellationToken::new());
    let server = settings.server(closing.clone());
    let transport = Lines::new(from_client, to_client, client_gone.clone());
    let session = session(server, transport, CancellationToken::new());
    tokio::select! {
        () = session => {}
        () = end_long_calls(&client_gone, &closing) => {}
    }
}

/// Handles the messages of one client, until it is gone or `stop` is cancelled.
async fn session<R, W>(server: Server, transport: Lines<R, W>, stop: CancellationToken)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    match serve_server_with_ct(server, transport, stop).await {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::warn!("the session failed: {error}");
            }
        }
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
        Err(error) => tracing::warn!("the session did not start: {error}"),
    }
}

/// Returns when the client is gone and the time for running calls is over.
async fn end_long_calls(client_gone: &CancellationToken, closing: &CancellationToken) {
    client_gone.cancelled().await;
    tokio::time::sleep(GRACE).await;
    closing.cancel();
    // A client that has stopped reading keeps the session from ending by itself.
    tokio::time::sleep(LAST_GRACE).await;
}

/// Returns whether a signal ended it.
async fn serve(settings: &Settings) -> Result<bool> {
    let mut signals = Signals::new()?;
    let (closing, client_gone) = (CancellationToken::new(), CancellationToken::new());
    let server = settings.server(closing.clone());
    let shared = server.shared.clone();
    let (stdin, stdout) = rmcp::transport::stdio_pipes();
    let transport = Lines::new(stdin, stdout, client_gone.clone());
    let stop = CancellationToken::new();
    let session = session(server, transport, stop.clone());
    let long_calls = end_long_calls(&client_gone, &closing);
    let mut session = std::pin::pin!(session);
    let hurry = tokio::select! {
        () = &mut session => false,
        () = long_calls => false,
        () = signals.next() => true,
    };
    if hurry {
        closing.cancel();
        stop.cancel();
        tokio::select! {
            () = session => {}
            () = signals.next() => {}
            // A client that does not read keeps the session from sending its last message.
            () = tokio::time::sleep(GRACE) => {}
        }
    }
    let_go(&shared, hurry, &mut signals).await;
    Ok(hurry)
}
