//! One run of the program: the palace it is about, opened when a command first needs it.

use std::cell::{Cell, OnceCell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use loci_palace::{
    Durability, Error, ForeignKind, OpenOptions, Palace, PalaceRef, SecretPolicy, default_palace,
    palace_of, path_text, recognise, secret_policy, shell_quoted,
};

use crate::args::{DurabilityArgument, GlobalArguments, SecretArguments};
use crate::failure::Result;
use crate::hint::Offered;
use crate::print::Printer;

pub(crate) const PALACE_VARIABLE: &str = "LOCI_PALACE";

/// The settings of this run and its open palace.
pub(crate) struct Session<'a> {
    global: &'a GlobalArguments,
    /// Prints answers and notes.
    pub(crate) printer: Printer,
    palace: OnceCell<Palace>,
    opened: Cell<bool>,
    keeps_secrets: Cell<bool>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(global: &'a GlobalArguments, printer: Printer) -> Self {
        Self {
            global,
            printer,
            palace: OnceCell::new(),
            opened: Cell::new(false),
            keeps_secrets: Cell::new(false),
        }
    }

    /// Applies `--keep-secrets` of a command. Call it before the palace is opened.
    pub(crate) fn secrets(&self, arguments: SecretArguments) {
        self.keeps_secrets.set(arguments.keep_secrets);
    }

    /// How this run treats secrets in the text that it writes.
    pub(crate) fn secret_policy(&self) -> Result<SecretPolicy> {
        Ok(secret_policy(&self.place()?, &self.options(false))?)
    }

    /// Opens the palace, once; creates nothing.
    pub(crate) fn existing(&self) -> Result<&Palace> {
        if let (true, Some(palace)) = (self.opened.get(), self.palace.get()) {
            return Ok(palace);
        }
        let place = self.place()?;
        refuse_foreign(&place)?;
        let palace = Palace::open(place, &self.options(false))?;
        self.opened.set(true);
        Ok(self.palace.get_or_init(|| palace))
    }

    /// Opens the palace and creates it if it is missing. A note for people says where it was
    /// created; programs find it in the answer.
    pub(crate) fn created(&self) -> Result<&Palace> {
        let palace = self.open_or_create(false)?;
        if palace.was_created() {
            let place = shown_place(palace);
            self.printer
                .note_for_people(&format!("note: created a palace at `{place}`"));
        }
        Ok(palace)
    }

    /// The same for `init`, which prints its own message and may use a directory with other files.
    pub(crate) fn initialised(&self) -> Result<&Palace> {
        self.open_or_create(true)
    }

    fn open_or_create(&self, among_other_files: bool) -> Result<&Palace> {
        let place = self.place()?;
        refuse_foreign(&place)?;
        let options = OpenOptions {
            among_other_files,
            ..self.options(true)
        };
        let palace = Palace::open(place, &options)?;
        Ok(self.palace.get_or_init(|| palace))
    }

    /// The directory of the palace, if this run created it.
    pub(crate) fn created_palace(&self) -> Option<String> {
        let created = self.palace.get().filter(|palace| palace.was_created());
        created.map(shown_place)
    }

    /// Creates another palace with the same settings, for commands that must not change the named
    /// one.
    pub(crate) fn beside(&self, path: &Path) -> Result<Palace> {
        Ok(Palace::open(path, &self.options(true))?)
    }

    /// The ids that some beginnings of ids stand for.
    pub(crate) fn ids(&self, collection: Option<&str>, typed: &[String]) -> Result<Vec<String>> {
        let palace = self.existing()?;
        let complete = |id: &String| Ok(palace.complete_id(collection, id)?);
        typed.iter().map(complete).collect()
    }

    /// Checks whether the palace can be opened. It creates nothing and keeps nothing open.
    pub(crate) fn look(&self) -> Result<()> {
        let place = self.place()?;
        refuse_foreign(&place)?;
        Palace::open(place, &self.options(false))?.close()?;
        Ok(())
    }

    /// Locates the palace without opening it, for commands that handle broken or missing palaces.
    pub(crate) fn named(&self) -> Result<&Palace> {
        let palace = Palace::connect(self.place()?, &self.options(false))?;
        Ok(self.palace.get_or_init(|| palace))
    }

    /// The options for opening a palace, from `--backend`, `--durability` and `--embedder`.
    pub(crate) fn options(&self, create: bool) -> OpenOptions {
        OpenOptions {
            create,
            backend: self.global.backend.clone(),
            durability: self.global.durability.map(|durability| match durability {
                DurabilityArgument::Normal => Durability::Normal,
                DurabilityArgument::Full => Durability::Full,
            }),
            embedder: self.global.embedder.clone(),
            keep_secrets: self.keeps_secrets.get(),
            ..OpenOptions::default()
        }
    }

    /// The same options as command-line arguments.
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
        let present = options
            .into_iter()
            .filter_map(|(flag, value)| Some((flag, value?)));
        present
            .flat_map(|(flag, value)| [flag.into(), value.into()])
            .collect()
    }

    /// Where the palace is. An empty variable counts as not set. An empty flag is an error, because
    /// a script that lost the name must not fall back to another palace.
    pub(crate) fn place(&self) -> Result<PalaceRef> {
        match self.asked()? {
            Some((place, _)) => Ok(place),
            None => Ok(default_palace()?),
        }
    }

    /// The palace that a flag or variable names, and which of them; `None` if the configuration
    /// decides.
    pub(crate) fn asked(&self) -> Result<Option<(PalaceRef, &'static str)>, Error> {
        let (written, how) = match &self.global.palace {
            Some(path) => (path.clone(), "--palace"),
            None => match std::env::var_os(PALACE_VARIABLE).filter(|path| !path.is_empty()) {
                Some(path) => (path.into(), PALACE_VARIABLE),
                None => return Ok(None),
            },
        };
        Ok(Some((palace_of(how, &written)?, how)))
    }

    /// The capabilities of the palace's backend, if the palace was opened.
    pub(crate) fn offered(&self) -> Offered {
        self.palace.get().map(Palace::capabilities)
    }

    /// Keeps a palace open until the answer is printed.
    pub(crate) fn keep(&self, palace: Palace) -> &Palace {
        self.palace.get_or_init(|| palace)
    }

    /// Warns people that the palace is read-only. Programs find the warning in the answer.
    pub(crate) fn warn_if_read_only(&self) {
        if let Some(palace) = self.palace.get()
            && let Ok(Some(warning)) = palace.read_only()
        {
            self.printer.warn(&[warning], &self.offered());
        }
    }

    /// Closes the palace. A process that wrote much rebuilds the index here.
    pub(crate) fn close(&self) {
        if let Some(palace) = self.palace.get() {
            let working = self.printer.working("updating the index");
            let closed = palace.close();
            drop(working);
            if let Err(error) = closed {
                tracing::warn!("closing the palace: {error}");
            }
        }
    }
}

/// Refuses the directory of another program: it cannot be opened as a palace, and no palace may be
/// created inside it. A ChromaDB directory is allowed, because a backend reads it.
pub(crate) fn refuse_foreign(place: &PalaceRef) -> Result<(), Error> {
    let Some(path) = place.as_directory() else {
        return Ok(());
    };
    let found = match recognise(path) {
        Ok(Some(found)) if path.is_dir() => found,
        _ => return Ok(()),
    };
    let has_a_backend = found.kind == ForeignKind::Chroma && found.path == path;
    if has_a_backend || found.kind == ForeignKind::Loci {
        return Ok(());
    }
    let problem = format!(
        "a palace of {}, not of Loci; `loci import {}` imports it",
        found.writer,
        shell_quoted(path)
    );
    Err(Error::invalid(format!("`{}`", path.display()), problem))
}

/// The location of a palace, independent of the current directory.
fn shown_place(palace: &Palace) -> String {
    match palace.directory() {
        Some(directory) => path_text(&absolute(directory)),
        None => palace.place().to_string(),
    }
}

/// A path that does not depend on the current directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
