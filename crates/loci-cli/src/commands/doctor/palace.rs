//! The palace: the setting that chose it, its content, the processes that use it, and the files
//! that repairs have set aside.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use loci_palace::{
    Capability, Config, Disk, ErrorKind, Palace, PalaceRef, Process, default_palace, disk_of,
    status, users_of, wal_bytes,
};
use serde_json::{Value, json};

use super::advice::Findings;
use super::sheet::{Section, count, size};
use crate::commands::status::backup as in_few_words;
use crate::failure::Failure;
use crate::session::{Session, refuse_foreign};

/// A longer write-ahead log means that a reader holds it; otherwise it is emptied long before.
const LONG_LOG: u64 = 128 << 20;
/// Writes need about this much free space.
const HARDLY_ANY_ROOM: u64 = 32 << 20;

/// The palace that commands use, and the setting that chose it.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) place: PalaceRef,
    pub(super) decided_by: &'static str,
}

/// The result of the check of the palace.
pub(super) struct Seen<'s> {
    /// The palace, if its settings are valid. It is open only if there is a status.
    pub(super) palace: Option<&'s Palace>,
    pub(super) status: Option<status::Answer>,
    /// Whether this process can write to it.
    pub(super) writable: bool,
    pub(super) json: Value,
    pub(super) section: Section,
}

/// The palace that commands use; `None` if the setting that chooses it cannot be read.
pub(super) fn chosen(session: &Session<'_>, findings: &mut Findings) -> Option<Chosen> {
    match session.asked() {
        Ok(Some((place, decided_by))) => return Some(Chosen { place, decided_by }),
        Ok(None) => {}
        Err(error) => {
            findings.failed("palace_refused", error, "name a directory");
            return None;
        }
    }
    let decided_by = match Config::of_user() {
        // The section about the configuration reports it.
        Err(_) => return None,
        Ok(config) if config.palace.is_some() => "config.toml",
        Ok(_) => "default",
    };
    match default_palace() {
        Ok(place) => Some(Chosen { place, decided_by }),
        Err(error) => {
            findings.failed("no_home", error, "set HOME");
            None
        }
    }
}

/// Checks the palace. It creates nothing.
pub(super) fn examine<'s>(
    chosen: Option<&Chosen>,
    session: &'s Session<'_>,
    findings: &mut Findings,
) -> Seen<'s> {
    let mut section = Section::new("palace");
    let Some(chosen) = chosen else {
        section.line("where", "unknown; see the findings");
        return Seen {
            palace: None,
            status: None,
            writable: false,
            json: json!({"path": null, "decided_by": null, "state": "unknown"}),
            section,
        };
    };
    section.line("where", chosen.place.to_string());
    section.line("decided by", decision(chosen.decided_by));
    let opened = open(&chosen.place, session, findings);
    let (state, palace, status) = match opened {
        Opened::Read(palace, status) => (OPEN, Some(palace), Some(*status)),
        Opened::ReadOnly(palace, status) => (READ_ONLY, Some(palace), status.map(|status| *status)),
        Opened::Other(state, palace) => (state, palace, None),
    };
    let directory = chosen.place.as_directory();
    let disk = directory.and_then(disk_of);
    let users = directory.map(users_of).unwrap_or_default();
    let mut json = json!({
        "path": chosen.place.to_string(),
        "decided_by": chosen.decided_by,
        "state": state,
        "disk": disk,
        "users": users,
        "log_bytes": directory.map_or(0, wal_bytes),
    });
    match (&status, palace) {
        (Some(status), Some(palace)) => {
            add_status(&mut json, palace, status);
            lines_of(&mut section, palace, status);
            of_status(status, &chosen.place, findings);
            of_backups(status, palace, findings);
        }
        _ => section.line("state", state.replace('_', " ")),
    }
    if state == READ_ONLY && status.is_some() {
        section.line("state", state.replace('_', " "));
    }
    if let Some(path) = directory {
        let bytes = match &status {
            Some(status) => status.state.bytes,
            None => bytes_of(path),
        };
        lines_around(&mut section, path, bytes, disk, &users);
        of_surroundings(path, bytes, disk, &users, findings);
    }
    Seen {
        writable: state == OPEN,
        palace,
        status,
        json,
        section,
    }
}

/// The states of a palace that can be read.
const OPEN: &str = "open";
const READ_ONLY: &str = "read_only";

enum Opened<'s> {
    Read(&'s Palace, Box<status::Answer>),
    /// It can be opened; with its status, if its backend has one.
    ReadOnly(&'s Palace, Option<Box<status::Answer>>),
    /// It cannot be opened, for this reason.
    Other(&'static str, Option<&'s Palace>),
}

fn open<'s>(place: &PalaceRef, session: &'s Session<'_>, findings: &mut Findings) -> Opened<'s> {
    if let Err(error) = refuse_foreign(place) {
        let advice = "import it, or name another palace with `--palace`";
        findings.wrong("palace_foreign", Failure::from(error).message(), advice);
        return Opened::Other("foreign", None);
    }
    let palace = match Palace::connect_leniently(place, &session.options(false)) {
        Ok(palace) => session.keep(palace),
        Err(error) if place.scheme().is_some() => {
            findings.failed("palace_refused", error, "name a directory");
            return Opened::Other("unreadable", None);
        }
        Err(error) => {
            findings.failed("settings_refused", error, "correct that setting");
            return Opened::Other("unreadable", None);
        }
    };
    let status = if palace.offers(Capability::Status) {
        let status = palace.status(&status::Request::default());
        status.map(|status| Some(Box::new(status)))
    } else {
        palace.collections().map(|_| None)
    };
    match status {
        Ok(status) if read_only(palace, findings) => Opened::ReadOnly(palace, status),
        Ok(Some(status)) => Opened::Read(palace, status),
        Ok(None) => Opened::Other(OPEN, Some(palace)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            findings.note(
                "no_palace",
                format!("there is no palace at `{place}` yet"),
                "nothing, or `loci init`; the first `loci add` or `loci mine` creates it",
            );
            Opened::Other("missing", Some(palace))
        }
        Err(error) => {
            let code = format!("palace_{}", error.code());
            findings.failed(
                &code,
                error,
                "make its directory and files readable and writable for you",
            );
            Opened::Other("unreadable", Some(palace))
        }
    }
}

/// Whether the palace is read-only, and the finding about it: Loci only reads its format, or this
/// process has no permission to write.
fn read_only(palace: &Palace, findings: &mut Findings) -> bool {
    if let Err(error) = palace.require(Capability::Writing) {
        let failure = Failure::from(error);
        let advice = failure.help(&None);
        let advice = advice.unwrap_or_else(|| "nothing; it can be read and searched".into());
        findings.note("palace_read_only", failure.message(), advice);
        return true;
    }
    let Ok(Some(warning)) = palace.read_only() else {
        return false;
    };
    findings.palace_is_read_only();
    findings.warn(
        "palace_read_only",
        warning.message(),
        "run loci as the user who owns the palace, or correct the permissions with `chown` and `chmod`",
    );
    true
}

fn decision(by: &str) -> String {
    match by {
        "default" => "the default".into(),
        "config.toml" => "`palace` in config.toml".into(),
        "argument" => "the PATH argument".into(),
        by => by.into(),
    }
}

fn add_status(json: &mut Value, palace: &Palace, status: &status::Answer) {
    let state = &status.state;
    let more = json!({
        "backend": palace.backend_name(),
        "format": state.format,
        "bytes": state.bytes,
        "seq": state.seq,
        "drawers": status.total,
        "collections": status.collections.iter().map(|of| json!({
            "name": of.info.name,
            "drawers": of.info.count,
            "vectors": of.info.vectors,
        })).collect::<Vec<_>>(),
        "facts": state.facts,
        "links": state.links,
        "damaged_drawers": state.damaged_drawers,
        "damaged_relations": state.damaged_relations,
        "removed_duplicates": state.removed_duplicates,
        "purge_pending": state.purge_pending,
        "set_aside": state.set_aside,
        "last_backup": palace.last_backup(state),
    });
    if let (Value::Object(json), Value::Object(more)) = (json, more) {
        json.extend(more);
    }
}

fn lines_of(section: &mut Section, palace: &Palace, status: &status::Answer) {
    let state = &status.state;
    section.line(
        "holds",
        format!(
            "{} in {}, {}, {}",
            count(status.total, "drawer"),
            count(status.collections.len() as u64, "collection"),
            count(state.facts, "fact"),
            count(state.links, "link"),
        ),
    );
    section.line(
        "format",
        format!("{} of backend {}", state.format, palace.backend_name()),
    );
    if palace.offers(Capability::Backups) {
        section.line(
            "last backup",
            in_few_words(palace.last_backup(state).as_ref()),
        );
    }
}

/// Days after which a backup of a palace that has changed is old.
const OLD_DAYS: u64 = 30;

/// How a backup is made.
const MAKE: &str = "`loci backup --into DIR --keep 7` makes one, for example every day";

/// Advice about backups. It is never more than a note: Loci does not know about copies that other
/// programs make.
fn of_backups(status: &status::Answer, palace: &Palace, findings: &mut Findings) {
    // A reader who cannot write the palace cannot record a backup of it either.
    if status.total == 0 || findings.read_only() || !palace.offers(Capability::Backups) {
        return;
    }
    let Some(last) = palace.last_backup(&status.state) else {
        findings.note("backup_none", "no backup of this palace is recorded", MAKE);
        return;
    };
    if last.missing {
        findings.note(
            "backup_missing",
            format!(
                "the last backup, `{}`, is gone or has another size",
                last.path
            ),
            MAKE,
        );
    } else if last.days >= OLD_DAYS && last.changed_since {
        findings.note(
            "backup_old",
            format!(
                "the last backup is {} old, and the palace has changed since",
                count(last.days, "day")
            ),
            MAKE,
        );
    }
    if last.holds_forgotten && !last.missing {
        findings.note(
            "backup_holds_forgotten",
            format!(
                "texts were forgotten after the last backup, `{}`, which still holds them",
                last.path
            ),
            "make a new backup, and delete that one and older ones if the texts must be gone",
        );
    }
}

fn lines_around(
    section: &mut Section,
    path: &Path,
    bytes: u64,
    disk: Option<Disk>,
    users: &[Process],
) {
    let room = disk.map_or_else(
        || "free disk space unknown".to_owned(),
        |disk| {
            format!(
                "{} of {} free on its disk",
                size(disk.free),
                size(disk.size)
            )
        },
    );
    if !path.exists() {
        section.line("size", format!("nothing yet; {room}"));
        return;
    }
    let log = wal_bytes(path);
    section.line(
        "size",
        format!("{}, {} of it log; {room}", size(bytes), size(log)),
    );
    if users.is_empty() {
        section.line("used by", "no other process");
    }
    for user in users {
        section.line("used by", in_words(user));
    }
}

fn in_words(user: &Process) -> String {
    let name = user.name.as_deref().unwrap_or("a process");
    format!("{name} ({}): {}", user.pid, user.doing.join(", "))
}

/// Bytes of the files directly in the directory of a palace that cannot be opened.
fn bytes_of(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}

fn of_status(status: &status::Answer, place: &PalaceRef, findings: &mut Findings) {
    let state = &status.state;
    if state.purge_pending {
        let advice = findings.to_write(
            "end programs that use it (`used by` lists them) and free disk space; the next command then removes it",
        );
        findings.warn(
            "purge_pending",
            "forgotten text may still be in the files of the palace",
            advice,
        );
    }
    let damaged = state.damaged_drawers + state.damaged_relations;
    if damaged > 0 {
        let advice = findings
            .to_write("restore them from a backup, if you have one; answers leave them out");
        findings.note(
            "damaged_kept",
            format!("{damaged} damaged drawers, facts or links were set aside by a repair"),
            advice,
        );
    }
    if !state.set_aside.is_empty() {
        let some: Vec<&str> = state.set_aside.iter().take(3).map(String::as_str).collect();
        let more = state.set_aside.len().saturating_sub(some.len());
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let advice = findings.to_write(format!("delete them from `{place}` if no data is missing"));
        findings.note(
            "set_aside",
            format!(
                "{} set aside instead of deleted: {}{more}",
                count(state.set_aside.len() as u64, "file"),
                some.join(", ")
            ),
            advice,
        );
    }
}

fn of_surroundings(
    path: &Path,
    bytes: u64,
    disk: Option<Disk>,
    users: &[Process],
    findings: &mut Findings,
) {
    let free = disk.map_or(u64::MAX, |disk| disk.free);
    if free < HARDLY_ANY_ROOM {
        findings.wrong(
            "disk_full",
            format!("only {} are free on the disk of the palace", size(free)),
            "free some space; soon nothing can be written",
        );
    } else if free < bytes {
        findings.warn(
            "disk_low",
            format!(
                "{} are free on its disk, less than the size of the palace",
                size(free)
            ),
            "free some space; `forget`, `repair` and `restore` need room for a second copy of the palace",
        );
    }
    let log = wal_bytes(path);
    if log > LONG_LOG {
        let readers: Vec<String> = users.iter().map(in_words).collect();
        findings.warn(
            "log_long",
            format!(
                "the write-ahead log of the palace has {}; a reader keeps it from shrinking",
                size(log)
            ),
            format!("end long-running readers: {}", readers.join("; ")),
        );
    }
    let database = path.join("palace.sqlite3");
    let open_to = std::fs::metadata(&database).map_or(0, |file| file.permissions().mode() & 0o077);
    if open_to != 0 {
        let advice = findings.to_write(format!(
            "chmod 600 {}",
            loci_palace::shell_quoted(&database)
        ));
        findings.warn(
            "palace_exposed",
            "the database of the palace is open to other users of this machine",
            advice,
        );
    }
}
