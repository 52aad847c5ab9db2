//! Several clients of one palace at a time.

use serde_json::{Value, json};

use super::python::{CURRENT, Client, peer};
use super::server::Server;
use crate::support::Dir;

const CLIENTS: usize = 10;
const EACH: usize = 5;

/// Every client writes at once, then every client must find all that was written.
fn write_and_see(mut clients: Vec<Client>, dir: &Dir) {
    let add = |client: usize, turn: usize| -> Value {
        let text = format!("client {client} wrote note {turn}");
        json!({"call": "loci_add", "arguments": {"drawers": [{"text": text, "wing": "shared"}]}})
    };
    for turn in 0..EACH {
        for (number, client) in clients.iter_mut().enumerate() {
            client.say(&add(number, turn));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let result = client.heard(&add(number, turn));
            assert_eq!(result["structuredContent"]["added"], 1, "{result}");
        }
    }
    for client in &mut clients {
        let listed = client.call("loci_list", &json!({"wing": "shared", "limit": 1}));
        assert_eq!(listed["total"], CLIENTS * EACH);
    }
    for client in clients {
        client.close();
    }
    dir.json(0, &["verify"]);
}

#[test]
fn ten_clients_write_at_once_and_see_all_that_was_written() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let client = |_| Client::stdio(&python, &dir, &[], "auto");
    write_and_see((0..CLIENTS).map(client).collect(), &dir);
}

#[test]
fn ten_clients_of_one_http_server_write_at_once_and_see_all_that_was_written() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let client = |_| Client::http(&python, &dir, &server, "auto");
    write_and_see((0..CLIENTS).map(client).collect(), &dir);
}

#[test]
fn a_client_sees_what_the_command_line_writes() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let mut client = Client::stdio(&python, &dir, &[], "auto");
    client.call(
        "loci_add",
        &json!({"drawers": [{"text": "from the client"}]}),
    );
    dir.json(0, &["add", "from the command line"]);
    let found = client.call("loci_search", &json!({"query": "command line", "k": 1}));
    assert_eq!(found["hits"][0]["text"], "from the command line");
    client.close();
}
