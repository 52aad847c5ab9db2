//! How often a command reads the palace, counted in the statements that SQLite itself traces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::Dir;

/// The transactions of one command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Transactions {
    reads: usize,
    writes: usize,
}

impl Transactions {
    /// Counts `BEGIN`s, and every statement outside of a transaction that reads the file.
    fn of(dir: &Dir, arguments: &[&str]) -> Self {
        let output = dir
            .command()
            .env("LOCI_LOG", "loci_sqlite::statements=trace")
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let log = String::from_utf8(output.stderr).unwrap();
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
        assert!(counted.reads > 0, "{log}");
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
