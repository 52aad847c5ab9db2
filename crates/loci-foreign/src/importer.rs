//! What is known about a program: how its stores are recognised and opened, and where they usually
//! are. Each program has one [`Importer`] in its own file; `importers.rs` lists them.

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use crate::importers::Kind;
use crate::palace::ForeignPalace;
use crate::recognise::Recognised;

/// How the stores of one program are recognised and opened.
pub(crate) struct Importer {
    /// The program that owns the stores.
    pub(crate) program: &'static str,
    /// Another word that `loci import` accepts, for a program with several kinds of stores. Its
    /// files decide which.
    pub(crate) family: Option<&'static str>,
    /// The file or content that identifies a store, for the error "there is no …".
    pub(crate) mark: &'static str,
    /// By what a store is recognised.
    pub(crate) signs: Signs,
    /// Opens a store; `None` if another crate reads it.
    pub(crate) open: Option<Open>,
    /// Where the program keeps its stores by default.
    pub(crate) usual_places: Places,
}

/// Opens the store at a path.
pub(crate) type Open = fn(&Path) -> Result<Box<dyn ForeignPalace>>;

/// By what a store is recognised. Nothing is opened except the beginning of a file.
pub(crate) struct Signs {
    /// Names of files of which a store has at least one.
    pub(crate) files: &'static [&'static str],
    /// Whether that file is the store; otherwise the directory around it is.
    pub(crate) is_file: bool,
    /// Whether a directory without these files is a store.
    pub(crate) directory: fn(&Path) -> bool,
    /// Whether a file of another name is a store, by its path and first bytes.
    pub(crate) content: fn(&Path, &[u8]) -> bool,
    /// The program that wrote the store in a directory, if it is not the one that owns the format.
    pub(crate) writer: fn(&Path) -> Option<&'static str>,
}

impl Signs {
    /// No sign at all, for the fields that a program does not need.
    pub(crate) const NONE: Self = Self {
        files: &[],
        is_file: false,
        directory: |_| false,
        content: |_, _| false,
        writer: |_| None,
    };
}

/// Where a program keeps its stores by default.
pub(crate) struct Places {
    /// Environment variables that name a store.
    pub(crate) variables: &'static [&'static str],
    /// Its own directories in the home directory.
    pub(crate) home: &'static [&'static str],
    /// Directories in the home directory that several programs use. They come after all others
    /// there.
    pub(crate) shared_home: &'static [&'static str],
    /// Directories in the directory for configuration.
    pub(crate) configuration: &'static [&'static str],
    /// The store that the program's own configuration in a directory names.
    pub(crate) configured: fn(&Path) -> Option<PathBuf>,
}

impl Places {
    /// No usual place.
    pub(crate) const NONE: Self = Self {
        variables: &[],
        home: &[],
        shared_home: &[],
        configuration: &[],
        configured: |_| None,
    };
}

impl Kind {
    /// The program that owns a store of this kind.
    pub fn program(self) -> &'static str {
        self.importer().program
    }

    /// The name of the program for `loci import`, if it has several kinds of stores.
    pub fn family(self) -> Option<&'static str> {
        self.importer().family
    }

    /// The file or content that identifies this kind.
    pub fn mark(self) -> &'static str {
        self.importer().mark
    }

    /// Whether [`crate::open`] reads stores of this kind. Loci's own formats are read elsewhere.
    pub fn is_foreign(self) -> bool {
        self.importer().open.is_some()
    }

    /// The programs whose stores are known, other programs first.
    pub fn programs() -> Vec<&'static str> {
        let (foreign, own): (Vec<Self>, Vec<Self>) =
            Self::ALL.iter().partition(|kind| kind.is_foreign());
        foreign.into_iter().chain(own).map(Self::program).collect()
    }

    /// The error for a path that holds no store of this kind.
    pub(crate) fn not_at(self, path: &Path, instead: Option<&Recognised>) -> Error {
        let instead = instead.map_or_else(String::new, |found| {
            format!("; this looks like {}; omit the KIND argument", found.writer)
        });
        Error::invalid(
            format!("`{}`", path.display()),
            format!(
                "not a palace of {}: there is no {}{instead}",
                self.program(),
                self.mark()
            ),
        )
    }
}
