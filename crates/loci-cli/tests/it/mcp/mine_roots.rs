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
            .contains("home/nothing` is allowed to be mined, but does not exist"),
        "{ran:?}"
    );
    // A palace may come from elsewhere: it opens nothing.
    config("");
    dir.write("palace/palace.toml", "[mcp]\nmine_roots = [\"/\"]\n");
    let mut client = Client::new(&dir, &["--tools", "full"]);
    client.refusal("loci_mine", &json!({"path": dir.path("notes")}));
    client.close();
}

/// A client that may have one folder mined.
fn client_of(dir: &Dir, root: &str) -> Client {
    let root = dir.path(root);
    let allowed = ["--tools", "full", "--allow-mine", root.to_str().unwrap()];
    Client::new(dir, &allowed)
}

fn write(dir: &Dir, name: &str, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(dir.path(name).parent().unwrap()).unwrap();
    dir.write(name, text);
}

/// A conversation of OpenCode, whose messages and parts lie beside the folder of its session.
fn opencode(dir: &Dir, storage: &str, project: &str, session: &str, words: &str) {
    let at = |rest: &str| format!("{storage}/{rest}");
    let time = json!({"created": 1_700_000_000_000_u64});
    let file = json!({"id": session, "title": "t", "directory": "/x", "time": time});
    write(
        dir,
        &at(&format!("session/{project}/{session}.json")),
        file.to_string(),
    );
    let message = format!("msg_{session}");
    let said = json!({"id": message, "role": "user", "time": time});
    write(
        dir,
        &at(&format!("message/{session}/{message}.json")),
        said.to_string(),
    );
    let part = json!({"type": "text", "text": words});
    write(
        dir,
        &at(&format!("part/{message}/prt_1.json")),
        part.to_string(),
    );
}

const PARTS_OUTSIDE: &str = "parts of it lie outside the allowed roots";

#[test]
fn a_session_of_opencode_whose_messages_are_outside_the_roots_is_skipped_for_a_client() {
    let dir = Dir::new();
    opencode(&dir, "storage", "mine", "ses_1", "The harbour of mine.");
    opencode(&dir, "storage", "other", "ses_2", "The umbrella of others.");
    // Named after a session of another project: its messages would come in.
    write(
        &dir,
        "storage/session/mine/ses_2.json",
        std::fs::read(dir.path("storage/session/other/ses_2.json")).unwrap(),
    );
    let mut client = client_of(&dir, "storage/session/mine");
    let path = json!({"path": dir.path("storage/session/mine")});
    let mined = client.call("loci_mine", &path);
    assert_eq!(mined["files"]["skipped"][PARTS_OUTSIDE], 2, "{mined}");
    assert_eq!(mined["files"]["read"], 0, "{mined}");
    client.close();
    assert!(!dir.run(&["export"]).stdout.contains("umbrella"));
    // The owner reads them, and a later call of the client takes nothing back.
    dir.json(0, &["mine", "storage/session/mine"]);
    let owned = dir.run(&["export"]).stdout;
    assert!(owned.contains("umbrella") && owned.contains("harbour"));
    let mut client = client_of(&dir, "storage/session/mine");
    let mined = client.call("loci_mine", &path);
    assert_eq!(mined["drawers"]["removed"], 0, "{mined}");
    client.close();
    assert!(dir.run(&["export"]).stdout.contains("harbour"));
}

#[test]
fn a_client_may_have_opencode_mined_whose_storage_is_allowed() {
    let dir = Dir::new();
    opencode(&dir, "storage", "mine", "ses_1", "The harbour of mine.");
    opencode(
        &dir,
        "elsewhere",
        "mine",
        "ses_2",
        "The umbrella of others.",
    );
    symlink(
        dir.path("elsewhere/message/ses_2"),
        dir.path("storage/message/ses_2"),
    )
    .unwrap();
    std::fs::copy(
        dir.path("elsewhere/session/mine/ses_2.json"),
        dir.path("storage/session/mine/ses_2.json"),
    )
    .unwrap();
    let mut client = client_of(&dir, "storage");
    let mined = client.call("loci_mine", &json!({"path": dir.path("storage/session")}));
    assert_eq!(mined["files"]["skipped"][PARTS_OUTSIDE], 1, "{mined}");
    client.close();
    let kept = dir.run(&["export"]).stdout;
    assert!(
        kept.contains("harbour") && !kept.contains("umbrella"),
        "{kept}"
    );
}

#[test]
fn a_channel_of_slack_is_mined_without_users_json_outside_the_roots() {
    let dir = Dir::new();
    let said =
        json!({"type": "message", "user": "U1", "text": "hello harbour", "ts": "1700000000.0001"});
    for day in ["2026-01-01", "2026-01-02"] {
        let day = format!("export/general/{day}.json");
        write(&dir, &day, json!([said, said]).to_string());
    }
    let user = json!([{"id": "U1", "name": "umbrella"}]);
    write(&dir, "export/users.json", user.to_string());
    let mut client = client_of(&dir, "export/general");
    let mined = client.call("loci_mine", &json!({"path": dir.path("export/general")}));
    let skipped = &mined["files"]["skipped"];
    assert_eq!(skipped["outside the allowed roots"], 1, "{mined}");
    assert_eq!(mined["files"]["read"], 2, "{mined}");
    client.close();
    let kept = dir.run(&["export"]).stdout;
    assert!(
        kept.contains("harbour") && !kept.contains("umbrella"),
        "{kept}"
    );
}

#[test]
fn a_database_whose_log_leads_out_of_the_roots_is_skipped_for_a_client() {
    let dir = Dir::new();
    write(&dir, "cursor/state.vscdb", "SQLite format 3\0");
    write(&dir, "outside/log", "");
    symlink(dir.path("outside/log"), dir.path("cursor/state.vscdb-wal")).unwrap();
    let mut client = client_of(&dir, "cursor");
    let path = dir.path("cursor/state.vscdb");
    let mined = client.call("loci_mine", &json!({"path": path}));
    assert_eq!(mined["files"]["skipped"][PARTS_OUTSIDE], 1, "{mined}");
    client.close();
    // A database that is allowed by itself includes its log.
    std::fs::remove_file(dir.path("cursor/state.vscdb-wal")).unwrap();
    let mut client = client_of(&dir, "cursor/state.vscdb");
    let mined = client.call("loci_mine", &json!({"path": path}));
    assert_eq!(
        mined["files"]["skipped"][PARTS_OUTSIDE],
        json!(null),
        "{mined}"
    );
    client.close();
}

/// The wings of all drawers.
fn wings(dir: &Dir) -> Vec<String> {
    let mut wings: Vec<String> = dir
        .run(&["export"])
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| Some(line["metadata"]["wing"].as_str()?.to_owned()))
        .collect();
    wings.sort();
    wings
}

#[test]
fn settings_and_repositories_outside_the_roots_give_a_client_no_wing() {
    let dir = Dir::new();
    write(&dir, "proj/.git/HEAD", "ref: refs/heads/main\n");
    let remote = "[remote \"origin\"]\n\turl = https://h.example/umbrella/proj.git\n";
    write(&dir, "proj/.git/config", remote);
    write(&dir, "proj/.loci.toml", "wing = \"umbrella\"\n");
    write(&dir, "proj/docs/a.md", "The harbour opens at nine.\n");
    let turn = json!({
        "type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:00Z",
        "cwd": dir.path("proj"), "message": {"role": "user", "content": "When does it open?"},
    });
    write(&dir, "proj/docs/talk.jsonl", turn.to_string() + "\n");
    let mut client = client_of(&dir, "proj/docs");
    let path = json!({"path": dir.path("proj/docs")});
    let mined = client.call("loci_mine", &path);
    assert_eq!(mined["files"]["read"], 2, "{mined}");
    client.close();
    assert_eq!(wings(&dir), ["docs", "proj"]);
    assert!(!dir.run(&["export"]).stdout.contains("umbrella"));
}

#[test]
fn what_a_client_has_mined_goes_to_the_wing_of_the_project_that_the_owner_mined() {
    let dir = Dir::new();
    write(&dir, "proj/.git/HEAD", "ref: refs/heads/main\n");
    let remote = "[remote \"origin\"]\n\turl = https://h.example/acme/proj.git\n";
    write(&dir, "proj/.git/config", remote);
    write(&dir, "proj/docs/a.md", "The harbour opens at nine.\n");
    dir.json(0, &["mine", "proj"]);
    write(&dir, "proj/docs/b.md", "The umbrella stands in the hall.\n");
    // A working tree of the same repository, which the client may read, and its main one not.
    let own = dir.path("proj/.git/worktrees/tree");
    write(&dir, "proj/.git/worktrees/tree/HEAD", "ref: refs/heads/x\n");
    write(&dir, "proj/.git/worktrees/tree/commondir", "../..\n");
    write(&dir, "tree/.git", format!("gitdir: {}\n", own.display()));
    write(&dir, "tree/c.md", "The lamp is green.\n");
    for root in ["proj/docs", "tree"] {
        let mut client = client_of(&dir, root);
        client.call("loci_mine", &json!({"path": dir.path(root)}));
        client.close();
    }
    assert_eq!(wings(&dir), ["proj", "proj", "proj"]);
}

#[test]
fn a_list_of_patterns_that_is_a_link_out_of_the_roots_is_skipped_for_a_client() {
    let dir = place();
    write(&dir, "outside/list", "a.md\n");
    symlink(dir.path("outside/list"), dir.path("notes/.gitignore")).unwrap();
    let mut client = client_of(&dir, "notes");
    let mined = client.call("loci_mine", &json!({"path": dir.path("notes")}));
    assert_eq!(mined["files"]["read"], 1, "{mined}");
    let skipped = &mined["files"]["skipped"];
    assert_eq!(skipped["outside the allowed roots"], 1, "{mined}");
    client.close();
    // The owner's lists above the roots leave files out as before.
    let dir = place();
    write(&dir, "repository/.git/HEAD", "ref: refs/heads/main\n");
    write(&dir, "repository/.gitignore", "private.md\n");
    write(&dir, "repository/docs/private.md", "The umbrella.\n");
    write(&dir, "repository/docs/public.md", "The harbour.\n");
    let mut client = client_of(&dir, "repository/docs");
    let path = dir.path("repository/docs");
    let mined = client.call("loci_mine", &json!({"path": path}));
    assert_eq!(mined["files"]["read"], 1, "{mined}");
    client.close();
}
