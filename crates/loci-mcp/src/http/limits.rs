//! Limits the connections, event streams and sessions of clients.
//!
//! A stream stays open as long as its client wants, so the limit of streams is well below that of
//! connections, and requests are answered even if all streams are taken. An idle connection is
//! closed when its place is needed, so idle connections never keep other clients out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// Maximum number of connections.
const CONNECTIONS: usize = 512;
/// Maximum number of event streams.
const STREAMS: usize = 256;
/// Maximum number of event streams of one session. A client needs one, and may open another before
/// it notices that the old one failed.
const STREAMS_OF_SESSION: usize = 4;

/// The connections that are open.
#[derive(Default)]
pub(super) struct Connections {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    all: BTreeMap<u64, Connection>,
}

struct Connection {
    /// Requests that are being answered.
    busy: Arc<AtomicUsize>,
    /// When it was last used, in steps of [`Open::next`].
    used: u64,
    close: CancellationToken,
}

/// The place of one connection. Dropping it frees the place.
pub(super) struct ConnectionSlot {
    number: u64,
    connections: Arc<Connections>,
    busy: Arc<AtomicUsize>,
    /// Cancelled when another connection needs the place.
    pub(super) close: CancellationToken,
}

impl Connections {
    /// A place for a new connection. If all are taken, the connection that has been idle for
    /// longest is closed. `None` if none is idle.
    pub(super) fn admit(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut open = lock(&self.open);
        if open.all.len() >= CONNECTIONS {
            let idle = open.all.iter().filter(|(_, each)| is_idle(&each.busy));
            let oldest = idle.min_by_key(|(_, each)| each.used);
            let number = oldest.map(|(number, _)| *number)?;
            let removed = open.all.remove(&number)?;
            removed.close.cancel();
        }
        let number = open.next;
        open.next += 1;
        let close = CancellationToken::new();
        let busy = Arc::new(AtomicUsize::new(0));
        let connection = Connection {
            busy: Arc::clone(&busy),
            used: number,
            close: close.clone(),
        };
        open.all.insert(number, connection);
        Some(ConnectionSlot {
            number,
            connections: Arc::clone(self),
            busy,
            close,
        })
    }

    /// Whether all connections are closed.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.open).all.is_empty()
    }

    fn note_use(&self, number: u64) {
        let mut open = lock(&self.open);
        let now = open.next;
        open.next += 1;
        if let Some(connection) = open.all.get_mut(&number) {
            connection.used = now;
        }
    }
}

impl ConnectionSlot {
    /// Marks the connection as busy until the result is dropped.
    pub(super) fn busy(&self) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy {
            number: self.number,
            connections: Arc::clone(&self.connections),
            count: Arc::clone(&self.busy),
        }
    }

    /// Whether no request is being answered.
    pub(super) fn is_idle(&self) -> bool {
        is_idle(&self.busy)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.connections.open).all.remove(&self.number);
    }
}

/// A request is being answered.
pub(super) struct Busy {
    number: u64,
    connections: Arc<Connections>,
    count: Arc<AtomicUsize>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.connections.note_use(self.number);
    }
}

fn is_idle(busy: &AtomicUsize) -> bool {
    busy.load(Ordering::Relaxed) == 0
}

/// The event streams that are open, by session.
#[derive(Default)]
pub(super) struct Streams {
    open: Mutex<HashMap<String, usize>>,
}

/// The place of one stream. Dropping it frees the place.
pub(super) struct StreamSlot {
    session: String,
    streams: Arc<Streams>,
}

impl Streams {
    /// A place for a stream of this session, or `None` if there are too many.
    pub(super) fn admit(self: &Arc<Self>, session: &str) -> Option<StreamSlot> {
        let mut open = lock(&self.open);
        let all: usize = open.values().sum();
        let own = open.get(session).copied().unwrap_or_default();
        if all >= STREAMS || own >= STREAMS_OF_SESSION {
            return None;
        }
        open.insert(session.to_owned(), own + 1);
        Some(StreamSlot {
            session: session.to_owned(),
            streams: Arc::clone(self),
        })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = lock(&self.streams.open);
        let left = open.get(&self.session).copied().unwrap_or_default();
        if left > 1 {
            open.insert(std::mem::take(&mut self.session), left - 1);
        } else {
            open.remove(&self.session);
        }
    }
}

/// When each session was last used.
#[derive(Default)]
pub(super) struct Uses {
    of: Mutex<HashMap<Arc<str>, Use>>,
}

struct Use {
    last: Instant,
    /// Number of answers that are not sent yet, including event streams.
    open: usize,
}

/// A session is in use until this is dropped.
pub(super) struct InUse {
    session: Arc<str>,
    uses: Arc<Uses>,
}

impl Uses {
    /// Records the use of a session.
    pub(super) fn begin(self: &Arc<Self>, session: Arc<str>) -> InUse {
        let mut of = lock(&self.of);
        let used = of.entry(Arc::clone(&session)).or_insert(Use {
            last: Instant::now(),
            open: 0,
        });
        used.open += 1;
        InUse {
            session,
            uses: Arc::clone(self),
        }
    }

    /// The session that has been idle for longest; `None` if all are in use. Sessions that are not
    /// listed have ended, and are dropped.
    pub(super) fn idlest(&self, sessions: &HashSet<Arc<str>>) -> Option<Arc<str>> {
        let mut of = lock(&self.of);
        of.retain(|session, _| sessions.contains(session));
        let idle = sessions.iter().filter_map(|session| match of.get(session) {
            None => Some((None, session)),
            Some(used) if used.open == 0 => Some((Some(used.last), session)),
            Some(_) => None,
        });
        let idlest = idle.min_by_key(|(last, _)| *last);
        idlest.map(|(_, session)| Arc::clone(session))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(used) = lock(&self.uses.of).get_mut(&self.session) {
            used.open = used.open.saturating_sub(1);
            used.last = Instant::now();
        }
    }
}

/// The body of an answer, with the places that it occupies until it is sent or dropped.
pub(super) struct Held {
    pub(super) body: BoxBody<Bytes, Infallible>,
    pub(super) _busy: Busy,
    pub(super) _stream: Option<StreamSlot>,
    pub(super) _in_use: Option<InUse>,
}

impl Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_that_was_idle_for_longest_makes_room_and_busy_ones_stay() {
        let connections = Arc::new(Connections::default());
        let mut seats: Vec<ConnectionSlot> = (0..CONNECTIONS)
            .map(|_| connections.admit().unwrap())
            .collect();
        let first_is_busy = seats[0].busy();
        // The second was used after the third.
        drop(seats[1].busy());
        seats.push(connections.admit().unwrap());
        let closed: Vec<bool> = seats.iter().map(|seat| seat.close.is_cancelled()).collect();
        assert_eq!(closed.iter().filter(|closed| **closed).count(), 1);
        assert!(closed[2], "the third was idle for longest");
        let busy: Vec<Busy> = seats.iter().map(ConnectionSlot::busy).collect();
        assert!(connections.admit().is_none(), "all are busy");
        drop((busy, first_is_busy));
        assert!(connections.admit().is_some());
        seats.clear();
        assert!(connections.is_empty());
    }

    #[test]
    fn streams_are_limited_in_all_and_for_each_session() {
        let streams = Arc::new(Streams::default());
        let one: Vec<_> = (0..STREAMS_OF_SESSION)
            .map(|_| streams.admit("one").unwrap())
            .collect();
        assert!(streams.admit("one").is_none());
        let others: Vec<_> = (STREAMS_OF_SESSION..STREAMS)
            .map(|number| streams.admit(&number.to_string()).unwrap())
            .collect();
        assert!(streams.admit("another").is_none());
        drop(one);
        assert!(streams.admit("one").is_some());
        drop(others);
        assert!(lock(&streams.open).is_empty());
    }

    #[test]
    fn the_session_that_was_idle_for_longest_is_the_one_to_end() {
        let uses = Arc::new(Uses::default());
        let [old, new, busy, unused] = ["old", "new", "busy", "unused"].map(Arc::<str>::from);
        drop(uses.begin(Arc::clone(&old)));
        drop(uses.begin(Arc::clone(&new)));
        let held = uses.begin(Arc::clone(&busy));
        let mut sessions: HashSet<Arc<str>> = HashSet::from([old, new, busy, unused]);
        for expected in ["unused", "old", "new"] {
            let idlest = uses.idlest(&sessions).unwrap();
            assert_eq!(&*idlest, expected);
            sessions.remove(&idlest);
        }
        assert_eq!(uses.idlest(&sessions), None);
        drop(held);
        assert_eq!(uses.idlest(&sessions).as_deref(), Some("busy"));
    }
}
