//! Target `mcp_lines`: messages of the Model Context Protocol, one per line.

use loci_mcp::fuzzing::{read_messages, skim_id};
use serde_json::Value;

use crate::input::Input;

/// The input is the number of parts that the bytes arrive in, their lengths, then the bytes.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let cuts = [input.number(), input.number()];
    let bytes = input.0;
    let whole = read_messages(vec![bytes.to_vec()]);
    for cut in cuts {
        let parts = bytes.chunks(cut.clamp(1, 5000)).map(<[u8]>::to_vec);
        assert_eq!(
            read_messages(parts.collect()),
            whole,
            "messages depend on how they arrive"
        );
    }
    let lines = || bytes.split(|byte| *byte == b'\n');
    let nonempty = lines().filter(|line| !line.trim_ascii().is_empty()).count();
    assert!(whole.messages.len() <= nonempty);
    let broken = lines()
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && serde_json::from_slice::<Value>(line).is_err())
        .count();
    let answers: Vec<Value> = whole
        .written
        .lines()
        .map(|line| serde_json::from_str(line).expect("an answer is JSON"))
        .collect();
    let refused = answers
        .iter()
        .filter(|answer| answer["error"]["code"] == -32_700)
        .count();
    assert_eq!(refused, broken, "not every invalid line is answered");
    for line in lines() {
        skimmed(line, cuts[0]);
    }
}

/// Checks that the id found in a message that is too long equals the id that a JSON parser finds.
fn skimmed(line: &[u8], cut: usize) {
    let (head, tail) = line.split_at(cut.min(line.len()));
    let found = skim_id(&[head, tail]);
    assert_eq!(skim_id(&[line]), found);
    let Ok(Value::Object(message)) = serde_json::from_slice::<Value>(line) else {
        return;
    };
    // The search does not support an escaped key, a duplicate key or a long id.
    let simple = line.windows(4).filter(|four| *four == b"\"id\"").count() <= 1
        && !line.contains(&b'\\')
        && line.len() < 100;
    if simple {
        let id = message.get("id").filter(|id| id.is_string() || id.is_i64());
        assert_eq!(found, id.map(Value::to_string), "{message:?}");
    }
}
