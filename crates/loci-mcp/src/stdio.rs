//! One client over stdin and stdout, one message per line.

use std::time::Duration;

use loci_palace::Result;
use rmcp::service::{ServerInitializeError, serve_server_with_ct};
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::ending::{Signals, end_after_signal, let_go, runtime, shut_down};
use crate::lines::Lines;

/// Calls that are under way when the client closes its end are answered if they take no longer.
const GRACE: Duration = Duration::from_secs(1);
/// And for the session to end after that.
const LAST_GRACE: Duration = Duration::from_secs(15);

/// Serves the client at stdin and stdout until it goes away or a signal comes.
pub fn serve_stdio(settings: &Settings) -> Result<()> {
    end_after_signal()?;
    let runtime = runtime()?;
    let hurry = runtime.block_on(serve(settings))?;
    shut_down(runtime, hurry);
    Ok(())
}

/// Gives whether a signal ended it.
async fn serve(settings: &Settings) -> Result<bool> {
    let mut signals = Signals::new()?;
    let (closing, client_gone) = (CancellationToken::new(), CancellationToken::new());
    let server = settings.server(closing.clone());
    let shared = server.shared.clone();
    let (stdin, stdout) = rmcp::transport::stdio_pipes();
    let transport = Lines::new(stdin, stdout, client_gone.clone());
    let stop = CancellationToken::new();
    let session = async {
        match serve_server_with_ct(server, transport, stop.clone()).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::warn!("the session broke off: {error}");
                }
            }
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {}
            Err(error) => tracing::warn!("the session did not begin: {error}"),
        }
    };
    let long_calls = async {
        client_gone.cancelled().await;
        tokio::time::sleep(GRACE).await;
        closing.cancel();
        // A client that reads no more keeps the session from ending by itself.
        tokio::time::sleep(LAST_GRACE).await;
    };
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
            // A client that does not read keeps the session from saying its last word.
            () = tokio::time::sleep(GRACE) => {}
        }
    }
    let_go(&shared, hurry, &mut signals).await;
    Ok(hurry)
}
