//! Tests the embedder with a server that misbehaves.

use std::net::TcpListener;
use std::time::Instant;

use super::*;
use crate::test_server::{Reply, Server, reply};

const KEY: &str = "sk-very-secret";

fn options(server: &Server) -> RemoteOptions {
    RemoteOptions {
        dimension: Some(2),
        key: Some(Secret::new(KEY)),
        timeout: Duration::from_secs(5),
        attempts: 3,
        backoff: Duration::from_millis(1),
        ..RemoteOptions::new(server.url("/v1"), "tiny")
    }
}

fn connect(server: &Server) -> RemoteEmbedder {
    RemoteEmbedder::connect(options(server)).unwrap()
}

fn json(text: &str) -> Reply {
    reply(
        "200 OK",
        "content-type: application/json\r\n",
        text.as_bytes(),
    )
}

fn input(request: &crate::test_server::Request) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    let input = body["input"].as_array().unwrap();
    input
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// A server that maps a text of n bytes to the direction (n, 1), and returns the last text first.
fn embedding_server() -> Server {
    Server::start(|_, request| {
        let texts = input(request);
        let item = |(index, text): (usize, &String)| {
            format!(r#"{{"index":{index},"embedding":[{},1]}}"#, text.len())
        };
        let items: Vec<String> = texts.iter().enumerate().rev().map(item).collect();
        json(&format!(r#"{{"data":[{}]}}"#, items.join(",")))
    })
}

/// The error of one text, and how many requests it took.
fn failure(answer: impl Fn() -> Reply + Send + 'static) -> (Error, usize) {
    let server = Server::start(move |_, _| answer());
    let error = connect(&server).embed(&["a"]).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains(&server.url("/v1/embeddings")), "{text}");
    assert!(!text.contains(KEY), "{text}");
    (error, server.requests().len())
}

#[test]
fn vectors_come_in_the_order_of_the_texts_with_unit_length() {
    let server = embedding_server();
    let texts: Vec<String> = (1..=5).map(|length| "x".repeat(length)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut options = options(&server);
    options.batch = 2;
    let embedder = RemoteEmbedder::connect(options).unwrap();
    let vectors = embedder.embed(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        let length = (text.len() * text.len() + 1) as f32;
        let expected = [text.len() as f32 / length.sqrt(), 1.0 / length.sqrt()];
        assert!(
            vector
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6),
            "{vector:?}"
        );
    }
    assert_eq!(vectors.len(), 5);
    let requests = server.requests();
    let sizes: Vec<usize> = requests
        .iter()
        .map(|request| input(request).len())
        .collect();
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(requests[0].line, "POST /v1/embeddings");
    assert_eq!(
        requests[0].header("authorization"),
        Some("Bearer sk-very-secret")
    );
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    let body: serde_json::Value = serde_json::from_slice(&requests[2].body).unwrap();
    assert_eq!(
        body,
        serde_json::json!({"model": "tiny", "input": ["xxxxx"]})
    );
    assert!(embedder.embed(&[]).unwrap().is_empty());
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn batches_are_limited_in_bytes_too_and_never_empty() {
    let long = "x".repeat(BATCH_BYTES);
    assert_eq!(batch_length(&["a", "b", "c"], 2), 2);
    assert_eq!(batch_length(&["a", &long, "c"], 64), 1);
    assert_eq!(batch_length(&[&long, "c"], 64), 1);
    assert_eq!(batch_length(&[&*(long + "x"), "c"], 64), 1);
    assert_eq!(batch_length(&["a"], 0), 1);
}

#[test]
fn an_unknown_dimension_is_asked_for_once() {
    let server = embedding_server();
    let mut options = options(&server);
    (options.dimension, options.key) = (None, None);
    let embedder = RemoteEmbedder::connect(options).unwrap();
    let identity = embedder.identity();
    assert_eq!(
        (&*identity.name, identity.dimension, &*identity.digest),
        ("openai:tiny", 2, "")
    );
    assert_eq!(server.requests().len(), 1);
    assert_eq!(server.requests()[0].header("authorization"), None);
    assert_eq!(connect(&server).identity(), identity);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn answers_that_do_not_fit_are_errors_and_not_tried_again() {
    for (answer, expected) in [
        (r#"{"data":[]}"#, "0 vectors for 1 texts"),
        (
            r#"{"data":[{"index":0,"embedding":[1,2,3]}]}"#,
            "3 numbers, expected 2",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1,1e39]}]}"#,
            "out of range",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1,NaN]}]}"#,
            "not a list of embeddings",
        ),
        (
            r#"{"data":[{"index":0,"embedding":[1,null]}]}"#,
            "not a list of embeddings",
        ),
        ("<html>", "not a list of embeddings"),
        ("", "not a list of embeddings"),
    ] {
        let (error, requests) = failure(move || json(answer));
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!((error.code(), requests), ("invalid_input", 1));
    }
}

#[test]
fn an_answer_larger_than_vectors_can_be_is_not_read() {
    let (error, requests) = failure(|| json(&" ".repeat(OVERHEAD_BYTES + 1_000)));
    assert!(error.to_string().contains("larger than"), "{error}");
    assert_eq!(requests, 1);
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let server = Server::start(|number, _| match number {
        0 => reply("429 Too Many Requests", "retry-after: 1\r\n", b""),
        1 => reply("503 Service Unavailable", "", b""),
        _ => json(r#"{"data":[{"index":0,"embedding":[0,3]}]}"#),
    });
    let start = Instant::now();
    assert_eq!(connect(&server).embed(&["a"]).unwrap(), [[0.0, 1.0]]);
    assert!(start.elapsed() >= Duration::from_secs(1), "it did not wait");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_server_that_always_fails_is_given_up_with_its_message() {
    let body = r#"{"error":{"message":"out of memory"}}"#;
    let (error, requests) =
        failure(move || reply("500 Internal Server Error", "", body.as_bytes()));
    let text = error.to_string();
    assert!(
        text.contains("500") && text.contains("out of memory"),
        "{text}"
    );
    assert_eq!((error.kind().as_str(), requests), ("unavailable", 3));
}

#[test]
fn refusals_are_not_tried_again_and_never_repeat_the_key() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "302 Found",
    ] {
        let (error, requests) = failure(move || {
            let body = format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#);
            reply(status, "location: http://127.0.0.1:1/\r\n", body.as_bytes())
        });
        let text = error.to_string();
        assert!(
            text.contains(status) && text.contains("wrong key ***"),
            "{text}"
        );
        assert_eq!((error.code(), requests), ("invalid_input", 1));
    }
}

#[test]
fn long_messages_of_a_server_are_cut() {
    let (error, _) = failure(|| reply("400 Bad Request", "", &vec![b'x'; 100_000]));
    assert!(error.to_string().len() < 400, "{}", error.to_string().len());
}

#[test]
fn a_silent_server_is_left_after_the_timeout() {
    let server = Server::start(|_, _| Reply::Stall(b"HTTP/1.1 200 OK\r\n".to_vec()));
    let mut options = options(&server);
    (options.timeout, options.attempts) = (Duration::from_secs(1), 2);
    let error = RemoteEmbedder::connect(options)
        .unwrap()
        .embed(&["a"])
        .unwrap_err();
    assert_eq!(
        (error.kind().as_str(), server.requests().len()),
        ("unavailable", 2)
    );
    assert!(error.to_string().contains("timeout"), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_names_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut options = RemoteOptions::new(format!("http://me:hunter2@{address}/v1/"), "tiny");
    (options.attempts, options.backoff) = (2, Duration::from_millis(1));
    let error = RemoteEmbedder::connect(options).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains(&format!("http://{address}/v1/embeddings")),
        "{text}"
    );
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(error.kind().as_str(), "unavailable");
}

#[test]
fn the_key_is_in_no_text_made_of_the_embedder() {
    let server = embedding_server();
    let mut options = options(&server);
    options.url = server
        .url("/v1?token=hunter2")
        .replace("http://", "http://me:hunter2@");
    let embedder = RemoteEmbedder::connect(options.clone()).unwrap();
    let text = format!(
        "{options:?} {options:#?} {embedder:?} {:?}",
        Secret::new(KEY)
    );
    assert!(!text.contains(KEY) && !text.contains("hunter2"), "{text}");
    embedder.embed(&["a"]).unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /v1/embeddings?token=hunter2");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-very-secret")
    );
    options.key = Some(Secret::new("line\nbreak"));
    let error = RemoteEmbedder::connect(options).unwrap_err().to_string();
    assert!(error.contains("key") && !error.contains("break"), "{error}");
}

#[test]
fn addresses_that_are_none_are_refused() {
    for url in ["", "localhost:11434/v1", "file:///etc/passwd", "http://"] {
        let error = RemoteEmbedder::connect(RemoteOptions::new(url, "tiny")).unwrap_err();
        assert_eq!(error.code(), "invalid_input", "{url}");
    }
    let none = RemoteOptions {
        dimension: Some(0),
        ..RemoteOptions::new("http://localhost/v1", "tiny")
    };
    assert_eq!(
        RemoteEmbedder::connect(none).unwrap_err().code(),
        "invalid_input"
    );
}
