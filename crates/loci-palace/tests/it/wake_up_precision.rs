//! Texts that look like statements and are none: irony, pasted chats and mails, plans of the user,
//! ideas, and statements that have ended. Also forms of statements that are easily missed.

use loci_palace::wake_up;

use super::mined::Scene;
use super::wake_up_statements::{assert_contains, assert_lacks, file, note, session, woken};
use super::waking::palace;

#[test]
fn irony_and_jokes_are_no_rules() {
    let (_directory, palace) = palace();
    note(&palace, 1, "Decision: prices include VAT");
    note(&palace, 2, "lol the poster says \"never trust the staff\"");
    session(
        &palace,
        3,
        "tests",
        &[
            (
                "oh great, let's always skip the tests from now on, what could possibly go wrong",
                "The database is created for each test. A template makes it 9 s.",
            ),
            (
                "great, the printer burned. from now on we always feed it petrol",
                "I ordered one.",
            ),
        ],
    );
    let text = woken(&palace);
    assert_contains(&text, &["prices include VAT"]);
    assert_lacks(
        &text,
        &["never trust the staff", "skip the tests", "petrol"],
    );
}

#[test]
fn a_pasted_chat_and_a_pasted_mail_are_not_the_users_words() {
    let (_directory, palace) = palace();
    session(
        &palace,
        3,
        "chat",
        &[
            (
                "what do they want?\n\n**bo**: from now on we always roll twice\n**cy**: TODO: ban the mods",
                "They want another rule.",
            ),
            (
                "and this one\n\nDear customer,\nwe have decided to raise prices. Always quote your number.",
                "A higher price.",
            ),
            ("we stay with SQLite", "Noted."),
        ],
    );
    let text = woken(&palace);
    assert_contains(&text, &["we stay with SQLite"]);
    assert_lacks(
        &text,
        &[
            "roll twice",
            "ban the mods",
            "raise prices",
            "quote your number",
        ],
    );
}

#[test]
fn plans_of_the_user_are_no_rules_and_preferences_are() {
    let (_directory, palace) = palace();
    session(
        &palace,
        3,
        "kitchen",
        &[
            (
                "I'll make sure to involve the roommates in the shelf plan",
                "Good, the shelf plan is next.",
            ),
            ("I don't want glass shelf doors in the plan", "No glass."),
        ],
    );
    let text = woken(&palace);
    assert_contains(&text, &["I don't want glass shelf doors"]);
    assert_lacks(&text, &["involve the roommates"]);
}

#[test]
fn an_idea_for_some_day_is_no_task() {
    let (_directory, palace) = palace();
    note(&palace, 1, "todo label printer for the back office");
    note(&palace, 2, "idea: someday we should let parents vote");
    let text = woken(&palace);
    assert_contains(&text, &["label printer"]);
    assert_lacks(&text, &["parents vote"]);
}

#[test]
fn a_rule_until_something_happens_ends_when_it_has_happened() {
    let (_directory, palace) = palace();
    note(
        &palace,
        1,
        "don't trust the clock of station VLS5 until the antenna is replaced",
    );
    note(&palace, 2, "never reboot the server in Sion");
    assert_contains(&woken(&palace), &["clock of station VLS5", "never reboot"]);
    note(&palace, 9, "VLS5 antenna replaced, the clock is fine again");
    let text = woken(&palace);
    assert_contains(&text, &["never reboot"]);
    assert_lacks(&text, &["don't trust the clock"]);
}

#[test]
fn a_task_is_done_by_a_note_that_refers_to_it() {
    let (_directory, palace) = palace();
    note(&palace, 1, "TODO freshness alerts for the feed");
    note(&palace, 2, "TODO second sensor");
    note(
        &palace,
        9,
        "Freshness alerts warn after 8 hours. Done with that one.",
    );
    let text = woken(&palace);
    assert_contains(&text, &["second sensor"]);
    assert_lacks(&text, &["TODO freshness"]);
}

#[test]
fn a_task_is_done_by_a_session_that_was_asked_for_it() {
    let (_directory, palace) = palace();
    note(&palace, 1, "TODO: bump node to 22 before October");
    note(&palace, 2, "TODO second sensor");
    session(
        &palace,
        9,
        "node",
        &[("node 22 please", "Bumped.\n\nUpdated `.nvmrc` and the CI.")],
    );
    let text = woken(&palace);
    assert_contains(&text, &["second sensor"]);
    assert_lacks(&text, &["bump node"]);
}

#[test]
fn a_pasted_list_of_lines_is_not_the_users_words() {
    let (_directory, palace) = palace();
    let rows: Vec<String> = (0..9)
        .map(|n| format!("rule {n} always applies first; TODO review"))
        .collect();
    let dump = format!("which of these conflict\n{}", rows.join("\n"));
    session(
        &palace,
        3,
        "dump",
        &[
            (&dump, "Two of them."),
            ("drop rule 3, we stay with 8 rules", "Done."),
        ],
    );
    let text = woken(&palace);
    assert_contains(&text, &["we stay with 8 rules"]);
    assert_lacks(&text, &["always applies"]);
}

#[test]
fn a_record_with_its_state_below_a_heading_is_left_out_if_it_does_not_hold() {
    let (_directory, palace) = palace();
    let record = |state: &str, decision: &str| {
        format!("# Choice\n\n## Status\n\n{state}\n\n## Decision\n\n{decision}")
    };
    file(
        &palace,
        "docs/adr/1.md",
        &record("Superseded by 3", "All data goes through Prisma."),
    );
    file(
        &palace,
        "docs/adr/2.md",
        &record("Declined", "Billing is a service of its own."),
    );
    file(
        &palace,
        "docs/adr/3.md",
        &record("Accepted", "Plain SQL in one module."),
    );
    let text = woken(&palace);
    assert_contains(&text, &["Plain SQL in one module"]);
    assert_lacks(&text, &["Prisma", "service of its own"]);
}

#[test]
fn the_name_of_a_record_may_contain_a_word_such_as_build() {
    let (_directory, palace) = palace();
    let text = "# Images\n\n## Decision\n\nImages are resized when the site is made.";
    file(&palace, "docs/decisions/0002-build-images.md", text);
    file(
        &palace,
        "build/docs/decisions/0003-copy.md",
        &text.replace("resized", "copied"),
    );
    let text = woken(&palace);
    assert_contains(&text, &["Images are resized"]);
    assert_lacks(&text, &["Images are copied"]);
}

#[test]
fn a_chosen_option_is_a_decision() {
    let (_directory, palace) = palace();
    session(
        &palace,
        3,
        "storage",
        &[
            (
                "where do we put the warnings",
                "Options: 1) a JSON file, 2) SQLite on the Pi, 3) a hosted Postgres.",
            ),
            ("2. kev has backups", "SQLite it is, in `data/guild.db`."),
        ],
    );
    let text = woken(&palace);
    assert_contains(&text, &["SQLite it is"]);
    assert_lacks(&text, &["hosted Postgres"]);
}

#[test]
fn a_correction_of_a_result_with_a_number_is_a_decision() {
    let (_directory, palace) = palace();
    session(
        &palace,
        3,
        "alerts",
        &[
            ("alerts from magnitude 2.0", "Set `threshold = 2.0`."),
            (
                "too many last night. make it 2.5 for everyone",
                "Set to 2.5.",
            ),
        ],
    );
    assert_contains(&woken(&palace), &["make it 2.5"]);
}

#[test]
fn notes_in_russian_and_chinese_are_recognised() {
    let (_directory, palace) = palace();
    note(&palace, 1, "Решили: храним остатки по партиям");
    note(&palace, 2, "никогда не списываем автоматически");
    note(&palace, 3, "待办：证书四月一日到期");
    note(&palace, 4, "老周负责仓库，小林负责前端");
    let text = woken(&palace);
    assert_contains(
        &text,
        &[
            "Decisions:\n- Решили: храним остатки по партиям (note of 2026-01-01)",
            "Rules and preferences:\n- никогда не списываем",
            "Open tasks:\n- 待办：证书四月一日到期 (note of 2026-01-03)",
            "People:\n- 老周负责仓库",
        ],
    );
}

#[test]
fn nothing_of_a_mined_site_is_included_and_each_line_names_its_source() {
    let scene = Scene::new();
    let files = [
        (
            "content/a.md",
            "---\ntitle: A\nweight: 120\nimportance: 5\npinned: true\n---\nWe decided to sell. Always ring.",
        ),
        (
            "content/b.md",
            "+++\nweight = 30\n+++\nNever climb on the boats. {{< figure src=\"x\" >}}",
        ),
        (
            "layouts/head.html",
            "{{- /* TODO: always preload */ -}}\n<meta name=\"x\">",
        ),
        (
            "static/a.svg",
            "<svg><title>Decision: anchor</title><polygon points=\"1,2 3,4\"/></svg>",
        ),
        (
            "data/a.json",
            "{\"todo\": \"never edit\", \"importance\": 5}",
        ),
        ("config.toml", "# never commit the key\nimportance = 9\n"),
        (
            "Cargo.lock",
            "# It is not intended for manual editing.\n[[package]]\nname = \"always\"\n",
        ),
        (
            "docs/minutes/2026-01-02.md",
            "# Minutes\n\n## Decisions\n\n- The shop closes at noon\n",
        ),
    ];
    for (name, text) in files {
        scene.write(name, text);
    }
    let palace = scene.open();
    scene.mine(&palace);
    for budget in [100, 400, 800] {
        let request = wake_up::Request {
            wing: Some("garden".into()),
            budget,
            ..wake_up::Request::default()
        };
        let answer = palace.wake_up(&request).unwrap();
        assert!(answer.tokens <= budget, "{budget}: {}", answer.tokens);
        assert_contains(
            &answer.text,
            &["The shop closes at noon (docs/minutes/2026-01-02.md:5)"],
        );
        assert_lacks(
            &answer.text,
            &[
                "weight",
                "decided to sell",
                "climb",
                "figure",
                "preload",
                "meta",
                "polygon",
                "anchor",
                "never edit",
                "never commit",
                "always",
                "importance",
                "Important",
                "Pinned",
            ],
        );
    }
}
