//! Disconnecting undoes connecting, byte for byte and file for file.

use std::fs;

use super::fixtures::{BARE, FIXTURES};
use super::scene::{AGENTS, Scene};

#[test]
fn disconnecting_gives_every_agent_its_bytes_back() {
    for fixture in FIXTURES {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        let before = scene.picture();
        let changes = scene.connect(&[fixture.agent]);
        assert!(!changes.is_empty(), "{}: {}", fixture.path, fixture.text);
        assert_ne!(scene.picture(), before);
        scene.disconnect();
        assert_eq!(
            scene.picture(),
            before,
            "{}: {}",
            fixture.path,
            fixture.text
        );
    }
}

#[test]
fn files_that_hold_nothing_yet_come_back_as_they_were() {
    for (agent, path) in AGENTS {
        for text in BARE
            .iter()
            .filter(|text| agent != "codex" || !text.contains('{'))
        {
            let scene = Scene::new();
            scene.write(path, text);
            let before = scene.picture();
            scene.connect(&[agent]);
            assert!(
                scene.read(path).contains("my programs/loci"),
                "{path}: {text:?}"
            );
            scene.disconnect();
            assert_eq!(scene.picture(), before, "{path}: {text:?}");
        }
    }
}

#[test]
fn files_and_directories_that_were_made_go_again() {
    for (agent, path) in AGENTS {
        let scene = Scene::new();
        let before = scene.picture();
        scene.connect(&[agent]);
        assert!(scene.path(path).is_file(), "{path}");
        scene.disconnect();
        assert_eq!(scene.picture(), before, "{path}");
    }
}

#[test]
fn a_directory_that_something_else_was_put_into_stays() {
    let scene = Scene::new();
    scene.connect(&["cursor"]);
    scene.write(".cursor/other.json", "{}");
    scene.disconnect();
    assert!(scene.path(".cursor/other.json").is_file());
    assert!(!scene.path(".cursor/mcp.json").exists());
}

#[test]
fn a_second_connect_changes_nothing() {
    for fixture in FIXTURES {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        scene.connect(&[fixture.agent]);
        let after = scene.picture();
        assert!(
            scene.connect(&[fixture.agent]).is_empty(),
            "{}",
            fixture.text
        );
        assert_eq!(scene.picture(), after);
    }
}

#[test]
fn hooks_that_are_added_later_go_with_the_rest() {
    for (agent, path) in AGENTS {
        let scene = Scene::new();
        scene.write(
            path,
            if agent == "codex" {
                "model = \"x\"\n"
            } else {
                "{\n  \"a\": 1\n}\n"
            },
        );
        let before = scene.picture();
        let mut asked = scene.asked(&[agent]);
        asked.hooks = false;
        scene.try_connect(&asked).unwrap();
        scene.connect(&[agent]);
        scene.disconnect();
        assert_eq!(scene.picture(), before, "{agent}");
    }
}

#[test]
fn a_new_program_is_written_in_place_and_the_first_bytes_come_back() {
    for fixture in FIXTURES {
        let scene = Scene::new();
        scene.write(fixture.path, fixture.text);
        let before = scene.picture();
        scene.connect(&[fixture.agent]);
        let mut asked = scene.asked(&[fixture.agent]);
        asked.program = scene.path("new/loci");
        scene.try_connect(&asked).unwrap();
        let files: Vec<_> = scene.picture().into_values().flatten().collect();
        let has = |word: &str| {
            files
                .iter()
                .any(|file| String::from_utf8_lossy(file).contains(word))
        };
        assert!(
            has("new/loci") && !has("my programs/loci"),
            "{}",
            fixture.text
        );
        scene.disconnect();
        assert_eq!(scene.picture(), before, "{}", fixture.text);
    }
}

#[cfg(unix)]
#[test]
fn links_of_a_dotfiles_repository_stay_links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scene = Scene::new();
    let real = scene.write("dotfiles/cursor.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(scene.path(".cursor")).unwrap();
    symlink("../dotfiles/cursor.json", scene.path(".cursor/mcp.json")).unwrap();
    scene.connect(&["cursor"]);
    assert!(scene.path(".cursor/mcp.json").is_symlink());
    assert!(
        scene
            .read("dotfiles/cursor.json")
            .contains("my programs/loci")
    );
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    scene.disconnect();
    assert!(scene.path(".cursor/mcp.json").is_symlink());
    assert_eq!(scene.read("dotfiles/cursor.json"), "{}\n");
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[cfg(unix)]
#[test]
fn backups_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    scene.write(".claude.json", "{\"key\": \"secret\"}");
    scene.connect(&["claude-code"]);
    let wiring = scene.home.state.join("wiring");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&wiring.join("backups")), 0o700);
    for file in fs::read_dir(wiring.join("backups")).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    assert_eq!(mode(&wiring.join("journal.json")), 0o600);
}

#[test]
fn no_backup_is_left_once_everything_is_undone() {
    let scene = Scene::new();
    scene.write(".claude.json", "{\"key\": \"secret\"}");
    scene.connect(&["claude-code"]);
    scene.disconnect();
    let left = fs::read_dir(scene.home.state.join("wiring/backups")).unwrap();
    assert_eq!(left.count(), 0);
}
