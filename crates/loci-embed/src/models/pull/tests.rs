//! Tests downloads from a server that misbehaves.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::minilm::MINILM_NAME;
use crate::minilm::fixtures::FULL;
use crate::models::tests::tiny;
use crate::test_server::{Reply, Request, Server, reply};

/// SHA-256 of the tiny model, computed by another program.
const SHA256: &str = "dde255f61d0a5eb2004129a4191f7287bad077b24cbcf4a987ca0f87f535075d";

const LIMITS: PullLimits = PullLimits {
    connect: Duration::from_secs(5),
    stall: Duration::from_millis(200),
    attempts: 3,
    backoff: Duration::from_millis(1),
};

fn known(url: &str) -> KnownModel<'_> {
    KnownModel {
        name: MINILM_NAME,
        url,
        sha256: SHA256,
        bytes: FULL.len() as u64,
        digest: "",
    }
}

fn store() -> (TempDir, ModelStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = tiny(dir.path());
    (dir, store)
}

fn pull(store: &ModelStore, server: &Server) -> Result<Added> {
    let url = server.url("/model.safetensors");
    store.pull_known(&known(&url), &LIMITS, &mut |_| {})
}

fn partial(store: &ModelStore) -> std::path::PathBuf {
    store.directory().join("minilm.partial")
}

/// The reply of a server that supports ranges.
fn ranged(request: &Request) -> Reply {
    match start_of(request) {
        None => reply("200 OK", "", FULL),
        Some(start) => {
            let (last, total) = (FULL.len() - 1, FULL.len());
            let header = format!("content-range: bytes {start}-{last}/{total}\r\n");
            reply("206 Partial Content", &header, &FULL[start..])
        }
    }
}

fn start_of(request: &Request) -> Option<usize> {
    let range = request.header("range")?.strip_prefix("bytes=")?;
    range.strip_suffix('-')?.parse().ok()
}

/// The reply, truncated after this many bytes of its body.
fn cut(answer: Reply, body_bytes: usize) -> Vec<u8> {
    let (Reply::Raw(mut bytes) | Reply::Stall(mut bytes)) = answer;
    let head = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    bytes.truncate(head + body_bytes);
    bytes
}

/// Asserts that the model is stored and nothing else remains.
fn assert_stored(store: &ModelStore, outcome: Result<Added>, server: &Server) {
    let added = outcome.unwrap();
    assert_eq!(added.change, Change::Added);
    assert_eq!(added.model.source, server.url("/model.safetensors"));
    assert_eq!(
        fs::read(added.model.path.join("model.safetensors")).unwrap(),
        FULL
    );
    store.open("minilm").unwrap();
    assert!(!partial(store).exists());
}

#[test]
fn a_download_is_stored_and_reports_its_progress() {
    let (_dir, store) = store();
    let server = Server::start(|_, request| ranged(request));
    let url = server.url("/model.safetensors");
    let mut seen = Vec::new();
    let outcome = store.pull_known(&known(&url), &LIMITS, &mut |progress| seen.push(progress));
    assert_stored(&store, outcome, &server);
    let total = FULL.len() as u64;
    assert_eq!(seen.first(), Some(&Progress { done: 0, total }));
    assert_eq!(seen.last(), Some(&Progress { done: total, total }));
    assert!(seen.is_sorted_by_key(|progress| progress.done));
    assert_eq!(server.requests().len(), 1);
    assert_eq!(server.requests()[0].line, "GET /model.safetensors");
}

#[test]
fn a_cut_connection_is_continued_where_it_broke() {
    let (_dir, store) = store();
    let server = Server::start(|number, request| match number {
        0 => Reply::Raw(cut(ranged(request), 10_000)),
        1 => Reply::Raw(cut(ranged(request), 5_000)),
        _ => ranged(request),
    });
    assert_stored(&store, pull(&store, &server), &server);
    let starts: Vec<_> = server.requests().iter().map(start_of).collect();
    assert_eq!(starts, [None, Some(10_000), Some(15_000)]);
}

#[test]
fn the_next_call_continues_what_an_earlier_one_left() {
    let (_dir, store) = store();
    let server = Server::start(|_, request| Reply::Raw(cut(ranged(request), 1_000)));
    let error = pull(&store, &server).unwrap_err().to_string();
    assert!(
        error.contains(&server.url("/model")) && error.contains("3000 of"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 3);
    let server = Server::start(|_, request| ranged(request));
    assert_stored(&store, pull(&store, &server), &server);
    assert_eq!(start_of(&server.requests()[0]), Some(3_000));
}

#[test]
fn ranges_survive_a_redirect() {
    let (_dir, store) = store();
    fs::write(partial(&store), &FULL[..777]).unwrap();
    let server = Server::start(|number, request| match number {
        0 => reply("302 Found", "location: /elsewhere\r\n", b""),
        _ => ranged(request),
    });
    assert_stored(&store, pull(&store, &server), &server);
    let second = &server.requests()[1];
    assert_eq!(
        (&*second.line, start_of(second)),
        ("GET /elsewhere", Some(777))
    );
}

#[test]
fn a_server_that_ignores_ranges_is_read_from_the_start() {
    let (_dir, store) = store();
    fs::write(partial(&store), vec![0x55; 20_000]).unwrap();
    let server = Server::start(|_, _| reply("200 OK", "", FULL));
    assert_stored(&store, pull(&store, &server), &server);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_range_that_was_not_asked_for_is_not_used() {
    for header in [
        "content-range: bytes 10-25887/25888\r\n",
        "content-range: bytes 500-900/901\r\n",
        "",
    ] {
        let (_dir, store) = store();
        fs::write(partial(&store), &FULL[..500]).unwrap();
        let server = Server::start(move |number, request| match number {
            0 => reply("206 Partial Content", header, &FULL[10..]),
            _ => ranged(request),
        });
        assert_stored(&store, pull(&store, &server), &server);
        assert_eq!(start_of(&server.requests()[1]), None);
    }
}

#[test]
fn a_partial_file_that_is_too_long_starts_anew() {
    let (_dir, store) = store();
    fs::write(partial(&store), vec![0; FULL.len() + 1]).unwrap();
    let server = Server::start(|_, request| ranged(request));
    assert_stored(&store, pull(&store, &server), &server);
}

#[test]
fn wrong_bytes_are_removed_and_both_hashes_named() {
    let (_dir, store) = store();
    let server = Server::start(|_, _| {
        let mut wrong = FULL.to_vec();
        wrong[20_000] ^= 1;
        reply("200 OK", "", &wrong)
    });
    let error = pull(&store, &server).unwrap_err().to_string();
    assert!(
        error.contains(SHA256) && error.contains(&server.url("/model")),
        "{error}"
    );
    let named = error.split(|c: char| !c.is_ascii_hexdigit());
    assert_eq!(named.filter(|word| word.len() == 64).count(), 2, "{error}");
    assert!(!partial(&store).exists() && store.list().unwrap().is_empty());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_file_of_another_size_is_refused_before_it_is_read() {
    let (_dir, store) = store();
    let server = Server::start(|_, _| reply("200 OK", "", b"<html>"));
    let error = pull(&store, &server).unwrap_err().to_string();
    assert!(error.contains("6 bytes, expected 25888"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn server_errors_are_tried_again_and_other_refusals_are_not() {
    let (_dir, store) = store();
    let server = Server::start(|number, request| match number {
        0 => reply("500 Internal Server Error", "", b""),
        1 => reply("429 Too Many Requests", "", b""),
        _ => ranged(request),
    });
    assert_stored(&store, pull(&store, &server), &server);

    let (_dir, store) = self::store();
    let server = Server::start(|_, _| reply("503 Service Unavailable", "", b""));
    assert!(
        pull(&store, &server)
            .unwrap_err()
            .to_string()
            .contains("503")
    );
    assert_eq!(server.requests().len(), 3);
    let server = Server::start(|_, _| reply("404 Not Found", "", b""));
    assert!(
        pull(&store, &server)
            .unwrap_err()
            .to_string()
            .contains("404")
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_stalled_server_is_left_and_asked_again() {
    let (_dir, store) = store();
    let server = Server::start(|number, request| match number {
        0 => Reply::Stall(cut(ranged(request), 4_000)),
        1 => Reply::Stall(Vec::new()),
        _ => ranged(request),
    });
    let start = Instant::now();
    assert_stored(&store, pull(&store, &server), &server);
    assert!(start.elapsed() >= 2 * LIMITS.stall, "it did not wait");
    let starts: Vec<_> = server.requests().iter().map(start_of).collect();
    assert_eq!(starts, [None, Some(4_000), Some(4_000)]);
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_names_it() {
    let (_dir, store) = store();
    let url = {
        let server = Server::start(|_, request| ranged(request));
        server.url("/model.safetensors")
    };
    let error = store
        .pull_known(&known(&url), &LIMITS, &mut |_| {})
        .unwrap_err();
    assert!(error.to_string().contains(&url), "{error}");
    let secret = url.replace("http://", "http://me:hunter2@");
    let error = store
        .pull_known(&known(&secret), &LIMITS, &mut |_| {})
        .unwrap_err();
    assert!(error.to_string().contains(&url) && !format!("{error:?}").contains("hunter2"));
}

#[test]
fn two_pulls_at_once_download_once() {
    let (_dir, store) = store();
    let digest = {
        let (dir, other) = self::store();
        fs::write(dir.path().join("file"), FULL).unwrap();
        other.add(dir.path().join("file")).unwrap().model.digest
    };
    let server = Server::start(|_, request| ranged(request));
    let url = server.url("/model.safetensors");
    let known = KnownModel {
        digest: &digest,
        ..known(&url)
    };
    let added = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // Slow enough for the others to arrive in between.
                let mut slow = |_| std::thread::sleep(Duration::from_millis(20));
                let outcome = store.pull_known(&known, &LIMITS, &mut slow).unwrap();
                added.fetch_add(
                    usize::from(outcome.change == Change::Added),
                    Ordering::SeqCst,
                );
            });
        }
    });
    assert_eq!((added.into_inner(), server.requests().len()), (1, 1));
    store.open("minilm").unwrap();
}

#[test]
fn only_known_names_can_be_pulled() {
    let (_dir, store) = store();
    let error = store
        .pull("nomic", None, &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nomic") && error.contains("minilm"),
        "{error}"
    );
    let error = store
        .pull("minilm", Some("ftp://x/y"), &mut |_| {})
        .unwrap_err();
    assert!(error.to_string().contains("https://host/path"), "{error}");
}
