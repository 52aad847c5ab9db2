//! Where the palace is, which backend serves it, and what the program says about itself.

use crate::support::Dir;

#[test]
fn the_default_palace_follows_xdg_and_the_users_configuration() {
    let dir = Dir::new();
    let run = |variables: &[(&str, &std::path::Path)], arguments: &[&str]| {
        let mut command = dir.command();
        command.env_remove("LOCI_PALACE").args(arguments);
        for (name, value) in variables {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&[], &["add", "x"]);
    assert!(
        dir.path("home/.local/share/loci/palace/palace.sqlite3")
            .is_file()
    );
    run(&[("XDG_DATA_HOME", &dir.path("data"))], &["add", "x"]);
    assert!(dir.path("data/loci/palace/palace.sqlite3").is_file());
    std::fs::create_dir_all(dir.path("config/loci")).unwrap();
    let named = format!("palace = {:?}\n", dir.path("named"));
    std::fs::write(dir.path("config/loci/config.toml"), named).unwrap();
    run(&[("XDG_CONFIG_HOME", &dir.path("config"))], &["add", "x"]);
    assert!(dir.path("named/palace.sqlite3").is_file());
    // A flag is stronger than the environment, which is stronger than the configuration.
    let both = [
        ("XDG_CONFIG_HOME", dir.path("config")),
        ("LOCI_PALACE", dir.path("by-env")),
    ];
    let both = both
        .each_ref()
        .map(|(name, value)| (*name, value.as_path()));
    run(&both, &["add", "x"]);
    assert!(dir.path("by-env/palace.sqlite3").is_file());
    run(&both, &["add", "x", "--palace", "by-flag"]);
    assert!(dir.path("by-flag/palace.sqlite3").is_file());
}

#[test]
fn an_empty_variable_is_not_set_and_an_empty_flag_is_an_error() {
    let dir = Dir::new();
    let output = dir
        .command()
        .env("LOCI_PALACE", "")
        .args(["add", "x"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(dir.path("home/.local/share/loci/palace").is_dir());
    assert_eq!(
        dir.error(64, &["add", "x", "--palace", ""])["kind"],
        "usage"
    );
}

#[test]
fn an_unknown_backend_is_an_error_that_lists_the_known_ones() {
    let dir = Dir::new();
    let flag = dir.error(2, &["add", "x", "--backend", "nonsense"]);
    assert!(
        flag["message"]
            .as_str()
            .unwrap()
            .contains("known: chroma, sqlite"),
        "{flag}"
    );
    let output = dir
        .command()
        .env("LOCI_BACKEND", "nonsense")
        .args(["add", "x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("known: chroma, sqlite"),
        "{output:?}"
    );
    assert!(!dir.palace().exists());
    dir.json(
        0,
        &["add", "x", "--backend", "sqlite", "--durability", "full"],
    );
    assert_eq!(
        dir.error(64, &["add", "x", "--durability", "some"])["kind"],
        "usage"
    );
}

#[test]
fn a_mistake_in_a_configuration_file_is_an_error_that_names_the_file() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    std::fs::write(dir.palace().join("palace.toml"), "colour = 1\n").unwrap();
    let error = dir.error(2, &["status"]);
    assert!(
        error["message"].as_str().unwrap().contains("palace.toml"),
        "{error}"
    );
}

#[test]
fn help_and_version_are_answers_and_show_examples() {
    let dir = Dir::new();
    for command in [
        "init",
        "add",
        "get",
        "list",
        "update",
        "forget",
        "query",
        "status",
        "verify",
        "repair",
        "export",
        "import",
        "backup",
        "restore",
        "demo",
        "completions",
    ] {
        let help = dir.run(&[command, "--help"]).ok();
        for part in [
            "Examples:",
            "--palace",
            "--json",
            "--backend",
            "--durability",
        ] {
            assert!(help.stdout.contains(part), "{command}: {part}");
        }
    }
    assert!(dir.run(&["--version"]).ok().stdout.starts_with("loci "));
    assert_eq!(dir.run(&[]).code, 64);
}

#[test]
fn completions_are_made_for_every_shell() {
    let dir = Dir::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = dir.run(&["completions", shell]).ok().stdout;
        assert!(
            script.contains("loci") && script.contains("durability"),
            "{shell}"
        );
    }
    assert!(dir.json(0, &["completions", "bash"])["script"].is_string());
}

#[test]
fn logs_go_to_stderr_when_asked_for() {
    let dir = Dir::with_index();
    std::fs::remove_file(&dir.index_files()[0]).unwrap();
    let query = dir.write(
        "q.json",
        serde_json::to_vec(&crate::support::vector(1)).unwrap(),
    );
    let output = dir
        .command()
        .env("LOCI_LOG", "info")
        .args(["query", "--json", "--vector", query.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("is gone"),
        "{output:?}"
    );
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok());
}
