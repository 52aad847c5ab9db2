//! The terms of texts, and the consistency of index, query and highlight.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use loci_text::{QueryTerm, TermKind, index_terms, matching_spans, query_terms};
use proptest::prelude::*;

/// Terms in stored postings. A change here is a change of the file format.
const PINNED: &[(&str, &str)] = &[
    ("", ""),
    ("  ?! -- \"\" () … ", ""),
    ("The cats were running.", "the cat were run"),
    ("Melanie's café, Café CAFÉ", "melani cafe cafe cafe"),
    (
        "I'll say we don't; it\u{2019}s what's new",
        "i say we dont it what new",
    ),
    ("dogs' O'Brien rock'n'roll", "dog brien obrien rocknrol"),
    ("snake_case_name", "snake case name snakecasenam"),
    ("getUserName", "get user name getusernam"),
    (
        "HTTPServer URLs IDs NASA",
        "http server httpserver url id nasa",
    ),
    ("utf8 3D 7th 10am B12", "utf utf8 3d 7th 10 am 10am 12 b12"),
    ("src/store/lock.rs", "src store lock rs lockr srcstorelockr"),
    (
        "C:\\Users\\bob\\notes.txt",
        "user bob note txt notestxt cusersbobnotestxt",
    ),
    (
        "std::collections::HashMap",
        "std collect hash map hashmap stdcollectionshashmap",
    ),
    ("v1.2.3", "v1 v123"),
    (
        "2023-05-07 10:30 3.14",
        "2023 05 07 20230507 10 30 1030 14 314",
    ),
    (
        "well-known wellknown well\u{2010}known",
        "well known wellknown wellknown well known wellknown",
    ),
    ("end. Next, e.g. U.S.A.", "end next eg usa"),
    ("wait...what left--quickly a-b", "wait what left quick ab"),
    (
        "bob@example.com #tag @user --flag _x",
        "bob exampl com bobexamplecom tag user flag x",
    ),
    ("https://a.io/b", "https io aio httpsaiob"),
    (
        "\u{1f389}\u{1f389} ok\u{1f44d}\u{1f3fd} 5 € →",
        "\u{1f389} \u{1f389} ok \u{1f44d} 5 €",
    ),
    ("東京都に行く。", "東京 京都 都に に行 行く く"),
    ("木 カ ｶﾞ ガス", "木 カ ガ ガス ス"),
    ("한국어", "한국 국어 어"),
    ("กิน", "กิ ิน น"),
    (
        "iPhone15を買う 2024年",
        "phone 15 iphone15 を買 買う う 2024 年",
    ),
    ("किताब", "किताब"),
    ("Ёлка чай Київ οδός Straße", "елка чай київ οδοσ strass"),
    ("\u{301}a \u{200d} \u{fe0f}", "a"),
    ("1\u{fe0f}\u{20e3}", "1"),
];

#[test]
fn the_terms_of_a_text_are_pinned() {
    for (text, expected) in PINNED {
        let terms = index_terms(text);
        assert_eq!(terms.joined, *expected, "{text}");
        let count = expected.split(' ').filter(|term| !term.is_empty()).count();
        assert_eq!(terms.count, count, "{text}");
    }
}

fn asked(query: &str) -> Vec<String> {
    let terms = query_terms(query, 100).terms;
    terms.iter().map(QueryTerm::pattern).collect()
}

fn finds(query: &str, text: &str) -> bool {
    let stored = index_terms(text).joined;
    query_terms(query, 100).terms.iter().any(|asked| {
        stored
            .split(' ')
            .any(|term| term == asked.term || asked.prefix && term.starts_with(asked.term.as_str()))
    })
}

#[test]
fn a_word_is_found_however_it_is_written() {
    for (query, text) in [
        ("wellknown", "a well-known fact"),
        ("well known", "a wellknown and a well-known fact"),
        ("database", "the data-base"),
        ("data-base", "the databases"),
        ("getusername", "calls getUserName()"),
        ("get_user_name", "calls getUserName()"),
        ("lock.rs", "see src/store/lock.rs"),
        ("store/lock", "see store/lock.rs"),
        ("HashMap", "std::collections::HashMap"),
        ("CAFE", "Cafe\u{301}"),
        ("Melanie", "Melanie's painting"),
        ("paintings", "she painted"),
        ("木", "大木"),
        ("木", "木曜日"),
        ("京都", "東京都"),
        ("🎉", "party🎉!"),
        ("utf8", "charset utf8mb4"),
        ("2023-05", "on 2023-05-07"),
        ("ｶﾞｽ", "ガス"),
    ] {
        assert!(finds(query, text), "{query} in {text}: {:?}", asked(query));
    }
    assert!(!finds("ill", "I'll say"));
    assert!(!finds("чаи", "чай"));
}

#[test]
fn stop_words_are_dropped_unless_nothing_else_is_left() {
    assert_eq!(
        asked("What's the Rollback plan, don't you know?"),
        ["rollback", "plan", "know"]
    );
    assert_eq!(asked("When did they say I'd paint?"), ["say", "paint"]);
    assert_eq!(
        asked("state-of-the-art"),
        ["state", "art", "stateoftheart*"]
    );
    let query = query_terms("to be or not to be", 100);
    assert!(query.only_stop_words);
    assert_eq!(asked("to be or not to be"), ["to", "be", "or", "not"]);
    let query = query_terms("?!", 100);
    assert!(!query.only_stop_words && query.terms.is_empty());
}

#[test]
fn names_are_asked_for_as_prefixes_and_words_are_not() {
    assert_eq!(
        asked("paint 2023 utf8 v2 get_x"),
        ["paint", "2023", "utf", "utf8*", "v2*", "get", "getx*"]
    );
    assert_eq!(asked("木 東京 東京都"), ["木*", "東京", "京都"]);
    let query = query_terms("Lock.rs paintings 木", 9);
    let words: Vec<_> = query
        .terms
        .iter()
        .map(|term| (term.kind, term.word.as_str()))
        .collect();
    assert_eq!(
        words,
        [
            (TermKind::Part, "Lock"),
            (TermKind::Part, "rs"),
            (TermKind::Whole, "Lock.rs"),
            (TermKind::Word, "paintings"),
            (TermKind::Gram, "木"),
        ]
    );
}

#[test]
fn terms_beyond_the_limit_are_counted_once_each() {
    let query = query_terms("alpha beta gamma delta alpha gamma gammas the", 2);
    assert_eq!(query.terms.len(), 2);
    assert_eq!(query.left_out, 2);
    assert_eq!(query_terms("alpha beta", 0).left_out, 2);
}

#[test]
fn highlights_cover_the_words_that_carry_a_term() {
    for (text, terms, expected) in [
        ("We ran; she was Running.", &["run"][..], &["Running"][..]),
        ("Melanie's café", &["melani", "cafe"], &["Melanie", "café"]),
        ("see src/lock.rs now", &["lockr"], &["lock.rs"]),
        (
            "see src/lock.rs now",
            &["lock", "srclockr"],
            &["src/lock.rs"],
        ),
        ("getUserName", &["user"], &["User"]),
        ("東京都に", &["東京", "京都"], &["東京都"]),
        ("東京都に", &["都*"], &["都に"]),
        ("utf8mb4", &["utf8*"], &["utf8mb4"]),
        ("go 🎉 go", &["🎉"], &["🎉"]),
        ("nothing here", &["run", "*", ""], &[]),
    ] {
        let found: Vec<_> = matching_spans(text, terms)
            .into_iter()
            .map(|span| &text[span])
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// Texts that exercise every rule: names, marks, scripts, connectors, and anything else.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z0-9'_.:/@#+~\\\\ -]{0,12}",
        "[a-z]{1,8}('s|'ll)?",
        "[\\p{Latin}\\p{Greek}\\p{Cyrillic}\\p{M}\\u{2019}]{0,6}",
        "[\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Hangul}\\p{Thai}\\p{Khmer}\\u{3099}\\u{ff66}-\\u{ffdc}]{0,6}",
        "[\\u{1f300}-\\u{1f6ff}\\u{fe0f}\\u{200d}]{0,4}",
        "\\PC{0,8}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn stored_terms_keep_to_their_alphabet_and_length(text in texts()) {
        let terms = index_terms(&text);
        let all: Vec<_> = terms.joined.split(' ').filter(|_| terms.count > 0).collect();
        prop_assert_eq!(all.len(), terms.count);
        for term in all {
            prop_assert!(!term.is_empty() && term.len() <= 64, "{:?}", term);
            let fits = |c: char| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit();
            prop_assert!(term.chars().all(fits), "{:?}", term);
            prop_assert!(!term.contains(char::is_whitespace), "{:?}", term);
        }
    }

    #[test]
    fn the_query_terms_of_a_text_are_stored_for_it(text in texts()) {
        let stored = index_terms(&text).joined;
        let stored: HashSet<_> = stored.split(' ').collect();
        for asked in query_terms(&text, usize::MAX).terms {
            prop_assert!(stored.contains(asked.term.as_str()), "{:?}", asked);
        }
    }

    #[test]
    fn highlights_are_ordered_ranges_that_carry_a_term(text in texts()) {
        let query = query_terms(&text, usize::MAX);
        let patterns: Vec<_> = query.terms.iter().map(|term| term.term.as_str()).collect();
        let spans = matching_spans(&text, &patterns);
        prop_assert_eq!(spans.is_empty(), patterns.is_empty());
        let mut end = None;
        for span in &spans {
            prop_assert!(end.is_none_or(|end| end < span.start) && span.start < span.end);
            prop_assert!(text.get(span.clone()).is_some());
            end = Some(span.end);
        }
        for asked in &query.terms {
            let spans = matching_spans(&text, &[&asked.term]);
            prop_assert!(spans.iter().any(|span| text[span.clone()].contains(&asked.word)), "{:?}", asked);
        }
    }
}

#[test]
fn a_megabyte_of_anything_takes_linear_time() {
    let letters = |seed: &str| seed.repeat((1 << 20) / seed.len());
    for seed in [
        "a",
        "aB",
        "a1",
        "a.",
        "a/",
        "a/b.c",
        "..",
        "'",
        "a'",
        "a''",
        "a's",
        "\u{301}",
        "a\u{301}",
        "木",
        "\u{3099}",
        "木\u{3099}",
        "\u{1161}",
        "\u{e34}",
        "ﷺ",
        "a\u{200d}",
        "🎉",
        "\u{200d}",
        "é",
        "éÉ",
        "\0",
        "a b ",
        "_",
        "a::",
        "A",
        "Aa",
        "и\u{306}",
        "a木",
    ] {
        let text = letters(seed);
        let began = Instant::now();
        let terms = index_terms(&text);
        let query = query_terms(&text, 16);
        let patterns: Vec<_> = query.terms.iter().map(QueryTerm::pattern).collect();
        let patterns: Vec<_> = patterns.iter().map(String::as_str).collect();
        matching_spans(&text, &patterns);
        assert!(
            terms.joined.len() <= text.len() * 4,
            "{seed}: {}",
            terms.joined.len()
        );
        // Each of the three takes well under a tenth of a second; a quadratic one would take
        // minutes.
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{seed}: {:?}",
            began.elapsed()
        );
    }
    let words: Vec<_> = (0..150_000).map(|n| format!("w{n}")).collect();
    let words = words.join(" ");
    let query = query_terms(&words, 128);
    assert_eq!(query.terms.len(), 128);
    assert!(query.left_out > 140_000);
}

#[test]
fn a_compound_longer_than_a_term_has_only_the_wholes_of_its_components() {
    let path = format!("{}/store/lock.rs", ["abcdefgh"; 8].join("/"));
    let stored = index_terms(&path).joined;
    let terms: Vec<_> = stored.split(' ').collect();
    assert!(terms.contains(&"lockr") && terms.contains(&"store"));
    assert_eq!(terms.len(), 12);
    let exact = index_terms(&["12345678"; 8].join("-")).joined;
    assert_eq!(exact.split(' ').map(str::len).max(), Some(64));
    let name = ["12345678"; 9].join("-");
    assert_eq!(index_terms(&name).count, 9);
}
