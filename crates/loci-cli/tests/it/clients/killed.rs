//! Clients that go away in the middle of a call.

use serde_json::{Value, json};

use super::python::{CURRENT, Client, peer};
use super::server::Server;
use crate::support::{Dir, wait_until};

/// Work that takes a while: many drawers in several transactions.
fn many(drawers: usize) -> Value {
    let drawers: Vec<Value> = (0..drawers)
        .map(|n| json!({"text": format!("drawer {n} of a long call"), "wing": "long"}))
        .collect();
    json!({"drawers": drawers})
}

fn is_running(process: u32) -> bool {
    let found = std::process::Command::new("kill")
        .args(["-0", &process.to_string()])
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    found.success()
}

/// A palace that a call was broken off in: whole, and every drawer that is counted can be read.
fn assert_whole(dir: &Dir) {
    if !dir.palace().exists() {
        return;
    }
    dir.json(0, &["verify"]);
}

#[test]
fn a_killed_client_takes_its_server_along_and_leaves_a_whole_palace() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    for after in [0.0, 0.01, 0.05, 0.2] {
        let mut client = Client::stdio(&python, &dir, &[], "auto");
        client.tools();
        let server = client.server_process();
        client.say(&json!({"call": "loci_add", "arguments": many(4_000), "die_after": after}));
        client.wait();
        wait_until("the server outlives its client", || !is_running(server));
        assert_whole(&dir);
    }
    let mut next = Client::stdio(&python, &dir, &[], "auto");
    let added = next.call(
        "loci_add",
        &json!({"drawers": [{"text": "the next client"}]}),
    );
    assert_eq!(added["added"], 1);
    next.close();
}

#[test]
fn a_killed_client_of_an_http_server_does_not_disturb_the_others() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let mut witness = Client::http(&python, &dir, &server, "auto");
    for after in [0.0, 0.05] {
        let mut client = Client::http(&python, &dir, &server, "legacy");
        client.tools();
        client.say(&json!({"call": "loci_add", "arguments": many(4_000), "die_after": after}));
        client.wait();
        let added = witness.call(
            "loci_add",
            &json!({"drawers": [{"text": format!("after {after}")}]}),
        );
        assert_eq!(added["added"], 1);
    }
    witness.close();
    drop(server);
    assert_whole(&dir);
}

#[test]
fn a_cancelled_call_ends_and_the_session_goes_on() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let mut client = Client::stdio(&python, &dir, &[], "auto");
    let all = 20_000;
    let given_up = client.result(&json!({
        "call": "loci_add", "arguments": many(all), "cancel_after": 0.3,
    }));
    assert_eq!(given_up["cancelled"], true);
    let listed = client.call("loci_list", &json!({"wing": "long", "limit": 1}));
    assert!(listed["total"].as_u64().unwrap() < all as u64, "{listed}");
    client.close();
    assert_whole(&dir);
}

#[test]
fn a_long_call_says_how_far_it_has_come() {
    let Some(python) = peer(CURRENT) else {
        return;
    };
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    for mut client in [
        Client::stdio(&python, &dir, &[], "auto"),
        Client::stdio(&python, &dir, &[], "legacy"),
        Client::http(&python, &dir, &server, "auto"),
        Client::http(&python, &dir, &server, "legacy"),
    ] {
        let result = client.result(&json!({"call": "loci_add", "arguments": many(300)}));
        let progress = result["progress"].as_array().unwrap();
        let done: Vec<f64> = progress
            .iter()
            .map(|report| report["progress"].as_f64().unwrap())
            .collect();
        assert!(done.len() > 1, "{progress:?}");
        assert!(done.is_sorted(), "{progress:?}");
        assert_eq!(done.last(), Some(&300.0));
        client.close();
    }
}
