//! Ends a server at a signal, or when its client is gone. Running writes finish or are rolled back;
//! nothing is left behind.

use std::sync::Arc;
use std::time::Duration;

use loci_palace::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::server::Shared;

/// Threads for calls and for streams that cannot be polled.
const THREADS: usize = 16;
/// Calls that do not end within this time are cut off. An open transaction is rolled back, and a
/// partial index is removed by the next process.
const LAST_CALL: Duration = Duration::from_secs(2);

/// A server ends within this time after a signal, whatever its calls wait for. An open transaction
/// is rolled back, as after a kill.
const DEADLINE: Duration = Duration::from_millis(4_500);

/// Starts a thread that ends the process some time after a signal. It needs neither the runtime nor
/// any lock, so nothing can block it.
pub(crate) fn end_after_signal() -> Result<()> {
    let failed = |error: std::io::Error| internal("listening for signals", &error);
    let mut signals =
        signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(failed)?;
    std::thread::Builder::new()
        .name("loci-deadline".into())
        .spawn(move || {
            if signals.forever().next().is_some() {
                std::thread::sleep(DEADLINE);
                tracing::warn!("some calls are still running; the server ends without them");
                loci_palace::remove_private_copies();
                std::process::exit(0);
            }
        })
        .map_err(failed)?;
    Ok(())
}

/// The signals that end a server.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Registers the signals. It must be called inside a runtime.
    pub(crate) fn new() -> Result<Self> {
        let listen = |kind: SignalKind| {
            signal(kind).map_err(|error| internal("listening for signals", &error))
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// A single-threaded runtime; calls run on separate threads.
pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .build()
        .map_err(|error| internal("starting the server", &error))
}

/// Closes the palace. In a hurry, or if it takes long, an index that is due is left to the next
/// process.
pub(crate) async fn let_go(shared: &Arc<Shared>, hurry: bool, signals: &mut Signals) {
    // Dropping the last handle of a palace would rebuild its index too, so this one is never
    // dropped.
    std::mem::forget(Arc::clone(shared));
    // A call that is opening the palace holds the lock that `if_open` waits for.
    if hurry {
        loci_palace::remove_private_copies();
        return;
    }
    let Some(palace) = shared.handle.if_open() else {
        return;
    };
    let closing = tokio::task::spawn_blocking(move || palace.close());
    tokio::select! {
        closed = closing => {
            if let Ok(Err(error)) = closed {
                tracing::warn!("closing the palace: {error}");
            }
        }
        () = signals.next() => {}
        () = tokio::time::sleep(LAST_CALL) => tracing::debug!("the index is left to the next process"),
    }
}

/// Ends the remaining threads.
pub(crate) fn shut_down(runtime: Runtime, hurry: bool) {
    if hurry {
        runtime.shutdown_timeout(LAST_CALL);
    } else {
        runtime.shutdown_background();
    }
}

fn internal(doing: &str, error: &std::io::Error) -> Error {
    Error::Internal {
        doing: doing.into(),
        detail: error.to_string(),
    }
}
