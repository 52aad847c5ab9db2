//! `search`: what is found, in which order it is said, and what is said about the rest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Dir, Ran, lines, texts};

/// A palace with these drawers: id and text.
fn with(drawers: &[(&str, &str)]) -> Dir {
    filled(
        drawers
            .iter()
            .map(|(id, text)| json!({"id": id, "document": text})),
        &[],
    )
}

/// A palace with these drawers and no vector.
fn with_words_only(drawers: &[(&str, &str)]) -> Dir {
    filled(
        drawers
            .iter()
            .map(|(id, text)| json!({"id": id, "document": text})),
        &["--embedder", "none"],
    )
}

fn filled(records: impl IntoIterator<Item = Value>, flags: &[&str]) -> Dir {
    let dir = Dir::new();
    let file = dir.write("in.jsonl", lines(records));
    dir.json(
        0,
        &[&["import", "jsonl", file.to_str().unwrap()], flags].concat(),
    );
    dir
}

/// The answer to a question that may begin with a dash.
fn ask(dir: &Dir, flags: &[&str], question: &str) -> (i32, Value) {
    let ran = dir.run(&[&["search", "--json"], flags, &["--", question]].concat());
    let answer = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("`{question}`: {error}: {ran:?}"));
    (ran.code, answer)
}

fn ids(answer: &Value) -> Vec<String> {
    texts(&answer["hits"], "id")
}

fn codes(answer: &Value) -> Vec<String> {
    texts(&answer["warnings"], "code")
}

fn message(answer: &Value, code: &str) -> String {
    let warnings = answer["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|warning| warning["code"] == code);
    let warning = found.unwrap_or_else(|| panic!("no `{code}`: {answer}"));
    warning["message"].as_str().unwrap().to_owned()
}

/// Notes of several lives, as a person has them.
const NOTES: &[(&str, &str)] = &[
    ("move", "Alice moved from Hamburg to Lyon in May."),
    (
        "rent",
        "The rent is 1180 euros and is due on the fifth of the month.",
    ),
    (
        "mongo",
        "We chose Postgres over MongoDB for the billing service.",
    ),
    (
        "refund",
        "Refunds above 500 euros need approval by two people.",
    ),
    (
        "salt",
        "The cardiologist told her to cut down on salt and walk every day.",
    ),
    (
        "knee",
        "She has physiotherapy for her knee after the skiing accident.",
    ),
    (
        "slugs",
        "Slugs ate all the lettuce; beer traps work against them.",
    ),
    ("pears", "The pears ripen in late August; pick them hard."),
    (
        "boiler",
        "The boiler shows error F28 when the gas pressure is too low.",
    ),
    ("fuse", "Fuse 7 is for the kitchen sockets, 9 for the oven."),
    (
        "loan",
        "The mortgage is fixed at 1.9 percent for another five years.",
    ),
    ("cello", "Her daughter is seven and plays the cello."),
    ("cat", "The cat refuses to eat dry food."),
    ("ferry", "The ferry was cancelled because of a storm."),
    (
        "parser",
        "The parser stays hand written; generators gave bad error messages.",
    ),
    ("ci", "The build machine called danube fails now and then."),
    ("logs", "Logs are kept for thirty days, metrics for a year."),
    ("vpn", "The VPN endpoint accepts WireGuard only."),
    (
        "paper",
        "The paper replaces recurrence with self attention.",
    ),
    ("shares", "Employee shares vest over four years."),
    ("price", "We charge nineteen euros per vehicle and month."),
    ("run", "I ran ten kilometres in 52 minutes."),
    (
        "book",
        "Adding people to a late software project makes it later.",
    ),
    ("roses", "Prune the roses after the last frost."),
];

#[test]
fn a_drawer_is_embedded_by_default_and_found_by_meaning_without_a_shared_word() {
    let dir = Dir::new();
    for (id, text) in [
        ("sleep", "The physician recommended more sleep"),
        ("train", "Trains to Oslo leave at nine"),
        ("bread", "The bakery sells out of rye before noon"),
    ] {
        dir.json(0, &["add", text, "--id", id]);
    }
    let answer = dir.json(0, &["search", "what", "did", "the", "doctor", "advise"]);
    let hit = &answer["hits"][0];
    assert_eq!(hit["id"], "sleep");
    assert_eq!(
        (
            &hit["lexical_rank"],
            &hit["semantic_rank"],
            &hit["matched_via"]
        ),
        (&Value::Null, &json!(1), &json!("semantic"))
    );
    assert_eq!(hit["matched_words"], json!([]));
    assert!(hit["distance"].as_f64().unwrap() < 0.6, "{hit}");
    assert_eq!(codes(&answer), ["min_probability"], "the two others");
    assert!(
        !dir.path("home/.local/share/loci/models").exists(),
        "a model came from somewhere"
    );
}

#[test]
fn imported_records_without_vectors_are_found_by_meaning() {
    let dir = with(&[
        ("sleep", "The physician recommended more sleep"),
        ("train", "Trains to Oslo leave at nine"),
    ]);
    let answer = dir.json(0, &["search", "what did the doctor advise"]);
    assert_eq!(ids(&answer), ["sleep"]);
    assert_eq!(answer["hits"][0]["matched_via"], "semantic");
}

#[test]
fn a_hit_and_its_answer_have_all_documented_fields_and_no_other() {
    let dir = Dir::new();
    let metadata = r#"{"start_line": 10, "end_line": 20, "kind": "note"}"#;
    dir.json(
        0,
        &[
            "add",
            "Alice moved to Lyon.",
            "--id",
            "a",
            "--wing",
            "alice",
            "--room",
            "home",
            "--source",
            "diary.md",
            "--metadata",
            metadata,
        ],
    );
    let answer = dir.json(0, &["search", "who", "moved", "to", "Lyon"]);
    let fields = |value: &Value| {
        let object: BTreeMap<String, Value> = serde_json::from_value(value.clone()).unwrap();
        object.into_keys().collect::<Vec<_>>()
    };
    let mut wanted = [
        "id",
        "text",
        "wing",
        "room",
        "source",
        "start_line",
        "end_line",
        "line",
        "authored_at",
        "created_at",
        "score",
        "distance",
        "lexical_rank",
        "semantic_rank",
        "matched_via",
        "matched_words",
        "parts",
        "probability",
        "tokens",
        "cut",
        "also_in",
        "metadata",
        "collection",
        "date",
        "flags",
    ];
    wanted.sort_unstable();
    let hit = &answer["hits"][0];
    assert_eq!(fields(hit), wanted);
    assert_eq!(
        fields(&answer),
        [
            "available_in_scope",
            "hits",
            "in_scope",
            "terms",
            "tokens",
            "verdict",
            "warnings"
        ]
    );
    assert_eq!(fields(&answer["verdict"]), ["likely", "probability"]);
    assert_eq!(
        answer["available_in_scope"],
        json!({"drawers": 1, "wings": {"alice": 1}, "rooms": {"home": 1}})
    );
    assert_eq!(
        (&answer["in_scope"], &hit["cut"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(answer["tokens"], hit["tokens"]);
    assert_eq!(
        [
            &hit["text"],
            &hit["wing"],
            &hit["room"],
            &hit["source"],
            &hit["start_line"],
            &hit["end_line"],
            &hit["metadata"]["kind"],
            &hit["matched_via"],
            &hit["lexical_rank"],
            &hit["also_in"],
        ],
        [
            &json!("Alice moved to Lyon."),
            &json!("alice"),
            &json!("home"),
            &json!("diary.md"),
            &json!(10),
            &json!(20),
            &json!("note"),
            &json!("both"),
            &json!(1),
            &json!([]),
        ]
    );
    let words = texts_of(&hit["matched_words"]);
    assert!(
        words.contains(&"moved".to_owned()) && words.contains(&"Lyon".to_owned()),
        "{words:?}"
    );
}

fn texts_of(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).unwrap()
}

#[test]
fn what_is_available_is_reported_when_fewer_than_k_come_back_and_only_then() {
    let dir = with(NOTES);
    let all = NOTES.len();
    let every = ["search", "oven", "--min-probability", "0", "-k"];
    let more = dir.json(0, &[&every[..], &["1000"]].concat());
    assert_eq!(ids(&more).len(), all, "k beyond everything is everything");
    assert_eq!(more["available_in_scope"]["drawers"], all);
    let exact = dir.json(0, &[&every[..], &[&all.to_string()]].concat());
    assert_eq!(ids(&exact).len(), all);
    assert_eq!(exact.get("available_in_scope"), None);
}

#[test]
fn exit_codes_are_0_found_1_nothing_2_error_64_usage() {
    let dir = with_words_only(&[("a", "Alice moved to Lyon.")]);
    assert_eq!(dir.run(&["search", "Lyon"]).code, 0);
    assert_eq!(dir.run(&["search", "zzz"]).code, 1);
    assert_eq!(dir.run(&["search", "Lyon", "--collection", "nope"]).code, 2);
    assert_eq!(dir.error(64, &["search"])["kind"], "usage");
    for k in ["0", "1001", "x"] {
        assert_eq!(dir.error(64, &["search", "Lyon", "-k", k])["kind"], "usage");
    }
}

#[test]
fn a_palace_that_does_not_exist_is_an_error_and_is_not_created() {
    let dir = Dir::new();
    let error = dir.error(2, &["search", "anything"]);
    assert_eq!(error["code"], "palace_not_found");
    assert!(
        error["help"].as_str().unwrap().contains("loci init"),
        "{error}"
    );
    assert!(!dir.palace().exists());
}

#[test]
fn an_empty_palace_has_nothing_and_says_so() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    let answer = dir.json(1, &["search", "anything"]);
    assert_eq!(answer["hits"], json!([]));
    assert_eq!(answer["verdict"]["likely"], false);
    assert_eq!(
        answer["available_in_scope"],
        json!({"drawers": 0, "wings": {}, "rooms": {}})
    );
    let human = dir.run(&["search", "anything"]);
    assert_eq!(human.code, 1);
    assert!(human.stdout.starts_with("nothing found\n"), "{human:?}");
}

#[test]
fn any_text_is_a_question() {
    let dir = with(NOTES);
    for question in [
        "\"Lyon",
        "Lyon\"",
        "\"\"\"Lyon",
        "Lyon*",
        "NEAR(Lyon May)",
        "NEAR(Lyon, May, 3)",
        "Lyon AND",
        "OR Lyon",
        "NOT Lyon",
        "--Lyon",
        "text:Lyon",
        "document : Lyon",
        "{Lyon}: x",
        "^Lyon",
        "Lyon + May",
        "(Lyon",
        "Lyon)",
        "'; DROP TABLE drawers; -- Lyon",
        "Lyon\\",
        "%Lyon_",
        "\u{202e}Lyon",
        "🎉 Lyon 🏠",
        "Lyon\u{1}\u{7f}",
        "Lyon\r\n\tMay",
        "Lyon?!…",
    ] {
        let (code, answer) = ask(&dir, &["-k", "1"], question);
        assert_eq!(code, 0, "`{question}`");
        let hit = &answer["hits"][0];
        assert_eq!(hit["id"], "move", "`{question}`: {answer}");
        assert!(hit["lexical_rank"].is_u64(), "`{question}`: {answer}");
    }
    let (code, answer) = ask(&dir, &[], "-Lyon");
    assert!(
        code == 0 && !ids(&answer).contains(&"move".to_owned()),
        "{answer}"
    );
    for question in [
        "\"",
        "*",
        "AND OR NOT",
        "NEAR(",
        "-x",
        "col:",
        "^",
        "🎉",
        "مرحبا",
        "שלום",
        "%",
        "'",
    ] {
        let (code, answer) = ask(&dir, &["-k", "3"], question);
        assert!(code == 0 || code == 1, "`{question}`: {code}");
        assert_eq!(code == 1, ids(&answer).is_empty(), "`{question}`");
    }
}

#[test]
fn a_question_on_stdin_may_hold_any_bytes() {
    let dir = with(NOTES);
    let every: Vec<u8> = (0..=255).collect();
    for (what, input) in [
        ("no UTF-8", &b"Lyon \xff\xfe\x80"[..]),
        ("NUL between words", b"Lyon\0May"),
        ("a NUL at each end", b"\0Lyon\0"),
        ("lines", b"Alice\r\nLyon\r\n"),
        ("every byte", &[b"Lyon ", every.as_slice()].concat()),
    ] {
        let answer = asked_by_pipe(&dir, input, 0);
        assert_eq!(answer["hits"][0]["id"], "move", "{what}");
        assert!(answer["hits"][0]["lexical_rank"].is_u64(), "{what}");
    }
}

fn asked_by_pipe(dir: &Dir, input: &[u8], code: i32) -> Value {
    let ran = dir.pipe(&["search", "-", "-k", "24", "--json"], input);
    assert_eq!(ran.code, code, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_question_without_a_word_is_reported_as_one() {
    let dir = with(NOTES);
    for question in ["", " ", "\t\n", "\u{1}\u{2}", "!?.,", "...", "\"", "()"] {
        let (_, answer) = ask(&dir, &[], question);
        assert!(
            codes(&answer).contains(&"empty_query".to_owned()),
            "`{question}`: {answer}"
        );
        assert_eq!(answer["verdict"]["likely"], false, "`{question}`");
    }
    for input in [&b""[..], b"\0\0", b"\n"] {
        let answer = asked_by_pipe(&dir, input, 1);
        assert_eq!(codes(&answer), ["empty_query"], "{input:?}");
    }
}

#[test]
fn a_question_of_common_words_only_is_searched_with_a_warning() {
    let dir = with_words_only(&[("which", "to be or not to be"), ("other", "Lyon in May")]);
    let answer = dir.json(0, &["search", "to be or not to be"]);
    assert_eq!(ids(&answer), ["which"]);
    assert!(
        codes(&answer).contains(&"stop_words".to_owned()),
        "{answer}"
    );
}

#[test]
fn a_question_of_a_megabyte_is_answered_quickly_with_a_warning() {
    let dir = with(NOTES);
    let letters = |n: u32| {
        let digit = |at: u32| char::from(b'a' + (n / 10_u32.pow(at) % 10) as u8);
        ['z', 'q'].into_iter().chain((0..6).map(digit)).collect()
    };
    let distinct: Vec<String> = (0..150_000).map(letters).collect();
    let distinct = distinct.join(" ");
    for (what, input, wanted) in [
        ("one word again and again", "Lyon ".repeat(200_000), true),
        ("one word of a megabyte", "a".repeat(1_000_000), false),
        ("many words", format!("Lyon {distinct}"), true),
    ] {
        let since = Instant::now();
        let answer = asked_by_pipe(&dir, input.as_bytes(), i32::from(!wanted));
        assert!(
            since.elapsed() < Duration::from_secs(5),
            "{what}: {:?}",
            since.elapsed()
        );
        assert!(
            message(&answer, "long_query").contains("65536"),
            "{what}: {answer}"
        );
        let hits = answer["hits"].as_array().unwrap();
        let held = hits.iter().find(|hit| hit["id"] == "move");
        let by_words = held.is_some_and(|hit| hit["lexical_rank"].is_u64());
        assert_eq!(by_words, wanted, "{what}: {held:?}");
    }
}

#[test]
fn a_long_question_that_fits_nothing_is_not_likely_in_memory() {
    let dir = with(NOTES);
    for question in ["a".repeat(5_000), "zq ".repeat(2_000)] {
        let (_, answer) = ask(&dir, &[], &question);
        assert_eq!(answer["verdict"]["likely"], false, "{}", answer["verdict"]);
    }
}

/// Texts of many kinds that are to be found by their words alone.
const WORDS: &[(&str, &str)] = &[
    ("lyon", "Alice moved to Lyon in May."),
    (
        "ident",
        "The function parse_config_file reads ~/.config/loci/settings.toml and calls \
         loadUserProfile.",
    ),
    ("zh", "我们决定在东京举行会议"),
    ("ja", "来週の会議は東京タワーで行われます"),
    ("ko", "서울에서 회의가 열립니다"),
    ("hi", "राम ने दिल्ली में नया घर खरीदा"),
    ("ar", "انتقلت ليلى إلى القاهرة في الصيف"),
    ("he", "דוד קנה ספר חדש בירושלים"),
    ("th", "ฉันชอบกินข้าวผัดที่กรุงเทพ"),
    ("fr", "Le café de la gare est fermé à Noël, señor Müller"),
    ("el", "Η Αθήνα είναι πρωτεύουσα"),
    ("run", "She was running quickly through the forests"),
    (
        "err",
        "error E0502 cannot borrow; HTTPServer v2.3.1 on 10.0.0.1:8080",
    ),
    ("mail", "Write to ana.silva@example.com about serde_json"),
    ("vi", "Tôi sống ở Hà Nội"),
    ("tr", "İstanbul güzel bir şehir"),
    ("emoji", "party 🎉 at the 🏠 tonight"),
];

fn found_by_words(cases: &[(&str, &str)]) {
    let dir = with_words_only(WORDS);
    for (question, wanted) in cases {
        let (code, answer) = ask(&dir, &[], question);
        assert_eq!(code, 0, "`{question}`: {answer}");
        assert_eq!(answer["hits"][0]["id"], *wanted, "`{question}`: {answer}");
    }
}

#[test]
fn a_word_is_found_in_its_other_forms() {
    found_by_words(&[("runs", "run"), ("forest", "run"), ("LYON", "lyon")]);
}

#[test]
fn an_identifier_or_path_is_found_as_a_whole_by_its_parts_and_by_its_beginning() {
    found_by_words(&[
        ("parse_config_file", "ident"),
        ("config", "ident"),
        ("parse config", "ident"),
        ("parse_conf", "ident"),
        ("parse_config_fi", "ident"),
        ("loadUserProfile", "ident"),
        ("loaduserprofile", "ident"),
        ("user profile", "ident"),
        ("loadUser", "ident"),
        ("loadUserProf", "ident"),
        ("~/.config/loci/settings.toml", "ident"),
        ("loci/settings", "ident"),
        ("settings.toml", "ident"),
        ("HTTPServer", "err"),
        ("http server", "err"),
        ("E0502", "err"),
        ("10.0.0.1", "err"),
        ("10.0.0.1:8080", "err"),
        ("v2.3.1", "err"),
        ("ana.silva@example.com", "mail"),
        ("silva", "mail"),
        ("serde_json", "mail"),
    ]);
}

#[test]
fn a_run_without_spaces_is_found_by_a_part_of_it() {
    found_by_words(&[
        ("东京", "zh"),
        ("举行会议", "zh"),
        ("東京タワー", "ja"),
        ("タワー", "ja"),
        ("会議", "ja"),
        ("서울", "ko"),
        ("회의", "ko"),
        ("ข้าวผัด", "th"),
        ("กรุงเทพ", "th"),
    ]);
    let dir = with_words_only(WORDS);
    let (_, answer) = ask(&dir, &[], "京");
    let mut both = ids(&answer);
    both.sort();
    assert_eq!(both, ["ja", "zh"]);
}

#[test]
fn words_of_hindi_arabic_and_hebrew_are_found() {
    found_by_words(&[
        ("दिल्ली", "hi"),
        ("घर", "hi"),
        ("القاهرة", "ar"),
        ("الصيف", "ar"),
        ("ספר", "he"),
        ("בירושלים", "he"),
    ]);
}

#[test]
fn accents_are_folded_on_both_sides() {
    found_by_words(&[
        ("cafe", "fr"),
        ("CAFÉ", "fr"),
        ("cafe\u{301}", "fr"),
        ("noel", "fr"),
        ("senor muller", "fr"),
        ("Αθηνα", "el"),
        ("Ha Noi", "vi"),
        ("istanbul", "tr"),
        ("sehir", "tr"),
        ("Ｌｙｏｎ", "lyon"),
    ]);
}

#[test]
fn an_emoji_is_a_word() {
    found_by_words(&[("🎉", "emoji"), ("🏠", "emoji")]);
}

/// 30 drawers about rockets in one wing, 7 about lunch in another, none of them about rockets.
fn rockets_and_lunch() -> Dir {
    let rockets = (0..30).map(|n| {
        json!({
            "id": format!("rocket{n}"),
            "document": format!("The rocket engine test number {n} went well"),
            "metadata": {"wing": "apollo", "room": "engines", "n": n},
        })
    });
    let lunch = (0..7).map(|n| {
        json!({
            "id": format!("lunch{n}"),
            "document": format!("Lunch menu {n}: soup and bread"),
            "metadata": {
                "wing": "canteen", "room": "food", "n": 100 + n,
                "source_file": format!("menu{}.md", n % 2),
            },
        })
    });
    filled(rockets.chain(lunch), &[])
}

#[test]
fn a_filter_applies_before_the_cut_to_k() {
    let dir = rockets_and_lunch();
    let lunch = |flags: &[&str]| {
        let question = ["search", "rocket", "engine", "test", "-k", "5"];
        let answer = dir.json(0, &[&question[..], flags].concat());
        assert_eq!(ids(&answer).len(), 5, "{flags:?}");
        assert!(
            ids(&answer).iter().all(|id| id.starts_with("lunch")),
            "{flags:?}"
        );
        assert_eq!(answer["in_scope"], 7, "{flags:?}");
        assert_eq!(answer.get("available_in_scope"), None, "{flags:?}");
    };
    lunch(&["--wing", "canteen"]);
    lunch(&["--room", "food"]);
    lunch(&["--where", r#"{"n": {"$gte": 100}}"#]);
    lunch(&["--where-document", r#"{"$contains": "soup"}"#]);
    let source = dir.json(0, &["search", "rocket", "--source", "menu0.md", "-k", "4"]);
    assert_eq!(ids(&source).len(), 4);
    assert!(
        texts(&source["hits"], "source")
            .iter()
            .all(|name| name == "menu0.md")
    );
}

#[test]
fn a_wing_that_does_not_exist_is_named_with_the_nearest_first() {
    let dir = rockets_and_lunch();
    for (flag, asked, first, second) in [
        ("--wing", "appolo", "`apollo`", "`canteen`"),
        ("--wing", "CANTEEN", "`canteen`", "`apollo`"),
        ("--room", "foood", "`food`", "`engines`"),
        ("--source", "menu1.mdx", "`menu1.md`", "`menu0.md`"),
    ] {
        let answer = dir.json(1, &["search", "rocket", flag, asked]);
        let said = message(&answer, "unknown_place");
        let place = |name: &str| said.find(name).unwrap_or_else(|| panic!("{name}: {said}"));
        assert!(said.contains(&format!("`{asked}`")), "{said}");
        assert!(place(first) < place(second), "{said}");
    }
}

#[test]
fn places_that_exist_but_do_not_meet_are_counted_one_by_one() {
    let dir = rockets_and_lunch();
    let answer = dir.json(
        1,
        &["search", "rocket", "--wing", "apollo", "--room", "food"],
    );
    let said = answer["warnings"].to_string();
    assert!(
        said.contains("`apollo` 30") && said.contains("`food` 7"),
        "{answer}"
    );
}

#[test]
fn a_filter_that_cannot_be_read_is_an_error_that_names_it() {
    let dir = rockets_and_lunch();
    for (flag, value, word) in [
        ("--where", "{bad", "where"),
        ("--where", r#"{"n": {"$foo": 3}}"#, "$foo"),
        ("--where-document", r#"{"$contains": 1}"#, "where_document"),
    ] {
        let error = dir.error(64, &["search", "rocket", flag, value]);
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[test]
fn k_different_texts_come_back_when_copies_outnumber_them() {
    let copies = (0..200).map(|n| {
        json!({
            "id": format!("copy{n}"), "document": "The zebra crossed the road",
            "metadata": {"wing": format!("w{n}")},
        })
    });
    let others = (0..20)
        .map(|n| json!({"id": format!("zoo{n}"), "document": format!("A zebra lives in zoo {n}")}));
    let dir = filled(copies.chain(others), &[]);
    let answer = dir.json(0, &["search", "zebra", "-k", "15"]);
    assert_eq!(ids(&answer).len(), 15, "{:?}", ids(&answer));
    let mut different = texts(&answer["hits"], "text");
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 15);
}

#[test]
fn identical_texts_are_one_hit_that_names_the_others() {
    let text = "The deploy key rotates every ninety days.";
    let copy = |n: u32| {
        json!({
            "id": format!("k{n}"), "document": text,
            "metadata": {"wing": format!("w{n}"), "source_file": format!("s{n}.md")},
        })
    };
    let other = json!({"id": "friday", "document": "Deploy on Fridays is forbidden."});
    let dir = filled((0..4).map(copy).chain([other]), &[]);
    let answer = dir.json(0, &["search", "deploy", "key", "--min-probability", "0"]);
    assert_eq!(ids(&answer).len(), 2, "{answer}");
    let hit = &answer["hits"][0];
    assert_eq!(hit["text"], text);
    let mut all = texts_of(&hit["also_in"]);
    all.extend(ids(&answer).into_iter().take(1));
    all.sort();
    assert_eq!(all, ["k0", "k1", "k2", "k3"]);
    let why = dir.json(0, &["why-not", &texts_of(&hit["also_in"])[0], "deploy key"]);
    assert_eq!(why["stage"], "same");
}

#[test]
fn by_source_gives_the_best_of_each_source_and_drawers_without_one() {
    let records = [
        ("a1", "deploy key is in the vault", Some("a.md")),
        ("a2", "deploy on Fridays is forbidden", Some("a.md")),
        ("b1", "the deploy key rotates", Some("b.md")),
        ("n1", "a deploy takes nine minutes", None),
        ("n2", "who may deploy", None),
    ]
    .map(|(id, text, source)| {
        let metadata = source.map_or(json!({}), |name| json!({"source_file": name}));
        json!({"id": id, "document": text, "metadata": metadata})
    });
    let dir = filled(records, &[]);
    let question = ["search", "deploy key vault", "--by-source"];
    let answer = dir.json(0, &[&question[..], &["--min-probability", "0"]].concat());
    let mut found = ids(&answer);
    assert_eq!(found[0], "a1");
    found.sort();
    assert_eq!(found, ["a1", "b1", "n1", "n2"]);
}

#[test]
fn a_least_probability_leaves_out_hits_and_says_how_many() {
    let dir = with(NOTES);
    let every = ["search", "boiler", "-k", "100", "--min-probability", "0"];
    let all = dir.json(0, &every);
    assert_eq!(ids(&all).len(), NOTES.len());
    let some = dir.json(
        0,
        &["search", "boiler", "-k", "100", "--min-probability", "0.1"],
    );
    let left_out = ids(&all).len() - ids(&some).len();
    assert!(left_out > 0 && ids(&some)[0] == "boiler", "{some}");
    assert!(message(&some, "min_probability").starts_with(&left_out.to_string()));
    let none = dir.json(1, &["search", "boiler", "--min-probability", "1"]);
    assert_eq!(none["hits"], json!([]));
}

#[test]
fn a_greatest_distance_leaves_out_what_shares_no_word_and_says_how_many() {
    let dir = with(NOTES);
    let answer = dir.json(0, &["search", "boiler", "roses", "--max-distance", "0"]);
    let mut found = ids(&answer);
    found.sort();
    assert_eq!(found, ["boiler", "roses"], "both hold a word");
    assert!(message(&answer, "max_distance").contains(&(NOTES.len() - 2).to_string()));
    let none = dir.json(1, &["search", "zebra", "--max-distance", "0.01"]);
    assert_eq!(none["hits"], json!([]));
    assert!(message(&none, "max_distance").contains(&NOTES.len().to_string()));
    let far = ["search", "boiler", "--max-distance", "2", "-k", "100"];
    let all = dir.json(0, &[&far[..], &["--min-probability", "0"]].concat());
    assert_eq!(ids(&all).len(), NOTES.len());
    assert_eq!(codes(&all), [""; 0]);
}

#[test]
fn a_budget_is_never_exceeded_and_never_leaves_nothing() {
    let beds: Vec<String> = (0..200)
        .map(|n| format!("Bed {n} holds tomatoes, beans and kale."))
        .collect();
    let long = beds.join(" ");
    let dir = with(&[
        ("garden", long.as_str()),
        ("water", "Tomatoes need water daily."),
        ("stock", "The stock market fell."),
    ]);
    for budget in [1_u64, 2, 5, 8, 50, 1_000, 100_000] {
        let flag = budget.to_string();
        let question = ["search", "tomatoes water", "--min-probability", "0"];
        let answer = dir.json(0, &[&question[..], &["--budget", &flag]].concat());
        let hits = answer["hits"].as_array().unwrap();
        assert!(!hits.is_empty(), "{budget}");
        let tokens: u64 = hits.iter().map(|hit| hit["tokens"].as_u64().unwrap()).sum();
        assert_eq!(answer["tokens"], tokens, "{budget}");
        assert!(tokens <= budget, "{budget}: {tokens}");
        for hit in hits {
            let id = hit["id"].as_str().unwrap();
            let stored = &dir.json(0, &["get", id])["drawers"][0]["text"];
            assert_eq!(hit["cut"], hit["text"] != *stored, "{budget}: {hit}");
            let warned = codes(&answer).contains(&"budget_cut".to_owned());
            assert!(hit["cut"] == false || warned, "{budget}: {answer}");
        }
        let left_out = codes(&answer).contains(&"budget_left_out".to_owned());
        assert_eq!(hits.len() < 3, left_out, "{budget}: {answer}");
        for id in ["garden", "water", "stock"] {
            let here = ids(&answer).contains(&id.to_owned());
            assert!(
                here || message(&answer, "budget_left_out").contains(id),
                "{budget}: {id}"
            );
        }
    }
}

#[test]
fn a_hit_cut_to_the_budget_shows_what_matched() {
    let text = format!(
        "{} the kangaroo hides here {}",
        "lorem ipsum dolor sit amet ".repeat(2_000),
        "lorem ipsum ".repeat(2_000)
    );
    let dir = with(&[("big", text.as_str())]);
    let answer = dir.json(0, &["search", "kangaroo", "--budget", "60"]);
    let hit = &answer["hits"][0];
    assert_eq!(hit["cut"], true);
    assert!(hit["text"].as_str().unwrap().contains("kangaroo"), "{hit}");
}

#[test]
fn without_an_embedder_only_words_are_searched_and_that_is_reported() {
    let dir = with(NOTES);
    let answer = dir.json(0, &["search", "boiler", "--embedder", "none"]);
    assert_eq!(ids(&answer), ["boiler"]);
    assert!(message(&answer, "no_embedder").contains("words"));
    let nothing = dir.json(1, &["search", "heating", "--embedder", "none"]);
    assert!(message(&nothing, "no_embedder").contains("words"));
}

#[test]
fn in_a_palace_without_vectors_a_search_says_that_only_words_were_searched() {
    let dir = with_words_only(&[("sleep", "The physician recommended more sleep")]);
    for (code, question) in [(0, "physician"), (1, "what did the doctor advise")] {
        let answer = dir.json(code, &["search", question]);
        assert!(
            answer["warnings"].to_string().contains("words"),
            "{question}: {answer}"
        );
    }
}

#[test]
fn drawers_without_a_vector_beside_drawers_with_one_are_counted_in_a_warning() {
    let dir = with_words_only(&[("sleep", "The physician recommended more sleep")]);
    dir.json(0, &["add", "A thing about dogs", "--id", "dog"]);
    let answer = dir.json(0, &["search", "what did the doctor advise"]);
    let said = answer["warnings"].to_string();
    assert!(said.contains('1') && said.contains("vector"), "{answer}");
}

#[test]
fn vectors_of_another_dimension_leave_the_search_by_words_with_a_way_out() {
    let dir = Dir::new();
    let file = dir.write("v.json", "[1, 0, 0]");
    let vector = file.to_str().unwrap();
    let text = "The physician recommended more sleep";
    dir.json(0, &["add", text, "--id", "sleep", "--vector", vector]);
    let answer = dir.json(0, &["search", "physician"]);
    assert_eq!(ids(&answer), ["sleep"]);
    assert!(message(&answer, "unknown_embedder").contains('3'));
    let human = dir.run(&["search", "doctor"]);
    assert_eq!(human.code, 1);
    assert!(human.stderr.contains("loci reembed"), "{human:?}");
}

#[test]
fn an_unknown_embedder_is_an_error_that_lists_the_known() {
    let dir = with(NOTES);
    for command in [["search", "boiler"], ["add", "text"]] {
        let error = dir.error(2, &[&command[..], &["--embedder", "bogus"]].concat());
        let said = error["message"].as_str().unwrap();
        for name in ["bogus", "static", "minilm", "openai", "none"] {
            assert!(said.contains(name), "{said}");
        }
    }
}

#[test]
fn export_and_import_keep_who_made_the_vectors() {
    let dir = with(&[("sleep", "The physician recommended more sleep")]);
    dir.run(&["export", "out.jsonl"]).ok();
    for fill in ["", r#"{"id": "x", "document": "Trains to Oslo"}"#] {
        let other = Dir::new();
        let file = other.write("x.jsonl", fill);
        other
            .run(&[
                "import",
                "jsonl",
                file.to_str().unwrap(),
                "--embedder",
                "none",
            ])
            .ok();
        let file = dir.path("out.jsonl");
        other.json(0, &["import", "jsonl", file.to_str().unwrap()]);
        let answer = other.json(0, &["search", "what did the doctor advise"]);
        assert_eq!(answer["hits"][0]["id"], "sleep");
        assert_eq!(answer["hits"][0]["matched_via"], "semantic");
        assert!(
            !codes(&answer).contains(&"unknown_embedder".to_owned()),
            "after `{fill}`: {answer}"
        );
    }
}

#[test]
fn explain_shows_both_arms_and_parts_that_add_up_to_the_score() {
    let dir = with(NOTES);
    let answer = dir.json(0, &["search", "gas", "boiler", "error", "--explain"]);
    let explain = &answer["explain"];
    for list in ["lexical", "semantic", "fused"] {
        let entries = explain[list].as_array().unwrap();
        assert!(!entries.is_empty(), "{list}");
        for (at, entry) in entries.iter().enumerate() {
            assert_eq!(entry["rank"], at + 1, "{list}");
            adds_up(entry);
        }
    }
    let hits = answer["hits"].as_array().unwrap();
    hits.iter().for_each(adds_up);
    let scores: Vec<f64> = hits
        .iter()
        .map(|hit| hit["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let stages = texts(&explain["steps"], "stage");
    for stage in ["scope", "lexical", "semantic", "fusion"] {
        assert!(stages.contains(&stage.to_owned()), "{stages:?}");
    }
    let terms = texts(&explain["terms"], "word");
    assert_eq!(terms, ["gas", "boiler", "error"]);
    let human = dir
        .run(&["search", "gas", "boiler", "error", "--explain"])
        .ok();
    for line in ["lexical arm", "semantic arm", "after fusion"] {
        assert!(human.stdout.contains(line), "{human:?}");
    }
    let plain = dir.json(0, &["search", "gas", "boiler", "error"]);
    assert_eq!(plain.get("explain"), None);
}

fn adds_up(entry: &Value) {
    let parts = entry["parts"].as_object().unwrap();
    let sum: f64 = parts.values().map(|part| part.as_f64().unwrap()).sum();
    let score = entry["score"].as_f64().unwrap();
    assert!((sum - score).abs() < 1e-4, "{entry}");
}

#[test]
fn an_unrelated_question_is_probably_not_in_memory_and_a_fitting_one_is() {
    let dir = with(NOTES);
    for question in [
        "who won the world cup in 1998",
        "quantum entanglement experiments",
        "guitar chords for wonderwall",
        "capital of Mongolia",
    ] {
        let answer = dir.json(1, &["search", question]);
        assert_eq!(answer["verdict"]["likely"], false, "{question}");
        assert!(
            codes(&answer).contains(&"min_probability".to_owned()),
            "{answer}"
        );
        let human = dir
            .run(&["search", question, "--min-probability", "0"])
            .ok();
        assert!(
            human
                .stdout
                .contains("probably none of these texts answers the question"),
            "{question}: {human:?}"
        );
    }
    for (question, wanted) in [
        ("where did Alice move", "move"),
        ("what does error F28 of the boiler mean", "boiler"),
        ("how to get rid of slugs", "slugs"),
        ("why did we choose Postgres", "mongo"),
    ] {
        let answer = dir.json(0, &["search", question]);
        assert_eq!(answer["hits"][0]["id"], wanted, "{question}");
        assert_eq!(answer["verdict"]["likely"], true, "{question}");
        let human = dir.run(&["search", question]).ok();
        assert!(!human.stdout.contains("probably not"), "{human:?}");
    }
}

#[test]
fn a_fitting_question_is_likely_in_memory_by_words_alone_too() {
    let dir = with_words_only(NOTES);
    for question in [
        "where did Alice move from Hamburg",
        "boiler gas pressure error F28",
    ] {
        let answer = dir.json(0, &["search", question]);
        assert_ne!(answer["verdict"]["likely"], false, "{question}: {answer}");
        let human = dir.run(&["search", question]).ok();
        assert!(!human.stdout.contains("probably not"), "{human:?}");
    }
}

#[test]
fn a_common_word_is_called_cut_only_where_it_was_cut() {
    let records = (0..2_000).map(|n| json!({"document": format!("The doctor wrote letter {n}")}));
    let dir = filled(records, &[]);
    let answer = dir.json(0, &["search", "doctor"]);
    assert_eq!(codes(&answer), [""; 0], "{answer}");
}

#[test]
fn a_search_does_not_wait_for_the_write_lock() {
    let dir = with(NOTES);
    let ran = dir.shell(
        r#"python3 - <<'END'
import os, sqlite3, subprocess, time
held = sqlite3.connect(os.environ["LOCI_PALACE"] + "/palace.sqlite3", isolation_level=None)
held.execute("BEGIN IMMEDIATE")
since = time.monotonic()
ran = subprocess.run([os.environ["LOCI"], "search", "boiler", "-k", "1"], capture_output=True, text=True)
print(ran.returncode, "quick" if time.monotonic() - since < 2 else "slow")
print(ran.stdout, ran.stderr)
held.execute("ROLLBACK")
END"#,
    );
    if ran.code == 127 {
        eprintln!("SKIPPED: `python3` is not installed");
        return;
    }
    assert!(ran.stdout.starts_with("0 quick\n"), "{ran:?}");
    assert!(ran.stdout.contains("1. boiler"), "{ran:?}");
}

#[test]
fn a_search_writes_nothing_that_changes_an_answer() {
    let dir = with(NOTES);
    let first = dir.json(0, &["search", "heating", "broken"]);
    for _ in 0..3 {
        assert_eq!(dir.json(0, &["search", "heating", "broken"]), first);
    }
    dir.json(0, &["verify", "--deep"]);
}

#[test]
fn people_see_lines_of_at_most_80_columns() {
    let wide = "医生说我需要更多的睡眠。".repeat(20);
    let long = format!("The doctor said: {} left", "word ".repeat(100));
    let records = [
        json!({"id": "zh", "document": wide}),
        json!({"id": "solid", "document": format!("doctor {}", "x".repeat(300))}),
        json!({
            "id": "long",
            "document": long,
            "metadata": {
                "wing": "a-very-long-wing-name-that-goes-on-and-on",
                "room": "another-long-room-name-that-never-ends",
                "source_file": "/home/user/projects/somewhere/deep/in/the/tree/notes.md",
            },
        }),
    ];
    let dir = filled(records, &[]);
    for command in [
        &["search", "doctor"][..],
        &["search", "doctor", "--explain"],
        &["why-not", "zh", "doctor", "-k", "1"],
    ] {
        for line in dir.run(command).ok().stdout.lines() {
            assert!(columns(line) <= 80, "{} columns: {line}", columns(line));
        }
    }
}

/// Columns of a terminal: Chinese characters have two.
fn columns(line: &str) -> usize {
    line.chars()
        .map(|letter| if letter >= '\u{2e80}' { 2 } else { 1 })
        .sum()
}

#[test]
fn matching_words_are_bright_on_a_terminal_and_plain_elsewhere() {
    let dir = with(NOTES);
    let bright = dir.shell("TERM=xterm script -qec \"'$LOCI' search boilers -k 1\" /dev/null");
    if bright.code == 127 {
        eprintln!("SKIPPED: `script` is not installed");
        return;
    }
    let around = |ran: &Ran| {
        let at = ran
            .stdout
            .find("boiler shows")
            .or_else(|| ran.stdout.find("boiler\u{1b}"));
        let at = at.unwrap_or_else(|| panic!("{ran:?}"));
        ran.stdout[..at].ends_with('m')
    };
    assert!(around(&bright), "{bright:?}");
    let plain = dir.run(&["search", "boilers", "-k", "1"]).ok();
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    let asked =
        dir.shell("NO_COLOR=1 TERM=xterm script -qec \"'$LOCI' search boilers -k 1\" /dev/null");
    assert!(!asked.stdout.contains('\u{1b}'), "{asked:?}");
    assert!(asked.stdout.contains("The boiler shows"), "{asked:?}");
}

#[test]
fn control_characters_that_were_stored_do_not_reach_a_terminal() {
    let record = json!({
        "id": "evil\u{1b}[31mid",
        "document": "red\u{1b}[31malert \u{1b}]0;title\u{7} doctor \u{8}\u{202e}reversed\u{9b}31m",
        "metadata": {"wing": "w\u{1b}[31m", "room": "r\u{1b}[31m", "source_file": "s\u{1b}[31m"},
    });
    let dir = filled([record], &[]);
    for line in [
        "search doctor",
        "search doctor --explain",
        "search doctor --budget 1",
        "search doctor --wing nobody",
        "search doctor --room nobody",
        "search doctor --source nobody",
        "why-not \\\"\\$EVIL\\\" doctor",
        "why-not \\\"\\$NOBODY\\\" doctor",
    ] {
        let ran = dir.shell(&format!(
            "export EVIL=$'evil\\e[31mid' NOBODY=$'nobody\\e[31m' NO_COLOR=1 TERM=xterm; \
             script -qec \"'$LOCI' {line}\" /dev/null"
        ));
        if ran.code == 127 {
            eprintln!("SKIPPED: `script` is not installed");
            return;
        }
        let obeyed = |letter: &char| {
            (letter.is_control() && !['\r', '\n'].contains(letter)) || *letter == '\u{202e}'
        };
        assert_eq!(ran.stdout.chars().find(obeyed), None, "{line}: {ran:?}");
        assert!(ran.stdout.contains("\\u{1b}"), "{line}: {ran:?}");
    }
}

#[test]
fn what_was_changed_or_forgotten_is_not_found_any_more() {
    let dir = with(NOTES);
    let text = "The physician recommended more sleep";
    dir.json(0, &["update", "boiler", text]);
    let question = ["search", "gas boiler error", "-k", "24"];
    let old = dir.json(0, &[&question[..], &["--min-probability", "0"]].concat());
    let hits = old["hits"].as_array().unwrap();
    let hit = hits.iter().find(|hit| hit["id"] == "boiler").unwrap();
    assert_eq!(
        (&hit["text"], &hit["lexical_rank"]),
        (&json!(text), &Value::Null)
    );
    let new = dir.json(0, &["search", "which doctor advised rest", "-k", "1"]);
    assert_eq!(ids(&new), ["boiler"]);
    dir.json(0, &["forget", "boiler"]);
    let question = ["search", "which doctor advised rest", "-k", "24"];
    let gone = dir.json(0, &[&question[..], &["--min-probability", "0"]].concat());
    assert!(!ids(&gone).contains(&"boiler".to_owned()));
    assert_eq!(ids(&gone).len(), NOTES.len() - 1);
}

#[test]
fn a_limit_that_is_no_number_in_its_range_is_a_usage_error_that_names_it() {
    let dir = Dir::new();
    dir.json(0, &["add", "The boiler is serviced in May"]);
    for command in [&["search"][..], &["why-not", "x"]] {
        for (flag, value) in [
            ("--min-probability", "1.5"),
            ("--min-probability", "-0.1"),
            ("--min-probability", "nan"),
            ("--max-distance", "nan"),
            ("--max-distance", "-1"),
        ] {
            let given = format!("{flag}={value}");
            let ran = dir.run(&[command, &["boiler", &given]].concat());
            assert_eq!(ran.code, 64, "{given}");
            assert!(ran.stderr.contains(flag), "{}", ran.stderr);
        }
    }
}
