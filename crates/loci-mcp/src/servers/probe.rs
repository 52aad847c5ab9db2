//! One authenticated request to a server, for `loci doctor`.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::RunningServer;

/// Size limit of the head of an answer.
const MAX_HEAD_BYTES: usize = 16 << 10;

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"loci doctor","version":"1"}}}"#;

impl RunningServer {
    /// Starts a session with the server's token and ends it again. Returns the HTTP status of the
    /// `initialize` request; 200 means that the server answers its clients. Errors never contain
    /// the token.
    pub fn probe(&self, limit: Duration) -> io::Result<u16> {
        let deadline = Instant::now() + limit;
        let (status, session) = self.send("POST", "", GREETING, deadline)?;
        if let Some(session) = session {
            // Otherwise the session would stay open until its idle timeout.
            let header = format!("Mcp-Session-Id: {session}\r\n");
            self.send("DELETE", &header, "", deadline)?;
        }
        Ok(status)
    }

    fn send(
        &self,
        method: &str,
        header: &str,
        body: &str,
        deadline: Instant,
    ) -> io::Result<(u16, Option<String>)> {
        let mut stream = TcpStream::connect_timeout(&self.address, left(deadline)?)?;
        stream.set_write_timeout(Some(left(deadline)?))?;
        let bearer = match &self.token {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{bearer}{header}\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        let mut buffer = [0; 1_024];
        while !answer.windows(4).any(|end| end == b"\r\n\r\n") && answer.len() < MAX_HEAD_BYTES {
            stream.set_read_timeout(Some(left(deadline)?))?;
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            answer.extend(buffer.iter().take(read));
        }
        parse(&String::from_utf8_lossy(&answer))
            .ok_or_else(|| io::Error::other("the answer is not HTTP"))
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// The status and the session of an answer.
fn parse(answer: &str) -> Option<(u16, Option<String>)> {
    let mut lines = answer.lines();
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    let session = lines.take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_session = name.eq_ignore_ascii_case("mcp-session-id");
        is_session.then(|| value.trim().to_owned())
    });
    Some((status.parse().ok()?, session))
}
