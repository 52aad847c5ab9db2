//! Target `config_files`: configuration files of agents (JSON with comments, TOML), edited in
//! place.

use loci_agents::wiring::fuzzing::{
    HOOK, NAME, SERVERS, Step, change_json, change_toml, entry, is_toml,
};
use serde_json::{Value, json};

use crate::input::Input;

/// The input is a choice of the format, and the file.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let is_json = input.byte() % 2 == 0;
    let text = input.text();
    if is_json {
        in_json(&text);
    } else {
        in_toml(&text);
    }
}

fn in_json(text: &str) {
    let Some((before, [added, removed, hooked])) = change_json(text) else {
        return;
    };
    if let Some(added) = added {
        let mut expected = before.clone();
        expected[SERVERS][NAME] = entry();
        assert_eq!(added.value, expected, "{text:?} became {:?}", added.text);
        check_bytes(text, &added);
        let removed = removed.expect("an added entry can be removed");
        let mut expected = before.clone();
        // An object that was created for the server stays, empty. The caller removes it.
        if expected.get(SERVERS).is_none() {
            expected[SERVERS] = json!({});
        } else if let Some(Value::Object(servers)) = expected.get_mut(SERVERS) {
            servers.remove(NAME);
        }
        // If an entry occurs twice, the last one is removed.
        if before
            .get(SERVERS)
            .and_then(|servers| servers.get(NAME))
            .is_none()
        {
            assert_eq!(
                removed.value, expected,
                "{text:?} became {:?}",
                removed.text
            );
        }
    }
    if let Some(hooked) = hooked {
        let mut expected = before;
        let [hooks, event] = HOOK;
        match expected
            .get_mut(hooks)
            .and_then(|hooks| hooks.get_mut(event))
        {
            Some(Value::Array(list)) => list.push(entry()),
            Some(_) => panic!("{text:?}: pushed to a value that is not a list"),
            None => expected[hooks][event] = json!([entry()]),
        }
        assert_eq!(hooked.value, expected, "{text:?} became {:?}", hooked.text);
        check_bytes(text, &hooked);
    }
}

fn in_toml(text: &str) {
    let Some((before, [added, removed])) = change_toml(text) else {
        return;
    };
    let Some(added) = added else { return };
    let mut expected = before.clone();
    expected[NAME] = entry();
    assert_eq!(added.value, expected, "{text:?} became {:?}", added.text);
    check_bytes(text, &added);
    let Some(removed) = removed else { return };
    assert!(is_toml(&removed.text));
    assert_eq!(removed.value, before, "{text:?} became {:?}", removed.text);
    let letters = |text: &str| text.replace([' ', '\n', '\r', '\t'], "");
    assert_eq!(
        letters(&removed.text),
        letters(text),
        "{text:?} became {:?}",
        removed.text
    );
}

/// Checks that everything that the edits do not name is still there, in order.
fn check_bytes(before: &str, step: &Step) {
    let sum =
        |part: fn(&loci_agents::wiring::Edit) -> usize| step.edits.iter().map(part).sum::<usize>();
    let [removed, inserted] = [
        sum(|edit| edit.removed.len()),
        sum(|edit| edit.inserted.len()),
    ];
    assert_eq!(step.text.len() + removed, before.len() + inserted);
    if removed == 0 {
        let mut after = step.text.bytes();
        assert!(
            before.bytes().all(|byte| after.any(|other| other == byte)),
            "{before:?} became {:?}",
            step.text
        );
    }
}
