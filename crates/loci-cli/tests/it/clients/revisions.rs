//! Which revisions of the protocol are spoken.

use serde_json::json;

use super::python::{CURRENT, Client, PREVIOUS, peer};
use super::server::Server;
use crate::support::Dir;

const HANDSHAKE: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// What a client says of a session that it has greeted, listed and asked in.
fn spoken(mut client: Client) -> String {
    let version = client.greeting["protocolVersion"].as_str().unwrap();
    let version = version.to_owned();
    assert_eq!(client.tools().len(), 8);
    let listed = client.call("loci_list", &json!({}));
    assert!(listed.is_object());
    client.close();
    version
}

#[test]
fn clients_with_a_handshake_get_the_last_revision_that_has_one() {
    for (variable, mode) in [(CURRENT, "legacy"), (PREVIOUS, "legacy")] {
        let Some(python) = peer(variable) else {
            continue;
        };
        let dir = Dir::new();
        let server = Server::start(&dir, &[]);
        assert_eq!(spoken(Client::stdio(&python, &dir, &[], mode)), HANDSHAKE);
        assert_eq!(
            spoken(Client::http(&python, &dir, &server, mode)),
            HANDSHAKE
        );
    }
}

#[test]
fn clients_without_a_handshake_get_the_stateless_revision() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    for mode in ["auto", STATELESS] {
        assert_eq!(spoken(Client::stdio(&python, &dir, &[], mode)), STATELESS);
        assert_eq!(
            spoken(Client::http(&python, &dir, &server, mode)),
            STATELESS
        );
    }
}

#[test]
fn the_server_says_who_it_is_and_what_it_is_for() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let client = Client::stdio(&python, &dir, &[], "legacy");
    let greeting = client.greeting.clone();
    assert_eq!(greeting["serverInfo"]["name"], "loci");
    assert_eq!(greeting["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(greeting["capabilities"]["tools"].is_object(), "{greeting}");
    assert!(
        greeting["capabilities"]["resources"].is_object(),
        "{greeting}"
    );
    assert!(
        greeting["capabilities"]["prompts"].is_object(),
        "{greeting}"
    );
    client.close();
}
