//! `loci doctor` without a path: the state of the whole installation. A part that fails becomes a
//! finding, and the other parts are still shown.

use std::path::Path;

use loci_agents::{Home, hooks, wiring};
use loci_palace::{
    Capability, ErrorKind, Palace, PalaceRef, RoundTrip, VerifyReport, path_text, verify,
};
use serde_json::{Value, json};

use super::advice::{self, Findings};
use super::sheet::{self, Section};
use super::{agents, configuration, elsewhere, engine, palace, servers};
use crate::failure::{Exit, Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

pub(super) fn run(deep: bool, session: &Session<'_>) -> Result<Reply> {
    let mut found = Findings::default();
    let chosen = palace::chosen(session, &mut found);
    let path = chosen.as_ref().map(|chosen| &chosen.place);
    let (configuration, files) = configuration::examine(path, &mut found);
    let seen = palace::examine(chosen.as_ref(), session, &mut found);
    let (versions, of_versions) = engine::versions();
    let (index, of_index) = engine::index(seen.status.as_ref(), &mut found);
    let (models, of_models) = engine::models(seen.palace, seen.status.as_ref(), &mut found);
    let open = seen.palace.filter(|_| seen.status.is_some());
    let able = |palace: &&Palace| seen.writable && palace.offers(Capability::SelfTest);
    let (round_trip, of_trip) = round_trip(open.filter(able), &mut found);
    let able = |palace: &&Palace| deep && palace.offers(Capability::Verification);
    let (check, of_check) = check(open.filter(able), session, &mut found);
    let (states, runs) = of_agents(&mut found);
    let of_agents = agents::wiring(
        &states,
        &runs,
        path.and_then(PalaceRef::as_directory),
        &mut found,
    );
    let of_hooks = agents::hooks(&runs, &mut found);
    let (servers, of_servers) = servers::examine(path, &mut found);
    let (others, of_others) = others(&mut found);
    let sections = [
        seen.section,
        of_versions,
        of_index,
        of_models,
        of_trip,
        of_check,
        files,
        of_agents,
        of_hooks,
        of_servers,
        of_others,
    ];
    let findings = found.sorted();
    let text =
        sheet::render(session.printer, &sections) + &advice::render(session.printer, &findings);
    let acts = advice::needs_action(&findings);
    let answer = json!({
        "healthy": !acts,
        "palace": seen.json,
        "versions": versions,
        "index": index,
        "models": models,
        "configuration": configuration,
        "agents": agents::wiring_json(&states)?,
        "hooks": agents::hooks_json(&runs)?,
        "servers": servers,
        "round_trip": round_trip,
        "verify": check,
        "others": others,
        "findings": findings,
    });
    Ok(Reply::new(&answer, text)?.exit_if(acts, Exit::Nothing))
}

fn of_agents(found: &mut Findings) -> (Vec<wiring::AgentState>, Vec<hooks::HookRun>) {
    match Home::of_user() {
        Ok(home) => (wiring::survey(&home), hooks::last_runs(&home)),
        Err(error) => {
            found.failed("agents_unknown", error, "set HOME");
            (Vec::new(), Vec::new())
        }
    }
}

fn round_trip(palace: Option<&Palace>, found: &mut Findings) -> (Value, Section) {
    let mut section = Section::new("round trip");
    let Some(palace) = palace else {
        return (
            json!({"state": "skipped", "done": [], "milliseconds": 0}),
            section,
        );
    };
    let (done, took, trouble) = match palace.round_trip() {
        Ok(RoundTrip {
            done,
            took,
            trouble,
        }) => (done, took, trouble),
        Err(error) => (Vec::new(), std::time::Duration::ZERO, Some(error)),
    };
    let milliseconds = took.as_millis() as u64;
    let Some(error) = trouble else {
        section.line(
            "done",
            format!("a drawer was written, read, found and forgotten in {milliseconds} ms; nothing of it remains"),
        );
        let json = json!({"state": "done", "done": done, "milliseconds": milliseconds});
        return (json, section);
    };
    let busy = error.kind() == ErrorKind::Busy;
    let failure = Failure::from(error);
    let what = failure.message();
    let advice = failure.help(&None);
    if busy {
        let advice = "try again; if it stays busy, end the program that `used by` lists as writing";
        found.warn("round_trip_busy", &what, advice);
    } else {
        let advice = advice.unwrap_or_else(|| "`loci verify --deep` shows what is wrong".into());
        found.wrong("round_trip_failed", &what, advice);
    }
    section.line("failed", &what);
    let state = if busy { "busy" } else { "failed" };
    let json = json!({"state": state, "done": done, "milliseconds": milliseconds, "error": what});
    (json, section)
}

/// The verification of `--deep`.
fn check(palace: Option<&Palace>, session: &Session<'_>, found: &mut Findings) -> (Value, Section) {
    let mut section = Section::new("check");
    let Some(palace) = palace else {
        return (Value::Null, section);
    };
    let working = session.printer.working("recomputing everything");
    let report = palace.verify(&verify::Request { deep: true });
    drop(working);
    match report {
        Ok(report) => {
            let total = report.findings.len() as u64 + report.more;
            let drawers = sheet::count(report.drawers, "drawer");
            if report.ok() {
                section.line("deep", format!("{drawers}: everything is consistent"));
            } else {
                section.line(
                    "deep",
                    format!("{drawers}: {}", sheet::count(total, "finding")),
                );
                let repair = found.to_write("`loci repair` repairs them");
                found.wrong(
                    "verify_failed",
                    format!("{} found by a deep check", sheet::count(total, "finding")),
                    format!("`loci verify --deep` lists them; {repair}"),
                );
            }
            let json = json!({
                "ok": report.ok(),
                "drawers": report.drawers,
                "findings": report.findings,
                "more": report.more,
            });
            (json, section)
        }
        Err(error) => {
            let what = found.failed(
                "verify_failed",
                error,
                "`loci repair` saves everything that is readable",
            );
            (json!({"ok": false, "error": what}), section)
        }
    }
}

/// Palaces of other programs in the usual places.
fn others(found: &mut Findings) -> (Value, Section) {
    let mut section = Section::new("palaces of other programs");
    let summaries = match elsewhere::usual() {
        Ok(summaries) => summaries,
        Err(failure) => {
            found.warn(
                "others_unreadable",
                failure.message(),
                "name one: `loci doctor PATH`",
            );
            Vec::new()
        }
    };
    let mut answers = Vec::new();
    for one in summaries {
        let place = path_text(&one.path);
        let advice = format!(
            "`loci doctor {}` shows the details",
            loci_palace::shell_quoted(&one.path)
        );
        if one.exit != Exit::Done {
            found.warn("other_palace", format!("`{place}`: {}", one.words), advice);
        }
        section.line("found", format!("{place}: {}", one.words));
        answers.push(one.answer);
    }
    (json!(answers), section)
}

/// Checks a palace of Loci that was named by its path: its part of the report, and a verification.
/// Nothing is written.
pub(super) fn of_palace(path: &Path, deep: bool, session: &Session<'_>) -> Result<Reply> {
    let mut found = Findings::default();
    let chosen = palace::Chosen {
        place: PalaceRef::local(path),
        decided_by: "argument",
    };
    let seen = palace::examine(Some(&chosen), session, &mut found);
    let (index, of_index) = engine::index(seen.status.as_ref(), &mut found);
    let (models, of_models) = engine::models(seen.palace, seen.status.as_ref(), &mut found);
    let able = |palace: &Palace| palace.offers(Capability::Verification);
    let opened = seen.status.is_some() && seen.palace.is_some_and(able);
    let report = verified(path, deep, session, opened, &mut found);
    for finding in &report.findings {
        let parts = [&finding.collection, &finding.id];
        let of: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        let what = format!("{} {}: {}", finding.kind, of.join(" "), finding.detail);
        let repair = found.to_write("`loci repair` repairs it");
        found.wrong(finding.kind.as_str(), what, repair);
    }
    if report.more > 0 {
        let what = format!("{} more findings", report.more);
        let repair = found.to_write("`loci repair` repairs them");
        found.wrong("more", what, repair);
    }
    let findings = found.sorted();
    let sections = [seen.section, of_index, of_models];
    let text =
        sheet::render(session.printer, &sections) + &advice::render(session.printer, &findings);
    let acts = advice::needs_action(&findings);
    let answer = json!({
        "kind": loci_palace::ForeignKind::Loci,
        "path": path_text(path),
        "healthy": !acts,
        "drawers": report.drawers,
        "more": report.more,
        "palace": seen.json,
        "index": index,
        "models": models,
        "findings": findings,
    });
    Ok(Reply::new(&answer, text)?.exit_if(acts, Exit::Nothing))
}

/// The report of a verification, which may be possible even if the palace cannot be opened. A
/// palace that can be neither opened nor verified has its finding already.
fn verified(
    path: &Path,
    deep: bool,
    session: &Session<'_>,
    opened: bool,
    found: &mut Findings,
) -> VerifyReport {
    let report = Palace::connect_leniently(PalaceRef::local(path), &session.options(false))
        .and_then(|palace| {
            let report = palace.verify(&verify::Request { deep })?;
            palace.close()?;
            Ok(report)
        });
    report.unwrap_or_else(|error| {
        if opened {
            found.failed(
                "verify_failed",
                error,
                "`loci repair` saves everything that is readable",
            );
        }
        VerifyReport::default()
    })
}
