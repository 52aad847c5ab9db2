//! A whole session in one process, on a palace that a URL names and no file holds: the tools go through the backend alone.

use std::sync::Arc;

use loci_contract::memory::MemoryBackend;
use loci_mcp::{MineRoots, Settings, ToolSet, serve_streams};
use loci_palace::{OpenOptions, PalaceRef, Registry};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

pub(crate) struct Client {
    sending: WriteHalf<DuplexStream>,
    receiving: Lines<BufReader<ReadHalf<DuplexStream>>>,
    last: u64,
}

impl Client {
    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.sending.write_all(line.as_bytes()).await.unwrap();
    }

    /// The result of a request.
    pub(crate) async fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": parameters});
        self.send(request).await;
        loop {
            let line = self.receiving.next_line().await.unwrap().unwrap();
            let mut answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == json!(self.last) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// The structured content of a tool's answer.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let parameters = json!({"name": tool, "arguments": arguments});
        let mut result = self.ask("tools/call", parameters).await;
        assert_ne!(result["isError"], json!(true), "{tool}: {result}");
        result["structuredContent"].take()
    }
}

/// A server of this palace, with these backends beside those of the build.
pub(crate) fn settings(palace: PalaceRef, backends: Registry, tools: ToolSet) -> Settings {
    Settings {
        palace,
        options: OpenOptions {
            backends,
            ..OpenOptions::default()
        },
        tools,
        mine_roots: MineRoots::default(),
        guard: |_| Ok(()),
    }
}

/// Runs a session in this process: `talk` gets the client, and the answer to `initialize`.
pub(crate) fn session(settings: &Settings, talk: impl AsyncFnOnce(&mut Client, Value)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (from_client, to_client) = tokio::io::split(theirs);
        let (receiving, sending) = tokio::io::split(ours);
        let mut client = Client {
            sending,
            receiving: BufReader::new(receiving).lines(),
            last: 0,
        };
        let whole = async {
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}});
            let hello = client.ask("initialize", hello).await;
            client
                .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
            talk(&mut client, hello).await;
        };
        tokio::select! {
            () = serve_streams(settings, from_client, to_client) => panic!("the session ended"),
            () = whole => {}
        }
    });
}

async fn talk(client: &mut Client, notes: &std::path::Path) {
    let drawer = json!({"text": "Alice moved to Lyon in May.", "wing": "people"});
    let added = client.call("loci_add", json!({"drawers": [drawer]})).await;
    assert_eq!(added["drawers"][0]["outcome"], "added", "{added}");
    let id = added["drawers"][0]["id"].as_str().unwrap().to_owned();
    let again = client.call("loci_add", json!({"drawers": [drawer]})).await;
    assert_eq!(again["drawers"][0]["outcome"], "duplicate", "{again}");

    let found = client
        .call("loci_search", json!({"query": "where did Alice move"}))
        .await;
    assert_eq!(found["hits"][0]["id"], id.as_str(), "{found}");
    let change = json!({"id": id, "room": "moves"});
    let changed = client.call("loci_update", change).await;
    assert_eq!(changed["outcome"], "updated", "{changed}");
    let read = client.call("loci_get", json!({"ids": [id]})).await;
    assert_eq!(read["drawers"][0]["room"], "moves", "{read}");

    let fact =
        json!({"action": "add", "subject": "Alice", "predicate": "lives_in", "object": "Lyon"});
    client.call("loci_facts", fact).await;
    let asked = json!({"action": "query", "subject": "Alice"});
    let facts = client.call("loci_facts", asked).await;
    assert_eq!(facts["facts"][0]["object"], "Lyon", "{facts}");
    let entry = json!({"agent": "tester", "text": "Asked about Alice."});
    client.call("loci_diary", entry).await;
    let diary = client.call("loci_diary", json!({"agent": "tester"})).await;
    assert_eq!(diary["total"], 1, "{diary}");

    let mined = client.call("loci_mine", json!({"path": notes})).await;
    assert_eq!(mined["files"]["read"], 1, "{mined}");
    let roses = json!({"query": "when are the roses cut"});
    let found = client.call("loci_search", roses.clone()).await;
    assert!(
        found["hits"][0]["text"].as_str().unwrap().contains("March"),
        "{found}"
    );
    let runs = client.call("loci_runs", json!({})).await;
    let run = runs["runs"][0]["run"].clone();
    client.call("loci_runs", json!({"undo": run})).await;
    let found = client.call("loci_search", roses).await;
    let hits = found["hits"].as_array().unwrap();
    assert!(
        hits.iter()
            .all(|hit| !hit["text"].as_str().unwrap().contains("March")),
        "{found}"
    );

    let woken = client.call("loci_wake_up", json!({})).await;
    assert!(woken["text"].as_str().unwrap().contains("Lyon"), "{woken}");
    let forgotten = client.call("loci_forget", json!({"ids": [id]})).await;
    assert_eq!(forgotten["forgotten"], 1, "{forgotten}");
    let verified = client.call("loci_verify", json!({"deep": true})).await;
    assert_eq!(verified["ok"], true, "{verified}");
    let listed = client.call("loci_list", json!({"wing": "people"})).await;
    assert_eq!(listed["total"], 0, "{listed}");
}

#[test]
fn a_session_of_all_tools_runs_on_the_backend_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().canonicalize().unwrap().join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("garden.md"), "The roses are cut in March.\n").unwrap();
    let mut backends = Registry::new();
    backends.register(Arc::new(MemoryBackend::new()));
    let mut mine_roots = MineRoots::default();
    mine_roots.allow(&notes, "the test").unwrap();
    let palace = PalaceRef::from("memory://session");
    let settings = Settings {
        mine_roots,
        ..settings(palace, backends, ToolSet::Full)
    };
    session(&settings, async |client, hello| {
        let instructions = hello["instructions"].as_str().unwrap();
        assert!(
            instructions.contains("add what will matter"),
            "{instructions}"
        );
        talk(client, &notes).await;
    });
}
