//! Every command of the program in environments that nobody wishes for: paths that are not UTF-8,
//! wrong clocks, no home, no current directory, closed streams. Each must do what it does elsewhere.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::Dir;

/// No command may take longer. Most take a tenth of a second.
const DEADLINE: Duration = Duration::from_secs(60);

/// One run of every command, in an order in which each finds what it needs, with its exit code. `@`
/// stands for the directory of the scene.
const RUNS: &[(&str, i32)] = &[
    ("init", 0),
    (
        "add Alice_moved_to_Lyon. --id a --wing people --room homes",
        0,
    ),
    ("add Bob_stayed_in_Paris. --wing people --room work", 0),
    ("mine @/notes", 0),
    ("watch @/notes", 0),
    ("sync @/notes", 0),
    ("runs", 0),
    ("undo 1", 0),
    ("get a", 0),
    ("list --recent", 0),
    ("update a Alice_moved_to_Nice.", 0),
    ("pin a", 0),
    ("search where_did_Alice_move_last_week", 0),
    ("open a", 64),
    ("why-not a where_did_Bob_stay", 0),
    ("query Alice", 0),
    ("status", 0),
    ("verify --deep", 0),
    ("repair", 0),
    ("export @/out.jsonl", 0),
    ("import jsonl @/out.jsonl", 0),
    ("doctor", 0),
    ("quarantine @/missing", 2),
    ("mcp", 0),
    ("connect claude-code --dry-run", 0),
    ("disconnect claude-code --dry-run", 1),
    ("hook Stop --harness claude-code", 0),
    ("facts add Alice lives_in Lyon", 0),
    ("facts query Alice", 0),
    ("facts list", 0),
    ("facts timeline", 0),
    ("facts conflicts", 1),
    ("facts supersede Alice lives_in Lyon Nice", 0),
    ("facts invalidate Alice lives_in", 0),
    ("diary write today_was_quiet --agent reviewer", 0),
    ("diary read --agent reviewer", 0),
    ("wake-up", 0),
    ("bench wake-up @/missing", 2),
    ("links add people/homes people/work", 0),
    ("wings", 0),
    ("wings split people", 0),
    ("links list", 0),
    ("links follow people/homes", 0),
    ("links tunnels", 1),
    ("links remove people/homes people/work", 0),
    ("backup @/copy.backup", 0),
    ("restore @/copy.backup --replace", 0),
    ("reembed --model static", 0),
    ("model add @/missing", 2),
    ("model pull unknown", 2),
    ("model list", 0),
    ("model remove unknown", 2),
    ("bench retrieval @/missing", 2),
    ("bench hooks @/missing", 2),
    ("demo", 0),
    ("completions bash", 0),
    ("forget a", 0),
];

/// What the server is asked.
const MESSAGES: &str = concat!(
    r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "#,
    r#""capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}"#,
    "\n",
    r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "loci_status", "arguments": {}}}"#,
    "\n",
);

/// How the program finds itself.
#[derive(Default)]
struct Environment {
    /// Name of the directory that holds everything.
    name: Option<&'static [u8]>,
    /// Variables that are set besides.
    variables: Vec<(&'static str, OsString)>,
    /// Variables that are not set.
    unset: Vec<&'static str>,
    /// What a shell does before the program starts in its place.
    shell: Option<&'static str>,
    /// The current directory.
    directory: Option<&'static str>,
    /// Commands that end otherwise here.
    otherwise: Vec<(&'static str, i32)>,
}

struct Scene {
    root: TempDir,
    environment: Environment,
}

impl Scene {
    fn new(environment: Environment) -> Self {
        let root = tempfile::tempdir().unwrap();
        let scene = Self { root, environment };
        for name in ["home", "temporary"] {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(scene.path().join(name)).unwrap();
        }
        std::fs::create_dir(scene.notes()).unwrap();
        std::fs::write(scene.notes().join("a.md"), "The quagga is extinct.\n").unwrap();
        std::fs::write(scene.path().join("messages"), MESSAGES).unwrap();
        scene
    }

    fn path(&self) -> PathBuf {
        let name = self.environment.name.unwrap_or(b"plain");
        self.root.path().join(OsStr::from_bytes(name))
    }

    /// What is mined. Sources are known by their names, which are text.
    fn notes(&self) -> PathBuf {
        self.root.path().join("notes")
    }

    fn arguments(&self, run: &str) -> Vec<OsString> {
        let argument = |word: &str| match word.strip_prefix("@/") {
            Some("notes") => self.notes().into_os_string(),
            Some(name) => self.path().join(name).into_os_string(),
            None => OsString::from(word.replace('_', " ")),
        };
        let mut words = run.split(' ');
        // Names of commands and ids have no spaces.
        let mut arguments: Vec<OsString> = words.next().map(OsString::from).into_iter().collect();
        arguments.extend(words.map(argument));
        arguments
    }

    fn command(&self, run: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_loci");
        let mut command = match self.environment.shell {
            None => Command::new(program),
            Some(shell) => {
                let mut command = Command::new("bash");
                let line = shell.replace("LOCI", "\"$0\" \"$@\"");
                command.arg("-c").arg(line).arg(program);
                command
            }
        };
        let home = self.path().join("home");
        command
            .args(self.arguments(run))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SCENE", self.path())
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("TMPDIR", self.path().join("temporary"))
            .env("LOCI_PALACE", self.path().join("palace"))
            .envs(self.environment.variables.iter().cloned())
            .current_dir(
                self.environment
                    .directory
                    .map_or(self.path(), PathBuf::from),
            )
            .stdin(std::fs::File::open(self.path().join("messages")).unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in &self.environment.unset {
            command.env_remove(name);
        }
        command
    }

    /// Runs every command, and compares how each ends.
    fn run_every_command(&self) {
        let mut wrong = Vec::new();
        for (run, code) in RUNS {
            let name = run.split(' ').next().unwrap();
            let here = self
                .environment
                .otherwise
                .iter()
                .find(|(command, _)| *command == name);
            let expected = here.map_or(*code, |(_, code)| *code);
            let (status, stdout, stderr) = self.finished(run);
            if status.code() != Some(expected) || stderr.contains("panicked") {
                wrong.push(format!("{run}: {status}, not {expected}\n{stdout}{stderr}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Runs a command to its end. One that goes on is ended by a signal once it says that it is ready.
    fn finished(&self, run: &str) -> (ExitStatus, String, String) {
        let is_silent = self
            .environment
            .shell
            .is_some_and(|shell| shell.contains(">&-"));
        let run = match run {
            "watch @/notes" if is_silent => "watch @/missing",
            run => run,
        };
        let mut child = self.command(run).spawn().unwrap();
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let id = child.id().to_string();
        let waits = run.starts_with("watch");
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            let mut stdout = BufReader::new(stdout);
            if waits && stdout.read_line(&mut text).unwrap_or_default() > 0 {
                let _ = Command::new("kill").args(["-TERM", &id]).status();
            }
            let mut rest = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stdout, &mut rest);
            text + &String::from_utf8_lossy(&rest)
        });
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stderr, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let since = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if since.elapsed() > DEADLINE {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("`{run}` did not end: {}", errors.join().unwrap());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        (status, reader.join().unwrap(), errors.join().unwrap())
    }
}

/// The commands that a help text lists: between usage and options, by groups or in one list.
fn listed(dir: &Dir, command: &[&str]) -> Vec<String> {
    let help = dir.run(&[command, &["--help"]].concat()).ok().stdout;
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let is_command = |line: &&str| {
        let name = line.strip_prefix("  ").unwrap_or_default();
        name.starts_with(|letter: char| letter.is_ascii_lowercase())
    };
    lines
        .take_while(|line| !line.starts_with("Options"))
        .filter(is_command)
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_is_run_in_every_environment() {
    let dir = Dir::new();
    let mut commands = BTreeSet::new();
    for name in listed(&dir, &[]) {
        let below = listed(&dir, &[&name]);
        if below.is_empty() {
            commands.insert(name);
        } else {
            commands.extend(below.iter().map(|inner| format!("{name} {inner}")));
        }
    }
    for command in &commands {
        let is_run = RUNS
            .iter()
            .any(|(run, _)| format!("{run} ").starts_with(&format!("{command} ")));
        assert!(is_run, "`{command}` is not among the commands that are run");
    }
    assert!(commands.len() > 40, "{commands:?}");
}

#[test]
fn a_plain_environment_gives_the_expected_exit_codes() {
    Scene::new(Environment::default()).run_every_command();
}

#[test]
fn every_command_works_where_no_path_is_utf_8() {
    Scene::new(Environment {
        name: Some(b"odd \xff?%#\xc3"),
        // A configuration file is text: it can name no such palace. Nothing is written.
        otherwise: vec![("connect", 2)],
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn every_command_works_before_1970() {
    Scene::new(Environment {
        variables: vec![("LOCI_TEST_NOW", "-86400".into())],
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn every_command_works_at_the_end_of_9999() {
    Scene::new(Environment {
        variables: vec![("LOCI_TEST_NOW", "253402300799".into())],
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn every_command_works_without_a_home() {
    Scene::new(Environment {
        unset: vec!["HOME"],
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
#[cfg(target_os = "linux")]
fn every_command_works_in_a_directory_that_cannot_be_written() {
    Scene::new(Environment {
        directory: Some("/proc"),
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn every_command_works_in_a_directory_that_was_removed() {
    Scene::new(Environment {
        shell: Some(
            "mkdir -p \"$SCENE/gone\" && cd \"$SCENE/gone\" && rmdir \"$SCENE/gone\" && exec LOCI",
        ),
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn every_command_works_with_a_nonsense_locale_and_time_zone() {
    Scene::new(Environment {
        variables: vec![
            ("TZ", OsStr::from_bytes(b"No/Such:\xff/../Zone").to_owned()),
            ("LC_ALL", "C".into()),
            ("LANG", OsStr::from_bytes(b"xx_\xff").to_owned()),
            ("COLUMNS", "0".into()),
            ("TERM", OsStr::from_bytes(b"\xff").to_owned()),
        ],
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn every_command_ends_with_all_streams_closed() {
    Scene::new(Environment {
        shell: Some("exec LOCI <&- >&- 2>&-"),
        // It cannot say that it is ready, so that it is given nothing to watch.
        otherwise: vec![("watch", 2)],
        ..Environment::default()
    })
    .run_every_command();
}

#[test]
fn arguments_and_variables_that_are_not_utf_8_are_errors_and_no_panics() {
    let dir = Dir::new();
    let odd = OsStr::from_bytes(b"\xff");
    for (arguments, code) in [
        (vec![OsStr::new("add"), odd], 64),
        (vec![odd], 64),
        (
            vec![
                OsStr::new("add"),
                OsStr::new("x"),
                OsStr::new("--wing"),
                odd,
            ],
            64,
        ),
        (vec![OsStr::new("get"), odd], 64),
    ] {
        let ran = dir.command().args(&arguments).output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}: {ran:?}");
    }
    for variable in ["LOCI_BACKEND", "LOCI_EMBEDDER"] {
        let ran = dir
            .command()
            .args(["add", "x", "--json"])
            .env(variable, odd)
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        let error: Value = serde_json::from_slice(&ran.stderr).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(variable) && message.contains("`\\xff`"),
            "{message}"
        );
    }
    assert!(!dir.palace().exists());
}
