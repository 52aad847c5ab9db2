//! Complete keys are masked whatever is beside them, and runs of characters that only contain a
//! prefix are not. Keys are assembled from parts, so that none is in this file.

use loci_secrets::{Setting, mask};
use proptest::prelude::*;

use crate::cost::assert_linear;
use crate::secrets::{drawn, hex, letters, upper};

/// Keys with a distinctive prefix.
fn distinctive() -> Vec<(&'static str, String)> {
    vec![
        ("GitHub token", format!("gh{}_{}", "p", letters(36))),
        ("GitHub token", format!("gh{}_{}", "s", letters(36))),
        (
            "GitHub token",
            format!("github{}_{}_{}", "_pat", letters(22), letters(59)),
        ),
        (
            "Anthropic key",
            format!("sk-{}-api03-{}", "ant", letters(93)),
        ),
        ("OpenAI key", format!("sk-{}-{}", "proj", letters(60))),
        ("GitLab token", format!("gl{}-{}", "pat", letters(20))),
        (
            "Slack token",
            format!("xo{}-17653672481-19874698323-{}", "xb", letters(24)),
        ),
        ("Stripe key", format!("sk_{}_{}", "live", letters(24))),
        ("npm token", format!("np{}_{}", "m", letters(36))),
        ("PyPI token", format!("py{}-AgEI{}", "pi", letters(150))),
        (
            "Google client secret",
            format!("GOC{}-{}", "SPX", letters(28)),
        ),
        ("DigitalOcean token", format!("dop{}_{}", "_v1", hex(64))),
        ("Databricks token", format!("da{}{}", "pi", hex(32))),
        ("Shopify token", format!("shp{}_{}", "at", hex(32))),
        ("Vault token", format!("hv{}.{}", "s", letters(95))),
        (
            "Tailscale key",
            format!("ts{}-auth-{}-{}", "key", letters(12), letters(32)),
        ),
        ("Docker token", format!("dckr{}_{}", "_pat", letters(27))),
        (
            "PlanetScale key",
            format!("pscale{}_{}", "_pw", letters(43)),
        ),
        ("age key", format!("AGE-SECRET{}{}", "-KEY-1", upper(58))),
        ("Groq key", format!("gs{}_{}", "k", letters(52))),
    ]
}

/// Keys with a prefix that occurs in long runs of base64.
fn in_base64() -> Vec<(&'static str, String)> {
    vec![
        ("AWS access key", format!("AK{}{}", "IA", upper(16))),
        ("AWS access key", format!("AS{}{}", "IA", upper(16))),
        ("Google API key", format!("AI{}{}", "za", letters(35))),
        ("Fly token", format!("fm{}_{}==", "2", letters(120))),
    ]
}

/// Keys with a prefix that occurs in words.
fn in_words() -> Vec<(&'static str, String)> {
    vec![
        ("OpenAI key", format!("sk-{}", letters(48))),
        ("Hugging Face token", format!("h{}_{}", "f", letters(34))),
        ("Twilio key", format!("S{}{}", "K", hex(32))),
        (
            "SendGrid key",
            format!("S{}.{}.{}", "G", letters(22), letters(43)),
        ),
        ("Replicate token", format!("r{}_{}", "8", letters(37))),
    ]
}

/// Keys that a boundary must follow.
fn weak() -> Vec<(&'static str, String)> {
    in_base64().into_iter().chain(in_words()).collect()
}

/// Text that may come before every key.
const BOUNDARIES: [&str; 26] = [
    "_",
    "__",
    "-",
    "**_",
    "key-",
    "--token-",
    "my_",
    "x_",
    "x-",
    "a%20",
    "a%3D",
    "a%2f",
    "\u{1b}[31m",
    "\u{1b}[1;38;5;208m",
    "\u{1b}[01;31m\u{1b}[K",
    "\u{1b}[m",
    "\\u001b[31m",
    "\\u001B[K",
    "\\x1b[0m",
    "\\033[31m",
    "[31m",
    "line\\n",
    "\\t",
    "\\\\n",
    "\\u0020",
    "\\x20",
];

/// Masks the key between the two, and checks that it is gone and the text before it is kept.
fn assert_masked(before: &str, key: &str, after: &str, kind: &str) {
    let text = format!("first\n{before}{key}{after}\nlast");
    let masked = mask(&text, Setting::Plain);
    assert!(
        masked
            .text
            .starts_with(&format!("first\n{before}[masked: {kind}]")),
        "{text:?}: {:?}",
        masked.text
    );
    assert!(masked.text.ends_with("\nlast"), "{text:?}");
    assert_eq!(masked.found.get(kind), Some(&1), "{text:?}");
    let again = mask(&masked.text, Setting::Plain);
    assert_eq!(again.text, masked.text);
    assert!(again.found.is_empty(), "{text:?}");
}

#[test]
fn a_boundary_before_a_key_does_not_keep_it_in_clear() {
    for (kind, key) in distinctive().into_iter().chain(weak()) {
        for before in BOUNDARIES {
            for after in ["", " ", "\\n", "\u{1b}[0m", "\\u001b[0m", "%20"] {
                assert_masked(before, &key, after, kind);
            }
        }
    }
}

#[test]
fn a_key_in_markdown_italics_or_bold_is_masked() {
    for (kind, key) in distinctive().into_iter().chain(weak()) {
        for mark in ["_", "__", "*", "**", "_**", "~~", "`"] {
            assert_masked(mark, &key, mark, kind);
        }
    }
    let (_, key) = distinctive().swap_remove(0);
    let masked = mask(&format!("__{key}__"), Setting::Plain)
        .text
        .into_owned();
    assert_eq!(masked, "__[masked: GitHub token]__");
}

#[test]
fn a_key_whose_prefix_is_in_no_word_is_masked_directly_after_a_letter_or_a_digit() {
    for (kind, key) in distinctive().into_iter().chain(in_base64()) {
        // `pas` and `secre` can form a trigger word with the first letter of the key.
        for before in [
            "1", "x", "X", "m", "tokenIs", "abc123", "pas", "secre", "sk", "0x",
        ] {
            assert_masked(before, &key, "", kind);
        }
    }
}

#[test]
fn nothing_of_a_distinctive_key_stays_when_more_of_its_alphabet_follows() {
    for (kind, key) in distinctive() {
        let body: String = key.chars().skip(key.len() / 2).collect();
        for after in [
            "_",
            "__",
            "0",
            "abc",
            "xXxX",
            "_example",
            "_suffix",
            &hex(300),
            &letters(3_000),
        ] {
            assert_masked("", &key, after, kind);
            let masked = mask(&format!("{key}{after}"), Setting::Plain)
                .text
                .into_owned();
            assert!(!masked.contains(&body), "{masked}");
        }
    }
}

#[test]
fn keys_that_follow_each_other_directly_are_all_masked() {
    let all: Vec<String> = distinctive()
        .into_iter()
        .chain(weak())
        .map(|(_, key)| key)
        .collect();
    for (_, key) in distinctive() {
        for times in 2..8 {
            let masked = mask(&key.repeat(times), Setting::Plain).text.into_owned();
            assert_eq!(outside(&masked), "", "{masked}");
        }
        for other in &all {
            let masked = mask(&format!("{other}{key}"), Setting::Plain)
                .text
                .into_owned();
            let end: String = key.chars().skip(key.len() - 16).collect();
            assert!(!masked.contains(&end), "{masked}");
        }
    }
    let ids = all[distinctive().len()].repeat(6);
    let masked = mask(&ids, Setting::Plain);
    assert_eq!(outside(&masked.text), "", "{}", masked.text);
    assert_eq!(masked.found.get("AWS access key"), Some(&6));
}

#[test]
fn a_chain_of_keys_is_masked_at_once() {
    // The alphabet of a Fly token holds the links.
    for (_, key) in in_base64().into_iter().take(3) {
        for link in ["_aaaaa", "-x", "_", "+a/b"] {
            let text = format!("{key}{link}").repeat(12);
            let masked = mask(&text, Setting::Plain);
            assert_eq!(outside(&masked.text), link.repeat(12));
            assert_eq!(mask(&masked.text, Setting::Plain).text, masked.text);
        }
    }
}

/// The text without its replacements.
fn outside(masked: &str) -> String {
    let mut text = masked.to_owned();
    while let Some(at) = text.find("[masked") {
        let end = text[at..].find(']').unwrap();
        text.replace_range(at..=at + end, "");
    }
    text
}

#[test]
fn a_web_token_is_masked_directly_after_a_letter() {
    let header = "eyJhbGciOiJIUzI1NiJ9";
    let token = format!("{header}.{}.{}", "eyJzdWIiOiIxIn0", letters(43));
    for before in ["_", "x", "token-", "\u{1b}[31m", "%20"] {
        assert_masked(before, &token, "", "JWT");
    }
}

#[test]
fn a_telegram_token_is_masked_between_marks() {
    let token = format!("{}:A{}{}", "123456789", "A", letters(33));
    for mark in ["_", "__", "-", "\u{1b}[31m", "%20"] {
        assert_masked(mark, &token, mark, "Telegram bot token");
    }
}

#[test]
fn an_aws_secret_after_its_name_and_a_space_is_masked() {
    let secret = drawn(
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        40,
        3,
    );
    let session = format!("{}==", letters(346));
    for (form, value, kind) in [
        (
            "aws configure set aws_secret_access_key X",
            &secret,
            "AWS secret key",
        ),
        (
            "aws configure set aws_secret_access_key X --profile dev",
            &secret,
            "AWS secret key",
        ),
        (
            "aws configure set profile.dev.aws_secret_access_key 'X'\n",
            &secret,
            "AWS secret key",
        ),
        (
            "{\\\"cmd\\\": \\\"aws configure set aws_secret_access_key X\\\"}",
            &secret,
            "AWS secret key",
        ),
        ("AWS_SECRET_ACCESS_KEY X", &secret, "AWS secret key"),
        (
            "aws configure set aws_session_token X\nnext",
            &session,
            "token",
        ),
        (
            "aws configure set aws_session_token \"X\"",
            &session,
            "token",
        ),
    ] {
        let masked = mask(&form.replace('X', value), Setting::Plain)
            .text
            .into_owned();
        let expected = form.replace('X', &format!("[masked: {kind}]"));
        assert_eq!(masked, expected);
        assert_eq!(mask(&masked, Setting::Plain).text, expected);
    }
}

#[test]
fn words_after_the_name_of_an_aws_secret_stay() {
    for line in [
        format!("aws_secret_access_key {}", hex(40)),
        format!("aws_secret_access_key {}", letters(39)),
        format!("aws_secret_access_key {}", letters(41)),
        format!("the access key {}", letters(40)),
        format!("aws_session_token {}", letters(40)),
        "aws configure set aws_secret_access_key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
        "aws configure set aws_secret_access_key $AWS_SECRET_ACCESS_KEY".into(),
        "aws_secret_access_key and aws_session_token are read from ~/.aws/credentials".into(),
        "aws_secret_access_key internationalization/of/configuration/s".into(),
    ] {
        assert_eq!(mask(&line, Setting::Plain).text, line);
    }
}

#[test]
fn a_weak_prefix_inside_a_run_of_base64_or_hex_stays() {
    for (_, key) in weak() {
        for line in [
            format!("data:image/png;base64,{}{key}", letters(64)),
            format!("{}{key}{}", letters(64), letters(64)),
            format!("{}\n{}{key}", letters(76), letters(20)),
        ] {
            assert_eq!(mask(&line, Setting::Plain).text, line);
        }
    }
    for (_, key) in in_words() {
        for line in [format!("x{key}"), format!("9{key}")] {
            assert_eq!(mask(&line, Setting::Plain).text, line);
        }
    }
    for (_, key) in weak().into_iter().filter(|(kind, _)| kind.contains("AWS")) {
        let line = format!("{key}{}", letters(64));
        assert_eq!(mask(&line, Setting::Plain).text, line);
    }
}

#[test]
fn words_in_which_a_prefix_occurs_stay() {
    let lines = HARMLESS.trim_matches('\n');
    for line in lines.lines() {
        assert_eq!(mask(line, Setting::Plain).text, line);
    }
    for line in [
        format!("task-ant-{}", hex(40)),
        format!("network_live_{}", hex(32)),
        format!("disk_live_{}", hex(64)),
        format!("main-sk-{}.js", hex(20)),
        format!("messages_sk-{}", hex(32)),
        format!("TASK{} TASK-{}", hex(32), hex(40)),
        format!("AKIA{}", "A".repeat(40)),
        format!("_AKIA{}_", "A".repeat(16)),
        format!("commit {}", hex(40)),
        format!("sha256:{}", hex(64)),
    ] {
        assert_eq!(mask(&line, Setting::Plain).text, line);
    }
}

const HARMLESS: &str = r"
task_sk_id disk_sk_name_of_the_volume risk-ant-analysis
task-ant-colony-optimization-of-the-network-in-2024
desk-proj-management-for-small-and-large-teams-v2
network_live_StatusIndicatorWidget1 task_live_migrationOfThePool
my_github_pat_for_the_deploy_of_the_production_servers
the-glpat-token-for-the-deploy-job-of-the-runner
linuxapp-settings-of-the-desktop-environment-2
python-pypi-publish-workflow-for-the-release-of-the-package-and-its-docs-v3
shelf_internationalization half_hf_modelNameOfTheTokenizer
AP_ASIAPACIFICNORTHEAST REGION-ASIAPACIFICSOUTHEAST
`ghp_` begins a token of GitHub, _ghp_ and __ghp___ and -ghp_... too
use ghp_, gho_, ghs_ or github_pat_; npm_config_registry; x_npm_package_json
my_ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and --token-ghp_your_token_goes_here
x-sk-ant-api03-xxxxxxxxxxxxxxxxxxxx and _sk-ant-your-api-key-goes-here_
.foo-sk-folding-cube-2.sk-spinner-double-bounce-2{color:red}
!function(e,t){var n=e.hvs.createElementForTheRenderer1;t.dapi=n}(a,b)
https://example.org/task-sk-1234/disk-usage?next=%2Ftask-ant-colony-optimization-v2
\u001b[31mtask-ant-colony-optimization\u001b[0m [31msk-folding-cube-of-the-page[0m
";

#[test]
fn many_prefixes_in_one_run_take_linear_time() {
    for unit in [
        "fm2_",
        "fm2_xxxx",
        "fm2_pypi-",
        "eyJ",
        "eyJeyJeyJ.",
        "ghp_",
        "ghp_a",
        "sk-ant-",
        "ya29.",
        "ATATT3x",
        "glpat-",
        "[1",
        "\\u001b[",
        "%2",
        "aws_session_token ",
        "aws_secret_access_key ",
        "tskey-",
        "AKIA",
        "xoxb-pypi-sk-ant-fm2_",
    ] {
        assert_linear(unit);
    }
}

/// Any text that may be beside a key.
fn beside() -> impl Strategy<Value = String> {
    let keys: Vec<String> = distinctive()
        .into_iter()
        .chain(weak())
        .map(|(_, key)| key)
        .collect();
    let piece = prop_oneof![
        prop::sample::select(BOUNDARIES.to_vec()).prop_map(str::to_owned),
        prop::sample::select(keys),
        "[A-Za-z0-9_-]{1,12}",
        "[A-Za-z0-9+/=]{1,80}",
        "\\PC{0,4}",
        prop::sample::select(vec![
            "\n",
            " ",
            "password=",
            "token: ",
            "[masked",
            "[masked: x]",
            "://a:",
            "@b",
            "\"",
            "aws_secret_access_key ",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_distinctive_key_is_masked_in_any_surroundings(
        before in beside(),
        key in prop::sample::select(distinctive()),
        after in beside(),
        setting in prop_oneof![Just(Setting::Plain), Just(Setting::DotEnv)],
    ) {
        let (_, key) = key;
        let text = format!("{before}{key}{after}");
        let masked = mask(&text, setting);
        let end: String = key.chars().skip(key.len() - 16).collect();
        // The text beside it may contain a truncated copy of the same key.
        let others = before.matches(&end).count() + after.matches(&end).count();
        if others == 0 {
            prop_assert!(!masked.text.contains(&end), "{:?}", masked.text);
        }
        let again = mask(&masked.text, setting);
        prop_assert_eq!(&again.text, &masked.text);
        prop_assert!(again.found.is_empty());
        prop_assert_eq!(masked.text.lines().count(), text.lines().count());
    }
}
