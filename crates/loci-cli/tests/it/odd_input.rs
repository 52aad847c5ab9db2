//! Input that has no end, blocks, or means another number than it says.

use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Dir;

const LONG: &str = "123456789012345678901234567890";

#[test]
fn devices_sockets_and_pipes_without_a_writer_are_refused_as_input() {
    let dir = Dir::new();
    dir.run(&["add", "x"]).ok();
    let fifo = dir.path("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let _listener = UnixListener::bind(dir.path("socket")).unwrap();
    std::fs::create_dir(dir.path("folder")).unwrap();
    dir.write("empty", "");
    let since = Instant::now();
    for input in ["/dev/zero", "/dev/urandom", "socket", "folder", "fifo"] {
        for command in [
            &["import", input][..],
            &["doctor", input],
            &["restore", input, "--replace"],
            &["model", "add", input],
            &["bench", "retrieval", input],
            &["repair", "--chroma", input],
        ] {
            dir.error(2, command);
        }
    }
    for input in ["/dev/zero", "/dev/urandom", "socket", "folder"] {
        let error = dir.error(2, &["import", "jsonl", input]);
        assert!(
            error["message"].as_str().unwrap().contains(input),
            "{error}"
        );
        dir.error(2, &["add", "y", "--vector", input]);
    }
    assert!(since.elapsed() < Duration::from_secs(60));
    let error = dir.error(2, &["import", "jsonl", "fifo"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no program writes"),
        "{error}"
    );
    assert_eq!(dir.json(0, &["import", "jsonl", "empty"])["added"], 0);
    assert_eq!(dir.json(0, &["import", "jsonl", "/dev/null"])["added"], 0);
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

/// Every command waited for a writer of the pipe.
#[test]
fn a_pipe_or_a_device_in_place_of_a_configuration_is_refused() {
    let dir = Dir::new();
    dir.run(&["add", "x"]).ok();
    let settings = dir.palace().join("palace.toml");
    let made = Command::new("mkfifo").arg(&settings).status().unwrap();
    assert!(made.success());
    let error = dir.error(2, &["status"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("not a regular file")
    );
    std::fs::remove_file(&settings).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &settings).unwrap();
    dir.error(2, &["status"]);
    std::fs::remove_file(&settings).unwrap();
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn a_pipe_with_a_writer_is_imported_to_its_end() {
    let dir = Dir::new();
    let ran = dir.shell(
        r#"mkfifo late
           (while ! [ -e started ]; do sleep 0.01; done; echo '{"id": "a", "document": "x"}' > late) &
           touch started
           "$LOCI" import jsonl late && "$LOCI" import jsonl <(echo '{"id": "b", "document": "y"}')
           "$LOCI" import jsonl <(true)
           echo '[1, 0]' | "$LOCI" query --vector /dev/stdin > /dev/null; wait"#,
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 2, "{ran:?}");
}

#[test]
fn a_line_without_an_end_ends_the_import_and_what_came_before_is_kept() {
    let dir = Dir::new();
    let ran = dir.shell(
        r#"ulimit -v 1000000
           (echo '{"id": "a", "document": "x"}'; cat /dev/zero) | "$LOCI" import jsonl - --json"#,
    );
    assert_eq!(ran.code, 2, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&report["added"], &report["failed"]),
        (&1.into(), &1.into()),
        "{report}"
    );
    assert_eq!(report["lost"][0]["line"], 2, "{report}");
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn an_integer_of_30_digits_is_refused_with_its_key_on_every_way_in() {
    let dir = Dir::new();
    dir.run(&["add", "x", "--id", "a"]).ok();
    let metadata = format!("{{\"serial\": {LONG}}}");
    for command in [
        &["add", "y", "--metadata", &metadata][..],
        &["update", "a", "--metadata", &metadata],
        &["list", "--where", &metadata],
        &["forget", "--yes", "--where", &metadata],
        &["search", "x", "--where", &metadata],
    ] {
        let error = dir.error(64, command);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("`serial`") && message.contains("as a string"),
            "{message}"
        );
    }
    let lines = [
        format!("{{\"document\": \"y\", \"metadata\": {metadata}}}"),
        format!(
            "{{\"fact\": {{\"subject\": \"a\", \"predicate\": \"b\", \"object\": \"c\", \"metadata\": {metadata}}}}}"
        ),
    ];
    for line in lines {
        let file = dir.write("l.jsonl", line);
        let report = dir.json(2, &["import", "jsonl", file.to_str().unwrap()]);
        let reason = report["lost"][0]["reason"].as_str().unwrap();
        assert!(
            reason.contains("`serial`") && reason.contains("as a string"),
            "{report}"
        );
    }
    let input = format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 0, \"method\": \"initialize\", \"params\": \
         {{\"protocolVersion\": \"2025-06-18\", \"capabilities\": {{}}, \
         \"clientInfo\": {{\"name\": \"t\", \"version\": \"1\"}}}}}}\n\
         {{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", \"params\": \
         {{\"name\": \"loci_add\", \"arguments\": {{\"drawers\": [{{\"text\": \"y\", \"metadata\": {metadata}}}]}}}}}}\n"
    );
    let ran = dir.pipe(&["mcp"], input.as_bytes()).ok();
    let answer: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("`serial`") && message.contains("as a string"),
        "{answer}"
    );
    assert_eq!(answer["id"], 7);
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn numbers_that_fit_and_floats_are_kept_as_they_were_written() {
    let dir = Dir::new();
    let metadata =
        "{\"a\": 1e30, \"b\": -9223372036854775808, \"c\": 9007199254740993, \"d\": 0.1}";
    dir.run(&["add", "x", "--id", "a", "--metadata", metadata])
        .ok();
    let shown = dir.run(&["get", "a", "--json"]).ok().stdout;
    for part in [
        "\"a\":1e+30",
        "\"b\":-9223372036854775808",
        "\"c\":9007199254740993",
        "\"d\":0.1",
    ] {
        assert!(
            shown.contains(part) || shown.contains(&part.replace('+', "")),
            "{part}: {shown}"
        );
    }
    dir.error(64, &["add", "y", "--metadata", "{\"a\": 1e400}"]);
}
