//! How often a command reads the palace, counted in the statements that SQLite itself traces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::client::Client;
use crate::support::{Dir, lines};

/// The transactions of one command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Transactions {
    reads: usize,
    writes: usize,
}

impl Transactions {
    /// Of a command that finds something, or nothing, or reports a conflict.
    fn of(dir: &Dir, arguments: &[&str]) -> Self {
        let output = dir
            .command()
            .env("LOCI_LOG", "loci_sqlite::statements=trace")
            .args(arguments)
            .output()
            .unwrap();
        assert!(matches!(output.status.code(), Some(0..=2)), "{output:?}");
        let counted = Self::in_log(&String::from_utf8(output.stderr).unwrap());
        assert!(counted.reads > 0, "{arguments:?}");
        counted
    }

    /// Counts `BEGIN`s, and every statement outside of a transaction that reads the file.
    fn in_log(log: &str) -> Self {
        let mut counted = Self::default();
        let mut inside = false;
        let statements = log
            .lines()
            .filter_map(|line| line.split_once("loci_sqlite::statements: "))
            .map(|(_, statement)| statement);
        for statement in statements {
            if statement == "BEGIN" {
                counted.reads += 1;
                inside = true;
            } else if statement.starts_with("BEGIN IMMEDIATE") {
                counted.writes += 1;
                inside = true;
            } else if statement == "COMMIT" || statement == "ROLLBACK" {
                inside = false;
            } else if !inside && reads_the_file(statement) {
                counted.reads += 1;
            }
        }
        counted
    }
}

/// Whether a statement looks into the database; settings of a connection do not.
fn reads_the_file(statement: &str) -> bool {
    let looks = [
        "PRAGMA application_id",
        "PRAGMA user_version",
        "PRAGMA journal_mode",
    ];
    // FTS5 reads its own tables while SQLite commits.
    let of_postings = statement.contains("'postings");
    statement.starts_with("SELECT") && !of_postings || looks.contains(&statement)
}

fn filled() -> Dir {
    let dir = Dir::new();
    for (at, text) in [
        "Prune the roses in late February.",
        "The medlar is picked after frost.",
    ]
    .iter()
    .enumerate()
    {
        let room = format!("room {at}");
        let _ = dir
            .run(&["add", text, "--wing", "garden", "--room", &room])
            .ok();
    }
    dir
}

#[test]
fn a_search_that_finds_enough_reads_the_palace_in_three_transactions() {
    let dir = filled();
    for arguments in [
        &["search", "when are roses cut back", "-k", "1"][..],
        &[
            "search",
            "roses",
            "-k",
            "2",
            "--wing",
            "garden",
            "--explain",
        ][..],
    ] {
        let counted = Transactions::of(&dir, arguments);
        assert!(counted.reads <= 3, "{arguments:?}: {counted:?}");
    }
}

#[test]
fn a_search_that_finds_less_than_asked_reads_its_scope_in_the_same_three_transactions() {
    let dir = filled();
    for arguments in [
        &["search", "when are roses cut back", "-k", "50"][..],
        &["search", "medlar", "--wing", "garden"][..],
        &["search", "roses", "-k", "2", "--budget", "12"][..],
    ] {
        let counted = Transactions::of(&dir, arguments);
        assert!(counted.reads <= 3, "{arguments:?}: {counted:?}");
        let answer = dir.json(0, arguments);
        assert_eq!(
            answer["available_in_scope"]["wings"],
            json!({"garden": 2}),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_search_reads_the_palace_in_three_transactions_whatever_it_is_asked_for() {
    let dir = filled();
    let _ = dir
        .run(&["add", "Roses like clay.", "--source", "soil.md"])
        .ok();
    for flags in [
        &["--where", r#"{"wing": "garden"}"#][..],
        &["--where-document", r#"{"$contains": "roses"}"#],
        &["--since", "2020-01-01"],
        &["--before", "2020-01-01"],
        &["--by-source", "-k", "50"],
        &["--explain"],
        &["--max-distance", "0.2"],
        &["--embedder", "none"],
    ] {
        let counted = Transactions::of(&dir, &[&["search", "roses"], flags].concat());
        assert!(counted.reads <= 3, "{flags:?}: {counted:?}");
    }
}

#[test]
fn a_search_of_a_place_that_no_drawer_has_explains_itself_in_the_same_three_transactions() {
    let dir = filled();
    for (flags, code) in [
        (&["--wing", "gardem"][..], "unknown_place"),
        (&["--wing", "nowhere", "--room", "none"], "unknown_place"),
        (
            &["--wing", "garden", "--where", r#"{"n": 7}"#],
            "conditions_exclude_each_other",
        ),
        (
            &["--room", "room 0", "--since", "2099-01-01"],
            "conditions_exclude_each_other",
        ),
    ] {
        let arguments = [&["search", "roses"], flags].concat();
        let counted = Transactions::of(&dir, &arguments);
        assert!(counted.reads <= 3, "{flags:?}: {counted:?}");
        let answer = dir.json(1, &arguments);
        let warnings = answer["warnings"].as_array().unwrap();
        assert!(
            warnings.iter().any(|warning| warning["code"] == code),
            "{flags:?}: {answer}"
        );
    }
}

#[test]
fn an_add_that_finds_a_duplicate_or_has_an_id_reads_the_palace_in_four_transactions() {
    let dir = filled();
    let roses = "Prune the roses in late February.";
    for (arguments, writes) in [
        (&[roses, "--wing", "garden"][..], 0),
        (&[roses, "--wing", "garden", "--id", "again"], 0),
        (&[roses, "--wing", "other"], 1),
        (&["Figs need sun.", "--id", "figs"], 1),
        (
            &["Plums are late.", "--metadata", r#"{"a": 1, "b": "c"}"#],
            1,
        ),
        (&[roses, "--wing", "garden", "--allow-duplicate"], 1),
    ] {
        let counted = Transactions::of(&dir, &[&["add"], arguments].concat());
        assert!(counted.reads <= 4, "{arguments:?}: {counted:?}");
        assert_eq!(counted.writes, writes, "{arguments:?}");
    }
    // A taken id is compared with the stored text, which is one more.
    let taken = ["add", "Figs need no sun at all.", "--id", "figs"];
    let counted = Transactions::of(&dir, &taken);
    assert!(counted.reads <= 5, "{counted:?}");
    assert_eq!(counted.writes, 1);
}

/// Ten drawers of other wings hold the text, so the wing is searched by itself.
#[test]
fn an_add_of_a_text_that_many_wings_hold_reads_once_more() {
    let dir = filled();
    for at in 0..12 {
        let wing = format!("wing {at}");
        let _ = dir
            .run(&["add", "The kettle is left.", "--wing", &wing])
            .ok();
    }
    let counted = Transactions::of(&dir, &["add", "The kettle is left.", "--wing", "new"]);
    assert!(counted.reads <= 5, "{counted:?}");
    assert_eq!(counted.writes, 1);
}

#[test]
fn a_search_whose_index_is_behind_reads_the_palace_in_three_transactions() {
    let dir = filled();
    let records = (0..2_100).map(|n| {
        let text = format!("Record {n} about river stone {}", n * 7 % 101);
        json!({"id": format!("d{n}"), "document": text, "metadata": {"wing": "bulk"}})
    });
    let file = dir.write("in.jsonl", lines(records));
    dir.json(0, &["import", "jsonl", file.to_str().unwrap()]);
    let has_index = || {
        std::fs::read_dir(dir.palace().join("index"))
            .unwrap()
            .count()
            > 0
    };
    assert!(has_index());
    for arguments in [
        &["search", "roses"][..],
        &["search", "roses", "--wing", "garden"],
    ] {
        let counted = Transactions::of(&dir, arguments);
        assert!(counted.reads <= 3, "{arguments:?}: {counted:?}");
    }
    let _ = dir
        .run(&["add", "Newer than the index.", "--id", "new"])
        .ok();
    let counted = Transactions::of(&dir, &["search", "newer than the index"]);
    assert!(counted.reads <= 3, "{counted:?}");
}

#[test]
fn a_server_that_is_open_reads_the_palace_less_often_than_a_command() {
    let dir = filled();
    let log = dir.path("server.log");
    let file = std::fs::File::create(&log).unwrap();
    let mut command = dir.command();
    command
        .env("LOCI_LOG", "loci_sqlite::statements=trace")
        .args(["mcp", "--tools", "full"]);
    let mut client = Client::with_log(&mut command, file.into());
    client.greet("2025-11-25");
    client.call("loci_search", &json!({"query": "medlar"}));
    let new = |text: &str| json!({"drawers": [{"text": text, "wing": "garden"}]});
    let named = json!({"drawers": [{"id": "q", "text": "Quinces are hard.", "room": "trees"}]});
    for (tool, arguments, reads, writes) in [
        ("loci_search", json!({"query": "roses"}), 3, 0),
        (
            "loci_search",
            json!({"query": "roses", "wing": "garden"}),
            3,
            0,
        ),
        (
            "loci_search",
            json!({"query": "roses", "wing": "nowhere"}),
            3,
            0,
        ),
        ("loci_add", new("Quinces smell good."), 4, 1),
        ("loci_add", new("Quinces smell good."), 4, 0),
        ("loci_add", named, 4, 1),
    ] {
        // Accesses are noted by another thread; nothing of an earlier call may count for this one.
        let before = settled(&log);
        client.call(tool, &arguments);
        let text = settled(&log);
        let counted = Transactions::in_log(&text[before.len()..]);
        assert!(counted.reads <= reads, "{tool} {arguments}: {counted:?}");
        assert!(counted.writes >= writes, "{tool} {arguments}: {counted:?}");
    }
}

/// The log, once nothing is added to it any more.
fn settled(log: &std::path::Path) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut text = std::fs::read_to_string(log).unwrap();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = std::fs::read_to_string(log).unwrap();
        if now == text || Instant::now() > deadline {
            return now;
        }
        text = now;
    }
}

#[test]
fn an_add_reads_the_palace_in_four_transactions_and_writes_in_one() {
    let dir = filled();
    for text in [
        "The quince is cut in March.",
        "Prune the roses in late February!",
    ] {
        let counted = Transactions::of(&dir, &["add", text, "--wing", "garden"]);
        assert!(counted.reads <= 4, "{text}: {counted:?}");
        assert_eq!(counted.writes, 1, "{text}");
    }
}

/// Answers as an OpenAI-compatible endpoint does, and counts the texts.
fn endpoint() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let texts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&texts);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
                    break;
                }
                let line = line.to_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let request: Value = serde_json::from_slice(&body).unwrap();
            let given = request["input"].as_array().unwrap();
            counter.fetch_add(given.len(), Ordering::SeqCst);
            let data: Vec<Value> = (0..given.len())
                .map(|index| json!({"index": index, "embedding": [0.6, 0.8, 0.0, 0.0]}))
                .collect();
            let answer = json!({"data": data}).to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    (url, texts)
}

#[test]
fn an_add_embeds_its_text_once() {
    let dir = Dir::new();
    let (url, texts) = endpoint();
    std::fs::create_dir_all(dir.palace()).unwrap();
    let _ = dir.run(&["init"]).ok();
    let settings =
        format!("embedder = \"openai\"\n[openai]\nurl = \"{url}\"\nmodel = \"m\"\ndimension = 4\n");
    std::fs::write(dir.palace().join("palace.toml"), settings).unwrap();
    let _ = dir
        .run(&["add", "The first text makes the collection."])
        .ok();
    texts.store(0, Ordering::SeqCst);
    let added = dir.json(0, &["add", "Another text, compared with the first."]);
    assert_eq!(added["outcome"], "added");
    assert_eq!(texts.load(Ordering::SeqCst), 1);
    // The vectors are the same, so the other text was compared by them.
    assert_eq!(added["twins"].as_array().unwrap().len(), 1, "{added}");
}

#[test]
fn forget_rewrites_the_database_once() {
    let dir = filled();
    let listed = dir.run(&["list", "--json"]).ok();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let id = listed["drawers"][0]["id"].as_str().unwrap();
    let output = dir
        .command()
        .env("LOCI_LOG", "loci_sqlite::statements=trace")
        .args(["forget", id, "--yes"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = String::from_utf8(output.stderr).unwrap();
    let rewrites = log.lines().filter(|line| line.ends_with(" VACUUM"));
    assert_eq!(rewrites.count(), 1, "{log}");
}
