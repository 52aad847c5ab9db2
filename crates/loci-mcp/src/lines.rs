//! Reads and writes messages as lines of JSON. An invalid line is answered with an error, and the
//! next line is read: a mistake of the client must not end the session. The length of lines and the
//! number of pending requests are limited.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use loci_palace::{large_integer, printable_json};
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

use crate::MAX_MESSAGE_BYTES;
use crate::skim::Skim;

/// Maximum number of pending requests; the next one is read when one is answered.
const MOST_UNDER_WAY: usize = 256;

/// Capacity that the line buffer keeps between messages.
const KEPT_BYTES: usize = 64 << 10;

/// A stream of messages.
pub(crate) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Set if the line is too long. It is then scanned only for the id of the request.
    overlong: Option<Skim>,
    /// Whether a request has arrived.
    begun: bool,
    writer: Arc<Mutex<W>>,
    pending: Arc<PendingRequests>,
    /// The answer to an invalid line. It is kept here, because `receive` may be dropped while it
    /// waits, and a partial answer must not be sent.
    refusal: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
    /// Cancelled when the client is gone, that is, when it has closed either stream.
    client_gone: CancellationToken,
}

/// Requests that are not answered yet.
#[derive(Default)]
struct PendingRequests {
    ids: StdMutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl PendingRequests {
    fn begin(&self, id: RequestId) {
        self.ids
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id);
    }

    fn end(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            self.ids
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(id);
        }
        self.fewer.notify_one();
    }

    async fn wait_for_room(&self) {
        loop {
            let full = {
                let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
                ids.len() >= MOST_UNDER_WAY
            };
            if !full {
                return;
            }
            self.fewer.notified().await;
        }
    }
}

/// The result of reading a line.
enum Read {
    Line,
    TooLong(Option<RequestId>),
    End,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(reader: R, writer: W, client_gone: CancellationToken) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            overlong: None,
            begun: false,
            writer: Arc::new(Mutex::new(writer)),
            pending: Arc::default(),
            refusal: None,
            client_gone,
        }
    }

    /// The next line. It waits until the error about the last line is sent and there is room for a
    /// request.
    async fn next_line(&mut self) -> Read {
        if let Some(refusal) = &mut self.refusal {
            // A failure to write means that the client is gone, which is handled elsewhere.
            let _ = refusal.await;
            self.refusal = None;
        }
        let pending = Arc::clone(&self.pending);
        pending.wait_for_room().await;
        self.read_line().await
    }

    /// Reads a line into `self.line`. The future may be dropped at any point; the bytes read so far
    /// are kept.
    async fn read_line(&mut self) -> Read {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::debug!("reading from the client: {error}");
                    return Read::End;
                }
            };
            if available.is_empty() {
                // A last line need not end in a newline.
                return if self.line.is_empty() || self.overlong.is_some() {
                    Read::End
                } else {
                    Read::Line
                };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            let part = available.get(..taken).unwrap_or_default();
            if self.overlong.is_none() && self.line.len() + taken > MAX_MESSAGE_BYTES {
                let mut skim = Skim::default();
                skim.look_at(&std::mem::take(&mut self.line));
                self.overlong = Some(skim);
            }
            match &mut self.overlong {
                Some(skim) => skim.look_at(part),
                None => self.line.extend_from_slice(part),
            }
            self.reader.consume(taken);
            if end.is_some() {
                return match self.overlong.take() {
                    Some(skim) => Read::TooLong(skim.id()),
                    None => Read::Line,
                };
            }
        }
    }

    /// Answers an invalid line, at the next read.
    fn refuse(&mut self, code: ErrorCode, problem: String, id: Option<RequestId>) {
        let error = ErrorData::new(code, problem, None);
        let message = ServerJsonRpcMessage::error(error, id);
        let writer = Arc::clone(&self.writer);
        self.refusal = Some(Box::pin(write(writer, self.client_gone.clone(), message)));
    }

    /// The message in `self.line`; `None` if it is invalid.
    fn message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = self.line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let value = match serde_json::from_slice::<Value>(line) {
            Ok(value) => value,
            Err(error) => {
                let problem = format!("the line is not JSON: {error}");
                self.refuse(ErrorCode::PARSE_ERROR, problem, None);
                return None;
            }
        };
        let id = value
            .get("id")
            .and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        let is_notification = value.get("method").is_some() && value.get("id").is_none();
        if let Some(integer) = large_integer(line, None) {
            // An invalid id is answered too, with `null`, as JSON-RPC requires.
            if !is_notification {
                self.refuse(ErrorCode::INVALID_PARAMS, integer.problem(), id);
            }
            return None;
        }
        match serde_json::from_value::<ClientJsonRpcMessage>(value) {
            Ok(message) => Some(message),
            // A notification gets no answer, whatever is wrong with it.
            Err(_) if is_notification => None,
            Err(_) => {
                let problem = "the line is not a JSON-RPC 2.0 message of this protocol";
                self.refuse(ErrorCode::INVALID_REQUEST, problem.into(), id);
                None
            }
        }
    }

    /// Tracks pending requests. Returns whether the message is passed on.
    fn admit(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.begun = true;
                self.pending.begin(request.id.clone());
                true
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    // A cancelled request is not answered.
                    self.pending.end(cancelled.params.request_id.as_ref());
                }
                // Notifications before the first request are meaningless.
                self.begun
            }
            _ => self.begun,
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let written = write(Arc::clone(&self.writer), self.client_gone.clone(), message);
        let pending = Arc::clone(&self.pending);
        async move {
            let result = written.await;
            pending.end(answered.as_ref());
            result
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let gone = self.client_gone.clone();
        loop {
            let read = tokio::select! {
                () = gone.cancelled() => Read::End,
                read = self.next_line() => read,
            };
            match read {
                Read::End => {
                    gone.cancel();
                    return None;
                }
                Read::TooLong(id) => {
                    let problem = format!("the message has more than {MAX_MESSAGE_BYTES} bytes");
                    self.refuse(ErrorCode::INVALID_REQUEST, problem, id);
                }
                Read::Line => {
                    let message = self.message();
                    self.line.clear();
                    self.line.shrink_to(KEPT_BYTES);
                    if let Some(message) = message
                        && self.admit(&message)
                    {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.flush().await
    }
}

/// The message as JSON. An error that belongs to no request has the id `null`.
fn to_json(message: &ServerJsonRpcMessage) -> serde_json::Result<String> {
    match message {
        JsonRpcMessage::Error(error) if error.id.is_none() => {
            let mut value = serde_json::to_value(message)?;
            if let Value::Object(fields) = &mut value {
                fields.insert("id".to_owned(), Value::Null);
            }
            serde_json::to_string(&value)
        }
        _ => serde_json::to_string(message),
    }
}

/// Writes a message and a newline. If that fails, the client is gone.
async fn write<W: AsyncWrite + Unpin>(
    writer: Arc<Mutex<W>>,
    client_gone: CancellationToken,
    message: ServerJsonRpcMessage,
) -> io::Result<()> {
    let json = to_json(&message).map_err(io::Error::other)?;
    drop(message);
    let mut bytes = printable_json(json).into_bytes();
    bytes.push(b'\n');
    let mut writer = writer.lock().await;
    let written = match writer.write_all(&bytes).await {
        Ok(()) => writer.flush().await,
        Err(error) => Err(error),
    };
    if written.is_err() {
        client_gone.cancel();
    }
    written
}
