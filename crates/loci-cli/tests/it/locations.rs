//! Where a palace is: what users write for it, and what is reported when one is created there.

use std::path::Path;

use serde_json::Value;

use crate::mcp::client::Client;
use crate::support::{Dir, Ran};

fn configured(dir: &Dir, text: &str) {
    let directory = dir.path("home/.config/loci");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), text).unwrap();
}

/// Everything in a directory, by name.
fn entries(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_tilde_is_the_home_directory_in_the_configuration_a_variable_and_a_flag() {
    let dir = Dir::new();
    let before = entries(&dir.path(""));
    configured(&dir, "palace = \"~/configured\"\nmodels = \"~/weights\"\n");
    let models = |ran: &mut std::process::Command| {
        let output = ran.args(["model", "list", "--json"]).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["directory"].as_str().unwrap().to_owned()
    };
    let home = |name: &str| dir.path("home").join(name);
    Ran::of(dir.command().env_remove("LOCI_PALACE").args(["add", "x"])).ok();
    assert!(home("configured/palace.sqlite3").is_file());
    assert_eq!(
        models(&mut dir.command()),
        home("weights").to_str().unwrap()
    );
    Ran::of(
        dir.command()
            .env("LOCI_PALACE", "~/variable")
            .args(["add", "x"]),
    )
    .ok();
    assert!(home("variable/palace.sqlite3").is_file());
    let by_variable = models(dir.command().env("LOCI_MODELS", "~/others"));
    assert_eq!(by_variable, home("others").to_str().unwrap());
    dir.run(&["add", "x", "--palace", "~/flag"]).ok();
    assert!(home("flag/palace.sqlite3").is_file());
    assert_eq!(entries(&dir.path("")), before, "no directory named `~`");
    let other = dir.error(2, &["add", "x", "--palace", "~nobody/p"]);
    assert!(
        other["message"].as_str().unwrap().contains("`./~nobody`"),
        "{other}"
    );
    // A directory of that name can be reached.
    dir.run(&["add", "x", "--palace", "./~/p"]).ok();
    assert!(dir.path("~/p/palace.sqlite3").is_file());
}

#[test]
fn a_relative_path_in_the_configuration_is_refused_with_the_name_of_its_key() {
    for key in ["palace", "models"] {
        let dir = Dir::new();
        configured(&dir, &format!("{key} = \"below/here\"\n"));
        let ran = Ran::of(
            dir.command()
                .env_remove("LOCI_PALACE")
                .args(["add", "x", "--json"]),
        );
        let error = ran.error(2);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("`{key}`")) && message.contains("relative"),
            "{message}"
        );
        assert_eq!(entries(&dir.path("")), ["home", "temporary"]);
    }
}

#[test]
fn a_url_is_refused_wherever_it_is_written_and_its_password_is_shown_nowhere() {
    let dir = Dir::new();
    let before = entries(&dir.path(""));
    let password = ["not", "a", "secret"].join("-");
    let url = format!("postgres://loci:{password}@db.example/palace");
    let in_configuration = Dir::new();
    configured(&in_configuration, &format!("palace = \"{url}\"\n"));
    let outputs = [
        dir.run(&["add", "x", "--json", "--palace", &url]),
        Ran::of(
            dir.command()
                .env("LOCI_PALACE", &url)
                .args(["add", "x", "--json"]),
        ),
        Ran::of(
            in_configuration
                .command()
                .env_remove("LOCI_PALACE")
                .args(["add", "x", "--json"]),
        ),
    ];
    for ran in outputs {
        assert!(!ran.stderr.contains(&password), "{ran:?}");
        let error = ran.error(2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("the scheme `postgres`"), "{message}");
    }
    let doctor = Ran::of(
        dir.command()
            .env("LOCI_PALACE", &url)
            .args(["doctor", "--json"]),
    );
    assert!(doctor.stdout.contains("palace_refused"), "{doctor:?}");
    assert!(!format!("{doctor:?}").contains(&password), "{doctor:?}");
    assert_eq!(entries(&dir.path("")), before);
}

/// Every user of the machine sees the arguments of a process.
#[test]
fn a_url_is_not_among_the_arguments_of_a_process() {
    let dir = Dir::new();
    let password = ["not", "a", "secret"].join("-");
    let url = format!("postgres://loci:{password}@db.example/palace");
    for arguments in [
        vec!["--palace".to_owned(), url.clone(), "mcp".to_owned()],
        vec!["mcp".to_owned(), format!("--palace={url}")],
    ] {
        let mut server = Client::of(dir.command().args(&arguments));
        server.greet("2025-11-25");
        let shown = std::fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap();
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(
            shown.contains("mcp") && !shown.contains(&password),
            "{shown}"
        );
        let refused = server.refusal("loci_search", &serde_json::json!({"query": "x"}));
        assert!(refused.contains("the scheme `postgres`"), "{refused}");
        assert!(!refused.contains(&password), "{refused}");
        server.close();
    }
}

#[test]
fn a_palace_that_a_command_creates_is_reported_once_with_its_path() {
    let dir = Dir::new();
    let place = dir.palace().to_str().unwrap().to_owned();
    let first = dir.run(&["add", "x"]).ok();
    assert_eq!(
        first.stderr,
        format!("note: created a palace at `{place}`\n")
    );
    assert_eq!(dir.run(&["add", "y"]).ok().stderr, "");

    let file = dir.write("l.jsonl", "{\"document\": \"x\"}\n");
    let diary = ["diary", "write", "x", "--agent", "a"];
    let import = ["import", "jsonl", file.to_str().unwrap()];
    let facts = ["facts", "add", "a", "b", "c"];
    let commands: [&[&str]; 4] = [&["add", "x"], &diary, &facts, &import];
    for (number, command) in commands.into_iter().enumerate() {
        let name = format!("new-{number}");
        let created = dir.json(0, &[command, &["--palace", &name]].concat());
        let expected = dir.path(&name);
        assert_eq!(
            created["created_palace"],
            expected.to_str().unwrap(),
            "{command:?}"
        );
        let again = dir.json(0, &[command, &["--palace", &name]].concat());
        assert_eq!(again.get("created_palace"), None, "{command:?}");
    }
}

#[test]
fn a_folder_of_notes_becomes_a_palace_by_init_alone() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("notes")).unwrap();
    dir.write("notes/todo.md", "Water the plants.\n");
    dir.run(&["add", "x"]).ok();
    dir.run(&["backup", "b.backup"]).ok();
    let file = dir.write("l.jsonl", "{\"document\": \"x\"}\n");
    for command in [
        &["add", "x"][..],
        &["mine", "notes"],
        &["import", "jsonl", file.to_str().unwrap()],
        &["diary", "write", "x", "--agent", "a"],
        &["facts", "add", "a", "b", "c"],
        &["restore", "b.backup"],
    ] {
        let error = dir.error(2, &[command, &["--palace", "notes"]].concat());
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("`todo.md`"), "{message}");
        let help = error["help"].as_str().unwrap();
        assert!(help.contains("loci init"), "{help}");
        assert_eq!(entries(&dir.path("notes")), ["todo.md"], "{command:?}");
    }
    // A search in files uses no palace, whichever is named.
    let in_files = ["search", "plants", "--in", "notes", "--palace", "notes"];
    dir.run(&in_files).ok();
    assert_eq!(entries(&dir.path("notes")), ["todo.md"]);
    dir.run(&["init", "--palace", "notes"]).ok();
    dir.run(&["add", "x", "--palace", "notes"]).ok();
    // An empty directory and one that holds only settings are fine.
    std::fs::create_dir(dir.path("empty")).unwrap();
    std::fs::create_dir(dir.path("set-up")).unwrap();
    dir.write("set-up/palace.toml", "durability = \"full\"\n");
    for name in ["empty", "set-up"] {
        dir.run(&["add", "x", "--palace", name]).ok();
    }
}

#[test]
fn the_first_write_of_an_agent_reports_the_palace_that_it_created() {
    let dir = Dir::new();
    let call = |id: u32, text: &str| {
        format!(
            "{{\"jsonrpc\": \"2.0\", \"id\": {id}, \"method\": \"tools/call\", \"params\": \
             {{\"name\": \"loci_add\", \"arguments\": {{\"drawers\": [{{\"text\": \"{text}\"}}]}}}}}}\n"
        )
    };
    let begin = "{\"jsonrpc\": \"2.0\", \"id\": 0, \"method\": \"initialize\", \"params\": \
         {\"protocolVersion\": \"2025-06-18\", \"capabilities\": {}, \
         \"clientInfo\": {\"name\": \"t\", \"version\": \"1\"}}}\n\
         {\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n";
    for reported in [true, false] {
        let input = format!("{begin}{}", call(1, &format!("a text, {reported}")));
        let ran = dir.pipe(&["mcp"], input.as_bytes()).ok();
        let answer: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        let structured = &answer["result"]["structuredContent"];
        assert!(structured.is_object(), "{ran:?}");
        let created = structured.get("created_palace").and_then(Value::as_str);
        assert_eq!(
            created,
            reported
                .then(|| dir.palace().to_str().unwrap().to_owned())
                .as_deref()
        );
    }
}

#[test]
fn a_palace_that_is_a_file_is_named_as_one() {
    let dir = Dir::new();
    let file = dir.write("notes.txt", "no palace");
    for command in [&["status"][..], &["search", "x"], &["list"], &["add", "x"]] {
        let named = [command, &["--palace", file.to_str().unwrap()]].concat();
        let error = dir.error(2, &named);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("a file, not a directory"),
            "{command:?}: {message}"
        );
        assert!(
            !error.to_string().contains("loci init"),
            "{command:?}: {error}"
        );
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "no palace");
}

/// Bug: the log was expected beside the link, so that every command waited for 5 s and then said
/// that the log had been removed.
#[test]
fn a_database_that_is_a_link_is_refused_at_once() {
    let dir = Dir::new();
    dir.json(0, &["add", "the text", "--id", "a"]);
    let linked = dir.path("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(dir.database(), linked.join("palace.sqlite3")).unwrap();
    let linked = linked.to_str().unwrap();
    let before = dir.contents();
    let since = std::time::Instant::now();
    for arguments in [&["status"][..], &["add", "x"], &["list"], &["init"]] {
        let error = dir.error(2, &[arguments, &["--palace", linked]].concat());
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("symbolic link"), "{arguments:?}: {error}");
        assert!(
            message.contains(dir.database().to_str().unwrap()),
            "{error}"
        );
    }
    assert!(since.elapsed() < std::time::Duration::from_secs(5));
    assert!(dir.contents() == before);
    // A link to the directory is the palace itself.
    std::os::unix::fs::symlink(dir.palace(), dir.path("alias")).unwrap();
    let alias = dir.path("alias");
    let list = dir.json(0, &["list", "--palace", alias.to_str().unwrap()]);
    assert_eq!(list["drawers"][0]["id"], "a");
}
