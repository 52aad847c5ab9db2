//! Measures the wake-up text on invented projects.
//!
//! A project has files, conversations, notes, diary entries and facts. It also lists the
//! statements that the text should contain, with weights, and the passages that it must not contain.
//! Each project fills a real palace: files and transcripts are mined, notes are added.
//!
//! Files up to 30 with odd numbers are for tuning. The others are only measured.

mod project;
mod report;

use std::path::{Path, PathBuf};

use loci_palace::{Error, OpenOptions, Palace, Result, wake_up};

use crate::details::Details;
use crate::run::Progress;
use crate::store::PalacesDir;

use project::Project;
pub use report::{WakeUpFigures, WakeUpReport, WakeUpRow};

/// Measures the projects of a directory, one for each file `NN.json`. `details` is a file to write,
/// with one line of JSON per project ([`WakeUpRow`]).
pub fn measure_wake_up(
    directory: &Path,
    details: Option<&Path>,
    progress: &mut dyn FnMut(Progress),
) -> Result<WakeUpReport> {
    let files = files_of(directory)?;
    let place = PalacesDir::new(None)?;
    let mut details = Details::create(details)?;
    let mut rows = Vec::new();
    for (at, (number, file)) in files.iter().enumerate() {
        let project = Project::read(file)?;
        let row = measured(*number, &project, &place.palace(at, &project.name))?;
        progress(Progress {
            palace: project.name.clone(),
            done: at + 1,
            total: files.len(),
        });
        details.write_line(&row)?;
        rows.push(row);
    }
    details.finish()?;
    Ok(report::report(&rows))
}

/// The files with a number as their name, in the order of the numbers.
fn files_of(directory: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let fail = |source| Error::io("cannot read", directory, source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        if let Some(number) = stem.filter(|_| is_json).and_then(|stem| stem.parse().ok()) {
            files.push((number, path));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::invalid(
            format!("directory `{}`", directory.display()),
            "has no file such as `01.json`",
        ));
    }
    Ok(files)
}

fn measured(number: u32, project: &Project, place: &Path) -> Result<WakeUpRow> {
    let palace = Palace::open(place.join("palace"), &OpenOptions::create())?;
    project.fill(&palace, place)?;
    let (answer, cpu_ms) = crate::clock::timed(|| {
        palace.wake_up(&wake_up::Request {
            wing: Some(project.name.clone()),
            agent: Some(project::AGENT.to_owned()),
            budget: 0,
        })
    });
    let answer = answer?;
    palace.close()?;
    std::fs::remove_dir_all(place).map_err(|source| Error::io("cannot remove", place, source))?;
    let is_included = |words: &String| answer.text.contains(words.as_str());
    let mut row = WakeUpRow {
        number,
        name: project.name.clone(),
        tokens: answer.tokens,
        cpu_ms,
        ..WakeUpRow::default()
    };
    for item in &project.expected {
        row.weight += item.weight;
        if item.any_of.iter().any(is_included) {
            row.included_weight += item.weight;
        } else {
            row.missed.push(item.what.clone());
        }
    }
    let forbidden = project.forbidden.iter();
    let forbidden = forbidden.filter(|item| is_included(&item.substring));
    row.forbidden = forbidden.map(|item| item.substring.clone()).collect();
    row.text = answer.text;
    Ok(row)
}
