//! One run of the program: the palace it is about, opened when a command first needs it.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use loci_palace::{
    Durability, Error, ForeignKind, OpenOptions, Palace, default_palace_path, recognise,
    shell_quoted,
};

use crate::args::{DurabilityArgument, GlobalArguments};
use crate::failure::Result;
use crate::print::Printer;

const PALACE_VARIABLE: &str = "LOCI_PALACE";

/// What every command works with.
pub(crate) struct Session<'a> {
    global: &'a GlobalArguments,
    /// How to show things.
    pub(crate) printer: Printer,
    palace: OnceCell<Palace>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(global: &'a GlobalArguments, printer: Printer) -> Self {
        Self {
            global,
            printer,
            palace: OnceCell::new(),
        }
    }

    /// Opens the palace; creates nothing.
    pub(crate) fn existing(&self) -> Result<&Palace> {
        let path = self.path()?;
        refuse_foreign(&path)?;
        let palace = Palace::open(&path, &self.options(false))?;
        Ok(self.palace.get_or_init(|| palace))
    }

    /// Opens the palace, making it if it is missing.
    pub(crate) fn created(&self) -> Result<&Palace> {
        let path = self.path()?;
        refuse_foreign(&path)?;
        let palace = Palace::open(&path, &self.options(true))?;
        Ok(self.palace.get_or_init(|| palace))
    }

    /// Makes another palace with the same settings, for what must leave the named one alone.
    pub(crate) fn beside(&self, path: &Path) -> Result<Palace> {
        Ok(Palace::open(path, &self.options(true))?)
    }

    /// Looks whether the palace can be opened; creates nothing and keeps nothing open.
    pub(crate) fn look(&self) -> Result<()> {
        let path = self.path()?;
        refuse_foreign(&path)?;
        Palace::open(&path, &self.options(false))?.close()?;
        Ok(())
    }

    /// Names the palace without opening it, for commands that deal with broken or missing ones.
    pub(crate) fn named(&self) -> Result<&Palace> {
        let palace = Palace::connect(&self.path()?, &self.options(false))?;
        Ok(self.palace.get_or_init(|| palace))
    }

    /// The directory of the palace, for what opens it by itself and at its own time.
    pub(crate) fn place(&self) -> Result<PathBuf> {
        self.path()
    }

    /// How `--backend`, `--durability` and `--embedder` open palaces.
    pub(crate) fn options(&self, create: bool) -> OpenOptions {
        OpenOptions {
            create,
            backend: self.global.backend.clone(),
            durability: self.global.durability.map(|durability| match durability {
                DurabilityArgument::Normal => Durability::Normal,
                DurabilityArgument::Full => Durability::Full,
            }),
            embedder: self.global.embedder.clone(),
        }
    }

    /// The same options as they are typed.
    pub(crate) fn spelled_options(&self) -> Vec<OsString> {
        let durability = self.global.durability.map(|durability| match durability {
            DurabilityArgument::Normal => "normal",
            DurabilityArgument::Full => "full",
        });
        let options = [
            ("--backend", self.global.backend.as_deref()),
            ("--durability", durability),
            ("--embedder", self.global.embedder.as_deref()),
        ];
        let given = options
            .into_iter()
            .filter_map(|(flag, value)| Some((flag, value?)));
        given
            .flat_map(|(flag, value)| [flag.into(), value.into()])
            .collect()
    }

    /// The directory of the palace. An empty variable counts as not set; an empty flag does not,
    /// since a script that lost the name must not fall back to another palace.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        match self.asked() {
            Some((path, _)) => Ok(path),
            None => Ok(default_palace_path()?),
        }
    }

    /// The palace that was named for this run, and how; else the configuration decides.
    pub(crate) fn asked(&self) -> Option<(PathBuf, &'static str)> {
        if let Some(path) = &self.global.palace {
            return Some((path.clone(), "--palace"));
        }
        let path = std::env::var_os(PALACE_VARIABLE).filter(|path| !path.is_empty())?;
        Some((path.into(), PALACE_VARIABLE))
    }

    /// Keeps a palace open until the answer is out.
    pub(crate) fn keep(&self, palace: Palace) -> &Palace {
        self.palace.get_or_init(|| palace)
    }

    /// Lets go of the palace; a process that wrote much builds the index here.
    pub(crate) fn close(&self) {
        if let Some(palace) = self.palace.get()
            && let Err(error) = palace.close()
        {
            tracing::warn!("closing the palace: {error}");
        }
    }
}

/// Refuses the directory of another program: it is no palace that can be opened, and none may be made inside it. A ChromaDB
/// directory has a backend that reads it.
pub(crate) fn refuse_foreign(path: &Path) -> Result<(), Error> {
    let found = match recognise(path) {
        Ok(Some(found)) if path.is_dir() => found,
        _ => return Ok(()),
    };
    let has_a_backend = found.kind == ForeignKind::Chroma && found.path == path;
    if has_a_backend || found.kind == ForeignKind::Loci {
        return Ok(());
    }
    let problem = format!(
        "a palace of {}, not of Loci; `loci import {}` brings it into one",
        found.writer,
        shell_quoted(path)
    );
    Err(Error::invalid(format!("`{}`", path.display()), problem))
}
