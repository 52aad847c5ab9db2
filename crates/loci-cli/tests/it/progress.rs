//! What takes long shows on a terminal that it is under way, and nowhere else.

use crate::mine::put;
use crate::support::{Dir, Ran};
use crate::terminal::at_terminal;

/// A palace with two runs, so that there is something to undo and to forget.
fn filled() -> Dir {
    let dir = Dir::new();
    for name in ["a", "b", "c"] {
        put(
            &dir,
            &format!("notes/{name}.md"),
            format!("# {name}\n\nThe boiler of {name}.\n"),
        );
        dir.json(0, &["mine", "notes"]);
    }
    dir.json(0, &["backup", "old.backup"]);
    dir
}

/// Each command that may take long, and what its spinner says.
const SLOW: [(&[&str], &str); 10] = [
    (&["verify"], "checking the palace"),
    (&["verify", "--deep"], "checking the palace"),
    (&["repair"], "checking and repairing the palace"),
    (&["export", "all.jsonl"], "exporting the palace"),
    (&["backup", "new.backup"], "copying and checking the palace"),
    (
        &["backup", "--into", "b", "--keep", "2"],
        "copying and checking the palace",
    ),
    (&["sync", "notes"], "looking for files that are gone"),
    (&["undo"], "undoing the run"),
    (
        &["forget", "--source", "notes/a.md", "--yes"],
        "forgetting, and rewriting the palace",
    ),
    (
        &["restore", "old.backup", "--replace"],
        "checking and copying the backup",
    ),
];

#[test]
fn what_takes_long_shows_that_it_is_under_way_and_cleans_up() {
    let dir = filled();
    for (arguments, message) in SLOW {
        let mut command = dir.command();
        command.env("LOCI_TEST_PATIENCE", "0").args(arguments);
        let (code, shown) = at_terminal(command, "");
        assert_eq!(code, 0, "{arguments:?}: {shown}");
        assert!(shown.contains(message), "{arguments:?}: {shown:?}");
        // The line is erased before the answer is printed.
        let after = shown.rsplit(message).next().unwrap();
        assert!(after.contains("\x1b[2K"), "{arguments:?}: {shown:?}");
    }
}

#[test]
fn a_program_that_reads_the_answer_sees_no_progress() {
    let dir = filled();
    for (arguments, message) in SLOW {
        let mut command = dir.command();
        command.env("LOCI_TEST_PATIENCE", "0").args(arguments);
        let ran = Ran::of(&mut command).ok();
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!shown.contains(message), "{arguments:?}: {shown}");
    }
    // Nor with `--json` at a terminal.
    let mut command = dir.command();
    command
        .env("LOCI_TEST_PATIENCE", "0")
        .args(["verify", "--json"]);
    let (code, shown) = at_terminal(command, "");
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("checking"), "{shown}");
}
