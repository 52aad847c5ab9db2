//! What clients may have mined: what the owner allowed, and nothing by default.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::client::Client;
use super::server::Server;
use crate::support::Dir;

fn place() -> Dir {
    let dir = Dir::new();
    for folder in ["notes", "notes-private", "home/papers"] {
        std::fs::create_dir(dir.path(folder)).unwrap();
        dir.write(
            &format!("{folder}/a.md"),
            format!("The umbrella of {folder}.\n"),
        );
    }
    symlink(dir.path("notes-private"), dir.path("notes/way")).unwrap();
    symlink(dir.path("notes-private/a.md"), dir.path("notes/link.md")).unwrap();
    dir
}

#[test]
fn a_client_may_have_nothing_mined_unless_the_owner_allowed_it() {
    let dir = place();
    let mut client = Client::new(&dir, &["--tools", "full"]);
    for path in [
        dir.path("notes"),
        dir.path("notes/a.md"),
        "/etc".into(),
        "/nothing".into(),
    ] {
        let said = client.refusal("loci_mine", &json!({"path": path}));
        for part in [path.to_str().unwrap(), "--allow-mine", "mine_roots"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    assert!(!dir.palace().exists(), "a refused path creates no palace");
    client.close();
    let server = Server::start(&dir, &["--tools", "full", "--no-auth"]);
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "loci_mine", "arguments": {"path": "/etc"}},
    });
    let session = server.session();
    let headers = [("Mcp-Session-Id", session.as_str())];
    let answer = server.send("POST", "/mcp", &headers, &call.to_string());
    assert_eq!(
        answer.message()["result"]["isError"],
        true,
        "{}",
        answer.body
    );
}

#[test]
fn an_allowed_root_does_not_open_what_its_links_and_dots_lead_to() {
    let dir = place();
    let notes = dir.path("notes");
    let allowed = ["--tools", "full", "--allow-mine", notes.to_str().unwrap()];
    let mut client = Client::new(&dir, &allowed);
    for outside in [
        "notes-private",
        "notes/way",
        "notes/way/a.md",
        "notes/link.md",
        "notes/../notes-private/a.md",
        "home/papers",
    ] {
        let path = dir.path(outside);
        let said = client.refusal("loci_mine", &json!({"path": path}));
        assert!(said.contains("--allow-mine"), "{outside}: {said}");
    }
    let mined = client.call("loci_mine", &json!({"path": notes}));
    assert_eq!(mined["files"]["read"], 1, "{mined}");
    let skipped = &mined["files"]["skipped"];
    assert_eq!(skipped["link to a file outside the roots"], 1, "{mined}");
    let found = client.call("loci_search", &json!({"query": "umbrella"}));
    assert!(!found.to_string().contains("private"), "{found}");
    client.close();
}

#[test]
fn roots_in_the_users_configuration_are_allowed_and_wrong_ones_are_reported() {
    let dir = place();
    let config = |text: &str| {
        std::fs::create_dir_all(dir.path("home/.config/loci")).unwrap();
        dir.write("home/.config/loci/config.toml", text);
    };
    config("[mcp]\nmine_roots = [\"~/papers\"]\n");
    let mut client = Client::new(&dir, &["--tools", "full"]);
    let mined = client.call("loci_mine", &json!({"path": dir.path("home/papers")}));
    assert_eq!(mined["files"]["read"], 1, "{mined}");
    client.refusal("loci_mine", &json!({"path": dir.path("notes")}));
    client.close();
    config("[mcp]\nmine_roots = [\"papers\"]\n");
    let refused = dir.error(2, &["mcp"]);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("`papers`") && message.contains("absolute"),
        "{message}"
    );
    config("[mcp]\nmine_roots = [\"~/nothing\"]\n");
    let ran = dir.run(&["mcp"]);
    assert!(
        ran.stderr
            .contains("home/nothing` may be mined and does not exist"),
        "{ran:?}"
    );
    // A palace may come from elsewhere: it opens nothing.
    config("");
    dir.write("palace/palace.toml", "[mcp]\nmine_roots = [\"/\"]\n");
    let mut client = Client::new(&dir, &["--tools", "full"]);
    client.refusal("loci_mine", &json!({"path": dir.path("notes")}));
    client.close();
}
