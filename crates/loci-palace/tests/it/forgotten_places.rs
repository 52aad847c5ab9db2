//! What was forgotten as a drawer does not come back, however short its lines are; and lines that
//! it shares with other text stay where they stand. One table of awkward cases, each mined for real.

use std::fmt::Write as _;

use loci_palace::{MineOptions, Palace, Selection};

use crate::mined::{DRAWERS, Scene, mine, section, undo_of, with_word};
use crate::support::{Row, contents};

/// A file before, what is forgotten of it, the files after, and what must be in no drawer and what
/// must be in one. `gone` and `stay` are looked for in texts and headings.
struct Case {
    name: &'static str,
    before: Vec<(&'static str, String)>,
    /// Drawers that hold all of these words are forgotten.
    forget: Vec<&'static str>,
    after: Vec<(&'static str, String)>,
    gone: Vec<&'static str>,
    stay: Vec<&'static str>,
}

/// A drawer is a section of its own if those around it are large.
fn around(small: &str) -> String {
    format!("{}{small}\n{}", section("Before", 1), section("After", 2))
}

fn at_the_end(small: &str) -> String {
    format!("{}{small}", section("Before", 1))
}

const CODES: &str = "## Codes\n\nPIN 4471\nPUK 9902\n\n";

fn one(name: &'static str, before: String, forget: &'static str, after: String) -> Case {
    Case {
        name,
        before: vec![("notes.md", before)],
        forget: vec![forget],
        after: vec![("notes.md", after)],
        gone: vec!["PIN 4471", "PUK 9902"],
        stay: Vec::new(),
    }
}

/// Lines of a Claude Code transcript: who speaks, and what.
fn talk(said: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (at, (role, words)) in said.iter().enumerate() {
        let time = format!("2026-01-01T10:{at:02}:00.000Z");
        let record = serde_json::json!({
            "type": role, "uuid": format!("u{at}"), "sessionId": "talk", "timestamp": time,
            "message": {"role": role, "content": words},
        });
        writeln!(text, "{record}").unwrap();
    }
    text
}

const PIN_TALK: [(&str, &str); 6] = [
    ("user", "Hello there, who are you?"),
    ("assistant", "Noted."),
    ("user", "PIN 4471"),
    ("assistant", "Noted."),
    ("user", "Go on."),
    ("assistant", "Done."),
];

fn talk_case(name: &'static str, forget: &'static str, after: &[(&str, &str)]) -> Case {
    Case {
        name,
        before: vec![("talk.jsonl", talk(&PIN_TALK))],
        forget: vec![forget],
        after: vec![("talk.jsonl", talk(after))],
        gone: vec!["PIN 4471"],
        stay: vec!["Hello there", "Go on.", "Done."],
    }
}

/// Over four mebibytes, so that it is filed in sections.
fn large(small: &str, tail: &str) -> String {
    let mut text = String::with_capacity(5 << 20);
    for at in 0..3_700 {
        text.push_str(&section(&format!("Part {at}"), at));
        if at == 700 {
            text.push_str(small);
            text.push('\n');
        }
        if at == 701 {
            text.push_str(tail);
        }
    }
    assert!(text.len() > 4 << 20);
    text
}

const CODE: &str = "fn open() {\n    lock();\n    run();\n}\n";

fn code(functions: usize) -> String {
    let mut text = String::new();
    for at in 0..functions {
        write!(text, "fn step_{at}() {{\n    lock();\n    run();\n").unwrap();
        for line in 0..40 {
            writeln!(text, "    let value_{at}_{line} = compute({at}, {line});").unwrap();
        }
        text.push_str("    free();\n}\n\n");
    }
    text
}

#[expect(clippy::too_many_lines, reason = "one table, one row each")]
fn cases() -> Vec<Case> {
    let crlf = |text: String| text.replace('\n', "\r\n");
    let mut cases = vec![
        one(
            "a line is appended to a small file",
            CODES.into(),
            "PIN",
            format!("{CODES}One more.\n"),
        ),
        one(
            "a line is put before a small file",
            CODES.into(),
            "PIN",
            format!("One more.\n{CODES}"),
        ),
        one(
            "a line is put into the middle of a small file",
            CODES.into(),
            "PIN",
            CODES.replace("PUK", "One more.\nPUK"),
        ),
        one(
            "the section stands in the middle and the file grows",
            around(CODES),
            "PIN",
            around(CODES) + "One more.\n",
        ),
        one(
            "the section stands at the end and the file grows",
            at_the_end(CODES),
            "PIN",
            at_the_end(CODES) + "One more.\n",
        ),
        one(
            "a line is put before the section",
            around(CODES),
            "PIN",
            around(&format!("One more.\n\n{CODES}")),
        ),
        one(
            "a line is put into the section",
            around(CODES),
            "PIN",
            around(&CODES.replace("PUK", "One more.\nPUK")),
        ),
        one(
            "many lines are put into the section",
            around(CODES),
            "PIN",
            around(&CODES.replace("PUK", &format!("{}PUK", "Some more words.\n".repeat(9)))),
        ),
        one(
            "the heading has another name and a line is appended",
            around(CODES),
            "PIN",
            around(&CODES.replace("## Codes", "## Secret codes")) + "One more.\n",
        ),
        one(
            "the heading is gone",
            around(CODES),
            "PIN",
            around(&CODES.replace("## Codes\n\n", "One more.\n")),
        ),
        one(
            "one of two lines is gone",
            around(CODES),
            "PIN",
            around(&CODES.replace("PUK 9902\n", "One more.\n")),
        ),
        one(
            "the section moves to the end of the file",
            around(CODES),
            "PIN",
            around("") + CODES + "One more.\n",
        ),
        one(
            "the lines are indented",
            around(CODES),
            "PIN",
            around(&CODES.replace("PIN", "  PIN").replace("PUK", "\tPUK")) + "One more.\n",
        ),
        one(
            "the line ends are those of another system",
            crlf(around(CODES)),
            "PIN",
            crlf(around(CODES) + "One more.\n"),
        ),
        one(
            "the line ends change",
            around(CODES),
            "PIN",
            crlf(around(CODES) + "One more.\n"),
        ),
        one(
            "a file of one line grows at its end",
            "PIN 4471\n".into(),
            "PIN",
            "PIN 4471\nOne more.\n".into(),
        ),
        one(
            "a file of one line grows at its beginning",
            "PIN 4471\n".into(),
            "PIN",
            "One more.\nPIN 4471\n".into(),
        ),
        one(
            "the file is renamed and edited",
            CODES.into(),
            "PIN",
            String::new(),
        ),
        one(
            "a section of a file that is renamed and edited",
            around(CODES),
            "PIN",
            String::new(),
        ),
        one(
            "both neighbours are new",
            around(CODES),
            "PIN",
            format!(
                "{}New words before.\n\n{CODES}New words behind.\n\n{}",
                section("Before", 1),
                section("After", 2)
            ),
        ),
        talk_case("the transcript grows", "PIN", &{
            let mut said = PIN_TALK.to_vec();
            said.extend([("user", "And now?"), ("assistant", "Noted.")]);
            said
        }),
        talk_case("the transcript is mined again as it is", "PIN", &PIN_TALK),
    ];
    for case in &mut cases {
        if case.name.contains("renamed") {
            let text = case.before[0].1.clone();
            case.after = vec![("renamed.md", text + "One more.\n")];
        }
        if case.before[0].0 == "notes.md" {
            case.stay.push(if case.name.starts_with("many") {
                "Some more words."
            } else if case.name.starts_with("both") {
                "New words behind."
            } else {
                "One more."
            });
        }
    }
    cases.extend([
        Case {
            name: "a title of a forgotten section is no heading of what is written under it later",
            before: vec![("pay.md", at_the_end("## Salary of Bob\n\n120 a day\n"))],
            forget: vec!["120 a day"],
            after: vec![(
                "pay.md",
                at_the_end("## Salary of Bob\n\n120 a day\n\nLater words.\n"),
            )],
            gone: vec!["Salary of Bob", "120 a day"],
            stay: vec!["Later words."],
        },
        Case {
            name: "Russian lines",
            before: vec![("ru.md", at_the_end("## Пароли\n\nКод 77\nСейф: 12\n"))],
            forget: vec!["Код 77"],
            after: vec![("ru.md", at_the_end("## Пароли\n\nКод 77\nСейф: 12\nЕщё.\n"))],
            gone: vec!["Код 77", "Сейф: 12", "Пароли"],
            stay: vec!["Ещё."],
        },
        Case {
            name: "Chinese lines",
            before: vec![("zh.md", at_the_end("## 密码\n\n口令：八五\n门禁一二\n"))],
            forget: vec!["门禁"],
            after: vec![(
                "zh.md",
                at_the_end("## 密码\n\n口令：八五\n门禁一二\n新的\n"),
            )],
            gone: vec!["口令", "门禁", "密码"],
            stay: vec!["新的"],
        },
        Case {
            name: "a masked secret",
            before: vec![(
                "env.md",
                at_the_end(concat!(
                    "## Env\n\nSITE 4\nGITHUB_TOKEN=gh",
                    "p_0123456789abcdefghij0123456789abcdef\n"
                )),
            )],
            forget: vec!["SITE 4"],
            after: vec![(
                "env.md",
                at_the_end(concat!(
                    "## Env\n\nSITE 4\nGITHUB_TOKEN=gh",
                    "p_0123456789abcdefghij0123456789abcdef\nOne more.\n"
                )),
            )],
            gone: vec!["SITE 4", "GITHUB_TOKEN"],
            stay: vec!["One more."],
        },
        Case {
            name: "the same line stands in another file",
            before: vec![
                ("notes.md", around(CODES)),
                ("list.md", "- PIN 4471\n- tea\n".into()),
            ],
            forget: vec!["PUK 9902"],
            after: vec![
                ("notes.md", around(CODES) + "One more.\n"),
                ("list.md", "- PIN 4471\n- tea\n- milk\n".into()),
                ("new.md", "Shopping\n\nPUK 9902\n\nand bread\n".into()),
            ],
            gone: vec!["## Codes"],
            stay: vec!["- PIN 4471", "- milk", "PUK 9902\n\nand bread"],
        },
        Case {
            name: "the same line stands elsewhere in the file",
            before: vec![(
                "list.md",
                format!(
                    "{}{}",
                    around("## Monday\n\nPIN 4471\nrun\n\n"),
                    "## Sunday\n\nrun\nswim\n"
                ),
            )],
            forget: vec!["PIN 4471"],
            after: vec![(
                "list.md",
                format!(
                    "{}{}",
                    around("## Monday\n\nPIN 4471\nrun\n\n"),
                    "## Sunday\n\nrun\nswim\nrest\n"
                ),
            )],
            gone: vec!["PIN 4471", "Monday"],
            stay: vec!["run\nswim\nrest"],
        },
        Case {
            name: "code shares its short lines",
            before: vec![("a.rs", format!("{CODE}\n{}", code(4))), ("b.rs", code(2))],
            forget: vec!["fn open()"],
            after: vec![
                (
                    "a.rs",
                    format!("{CODE}\n{}fn last() {{\n    run();\n}}\n", code(4)),
                ),
                ("b.rs", code(3)),
            ],
            gone: vec!["fn open()"],
            stay: vec![
                "fn step_2() {\n    lock();\n    run();",
                "fn last() {\n    run();\n}",
            ],
        },
        Case {
            name: "two exchanges say the same and one is forgotten",
            before: vec![(
                "talk.jsonl",
                talk(&[
                    ("user", "PIN 4471"),
                    ("assistant", "Noted."),
                    ("user", "Go on."),
                    ("assistant", "Noted."),
                ]),
            )],
            forget: vec!["PIN 4471"],
            after: vec![(
                "talk.jsonl",
                talk(&[
                    ("user", "PIN 4471"),
                    ("assistant", "Noted."),
                    ("user", "Go on."),
                    ("assistant", "Noted."),
                    ("assistant", "And more."),
                ]),
            )],
            gone: vec!["PIN 4471"],
            stay: vec!["Go on.", "Noted.", "And more."],
        },
        Case {
            name: "the last exchange is forgotten and grows",
            before: vec![(
                "talk.jsonl",
                talk(&[("user", "PIN 4471"), ("assistant", "Noted.")]),
            )],
            forget: vec!["PIN 4471"],
            after: vec![(
                "talk.jsonl",
                talk(&[
                    ("user", "PIN 4471"),
                    ("assistant", "Noted."),
                    ("assistant", "Shall I go on?"),
                ]),
            )],
            gone: vec!["PIN 4471", "Noted."],
            stay: vec!["Shall I go on?"],
        },
        Case {
            name: "an everyday exchange is forgotten and stands within another one",
            before: vec![(
                "talk.jsonl",
                talk(&[
                    ("user", "Go on."),
                    ("assistant", "Done."),
                    ("user", "Bye now."),
                ]),
            )],
            forget: vec!["Go on."],
            after: vec![
                (
                    "talk.jsonl",
                    talk(&[
                        ("user", "Go on."),
                        ("assistant", "Done."),
                        ("user", "Bye now."),
                        ("user", "Go on."),
                        ("assistant", "Done."),
                        ("assistant", "Everything is built."),
                    ]),
                ),
                (
                    "other.jsonl",
                    talk(&[
                        ("user", "Go on."),
                        ("assistant", "Done."),
                        ("assistant", "All tests pass."),
                    ]),
                ),
            ],
            gone: Vec::new(),
            stay: vec![
                "Go on.\n\nAssistant:\nDone.\n\nAssistant:\nEverything is built.",
                "Go on.\n\nAssistant:\nDone.\n\nAssistant:\nAll tests pass.",
            ],
        },
        Case {
            name: "a large file grows in the middle",
            before: vec![("large.md", large(CODES, ""))],
            forget: vec!["PIN 4471"],
            after: vec![("large.md", large(CODES, "One more.\n\n"))],
            gone: vec!["PIN 4471", "PUK 9902"],
            stay: vec!["One more."],
        },
        Case {
            name: "a section of a large file is edited",
            before: vec![("large.md", large(CODES, ""))],
            forget: vec!["PIN 4471"],
            after: vec![(
                "large.md",
                large(&CODES.replace("## Codes", "## Secret codes"), ""),
            )],
            gone: vec!["PIN 4471", "PUK 9902"],
            stay: vec!["Secret codes"],
        },
    ]);
    cases
}

fn holds(row: &Row, words: &str) -> bool {
    let heading = row.meta.get("heading").and_then(|value| value.as_str());
    row.text.as_deref().unwrap_or_default().contains(words)
        || heading.unwrap_or_default().contains(words)
}

fn find(palace: &Palace, words: &str) -> Vec<Row> {
    contents(palace, DRAWERS)
        .into_values()
        .filter(|row| holds(row, words))
        .collect()
}

fn run(case: &Case) -> Vec<String> {
    let scene = Scene::of_words();
    let palace = scene.open();
    for (name, text) in &case.before {
        scene.write(name, text);
    }
    scene.mine(&palace);
    let mut wrong = Vec::new();
    for words in &case.forget {
        let ids: Vec<String> = find(&palace, words).into_iter().map(|row| row.id).collect();
        if ids.len() != 1 {
            wrong.push(format!("{words:?} is in {} drawers before", ids.len()));
        }
        palace
            .forget(&loci_palace::forget::Request::in_collection(
                DRAWERS,
                Selection::ids(ids),
            ))
            .unwrap();
    }
    for (name, _) in &case.before {
        if !case.after.iter().any(|(after, _)| after == name) {
            scene.delete(name);
        }
    }
    for (name, text) in &case.after {
        scene.write(name, text);
    }
    let mut check = |palace: &Palace, when: &str| {
        for words in &case.gone {
            for row in find(palace, words) {
                let text = row.text.unwrap_or_default();
                wrong.push(format!("{when}: {words:?} is back in {text:?}"));
            }
        }
        for words in &case.stay {
            if find(palace, words).is_empty() {
                let all = contents(palace, DRAWERS).into_values().map(|row| row.text);
                let short: Vec<_> = all.flatten().filter(|text| text.len() < 300).collect();
                wrong.push(format!("{when}: {words:?} is missing; there are {short:?}"));
            }
        }
    };
    scene.mine(&palace);
    check(&palace, "mined");
    // Reading everything again gives the same.
    let force = MineOptions {
        force: true,
        ..MineOptions::default()
    };
    mine(&palace, &scene.tree(), &force);
    check(&palace, "forced");
    wrong
}

#[test]
fn what_was_forgotten_does_not_return_whatever_its_length_and_everyday_lines_stay() {
    let cases = cases();
    assert!(cases.len() >= 25);
    let mut wrong = String::new();
    for case in &cases {
        for problem in run(case) {
            writeln!(wrong, "{}: {problem}", case.name).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The ledger knows a renamed file by its new name, and so does what was forgotten in it.
#[test]
fn what_was_forgotten_does_not_return_in_a_file_that_was_renamed_and_edited_later() {
    let scene = Scene::of_words();
    let palace = scene.open();
    scene.write("notes.md", around(CODES));
    scene.mine(&palace);
    let id = find(&palace, "PIN 4471").remove(0).id;
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([id]),
        ))
        .unwrap();
    scene.rename("notes.md", "moved.md");
    assert_eq!(scene.mine(&palace).files.renamed, 1);
    scene.write(
        "moved.md",
        around(&CODES.replace("## Codes", "## Secret codes")),
    );
    scene.mine(&palace);
    assert!(find(&palace, "PIN 4471").is_empty(), "it is back");
    assert!(find(&palace, "PUK 9902").is_empty(), "it is back");
}

/// An earlier state of a drawer is kept for the undo of the run that changed it.
#[test]
fn no_earlier_state_of_a_short_forgotten_drawer_is_kept_for_an_undo() {
    let scene = Scene::of_words();
    let palace = scene.open();
    scene.write("notes.md", "## Codes\n\nPIN 4471\n");
    scene.mine(&palace);
    scene.write("notes.md", "## Codes\n\nPIN 4471\nPUK 9902\n");
    let run = scene.mine(&palace).run.unwrap();
    let id = find(&palace, "PUK 9902").remove(0).id;
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([id]),
        ))
        .unwrap();
    palace.undo(&undo_of(DRAWERS, run)).unwrap();
    assert!(find(&palace, "PIN 4471").is_empty(), "it is back");
    let kept = scene.number("SELECT count(*) FROM kept_drawers WHERE text LIKE '%4471%'");
    assert_eq!(kept, 0);
}

#[test]
fn allow_again_brings_a_short_forgotten_drawer_back() {
    let scene = Scene::of_words();
    let palace = scene.open();
    scene.write("notes.md", around(CODES));
    scene.mine(&palace);
    let id = find(&palace, "PIN 4471").remove(0).id;
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS,
            Selection::ids([id]),
        ))
        .unwrap();
    scene.write("notes.md", around(CODES) + "One more.\n");
    let options = MineOptions {
        allow_again: true,
        ..MineOptions::default()
    };
    mine(&palace, &scene.tree(), &options);
    assert_eq!(find(&palace, "PIN 4471").len(), 1, "it is not back");
    scene.assert_as_fresh(&palace);
}

#[test]
fn a_line_that_another_section_shares_with_a_forgotten_one_stays_there() {
    let scene = Scene::new();
    let regards = "Regards, the whole team of the garden centre";
    let lines = |word: &str, count: usize| -> String {
        let mut text = String::new();
        for n in 0..count {
            writeln!(text, "The {word} number {n} stands on the terrace.").unwrap();
        }
        text
    };
    for innocent in [1, 5, 20] {
        let file = format!("a{innocent}.md");
        let text = format!(
            "## Alpha\n\n{}{regards}\n\n## Beta\n\n{}{regards}\n{}",
            lines(&format!("secretive{innocent}"), 40),
            lines(&format!("innocent{innocent}"), innocent),
            lines(&format!("other{innocent}"), 40),
        );
        scene.write(&file, text.clone());
        let palace = scene.open();
        scene.mine(&palace);
        let id = with_word(&palace, &format!("secretive{innocent} number 3"))
            .unwrap()
            .id;
        palace
            .forget(&loci_palace::forget::Request::in_collection(
                DRAWERS,
                Selection::ids([id]),
            ))
            .unwrap();
        scene.write(&file, format!("{text}one more line\n"));
        scene.mine(&palace);
        let kept: Vec<String> = contents(&palace, DRAWERS)
            .into_values()
            .filter_map(|row| row.text)
            .collect();
        assert!(
            kept.iter().any(|text| text.contains(regards)),
            "{innocent}: the line is gone"
        );
        assert!(
            !kept
                .iter()
                .any(|text| text.contains("secretive") && text.contains("number 3 ")),
            "{innocent}: the forgotten text is back"
        );
        palace.close().unwrap();
        std::fs::remove_file(scene.root.join(&file)).unwrap();
    }
}

#[test]
fn short_lines_of_a_forgotten_drawer_stay_away_when_the_sections_around_them_change_places() {
    let scene = Scene::new();
    let lines = |word: &str| -> String {
        let mut text = String::new();
        for n in 0..12 {
            writeln!(text, "The {word} number {n} is watered in the evening.").unwrap();
        }
        text
    };
    let secret = "## Salary of Bob\nPIN 4471\n90k a year\n";
    scene.write(
        "a.md",
        format!("{}{secret}{}", lines("rose"), lines("medlar")),
    );
    let palace = scene.open();
    scene.mine(&palace);
    for (id, _) in contents(&palace, DRAWERS) {
        palace
            .forget(&loci_palace::forget::Request::in_collection(
                DRAWERS,
                Selection::ids([id]),
            ))
            .unwrap();
    }
    scene.write(
        "a.md",
        format!("{}{secret}{}", lines("medlar"), lines("rose")),
    );
    scene.mine(&palace);
    let back: Vec<String> = contents(&palace, DRAWERS)
        .into_values()
        .filter_map(|row| row.text)
        .filter(|text| text.contains("PIN 4471") || text.contains("Salary"))
        .collect();
    assert!(back.is_empty(), "{back:?}");
}
