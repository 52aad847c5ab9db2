//! Parses and checks the response of a server.

use serde::Deserialize;

/// Maximum number of characters of a server's message in an error.
const MESSAGE_LETTERS: usize = 200;

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Some servers omit it and keep the order of the texts.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The vectors of a response, in the order of the texts.
pub(super) fn vectors(
    body: &[u8],
    count: usize,
    dimension: Option<usize>,
) -> Result<Vec<Vec<f32>>, String> {
    let answer: EmbeddingResponse = serde_json::from_slice(body)
        .map_err(|error| format!("its answer is not a list of embeddings: {error}"))?;
    if answer.data.len() != count {
        let found = answer.data.len();
        return Err(format!("it returned {found} vectors for {count} texts"));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (position, item) in answer.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        let found = item.embedding.len();
        let expected = dimension.unwrap_or(found);
        if found != expected || found == 0 {
            return Err(format!(
                "it returned a vector of {found} numbers, expected {expected}"
            ));
        }
        if !item.embedding.iter().all(|value| value.is_finite()) {
            return Err("it returned a vector with a value that is not a number".into());
        }
        match vectors.get_mut(index) {
            Some(place @ None) => *place = Some(item.embedding),
            _ => {
                return Err(format!(
                    "it returned no or two vectors for a text (index {index})"
                ));
            }
        }
    }
    Ok(vectors.into_iter().flatten().collect())
}

/// The error message of a server, truncated and without the key.
pub(super) fn message(body: &[u8], key: Option<&str>) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let reported = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.get("message").unwrap_or(error).as_str()
    });
    let text = reported.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    let text = match key {
        Some(key) if !key.is_empty() => text.replace(key, "***"),
        _ => text,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let mut short: String = text.chars().take(MESSAGE_LETTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_and_cut_and_do_not_repeat_the_key() {
        let cases = [
            (r#"{"error":{"message":"no such model"}}"#, "no such model"),
            (r#"{"error":"no such model"}"#, "no such model"),
            (r#"{"message":"no such\n model"}"#, "no such model"),
            ("<h1>Bad\tGateway</h1>", "<h1>Bad Gateway</h1>"),
            (r#"{"error":"wrong key sk-1"}"#, "wrong key ***"),
        ];
        for (body, expected) in cases {
            assert_eq!(message(body.as_bytes(), Some("sk-1")), expected);
        }
        let long = message("é".repeat(300).as_bytes(), None);
        assert_eq!(long.chars().count(), MESSAGE_LETTERS + 1);
    }

    #[test]
    fn each_text_gets_the_vector_of_its_index() {
        let body = br#"{"data":[{"index":1,"embedding":[2.0]},{"index":0,"embedding":[1.0]}]}"#;
        assert_eq!(vectors(body, 2, Some(1)).unwrap(), [[1.0], [2.0]]);
        let unnumbered = br#"{"data":[{"embedding":[2.0]},{"embedding":[1.0]}]}"#;
        assert_eq!(vectors(unnumbered, 2, None).unwrap(), [[2.0], [1.0]]);
        for wrong in [
            r#"{"data":[{"index":0,"embedding":[1.0]},{"index":0,"embedding":[1.0]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1.0]},{"index":2,"embedding":[1.0]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1.0]},{"index":1,"embedding":[]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1.0]},{"index":1,"embedding":[1e39]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1.0]},{"index":1,"embedding":[NaN]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1.0]}]}"#,
        ] {
            assert!(vectors(wrong.as_bytes(), 2, Some(1)).is_err(), "{wrong}");
        }
    }
}
