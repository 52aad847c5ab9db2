//! The splitter of stdin into messages, for the fuzz targets in `loci-fuzz`. Only with the feature
//! `fuzzing`.

use std::collections::VecDeque;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use crate::lines::Lines;
use crate::skim::Skim;

/// The result of a session of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The messages that were passed on, as JSON.
    pub messages: Vec<String>,
    /// Everything that was written to the client.
    pub written: String,
}

/// Reads messages that arrive in these parts, and answers each request immediately. Before each
/// part the reader has to wait, and the waiting call is dropped and repeated, as a server may do.
pub fn read_messages(parts: Vec<Vec<u8>>) -> Session {
    let written = Arc::new(Mutex::new(Vec::new()));
    let reader = Parts {
        parts: parts.into(),
        waited: false,
    };
    let mut lines = Lines::new(reader, Sink(Arc::clone(&written)), CancellationToken::new());
    let mut context = Context::from_waker(Waker::noop());
    let mut messages = Vec::new();
    loop {
        let received = {
            let receive = pin!(lines.receive());
            receive.poll(&mut context)
        };
        match received {
            Poll::Pending => {}
            Poll::Ready(None) => break,
            Poll::Ready(Some(message)) => {
                messages.push(serde_json::to_string(&message).unwrap_or_default());
                if let JsonRpcMessage::Request(request) = message {
                    let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no", None);
                    let answer = ServerJsonRpcMessage::error(error, Some(request.id));
                    let sent = pin!(lines.send(answer));
                    let _ = sent.poll(&mut context);
                }
            }
        }
    }
    let bytes = written.lock().unwrap_or_else(PoisonError::into_inner);
    Session {
        messages,
        written: String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// The id of a message that is too long to be read, as JSON.
pub fn skim_id(parts: &[&[u8]]) -> Option<String> {
    let mut skim = Skim::default();
    for part in parts {
        skim.look_at(part);
    }
    serde_json::to_string(&skim.id()?).ok()
}

struct Parts {
    parts: VecDeque<Vec<u8>>,
    waited: bool,
}

impl AsyncRead for Parts {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.waited = !self.waited;
        if self.waited {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while let Some(mut part) = self.parts.pop_front() {
            if part.is_empty() {
                continue;
            }
            let rest = part.split_off(part.len().min(buffer.remaining()));
            buffer.put_slice(&part);
            if !rest.is_empty() {
                self.parts.push_front(rest);
            }
            break;
        }
        Poll::Ready(Ok(()))
    }
}

struct Sink(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
