//! Runs blocking work outside the loop that reads messages. Work can be cancelled and reports
//! progress, and a panic in it does not end the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loci_palace::{Error, Result};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::tool::{Progress, cancelled};

/// The connection of a call to its client.
pub(crate) struct Ticket {
    /// Cancelled when the client cancels the call.
    pub(crate) cancelled: CancellationToken,
    /// Cancelled when the server ends.
    pub(crate) closing: CancellationToken,
    /// Where progress is sent, if requested.
    pub(crate) progress: Option<(Peer<RoleServer>, ProgressToken)>,
}

/// The context of running work.
pub(crate) struct WorkerContext<'a> {
    /// Receives reports; only the newest is sent.
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    /// Set when the work should stop.
    pub(crate) stop: &'a AtomicBool,
}

/// The newest report that has not been sent.
#[derive(Default)]
struct Board {
    newest: Mutex<Option<Progress>>,
    news: Notify,
}

impl Board {
    fn put(&self, progress: Progress) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
        self.news.notify_one();
    }

    fn take(&self) -> Option<Progress> {
        self.newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Runs work on a thread that may block, as soon as a slot is free.
pub(crate) async fn run<T, W>(slots: &Semaphore, ticket: Ticket, work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce(&WorkerContext<'_>) -> Result<T> + Send + 'static,
{
    let slot = tokio::select! {
        slot = slots.acquire() => slot,
        () = ticket.cancelled.cancelled() => return Err(cancelled()),
    };
    let _slot = slot.map_err(|_| cancelled())?;
    let stop = Arc::new(AtomicBool::new(false));
    let board = Arc::new(Board::default());
    let (their_stop, their_board) = (Arc::clone(&stop), Arc::clone(&board));
    let mut task = tokio::task::spawn_blocking(move || {
        work(&WorkerContext {
            progress: &|progress| their_board.put(progress),
            stop: &their_stop,
        })
    });
    loop {
        tokio::select! {
            done = &mut task => {
                send(&board, &ticket).await;
                return done.unwrap_or_else(|error| Err(broken(&error)));
            }
            () = board.news.notified() => send(&board, &ticket).await,
            () = ticket.cancelled.cancelled(), if !is_set(&stop) => set(&stop),
            () = ticket.closing.cancelled(), if !is_set(&stop) => set(&stop),
        }
    }
}

async fn send(board: &Board, ticket: &Ticket) {
    let Some((peer, token)) = &ticket.progress else {
        return;
    };
    let Some(progress) = board.take() else { return };
    let mut report =
        ProgressNotificationParam::new(token.clone(), progress.done).with_message(progress.message);
    report.total = progress.total;
    if let Err(error) = peer.notify_progress(report).await {
        tracing::debug!("progress was not sent: {error}");
    }
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

fn set(flag: &AtomicBool) {
    flag.store(true, Ordering::Relaxed);
}

fn broken(error: &tokio::task::JoinError) -> Error {
    Error::Internal {
        doing: "answering a call".into(),
        detail: error.to_string(),
    }
}
