//! Every tool of every set, called by the official client. It judges each answer by the schema that the server gave.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::python::{CURRENT, Client, PREVIOUS, peer};
use super::server::Server;
use crate::support::Dir;

/// A client and the tools that it has called.
struct Caller {
    client: Client,
    offered: Vec<String>,
    called: BTreeSet<String>,
}

impl Caller {
    fn new(mut client: Client) -> Self {
        Self {
            offered: client.tools(),
            client,
            called: BTreeSet::new(),
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are written where they are given"
    )]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.called.insert(tool.to_owned());
        self.client.call(tool, &arguments)
    }

    /// Ends the session; a tool that was not called shows that this test is not complete.
    fn close(self) {
        let called: Vec<String> = self.called.into_iter().collect();
        assert_eq!(called, self.offered, "called, and offered");
        self.client.close();
    }
}

/// The two ways to a server, on a palace of its own each.
fn over_both(variable: &str, set: &str, drive: fn(&mut Caller, &Dir)) {
    let Some(python) = peer(variable) else {
        return;
    };
    let drive_to_end = |client: Client, dir: &Dir| {
        let mut caller = Caller::new(client);
        drive(&mut caller, dir);
        caller.close();
    };
    let dir = Dir::new();
    let home = dir.path("home");
    let arguments = ["--tools", set, "--allow-mine", home.to_str().unwrap()];
    drive_to_end(Client::stdio(&python, &dir, &arguments, "auto"), &dir);
    let dir = Dir::new();
    let home = dir.path("home");
    let arguments = ["--tools", set, "--allow-mine", home.to_str().unwrap()];
    let server = Server::start(&dir, &arguments);
    drive_to_end(Client::http(&python, &dir, &server, "auto"), &dir);
}

fn core(caller: &mut Caller, _: &Dir) {
    let empty = caller.call("loci_search", json!({"query": "harbour"}));
    assert_eq!(empty["hits"], json!([]));
    let added = caller.call(
        "loci_add",
        json!({"drawers": [
            {"text": "The harbour freezes in January.", "wing": "north", "room": "sea"},
            {"text": "Bread needs salt.", "wing": "kitchen", "room": "baking"},
        ]}),
    );
    assert_eq!(added["added"], 2);
    let ids: Vec<&str> = added["drawers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|drawer| drawer["id"].as_str().unwrap())
        .collect();
    let again = caller.call(
        "loci_add",
        json!({"drawers": [{"text": "Bread needs salt.", "wing": "kitchen", "room": "baking"}]}),
    );
    assert_eq!(again["added"], 0, "{again}");

    let found = caller.call(
        "loci_search",
        json!({"query": "when does the harbour freeze", "k": 1}),
    );
    assert_eq!(found["hits"][0]["id"], ids[0]);
    let got = caller.call("loci_get", json!({"ids": ids}));
    assert_eq!(got["drawers"][1]["text"], "Bread needs salt.");
    let updated = caller.call(
        "loci_update",
        json!({"id": ids[1], "text": "Bread needs salt and time."}),
    );
    assert_eq!(updated["outcome"], "updated");
    let listed = caller.call("loci_list", json!({"wing": "kitchen"}));
    assert_eq!(listed["total"], 1);
    let forgotten = caller.call("loci_forget", json!({"ids": [ids[0]]}));
    assert_eq!(forgotten["forgotten"], 1);

    let fact = |action: &str, object: &str, date: &str| {
        json!({
            "action": action, "subject": "harbour", "predicate": "master", "object": object, "date": date,
        })
    };
    caller.call("loci_facts", fact("add", "Ida", "2025-01-01"));
    caller.call("loci_facts", fact("supersede", "Olav", "2026-01-01"));
    let then = json!({"action": "query", "subject": "harbour", "date": "2025-06-01"});
    let then = caller.call("loci_facts", then);
    assert_eq!(then["facts"][0]["object"], "Ida", "{then}");
    let now = caller.call(
        "loci_facts",
        json!({"action": "query", "subject": "harbour"}),
    );
    assert_eq!(now["facts"][0]["object"], "Olav", "{now}");
    let timeline = json!({"action": "timeline", "subject": "harbour"});
    assert_eq!(caller.call("loci_facts", timeline)["total"], 2);
    caller.call("loci_facts", json!({"action": "conflicts"}));
    caller.call("loci_facts", fact("invalidate", "Olav", "2026-06-01"));

    let note = json!({"agent": "helm", "text": "Asked about the harbour.", "topic": "sea"});
    caller.call("loci_diary", note);
    let diary = caller.call("loci_diary", json!({"agent": "helm"}));
    assert_eq!(diary["entries"][0]["text"], "Asked about the harbour.");
}

fn full(caller: &mut Caller, dir: &Dir) {
    core(caller, dir);
    let folder = dir.path("home/notes");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(
        folder.join("tide.md"),
        "The tide table hangs by the door.\n",
    )
    .unwrap();
    let mined = caller.call("loci_mine", json!({"path": folder, "wing": "notes"}));
    assert_eq!(mined["drawers"]["new"], 1, "{mined}");

    let asked = json!({"text": "The tide table hangs by the door."});
    let twins = caller.call("loci_duplicates", asked);
    let twin = twins["twins"][0]["id"].as_str().unwrap().to_owned();
    let asked = json!({"id": twin, "query": "bread and salt", "k": 1});
    let why = caller.call("loci_why_not", asked);
    assert!(why["reason"].is_string(), "{why}");
    caller.call("loci_update", json!({"id": twin, "pin": true}));
    let woken = caller.call("loci_wake_up", json!({"wing": "notes", "budget": 400}));
    let text = woken["text"].as_str().unwrap();
    assert!(text.contains("tide table"), "{woken}");

    let mut links = |action: &str, from: &str, to: &str| {
        let mut arguments = json!({"action": action, "from": from});
        if !to.is_empty() {
            arguments["to"] = json!(to);
        }
        caller.call("loci_links", arguments)
    };
    assert_eq!(links("add", "notes/general", "kitchen/baking")["added"], 1);
    let listed = links("list", "notes/general", "");
    assert_eq!(listed["links"].as_array().unwrap().len(), 1, "{listed}");
    links("follow", "notes/general", "");
    links("tunnels", "notes", "kitchen");
    assert_eq!(
        links("remove", "notes/general", "kitchen/baking")["removed"],
        1
    );

    let run = caller.call("loci_runs", json!({}))["runs"][0]["run"].clone();
    caller.call("loci_runs", json!({"undo": run}));
    let after = caller.call("loci_list", json!({"wing": "notes"}));
    assert_eq!(after["total"], 0);
    let verified = caller.call("loci_verify", json!({"deep": true}));
    assert_eq!(verified["ok"], true, "{verified}");
}

fn mempalace(caller: &mut Caller, _: &Dir) {
    let mut call =
        |tool: &str, arguments: Value| caller.call(&format!("mempalace_{tool}"), arguments);
    let place = |wing: &str, room: &str, content: &str| json!({"wing": wing, "room": room, "content": content});
    let added = call(
        "add_drawer",
        place("north", "sea", "The harbour freezes in January."),
    );
    let id = added["drawer_id"].clone();
    assert_eq!(added["success"], true, "{added}");
    call(
        "add_drawer",
        place(
            "south",
            "sea",
            "The bay never freezes, not even in January.",
        ),
    );
    let found = call("search", json!({"query": "harbour freezes", "limit": 1}));
    assert_eq!(found["results"][0]["drawer_id"], id);
    let twin = json!({"content": "The harbour freezes in January.", "threshold": 0.9});
    assert_eq!(call("check_duplicate", twin)["is_duplicate"], true);
    let got = call("get_drawer", json!({"drawer_id": id}));
    assert_eq!(got["content"], "The harbour freezes in January.");
    assert_eq!(call("list_drawers", json!({"wing": "north"}))["total"], 1);
    assert_eq!(call("status", json!({}))["total_drawers"], 2);
    assert_eq!(call("list_wings", json!({}))["wings"]["north"], 1);
    assert_eq!(
        call("list_rooms", json!({"wing": "north"}))["rooms"]["sea"],
        1
    );
    assert_eq!(
        call("get_taxonomy", json!({}))["taxonomy"]["south"]["sea"],
        1
    );
    call(
        "find_tunnels",
        json!({"wing_a": "north", "wing_b": "south"}),
    );
    call("traverse", json!({"start_room": "sea", "max_hops": 2}));

    let fact = json!({"subject": "harbour", "predicate": "master", "object": "Ida"});
    let mut dated = fact.clone();
    dated["valid_from"] = json!("2025-01-01");
    assert_eq!(call("kg_add", dated)["success"], true);
    let known = call("kg_query", json!({"entity": "harbour"}));
    assert_eq!(known["facts"][0]["object"], "Ida");
    let mut ended = fact;
    ended["ended"] = json!("2026-01-01");
    assert_eq!(call("kg_invalidate", ended)["success"], true);
    call("kg_timeline", json!({"entity": "harbour"}));

    call(
        "diary_write",
        json!({"agent_name": "helm", "entry": "Asked about the harbour.", "topic": "sea"}),
    );
    let diary = call("diary_read", json!({"agent_name": "helm", "last_n": 5}));
    assert_eq!(diary["entries"][0]["content"], "Asked about the harbour.");
    let updated = call(
        "update_drawer",
        json!({"drawer_id": id, "content": "It froze in December."}),
    );
    assert_eq!(updated["success"], true);
    assert_eq!(call("reconnect", json!({}))["success"], true);
    let gone = call("delete_drawer", json!({"drawer_id": updated["drawer_id"]}));
    assert_eq!(gone["success"], true);
}

#[test]
fn the_current_client_calls_every_tool_of_the_default_set() {
    over_both(CURRENT, "core", core);
}

#[test]
fn the_current_client_calls_every_tool_of_the_full_set() {
    over_both(CURRENT, "full", full);
}

#[test]
fn the_current_client_calls_every_tool_of_the_mempalace_set() {
    over_both(CURRENT, "mempalace", mempalace);
}

#[test]
fn the_previous_client_calls_every_tool_of_the_default_set() {
    over_both(PREVIOUS, "core", core);
}

#[test]
fn the_previous_client_calls_every_tool_of_the_full_set() {
    over_both(PREVIOUS, "full", full);
}

#[test]
fn the_previous_client_calls_every_tool_of_the_mempalace_set() {
    over_both(PREVIOUS, "mempalace", mempalace);
}

/// Prompts and resources of a palace with one drawer.
fn read_all(mut client: Client) {
    let drawer = json!({"text": "The harbour freezes in January.", "wing": "north"});
    let result = client.result(&json!({"call": "loci_add", "arguments": {"drawers": [drawer]}}));
    let content = result["content"].as_array().unwrap();
    let link = content
        .iter()
        .find(|block| block["type"] == "resource_link")
        .unwrap_or_else(|| panic!("no link to the drawer in {result}"));
    let read = client.result(&json!({"read": link["uri"]}));
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("The harbour freezes in January."), "{text}");

    let templates = client.result(&json!({"list": "templates"}));
    assert_eq!(templates.as_array().unwrap().len(), 1, "{templates}");
    for resource in client
        .result(&json!({"list": "resources"}))
        .as_array()
        .unwrap()
    {
        let read = client.result(&json!({"read": resource["uri"]}));
        assert!(read["contents"][0]["text"].is_string(), "{read}");
    }
    let prompts = client.result(&json!({"list": "prompts"}));
    let names = crate::support::texts(&prompts, "name");
    assert_eq!(names, ["recap", "handoff"]);
    for name in names {
        let prompt = client.result(&json!({"prompt": name}));
        let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("The harbour freezes"), "{name}: {text}");
    }
    client.close();
}

#[test]
fn drawers_are_resources_and_prompts_show_them() {
    for variable in [CURRENT, PREVIOUS] {
        let Some(python) = peer(variable) else {
            continue;
        };
        let dir = Dir::new();
        read_all(Client::stdio(&python, &dir, &[], "auto"));
        let dir = Dir::new();
        let server = Server::start(&dir, &[]);
        read_all(Client::http(&python, &dir, &server, "auto"));
    }
}
