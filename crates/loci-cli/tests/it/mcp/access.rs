//! Who may use a server over HTTP: a token is always asked for, its file is its user's alone, and
//! `--no-auth` is for loopback addresses.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::server::Server;
use crate::support::{Dir, wait_until};

/// Longer than the shortest token, and of no use anywhere.
const TOKEN: &str = "not-a-secret-0123456789";

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o777
}

/// The servers that `loci doctor` finds.
fn listed(dir: &Dir) -> Vec<Value> {
    let ran = dir.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    report["servers"].as_array().unwrap().clone()
}

fn end(server: &mut Server) {
    let pid = server.child.id().to_string();
    let asked = Command::new("kill").args(["-s", "TERM", &pid]).status();
    assert!(asked.unwrap().success());
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn a_token_is_generated_and_asked_of_every_client() {
    let dir = Dir::new();
    let mut server = Server::start(&dir, &[]);
    let token = server.token.take().unwrap();
    assert!(token.len() >= 43, "256 bits: {} letters", token.len());
    let refused = server.greet(&[]);
    assert_eq!(refused.status, 401, "{}", refused.body);
    assert!(
        refused.head.contains("www-authenticate: bearer"),
        "{}",
        refused.head
    );
    for wrong in ["Bearer ", "Bearer 0123456789abcdef0123456789abcdef"] {
        assert_eq!(server.greet(&[("Authorization", wrong)]).status, 401);
    }
    for method in ["GET", "DELETE", "OPTIONS"] {
        assert_eq!(server.send(method, "/mcp", &[], "").status, 401, "{method}");
    }
    let health = server.send("GET", "/healthz", &[], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok"));
    let bearer = format!("Bearer {token}");
    assert_eq!(server.greet(&[("Authorization", &bearer)]).status, 200);
    let other = Server::start(&dir, &[]);
    assert_ne!(other.token.as_deref(), Some(token.as_str()));
}

#[test]
fn a_token_may_be_given_by_flag_variable_or_file_and_a_flag_is_warned_about() {
    let dir = Dir::new();
    let file = dir.write("token", format!("{TOKEN}\n"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    for (arguments, variable) in [
        (vec!["--token", TOKEN], None),
        (vec!["--token-file", file], None),
        (vec![], Some(TOKEN)),
    ] {
        let mut command = dir.command();
        command.envs(variable.map(|token| ("LOCI_MCP_TOKEN", token)));
        let mut server = Server::spawn(command, &arguments);
        assert_eq!(server.token.as_deref(), Some(TOKEN), "{arguments:?}");
        assert_eq!(server.greet(&[]).status, 200);
        end(&mut server);
        let is_flag = arguments.contains(&"--token");
        assert_eq!(server.rest().contains("process list"), is_flag);
        let command_line = std::fs::read(format!("/proc/{}/cmdline", server.child.id()));
        assert!(command_line.is_err() || is_flag);
    }
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let shared = dir.error(2, &["mcp", "--http", "0", "--token-file", file]);
    assert!(shared.to_string().contains("chmod 600"), "{shared}");
    let short = dir.error(2, &["mcp", "--http", "0", "--token", "short"]);
    assert!(short.to_string().contains("too short"), "{short}");
    assert!(!short.to_string().contains("`short`"), "{short}");
    assert_eq!(dir.run(&["mcp", "--http", "nowhere"]).code, 64);
}

#[test]
fn no_auth_serves_loopback_and_is_refused_for_other_addresses_and_beside_a_token() {
    let dir = Dir::new();
    let mut server = Server::start(&dir, &["--no-auth"]);
    assert_eq!(server.token, None);
    assert!(server.notes.contains("no token is required"));
    assert_eq!(server.greet(&[]).status, 200);
    let servers = listed(&dir);
    assert_eq!(servers[0]["auth"], "none", "{servers:?}");
    assert_eq!(servers[0]["state"], "answers", "{servers:?}");
    let report = dir.json(1, &["doctor"]);
    let codes = report["findings"].to_string();
    assert!(codes.contains("server_without_token"), "{codes}");
    end(&mut server);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = dir.error(2, &["mcp", "--http", address, "--no-auth"]);
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("loopback"), "{message}");
    }
    let both = ["mcp", "--http", "--no-auth", "--token", TOKEN];
    assert_eq!(dir.run(&both).code, 64);
    let mut command = dir.command();
    command.args(["mcp", "--http", "0", "--no-auth"]);
    let refused = command.env("LOCI_MCP_TOKEN", TOKEN).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("contradicts") && !said.contains(TOKEN),
        "{said}"
    );
}

#[test]
fn the_token_is_in_a_file_of_its_user_alone_and_nowhere_else() {
    let dir = Dir::new();
    let runtime = dir.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = dir.command();
    command
        .env("XDG_RUNTIME_DIR", &runtime)
        .env("LOCI_LOG", "trace");
    let mut server = Server::spawn(command, &[]);
    let (file, token) = (server.file(), server.token.clone().unwrap());
    assert_eq!(file.parent(), Some(runtime.join("loci").as_path()));
    assert_eq!((mode(file.parent().unwrap()), mode(&file)), (0o700, 0o600));
    let record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(record["pid"], server.child.id());
    assert_eq!(record["url"], format!("http://{}/mcp", server.address));
    assert_eq!(server.greet(&[]).status, 200);
    assert_eq!(
        server.greet(&[("Authorization", "Bearer wrong")]).status,
        401
    );
    let command_line = std::fs::read(format!("/proc/{}/cmdline", server.child.id())).unwrap();
    assert!(!String::from_utf8_lossy(&command_line).contains(&token));
    let mut doctor = dir.command();
    let doctor = doctor.arg("doctor").env("XDG_RUNTIME_DIR", &runtime);
    let shown = doctor.output().unwrap();
    let shown = [shown.stdout, shown.stderr].concat();
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains(&server.address), "{shown}");
    assert!(!shown.contains(&token), "{shown}");
    end(&mut server);
    assert!(!server.rest().contains(&token), "the log holds the token");
    assert!(!file.exists(), "an orderly end removes the file");
}

/// Needs root: the client runs as another user.
#[test]
fn another_user_can_neither_read_the_token_nor_use_the_server() {
    let dir = Dir::new();
    if std::fs::metadata(dir.path("home")).unwrap().uid() != 0 {
        println!("SKIPPED: only root can start a client as another user");
        return;
    }
    let runtime = dir.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    for open in [&runtime, runtime.parent().unwrap()] {
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::write(runtime.join("public"), "public").unwrap();
    let mut command = dir.command();
    let server = Server::spawn(
        std::mem::replace(
            command.env("XDG_RUNTIME_DIR", &runtime),
            Command::new("true"),
        ),
        &[],
    );
    let other = |line: &str| {
        let mut command = Command::new("bash");
        command
            .args(["-c", line])
            .current_dir("/")
            .uid(65_534)
            .gid(65_534);
        let output = command.output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let cat = |path: &Path| other(&format!("cat '{}'", path.display()));
    assert_eq!(cat(&runtime.join("public")), (true, "public".into()));
    assert_eq!(cat(&server.file()), (false, String::new()));
    let asked = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{}; printf 'POST /mcp HTTP/1.1\\r\\nHost: localhost\\r\\n\
         Content-Length: 0\\r\\nConnection: close\\r\\n\\r\\n' >&3; head -n 1 <&3",
        server.port()
    );
    let (_, answer) = other(&asked);
    assert!(answer.contains("401"), "{answer}");
}

#[test]
fn two_servers_of_a_palace_have_two_files_and_a_killed_one_is_not_listed() {
    let dir = Dir::new();
    let mut first = Server::start(&dir, &[]);
    let second = Server::start(&dir, &[]);
    assert_ne!(first.file(), second.file());
    assert_eq!(listed(&dir).len(), 2);
    // Another palace has its own.
    let mut other = dir.command();
    other.env("LOCI_PALACE", dir.path("other"));
    let other = Server::spawn(other, &[]);
    assert_eq!(listed(&dir).len(), 2);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(first.file().exists(), "a kill leaves the file");
    let servers = listed(&dir);
    assert_eq!(servers.len(), 1, "{servers:?}");
    assert_eq!(servers[0]["pid"], second.child.id());
    assert_eq!(servers[0]["state"], "answers");
    // The next server at this port replaces the file, and cleans up behind others.
    let third = dir
        .command()
        .args(["mcp", "--http", first.port()])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut third = super::server::Ending(third);
    wait_until("the third server is listed", || listed(&dir).len() == 2);
    let record: Value = serde_json::from_slice(&std::fs::read(first.file()).unwrap()).unwrap();
    assert_eq!(record["pid"], third.0.id());
    third.0.kill().unwrap();
    third.0.wait().unwrap();
    let _fourth = Server::start(&dir, &[]);
    assert!(!first.file().exists(), "the file of a killed server stays");
    assert!(second.file().exists() && other.file().exists());
}

#[test]
fn a_server_whose_token_file_cannot_be_written_does_not_start() {
    let dir = Dir::new();
    std::fs::create_dir_all(dir.path("home/.local/state/loci")).unwrap();
    dir.write("home/.local/state/loci/servers", "a file in the way");
    let refused = dir.error(2, &["mcp", "--http", "0"]);
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("token") && message.contains("servers"),
        "{message}"
    );
}

#[test]
fn a_runtime_directory_that_others_can_write_to_is_not_used() {
    let dir = Dir::new();
    let runtime = dir.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = dir.command();
    command.env("XDG_RUNTIME_DIR", &runtime);
    let server = Server::spawn(command, &[]);
    assert!(server.file().starts_with(dir.path("home")));
    // A client that has another runtime directory finds it all the same.
    assert_eq!(listed(&dir).len(), 1);
}

#[test]
fn a_server_that_hangs_is_reported_and_its_token_goes_to_no_other_program() {
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let pid = server.child.id().to_string();
    let stopped = Command::new("kill").args(["-s", "STOP", &pid]).status();
    assert!(stopped.unwrap().success());
    let report = dir.json(1, &["doctor"]);
    assert_eq!(report["servers"][0]["state"], "silent", "{report}");
    assert!(report["findings"].to_string().contains("server_silent"));
    let file = server.file();
    let port: u16 = server.port().parse().unwrap();
    drop(server);
    assert!(file.exists());
    // Another program takes the port of the killed server.
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    taken.set_nonblocking(true).unwrap();
    assert_eq!(listed(&dir), Vec::<Value>::new());
    let nobody = taken.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn the_protocol_works_with_the_token_of_the_file() {
    let dir = Dir::new();
    let server = Server::start(&dir, &[]);
    let session = server.session();
    let drawers = json!({"drawers": [{"text": "The harbour freezes in January."}]});
    assert_eq!(server.call(&session, "loci_add", &drawers)["added"], 1);
}
