//! Finds the processes that keep a purge from being completed: those that have the database open
//! and may read an older state.

use loci_core::PurgePending;

use crate::store::palace_files::PalaceFiles;

/// The purge is incomplete because a process reads an older state.
pub(super) fn readers(place: &PalaceFiles) -> PurgePending {
    PurgePending::Readers {
        processes: processes_with(place),
    }
}

/// Other processes that have the database open. Empty where the system does not provide `/proc`.
fn processes_with(place: &PalaceFiles) -> Vec<u32> {
    let Ok(database) = place.database.canonicalize() else {
        return Vec::new();
    };
    let own = std::process::id();
    let mut processes: Vec<u32> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| *process != own)
        .filter(|process| {
            let descriptors = std::fs::read_dir(format!("/proc/{process}/fd"));
            descriptors.into_iter().flatten().flatten().any(|entry| {
                std::fs::read_link(entry.path()).is_ok_and(|target| target == database)
            })
        })
        .collect();
    processes.sort_unstable();
    processes
}
