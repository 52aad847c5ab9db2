//! What a wake-up recognises in conversations, notes and files, and what it leaves out.

use loci_palace::{OutcomeKind, Palace, add, pin, wake_up};
use serde_json::json;

use super::mined::{Scene, with_word};
use super::waking::{palace, put};

/// A note of a day in January.
pub(super) fn note(palace: &Palace, day: u32, text: &str) {
    let metadata = json!({"wing": "shop", "authored_at": format!("2026-01-{day:02}")});
    put(palace, &format!("note{day}"), text, &metadata);
}

/// The exchanges of a session on a day in January, each with what the user says and the answer.
pub(super) fn session(palace: &Palace, day: u32, title: &str, exchanges: &[(&str, &str)]) {
    for (number, (user, assistant)) in exchanges.iter().enumerate() {
        let mut text = format!("User:\n{user}");
        if !assistant.is_empty() {
            text.push_str("\n\nAssistant:\n");
            text.push_str(assistant);
        }
        let metadata = json!({
            "wing": "shop", "room": "conversations", "source_file": format!("/talks/{day}.jsonl"),
            "start_line": number * 2 + 1, "end_line": number * 2 + 2, "exchange": number + 1, "part": 1,
            "heading": title, "authored_at": format!("2026-01-{day:02}T10:{number:02}:00Z"),
        });
        put(palace, &format!("talk{day}.{number}"), &text, &metadata);
    }
}

pub(super) fn file(palace: &Palace, name: &str, text: &str) {
    let metadata = json!({
        "wing": "shop", "source_file": format!("/shop/{name}"), "start_line": 1, "end_line": 9,
        "weight": 120, "draft": true,
    });
    put(palace, name, text, &metadata);
}

pub(super) fn woken(palace: &Palace) -> String {
    let request = wake_up::Request {
        wing: Some("shop".into()),
        ..wake_up::Request::default()
    };
    palace.wake_up(&request).unwrap().text
}

#[track_caller]
pub(super) fn assert_contains(text: &str, words: &[&str]) {
    for words in words {
        assert!(text.contains(words), "`{words}` is missing:\n{text}");
    }
}

#[track_caller]
pub(super) fn assert_lacks(text: &str, words: &[&str]) {
    for words in words {
        assert!(!text.contains(words), "`{words}` is included:\n{text}");
    }
}

#[test]
fn front_matter_templates_and_markup_are_never_included() {
    let (_directory, palace) = palace();
    note(&palace, 1, "Decision: prices include VAT");
    file(
        &palace,
        "post.md",
        "---\ntitle: Spey\nweight: 120\ndraft: true\n---\nWe decided to put in at Newtonmore.",
    );
    file(
        &palace,
        "head.html",
        "<meta name=\"viewport\">\n{{/* TODO: support dark favicon */}}",
    );
    file(
        &palace,
        "wave.svg",
        "<svg><polygon points=\"24,4 44,22\"/></svg>",
    );
    file(
        &palace,
        "main.c",
        "/* TODO: RTC wake source */\nint never(void);",
    );
    file(
        &palace,
        "vendor/adr/0001.md",
        "# ADR 1\n## Decision\nAlways use the swap algorithm.",
    );
    let text = woken(&palace);
    assert_contains(
        &text,
        &["Decision: prices include VAT (note of 2026-01-01)"],
    );
    assert_lacks(
        &text,
        &[
            "weight",
            "Newtonmore",
            "favicon",
            "polygon",
            "RTC",
            "swap algorithm",
        ],
    );
}

#[test]
fn a_decision_in_a_conversation_is_included_with_its_place() {
    let (_directory, palace) = palace();
    session(
        &palace,
        12,
        "Payments",
        &[
            (
                "the webhook times out, what would you do",
                "There are three common strategies for retrying.",
            ),
            (
                "let's go with exponential backoff, the cap is 10 s",
                "Done. It doubles from 250 ms.",
            ),
        ],
    );
    let text = woken(&palace);
    assert_contains(
        &text,
        &[
            "Decisions:\n- let's go with exponential backoff, the cap is 10 s (Payments, 2026-01-12)",
        ],
    );
    assert_lacks(&text, &["common strategies"]);
}

#[test]
fn a_session_without_a_title_is_named_by_its_first_request() {
    let (_directory, palace) = palace();
    session(
        &palace,
        3,
        "",
        &[
            ("fix the stock table", "Fixed."),
            ("never touch static/dist, it is generated", "Noted."),
        ],
    );
    assert_contains(
        &woken(&palace),
        &["never touch static/dist, it is generated (\"fix the stock table\", 2026-01-03)"],
    );
}

#[test]
fn the_later_of_two_decisions_is_included() {
    let (_directory, palace) = palace();
    session(
        &palace,
        5,
        "Catalogue",
        &[(
            "let's go with MongoDB for the catalogue variants",
            "Understood.",
        )],
    );
    session(
        &palace,
        20,
        "Backups",
        &[(
            "the catalogue in MongoDB is killing us. we switch to Postgres for the catalogue variants",
            "Migrated.",
        )],
    );
    let text = woken(&palace);
    assert_contains(&text, &["we switch to Postgres"]);
    assert_lacks(&text, &["let's go with MongoDB"]);
}

#[test]
fn a_done_task_is_left_out_and_an_open_one_is() {
    let (_directory, palace) = palace();
    note(&palace, 2, "TODO: windows build, link.exe not found");
    note(&palace, 3, "TODO: overflow in const eval must be an error");
    session(
        &palace,
        9,
        "CI",
        &[
            ("fix the windows build", "All three platforms are green."),
            ("good, the windows build is done then", ""),
        ],
    );
    let text = woken(&palace);
    assert_contains(
        &text,
        &["Open tasks:\n- TODO: overflow in const eval must be an error (note of 2026-01-03)"],
    );
    assert_lacks(&text, &["link.exe"]);
}

#[test]
fn a_confirmed_proposal_is_included_and_a_rejected_one_is_not() {
    let (_directory, palace) = palace();
    session(
        &palace,
        4,
        "Saves",
        &[
            (
                "saves in json or binary?",
                "I suggest RON, since it is readable in diffs.",
            ),
            ("yes, do that", "Saves are RON."),
        ],
    );
    session(
        &palace,
        6,
        "Admin",
        &[
            (
                "add bulk edit to the admin",
                "I propose to rewrite the admin in React.",
            ),
            ("no, the admin stays server rendered", "Understood."),
        ],
    );
    let text = woken(&palace);
    assert_contains(&text, &["I suggest RON", "the admin stays server rendered"]);
    assert_lacks(&text, &["rewrite the admin in React"]);
}

#[test]
fn cue_words_in_other_senses_are_left_out() {
    let (_directory, palace) = palace();
    note(&palace, 1, "Decision: prices include VAT");
    note(&palace, 2, "TODO: order labels");
    note(&palace, 3, "Ann = operations");
    let small_talk = [
        (
            "checkout test always fails on the second run",
            "The mock leaks.",
        ),
        ("do you remember where the mock lives?", "In tests/mocks."),
        ("never mind the css thing", "Fine."),
        (
            "thinking about moving to talos, just thinking out loud",
            "It is immutable.",
        ),
        ("I always forget that one", "Happens."),
        ("todo funciona bien, gracias", "Perfecto."),
        (
            "can you polish this mail: \"Dear members, we decided to keep the tap closed until spring.\"",
            "Dear members, the tap stays closed.",
        ),
    ];
    session(&palace, 8, "Flaky", &small_talk);
    assert_lacks(
        &woken(&palace),
        &[
            "always fails",
            "do you remember",
            "never mind",
            "talos",
            "always forget",
            "todo funciona",
            "tap",
        ],
    );
}

#[test]
fn rules_tasks_and_people_are_recognised_in_several_languages() {
    let (_directory, palace) = palace();
    note(
        &palace,
        1,
        "Запомни: код из 1С - строка с нулями. Никогда не приводить к int.",
    );
    note(
        &palace,
        2,
        "Zu erledigen: Messdaten beim Umweltamt anfordern",
    );
    note(
        &palace,
        3,
        "Odile = présidente de l'asso, Samir tient le catalogue",
    );
    note(&palace, 4, "Acordado: los precios siempre con IVA");
    note(&palace, 5, "决定：数据库统一用 Postgres");
    note(&palace, 6, "Besluiten:\nDecision: de winkel blijft op PHP");
    let text = woken(&palace);
    assert_contains(
        &text,
        &[
            "Никогда не приводить",
            "Messdaten",
            "Odile = présidente",
            "los precios",
            "Postgres",
            "de winkel",
        ],
    );
    for heading in [
        "Decisions:",
        "Rules and preferences:",
        "Open tasks:",
        "People:",
    ] {
        assert_contains(&text, &[heading]);
    }
}

#[test]
fn the_outcome_of_the_last_session_is_included_with_what_it_left_open() {
    let (_directory, palace) = palace();
    session(
        &palace,
        11,
        "Sleep",
        &[
            ("measure the sleep current", "Measured 3.1 µA."),
            (
                "nice, merge it",
                "Merged as e41c. One regression: the second swipe does not work yet.",
            ),
            ("ok next time", ""),
        ],
    );
    assert_contains(
        &woken(&palace),
        &["Last sessions:\n- Merged as e41c. One regression"],
    );
}

#[test]
fn without_statements_the_requests_of_the_last_sessions_are_included() {
    let (_directory, palace) = palace();
    session(
        &palace,
        1,
        "Undo",
        &[(
            "how do i undo the last commit",
            "`git reset --soft HEAD~1` moves the branch.",
        )],
    );
    file(&palace, "README.md", "# shop\nDjango 5, htmx.");
    let text = woken(&palace);
    assert_contains(
        &text,
        &["- how do i undo the last commit (Undo, 2026-01-01)"],
    );
    assert_lacks(&text, &["Django", "git reset"]);
}

#[test]
fn records_of_decisions_and_minutes_are_read_and_what_is_not_in_force_is_not() {
    let scene = Scene::new();
    scene.write("docs/adr/0001.md", "# ADR 1: Parser\nStatus: Accepted\n## Context\nTables.\n## Decision\nThe parser is written by hand.\n");
    scene.write(
        "docs/adr/0002.md",
        "# ADR 2: Backend\nStatus: Superseded by ADR 5\n## Decision\nEmit C99.\n",
    );
    scene.write(
        "docs/minutes/2026-01-13.md",
        "# Weekly sync\n## Discussion\nCoffee is out.\n## Decisions\n- Raw files are kept 400 days\n## Actions\n- Greta: write to the ministry\n",
    );
    let palace = scene.open();
    scene.mine(&palace);
    let request = wake_up::Request {
        wing: Some("garden".into()),
        ..wake_up::Request::default()
    };
    let text = palace.wake_up(&request).unwrap().text;
    assert_contains(
        &text,
        &[
            "The parser is written by hand. (docs/adr/0001.md:6)",
            "Raw files are kept 400 days (docs/minutes/2026-01-13.md:5)",
            "Greta: write to the ministry (docs/minutes/2026-01-13.md:7)",
        ],
    );
    assert_lacks(&text, &["C99", "Coffee"]);
}

#[test]
fn a_pinned_drawer_of_a_file_comes_first_and_survives_a_mine() {
    let scene = Scene::new();
    let roses = format!(
        "# Roses\n\nRoses are pruned in March.\n{}\n",
        "They like clay. ".repeat(200)
    );
    let tulips = format!("# Tulips\n\n{}\n", "Tulips like sand. ".repeat(200));
    scene.write("roses.md", format!("{roses}\n{tulips}"));
    scene.write(
        "post.md",
        "---\npinned: true\n---\nFront matter pins nothing.\n",
    );
    let palace = scene.open();
    scene.mine(&palace);
    let id = with_word(&palace, "pruned").unwrap().id;
    let pinned = palace
        .pin(&pin::Request {
            ids: vec![id.clone(), "nobody".into()],
            ..pin::Request::default()
        })
        .unwrap();
    let outcomes: Vec<OutcomeKind> = pinned.drawers.iter().map(|drawer| drawer.outcome).collect();
    assert_eq!(outcomes, [OutcomeKind::Updated, OutcomeKind::Unknown]);
    scene.write("roses.md", format!("{roses}\n{tulips}\nA new line.\n"));
    scene.mine(&palace);
    let request = wake_up::Request {
        wing: Some("garden".into()),
        ..wake_up::Request::default()
    };
    let answer = palace.wake_up(&request).unwrap();
    assert_eq!(answer.drawers.first(), Some(&id), "{}", answer.text);
    assert_contains(&answer.text, &["Pinned:", "Roses are pruned in March."]);
    assert_lacks(&answer.text, &["Front matter"]);
    palace
        .pin(&pin::Request {
            ids: vec![id],
            off: true,
            ..pin::Request::default()
        })
        .unwrap();
    assert_eq!(palace.wake_up(&request).unwrap().text, "");
}

#[test]
fn a_text_that_is_added_again_with_a_pin_is_pinned() {
    let (_directory, palace) = palace();
    note(&palace, 1, "tea is at five");
    let mut metadata = loci_palace::Metadata::default();
    metadata.0.insert("wing".into(), "shop".into());
    let drawer = add::Drawer {
        text: Some("tea is at five".into()),
        metadata: metadata.merged(&pin::pin_patch(true)),
        ..add::Drawer::default()
    };
    let answer = palace
        .add(&add::Request {
            drawers: vec![drawer],
            ..add::Request::default()
        })
        .unwrap();
    assert_eq!(answer.added, 0);
    assert_contains(&woken(&palace), &["Pinned:\n- tea is at five"]);
}
