//! The HTTP servers of the palace, and whether each answers a client that sends its token. The
//! token is never shown.

use std::time::Duration;

use loci_mcp::servers::{self, RunningServer};
use loci_palace::PalaceRef;
use serde_json::{Value, json};

use super::advice::Findings;
use super::sheet::Section;

/// A server that does not answer within this time is reported.
const LIMIT: Duration = Duration::from_secs(3);

pub(super) fn examine(palace: Option<&PalaceRef>, found: &mut Findings) -> (Value, Section) {
    let mut section = Section::new("servers");
    let running = palace.map(servers::of_palace).unwrap_or_default();
    let answers = running
        .iter()
        .map(|server| one(server, &mut section, found))
        .collect();
    (Value::Array(answers), section)
}

fn one(server: &RunningServer, section: &mut Section, found: &mut Findings) -> Value {
    let (url, pid) = (&server.url, server.pid);
    let end = format!("end process {pid} and start the server again");
    let (state, status) = match server.probe(LIMIT) {
        Ok(200) => ("answers", Some(200)),
        Ok(status) => {
            let what = format!("the server at {url} refuses its own token with status {status}");
            found.warn("server_refuses", what, &end);
            ("refuses", Some(status))
        }
        Err(error) => {
            let what = format!("the server at {url} does not answer: {error}");
            found.warn("server_silent", what, &end);
            ("silent", None)
        }
    };
    let auth = if server.token().is_some() {
        "token"
    } else {
        found.warn(
            "server_without_token",
            format!(
                "the server at {url} runs with `--no-auth`: every user of this machine can use it"
            ),
            format!("end process {pid} and start it without `--no-auth`"),
        );
        "none"
    };
    let asks = match auth {
        "token" => format!("requires the token in {}", server.file.display()),
        _ => "requires no token".to_owned(),
    };
    section.line("listens", format!("{url}, process {pid}; {state}, {asks}"));
    json!({
        "url": url,
        "pid": pid,
        "started_at": server.started_at,
        "file": server.file,
        "auth": auth,
        "state": state,
        "status": status,
    })
}
