//! The verbs `backup` and `backup into`: copy a palace into a file, or into the next file of a
//! series that keeps the newest ones.
//!
//! A copy is made in a hidden directory beside the target and checked there as a restore checks it.
//! Only then does it get its name, and only after that is an older one removed. So no step leaves a
//! file that looks like a backup and is none.

pub mod into;
mod record;
mod series;

use std::path::{Path, PathBuf};

use loci_core::clock::now_ms;
use loci_core::{Capability, Error, PalaceState, Result, Warning, serialize_path};
use loci_files::locked::LockedDirectory;
use loci_files::output;
use loci_files::scratch::Scratch;
use loci_recall::date_of;
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;

pub use self::record::LastBackup;
pub(crate) use self::record::{last_backup, note_forgotten};

/// The beginning of the names of hidden directories. `loci_sqlite`'s list of copies has it too.
const HIDDEN: &str = ".loci-backup-";

/// The target of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The new file, outside the palace.
    pub target: PathBuf,
}

/// The copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Where it is.
    #[serde(serialize_with = "serialize_path")]
    #[schemars(with = "String")]
    pub backup: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was made (RFC 3339).
    pub made_at: String,
    /// Number of its drawers.
    pub drawers: u64,
    /// Whether it was read back and checked as a restore checks it. A copy that fails is removed, so
    /// this is always true.
    pub verified: bool,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

impl Palace {
    /// Writes a consistent copy to a new file, checks it, and records that it was made.
    pub fn backup(&self, request: &Request) -> Result<Answer> {
        self.require(Capability::Backups)?;
        self.refuse_inside(&request.target)?;
        output::refuse_inside_a_palace(&request.target)?;
        let folder = output::folder_of_new(&request.target)?;
        let state = self.backend.state(&self.reference)?;
        let made = self.checked_copy(&folder, HIDDEN, &state)?;
        let target = &request.target;
        made.publish(|copy| {
            output::without_replacing(copy, target).map_err(|error| {
                if error.kind() == std::io::ErrorKind::AlreadyExists {
                    return Error::Conflict {
                        what: format!("`{}` already exists", target.display()),
                    };
                }
                Error::io("cannot create", target, error)
            })?;
            Ok(target.clone())
        })
        .map(|answer| self.recorded(answer, &state))
    }

    /// A complete and checked copy of the palace in a hidden directory of `folder`.
    fn checked_copy(&self, folder: &Path, prefix: &str, state: &PalaceState) -> Result<Checked> {
        let directory = LockedDirectory::create(folder, prefix).map_err(|error| match error {
            Error::Io { source, .. } => Error::io("cannot write to the folder", folder, source),
            other => other,
        })?;
        let scratch = Scratch::register(directory.path());
        let copy = directory.path().join("copy");
        let bytes = self.backend.backup(&self.reference, &copy)?;
        let made_at = now_ms();
        // SQLite may have written what a failing disk does not give back. The copy is read again
        // before anything depends on it.
        let contents = self.backend.check_backup(&self.reference, &copy, true)?;
        if contents.identity != state.identity {
            return Err(Error::Conflict {
                what: "another palace took the place of this one while it was copied".into(),
            });
        }
        Ok(Checked {
            directory,
            _scratch: scratch,
            copy,
            bytes,
            made_at,
            drawers: contents.drawers,
            damaged: contents.damaged,
        })
    }

    /// Records a backup that has its name.
    fn recorded(&self, mut answer: Published, state: &PalaceState) -> Answer {
        if let Err(error) = record::write(self, &answer, state) {
            answer.answer.warnings.push(Warning::BackupNotRecorded {
                problem: error.to_string(),
            });
        }
        answer.answer
    }
}

/// A copy without a name, which was read back and checked.
struct Checked {
    directory: LockedDirectory,
    _scratch: Scratch,
    copy: PathBuf,
    bytes: u64,
    made_at: i64,
    drawers: u64,
    damaged: u64,
}

/// A backup that has its name, in milliseconds since 1970.
struct Published {
    answer: Answer,
    made_at: i64,
    damaged: u64,
}

impl Checked {
    /// Gives the copy its name with `rename`, which returns it, and makes the name durable.
    fn publish(self, rename: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<Published> {
        let backup = rename(&self.copy)?;
        loci_files::sync_parent(&backup)
            .map_err(|source| Error::io("cannot sync the folder of", &backup, source))?;
        let warnings = (self.damaged > 0).then_some(Warning::BackupDamaged {
            records: self.damaged,
        });
        // A crash before this line leaves an empty hidden directory, which the next backup into the
        // folder removes.
        drop(self.directory);
        Ok(Published {
            answer: Answer {
                backup,
                bytes: self.bytes,
                made_at: date_of(self.made_at),
                drawers: self.drawers,
                verified: true,
                warnings: warnings.into_iter().collect(),
            },
            made_at: self.made_at,
            damaged: self.damaged,
        })
    }
}
