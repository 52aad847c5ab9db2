//! Writers that run until a deadline, for attacks on running processes.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::home::Home;
use super::process::{HANGS, short};
use super::round::{Drawers, Round};
use super::server::{Reply, Server};
use super::texts;

/// The most writes of a writer. It bounds the loops even if the clock is wrong.
const MOST: usize = 4_000;

/// What a writer did.
#[derive(Default)]
pub(super) struct Work {
    pub(super) writes: Vec<Write>,
    /// Messages of errors that an attack may allow.
    pub(super) refusals: Vec<String>,
    /// Problems that no attack allows.
    pub(super) problems: Vec<String>,
    /// Signals that servers died of.
    pub(super) deaths: Vec<i32>,
}

pub(super) struct Write {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) began: Instant,
    pub(super) acknowledged: bool,
}

impl Work {
    fn write(&mut self, prefix: &str) -> Write {
        let id = format!("{prefix}-{}", self.writes.len());
        Write {
            text: texts::text(&id),
            id,
            began: Instant::now(),
            acknowledged: false,
        }
    }

    pub(super) fn merge(works: Vec<Self>) -> Self {
        let mut all = Self::default();
        for work in works {
            all.writes.extend(work.writes);
            all.refusals.extend(work.refusals);
            all.problems.extend(work.problems);
            all.deaths.extend(work.deaths);
        }
        all
    }

    /// The writes that were acknowledged, and those that were not but may be in the palace.
    pub(super) fn drawers(&self) -> (Drawers, Drawers) {
        let (yes, no): (Vec<&Write>, Vec<&Write>) =
            self.writes.iter().partition(|write| write.acknowledged);
        let drawers = |writes: Vec<&Write>| {
            let pairs = writes.into_iter();
            pairs
                .map(|write| (write.id.clone(), write.text.clone()))
                .collect()
        };
        (drawers(yes), drawers(no))
    }

    /// Counts the problems as failures, and also the refusals unless they are allowed.
    pub(super) fn report(&mut self, round: &mut Round<'_>, refusals_are_allowed: bool) {
        for problem in self.problems.drain(..) {
            round.fail(problem);
        }
        for refusal in self.refusals.drain(..) {
            if refusals_are_allowed {
                round.note("writes refused with an error");
            } else {
                round.fail(format!("a write was refused: {refusal}"));
            }
        }
    }
}

/// Adds drawers with one process each. One process in `kills` is killed within 30 ms.
pub(super) fn commands(home: &Home, prefix: &str, until: Instant, kills: Option<u32>) -> Work {
    let mut work = Work::default();
    let mut random = fastrand::Rng::with_seed(prefix.len() as u64);
    while Instant::now() < until && work.writes.len() < MOST {
        let mut write = work.write(prefix);
        let started = home.start(&["add", &write.text, "--id", &write.id, "--json"]);
        let is_killed = kills.is_some_and(|kills| random.u32(..kills) == 0);
        let ran = started.and_then(|started| {
            if is_killed {
                started.kill_after(Duration::from_micros(random.u64(..30_000)))
            } else {
                started.finish(HANGS)
            }
        });
        match ran {
            Err(error) => work.problems.push(format!("{error:#}")),
            Ok(ran) if ran.code == Some(0) => write.acknowledged = true,
            Ok(ran) if is_killed && ran.signal == Some(9) => {}
            Ok(ran) => match ran.violation() {
                Some(what) if ran.signal.is_some() => {
                    work.deaths.extend(ran.signal);
                    drop(what);
                }
                Some(what) => work.problems.push(format!("`loci add` {what}")),
                None => work.refusals.push(short(&ran.stderr)),
            },
        }
        work.writes.push(write);
    }
    work
}

/// Adds drawers through one server. With `mine`, every fourth call mines that path.
pub(super) fn server(home: &Home, prefix: &str, until: Instant, mine: Option<&str>) -> Work {
    let mut work = Work::default();
    let allowed: Vec<&str> = mine
        .into_iter()
        .flat_map(|path| ["--allow-mine", path])
        .collect();
    let mut server = match Server::start_with(home, "full", &allowed) {
        Ok(server) => server,
        Err(error) => {
            work.problems.push(format!("{error:#}"));
            return work;
        }
    };
    let mut calls = 0;
    while Instant::now() < until && work.writes.len() < MOST {
        calls += 1;
        if let Some(path) = mine
            && calls % 4 == 0
        {
            match server.call("loci_mine", &json!({"path": path}), HANGS) {
                Reply::Done(_) => {}
                Reply::Refused(why) => work.refusals.push(why),
                Reply::Gone => break,
                Reply::Silent => {
                    work.problems.push("`loci_mine` gave no answer".into());
                    break;
                }
            }
        }
        let mut write = work.write(prefix);
        let reply = server.add(&write.id, &write.text);
        let goes_on = match &reply {
            Reply::Done(answer) => {
                write.acknowledged = answer["added"] == 1;
                true
            }
            Reply::Refused(why) => {
                work.refusals.push(why.clone());
                // A server that refuses at once would otherwise get thousands of calls.
                std::thread::sleep(Duration::from_millis(20));
                true
            }
            Reply::Gone => false,
            Reply::Silent => {
                work.problems.push("`loci_add` gave no answer".into());
                false
            }
        };
        work.writes.push(write);
        if !goes_on {
            break;
        }
    }
    let is_gone = matches!(server.wait(Duration::ZERO), Ok(Some(_)));
    match server.close() {
        Err(error) => work.problems.push(format!("{error:#}")),
        Ok(None) => {
            let problem = "the server did not end when its client disconnected";
            work.problems.push(problem.into());
        }
        Ok(Some(status)) => match status.signal() {
            Some(signal) => work.deaths.push(signal),
            None if is_gone || !status.success() => {
                work.problems.push(format!("the server ended: {status}"));
            }
            None => {}
        },
    }
    work
}
