//! Unusual times: file times, dates, and wrong clocks if `faketime` is installed.

use std::collections::BTreeSet;
use std::fs::{File, FileTimes};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};
use serde_json::json;

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::home::{Home, answer};
use crate::torture::process::{HANGS, Started};
use crate::torture::round::Round;
use crate::torture::texts;

pub(super) const ATTACK: Attack = Attack {
    name: "clock",
    checks: "file times and dates far in the past and future, wrong clocks if faketime is \
             installed; ids are unique, the order of writing is kept, mining notices every change, \
             verify --deep finds nothing",
    weight: 1,
    round,
};

/// Seconds relative to now, for file times and clocks.
const JUMPS: [i64; 8] = [
    0,
    -1,
    3_600,
    -86_400,
    -1_500_000_000,
    315_360_000,
    -315_360_000,
    3_000_000_000,
];

const DATES: [&str; 10] = [
    "9999-12-31",
    "0001-01-01",
    "-0044-03-15",
    "2026-02-30",
    "1970-01-01T00:00:00Z",
    "99999-01-01",
    "2026-13-45T99:99:99Z",
    "tomorrow",
    "",
    "٢٠٢٦-٠١-٠١",
];

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let home = round.home.clone();
    let mut known = round.context.fill(home.palace(), 20)?;
    let faketime = has_faketime();
    if !faketime {
        round.skip("wrong clocks: `faketime` is not installed");
    }
    let tree = home.path("tree");
    std::fs::create_dir_all(&tree)?;
    let mut written = Vec::new();
    let mut ids = BTreeSet::new();
    for n in 1.. {
        if round.is_over() {
            break;
        }
        // A drawer with an unusual date, and one whose id Loci generates.
        let id = format!("dated-{n}");
        let date = *round.random.choice(&DATES).unwrap_or(&"");
        let metadata = json!({"date": date}).to_string();
        let arguments = [
            "add",
            &texts::text(&id),
            "--id",
            &id,
            "--metadata",
            &metadata,
        ];
        add(&home, faketime, round.random.choice(&JUMPS), &arguments)?;
        known.insert(id.clone(), texts::text(&id));
        written.push(id);
        let text = texts::text(&format!("made-{n}"));
        let answer = add(
            &home,
            faketime,
            round.random.choice(&JUMPS),
            &["add", &text],
        )?;
        let made = answer["id"].as_str().context("no id")?.to_owned();
        ensure!(ids.insert(made.clone()), "id `{made}` was generated twice");
        known.insert(made.clone(), text);
        written.push(made);
        // The file changes and keeps its size. Its time jumps or stays.
        let path = tree.join("f.md");
        let before = std::fs::metadata(&path).and_then(|data| data.modified());
        let version = 1_000 + n;
        std::fs::write(&path, texts::document("f", version, 3, 30))?;
        let jump = round.random.choice(&JUMPS).copied().unwrap_or(0);
        let time = match (round.random.u32(..3), before) {
            (0, Ok(before)) => before,
            _ => shifted(jump),
        };
        let times = FileTimes::new().set_modified(time).set_accessed(time);
        File::options().write(true).open(&path)?.set_times(times)?;
        home.json(&["mine", &tree.display().to_string()])?;
        let contents = Contents::of(&home)?;
        let expected: Vec<String> = (0..3).map(|part| texts::mark("f", version, part)).collect();
        ensure!(
            contents.marks(&path.display().to_string()) == expected,
            "mining did not notice a change of a file whose time is {time:?}"
        );
        contents.must_hold(&known, &texts::numbered("none", 0))?;
        let order: Vec<&String> = contents
            .order
            .iter()
            .filter(|id| written.contains(id))
            .collect();
        ensure!(
            order.into_iter().eq(written.iter()),
            "drawers are not listed in the order in which they were added"
        );
        round.tally.tries += 1;
    }
    home.verify(true)
}

fn shifted(seconds: i64) -> SystemTime {
    let now = SystemTime::now();
    let by = Duration::from_secs(seconds.unsigned_abs());
    let shifted = if seconds < 0 {
        now.checked_sub(by)
    } else {
        now.checked_add(by)
    };
    shifted.unwrap_or(now)
}

fn add(
    home: &Home,
    faketime: bool,
    jump: Option<&i64>,
    arguments: &[&str],
) -> anyhow::Result<serde_json::Value> {
    if !faketime {
        return home.json(arguments);
    }
    // faketime reads a number without a sign as a date.
    let jump = format!("{:+}s", jump.copied().unwrap_or(0));
    let line = "exec faketime -f \"$JUMP\" \"$@\"";
    let mut command = home.shell(line, &[arguments, &["--json"]].concat());
    command.env("JUMP", jump);
    answer(arguments, &Started::new(&mut command, None)?.finish(HANGS)?)
}

fn has_faketime() -> bool {
    let mut command = Command::new("faketime");
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
