//! A server ends with its client or at a signal, soon, and leaves a whole palace and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{Dir, signal, wait_until};

fn many(drawers: usize) -> Value {
    let drawers: Vec<Value> = (0..drawers)
        .map(|n| json!({"text": format!("note {n} of a long call"), "wing": "long"}))
        .collect();
    json!({"name": "loci_add", "arguments": {"drawers": drawers}})
}

/// Whole, and nothing but the palace's own files.
fn assert_whole(dir: &Dir) {
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    let strange: Vec<PathBuf> = Dir::files(&dir.palace())
        .into_iter()
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.contains("tmp") || name.contains("temp")
        })
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

/// Mines a tree that takes a while, so that there is something to break off.
fn tree(dir: &Dir) -> PathBuf {
    let root = dir.path("tree");
    for folder in 0..20 {
        let folder = root.join(format!("f{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..50 {
            let line = format!("A line of file {file} in {}.\n\n", folder.display());
            let text = line.repeat(200);
            std::fs::write(folder.join(format!("{file}.md")), text).unwrap();
        }
    }
    root
}

#[test]
fn a_server_ends_when_its_client_hangs_up() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    client.call(
        "loci_add",
        &json!({"drawers": [{"text": "The harbour freezes."}]}),
    );
    client.hang_up();
    assert!(client.ended().success());
    assert_whole(&dir);
    // One that never said a word ends, too.
    let mut silent = Client::silent(&dir, &[]);
    silent.hang_up();
    assert!(silent.ended().success());
}

#[test]
fn calls_under_way_are_answered_before_the_server_ends() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let id = client.begin("tools/call", &many(20));
    client.hang_up();
    assert_eq!(
        client.answer(id)["result"]["structuredContent"]["added"],
        20
    );
    assert!(client.ended().success());
}

#[test]
fn a_long_call_does_not_outlive_its_client() {
    let dir = Dir::new();
    let root = tree(&dir);
    let mut client = Client::new(&dir, &["--tools", "full", "--allow-mine", "."]);
    client.begin(
        "tools/call",
        &json!({"name": "loci_mine", "arguments": {"path": root}}),
    );
    wait_until("the palace is there", || dir.run(&["status"]).code == 0);
    let since = Instant::now();
    client.hang_up();
    client.ended();
    assert!(
        since.elapsed() < Duration::from_secs(20),
        "{:?}",
        since.elapsed()
    );
    assert_whole(&dir);
}

#[test]
fn every_signal_ends_a_server_in_the_middle_of_a_write() {
    for name in ["TERM", "HUP", "INT"] {
        let dir = Dir::new();
        let mut client = Client::new(&dir, &[]);
        client.begin("tools/call", &many(4_000));
        wait_until("the palace is there", || dir.run(&["status"]).code == 0);
        let since = Instant::now();
        signal(&client.child, name);
        assert!(client.ended().success(), "{name}");
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "{:?}",
            since.elapsed()
        );
        assert_whole(&dir);
    }
}

#[test]
fn a_killed_server_leaves_whole_calls_only() {
    let dir = Dir::new();
    for _ in 0..3 {
        let mut client = Client::new(&dir, &[]);
        client.begin("tools/call", &many(4_000));
        wait_until("the palace is there", || dir.run(&["status"]).code == 0);
        signal(&client.child, "KILL");
        client.ended();
        assert_whole(&dir);
    }
    let mut next = Client::new(&dir, &[]);
    next.call(
        "loci_add",
        &json!({"drawers": [{"text": "the next client"}]}),
    );
    next.close();
}

#[test]
fn a_server_that_nobody_reads_ends_though_stdin_stays_open() {
    let dir = Dir::new();
    let mut child = dir
        .command()
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let greeting = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    writeln!(input, "{greeting}").unwrap();
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    // Only writing shows that nobody reads.
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    writeln!(input, "{ping}").unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("the server goes on");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_cancelled_mine_really_stops() {
    let dir = Dir::new();
    let root = tree(&dir);
    let mut client = Client::new(&dir, &["--tools", "full", "--allow-mine", "."]);
    let call = json!({
        "name": "loci_mine", "arguments": {"path": root}, "_meta": {"progressToken": "mine"},
    });
    let id = client.begin("tools/call", &call);
    let told = client.message(|message| message["method"] == "notifications/progress");
    assert_eq!(told["params"]["progressToken"], "mine");
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    // The ledger knows when a run has ended, and how.
    let state = |dir: &Dir| {
        let runs: Value = serde_json::from_str(&dir.run(&["runs", "--json"]).stdout).unwrap();
        runs["runs"][0]["state"].clone()
    };
    // Progress is reported while the first files are read, before the run is recorded.
    wait_until("the run has ended", || {
        let state = state(&dir);
        state != "running" && !state.is_null()
    });
    assert_eq!(state(&dir), "stopped");
    let answers = client.ask("ping", &json!({}));
    assert!(answers["result"].is_object(), "the session goes on");
    client.close();
    assert_whole(&dir);
}

#[test]
fn two_servers_write_at_once_and_see_each_other() {
    let dir = Dir::new();
    let mut clients = [Client::new(&dir, &[]), Client::new(&dir, &[])];
    for turn in 0..20 {
        let ids: Vec<u64> = clients
            .iter_mut()
            .enumerate()
            .map(|(number, client)| {
                let text = format!("client{number} wrote turn{turn}");
                let arguments = json!({"drawers": [{"text": text}]});
                client.begin(
                    "tools/call",
                    &json!({"name": "loci_add", "arguments": arguments}),
                )
            })
            .collect();
        for (client, id) in clients.iter_mut().zip(ids) {
            let answer = client.answer(id);
            assert_eq!(
                answer["result"]["structuredContent"]["added"], 1,
                "{answer}"
            );
        }
        let [first, second] = &mut clients;
        for (client, other) in [(first, 1), (second, 0)] {
            let query = json!({"query": format!("client{other} turn{turn}"), "k": 1});
            let found = client.call("loci_search", &query);
            assert_eq!(
                found["hits"][0]["text"],
                format!("client{other} wrote turn{turn}")
            );
        }
    }
    for client in clients {
        client.close();
    }
    assert_whole(&dir);
}

#[test]
fn a_server_ends_within_five_seconds_of_a_signal_whatever_its_calls_wait_for() {
    let dir = Dir::new();
    dir.json(0, &["add", "The harbour freezes."]);
    let path = dir.palace().join("palace.lock");
    let held = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    held.lock().unwrap();
    for name in ["TERM", "INT", "HUP"] {
        let mut client = Client::new(&dir, &[]);
        let call = json!({"name": "loci_search", "arguments": {"query": "harbour"}});
        client.begin("tools/call", &call);
        // The call waits for the lock: the server has its file open.
        let descriptors = format!("/proc/{}/fd", client.child.id());
        wait_until("the call waits for the lock", || {
            let open = std::fs::read_dir(&descriptors).unwrap().flatten();
            open.into_iter()
                .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|file| file == path))
        });
        let since = Instant::now();
        signal(&client.child, name);
        client.ended();
        assert!(since.elapsed() < Duration::from_secs(5), "{name}");
    }
}

#[test]
fn a_palace_moved_away_under_a_server_is_refused_and_not_made_again() {
    let dir = Dir::new();
    let mut client = Client::new(&dir, &[]);
    let first = json!({"drawers": [{"text": "The harbour freezes."}]});
    client.call("loci_add", &first);
    std::fs::rename(dir.palace(), dir.path("moved")).unwrap();
    let second = json!({"drawers": [{"text": "The lake freezes."}]});
    for (tool, arguments) in [
        ("loci_add", &second),
        ("loci_search", &json!({"query": "harbour"})),
    ] {
        let refusal = client.refusal(tool, arguments);
        assert!(refusal.contains("moved or deleted"), "{tool}: {refusal}");
    }
    assert!(!dir.palace().exists(), "a new palace was made");
    std::fs::rename(dir.path("moved"), dir.palace()).unwrap();
    client.call("loci_add", &second);
    client.close();
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
}
