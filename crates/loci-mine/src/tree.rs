//! The built-in source: files below some roots, including conversations.
//!
//! A small file is read as a whole and filed in one transaction. A large file is read and filed in
//! sections. Each section is a range of bytes with its own hash, so memory use stays small, and a
//! file that only grew is read from where it grew.

mod conversation;
mod document;
mod large;
mod sections;
mod stat;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use loci_core::{Error, MetaValue, Metadata, Result, Warning, quoted_path};

use crate::document::{self as format, Skip};
use crate::intake::Intake;
use crate::noise::{Noise, Search};
use crate::place::{Chosen, Located, Placement, Places};
use crate::source::{Description, Item, Listed, Read, Since, Source};
use crate::split::Size;
use crate::walk::{self, FollowLinks, Rules, WalkEntry};
use loci_files::allowed::AllowedRoots;
use loci_transcripts as transcripts;

pub use self::stat::is_gone;

/// The kind of a source that is a text file.
pub const FILE: &str = "file";
/// The kind of a source that is a conversation.
pub const CONVERSATION: &str = "conversation";
/// The kind of a source that is a file with many conversations, each a source of its own.
pub const EXPORT: &str = "export";

/// Files up to this size are read as a whole.
const WHOLE_BYTES: u64 = 4 << 20;
/// Files whose text must be extracted or decoded are read as a whole up to this size.
const EXTRACTED_BYTES: u64 = 64 << 20;
/// How many bytes at the start of a file decide its kind.
const HEAD_BYTES: u64 = 64 << 10;
/// Changes whenever the same file would be read or split differently. A file of another version is
/// read again by the next mine.
const VERSION: u32 = 2;
/// The version of conversations. Their text has not changed since.
const CONVERSATION_VERSION: u32 = 1;

/// The options for reading files.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The rules that select files.
    pub rules: Rules,
    /// How texts become drawers.
    pub text_options: TextOptions,
    /// Whether the text_options was requested. If not, a source that was filed in another text_options keeps
    /// it.
    pub explicit: bool,
    /// Read lock files and other generated text too.
    pub generated: bool,
    /// The requested wing and room.
    pub chosen: Chosen,
    /// The folder for conversations that do not name their own.
    pub folder: Option<String>,
    /// The files that may be read. It is limited only if the request does not come from the owner.
    pub allowed: AllowedRoots,
}

/// How texts become drawers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextOptions {
    /// The sizes of drawers.
    pub size: Size,
    /// Keep secrets as they are.
    pub keep_secrets: bool,
}

impl TextOptions {
    /// The recipe of files.
    fn recipe(self) -> String {
        self.recipe_of(VERSION)
    }

    fn recipe_of(self, version: u32) -> String {
        let Size {
            target,
            max,
            min,
            overlap,
        } = self.size;
        let secrets = if self.keep_secrets { "kept" } else { "masked" };
        format!("files {version}, {target}/{max}/{min}/{overlap}, secrets {secrets}")
    }

    /// Parses a recipe of any version, and returns its version too.
    fn of(recipe: &str) -> Option<(Self, u32)> {
        let (version, rest) = recipe.strip_prefix("files ")?.split_once(',')?;
        let version = version.parse().ok().filter(|version| *version <= VERSION)?;
        let (sizes, secrets) = rest.split_once(", secrets ")?;
        let mut sizes = sizes.trim().split('/').map(str::parse);
        let mut next = || sizes.next()?.ok();
        let size = Size {
            target: next()?,
            max: next()?,
            min: next()?,
            overlap: next()?,
        };
        let keep_secrets = match secrets {
            "kept" => true,
            "masked" => false,
            _ => return None,
        };
        Some((Self { size, keep_secrets }, version))
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy)]
struct ReadOptions {
    text_options: TextOptions,
    /// The noise that is left out.
    search: Search,
    /// Whether a file that consists of generated text is skipped.
    skips_generated: bool,
}

impl ReadOptions {
    /// Decides about a file that consists of noise of this kind. Encoded data and drawings are
    /// skipped in any case.
    fn judge(&mut self, verdict: Option<Noise>) -> std::result::Result<(), Skip> {
        match verdict {
            Some(kind @ (Noise::Encoded | Noise::Drawing)) => Err(Skip::Noise(kind)),
            Some(kind @ (Noise::Numbers | Noise::Minified)) if self.skips_generated => {
                Err(Skip::Noise(kind))
            }
            Some(Noise::Numbers | Noise::Minified) => {
                self.search = Search::NotGenerated;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Whether the reader that filed a source with this recipe masked secrets. `None` if the recipe is
/// of a later version, so that the answer is unknown.
pub fn masks(recipe: &str) -> Option<bool> {
    TextOptions::of(recipe).map(|(text_options, _)| !text_options.keep_secrets)
}

/// Returns the same recipe with masked secrets; `None` if the recipe is of a later version.
pub fn masking_recipe(recipe: &str) -> Option<String> {
    let (text_options, version) = TextOptions::of(recipe)?;
    let masking = TextOptions {
        keep_secrets: false,
        ..text_options
    };
    Some(masking.recipe_of(version))
}

/// Files below some roots.
pub struct Tree {
    roots: Vec<PathBuf>,
    /// The names of the roots, as recorded in the ledger.
    names: Vec<String>,
    reading: Reading,
    places: Vec<Mutex<Places>>,
    /// If set, only these files are read, instead of everything below the roots.
    only: Option<Vec<PathBuf>>,
    /// The skipped files outside the allowed roots.
    outside: Mutex<BTreeSet<PathBuf>>,
}

impl Tree {
    /// Creates a tree for these roots. Missing roots are an error when the items are listed.
    pub fn new(roots: &[PathBuf], reading: Reading) -> Result<Self> {
        for (flag, name) in [
            ("wing", &reading.chosen.wing),
            ("room", &reading.chosen.room),
        ] {
            let fits = |name: &String| {
                !name.trim().is_empty() && name.len() <= crate::place::MAX_NAME_BYTES
            };
            if name.as_ref().is_some_and(|name| !fits(name)) {
                let limit = crate::place::MAX_NAME_BYTES;
                return Err(Error::invalid(
                    flag,
                    format!("a name must have 1 to {limit} bytes and must not be blank"),
                ));
            }
        }
        let mut absolute = Vec::with_capacity(roots.len());
        let mut names = Vec::with_capacity(roots.len());
        for root in roots {
            let path = root.canonicalize().map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Error::invalid(
                    format!("path {}", quoted_path(root)),
                    "does not exist; give a file or a folder",
                ),
                _ => Error::io("cannot read", root, error),
            })?;
            let name = path.to_str().ok_or_else(|| {
                Error::invalid(
                    format!("path {}", quoted_path(root)),
                    "is not UTF-8; its files could not be named",
                )
            })?;
            names.push(name.to_owned());
            absolute.push(path);
        }
        let places = absolute
            .iter()
            .map(|root| {
                Mutex::new({
                    let chosen = reading.chosen.clone();
                    Places::within(root, chosen, &reading.allowed)
                })
            })
            .collect();
        Ok(Self {
            roots: absolute,
            names,
            reading,
            places,
            only: None,
            outside: Mutex::default(),
        })
    }

    /// Restricts the tree to these files. Ignored files stay ignored.
    #[must_use]
    pub fn only(mut self, files: Vec<PathBuf>) -> Self {
        self.only = Some(files);
        self
    }

    /// The absolute roots.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Returns the files outside the roots that links below the roots lead to, if the rules follow
    /// such links.
    pub fn linked_outside(&self) -> Result<Vec<String>> {
        let mut outside = Vec::new();
        if self.reading.rules.follow_links != FollowLinks::Everywhere {
            return Ok(outside);
        }
        let is_outside = |path: &Path| !self.roots.iter().any(|root| path.starts_with(root));
        let Reading { rules, allowed, .. } = &self.reading;
        walk::walk_real(&self.roots, rules, allowed, &mut |met| {
            if let WalkEntry::File(found) = met
                && is_outside(&found.path)
            {
                outside.extend(found.path.to_str().map(str::to_owned));
            }
            ControlFlow::Continue(())
        })?;
        Ok(outside)
    }

    fn locate(&self, item: &Item) -> Result<Located> {
        let at = self.names.iter().position(|name| *name == item.root);
        let Some(places) = at.and_then(|at| self.places.get(at)) else {
            return Ok(Located::default());
        };
        let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
        places.locate(Path::new(&item.name))
    }

    /// Returns the text_options of an item: as it was filed, unless another one was requested.
    fn text_options(&self, item: &Item, intake: &mut Intake<'_>) -> Result<TextOptions> {
        let asked = self.reading.text_options;
        if self.reading.explicit {
            return Ok(asked);
        }
        let before = intake.before(&item.name)?;
        let Some((text_options, _)) = before.head().and_then(|head| TextOptions::of(&head.recipe))
        else {
            return Ok(asked);
        };
        intake.set_recipe(text_options.recipe());
        Ok(text_options)
    }

    fn listed(&self, since: &dyn Since, met: WalkEntry) -> Listed {
        match met {
            // An unreadable file is reported as a failure, by name.
            WalkEntry::Skipped { path, reason } if reason == walk::reason::NO_PERMISSION => {
                Listed::Failed {
                    name: path.display().to_string(),
                    why: reason.to_owned(),
                }
            }
            WalkEntry::Skipped { path, reason } => Listed::Skipped {
                name: path.display().to_string(),
                reason,
            },
            WalkEntry::Failed { path, error } => Listed::Failed {
                name: path.display().to_string(),
                why: error.to_string(),
            },
            WalkEntry::File(found) => {
                let Some(name) = found.path.to_str() else {
                    return Listed::Skipped {
                        name: found.path.display().to_string(),
                        reason: "name is not UTF-8",
                    };
                };
                let stat = stat::of_found(&found, &self.reading.allowed);
                if since.is_unchanged(name, &stat) {
                    return Listed::Unchanged;
                }
                Listed::Changed(Item {
                    name: name.to_owned(),
                    root: self.names.get(found.root).cloned().unwrap_or_default(),
                    stat,
                })
            }
        }
    }
}

impl Source for Tree {
    fn describe(&self) -> Description {
        Description {
            name: "files".into(),
            recipe: self.reading.text_options.recipe(),
            roots: self.names.clone(),
            only: self.only.as_ref().map(|files| {
                let names = files.iter().filter_map(|file| file.to_str());
                names.map(str::to_owned).collect()
            }),
        }
    }

    fn is_current(&self, kind: &str, recipe: &str) -> bool {
        let version = if kind == FILE {
            VERSION
        } else {
            CONVERSATION_VERSION
        };
        let asked = self.reading.text_options;
        TextOptions::of(recipe).is_some_and(|(text_options, filed)| {
            filed == version && (!self.reading.explicit || text_options == asked)
        })
    }

    fn items(
        &self,
        since: &dyn Since,
        each: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut each = |met| each(self.listed(since, met));
        let Reading { rules, allowed, .. } = &self.reading;
        match &self.only {
            None => walk::walk_real(&self.roots, rules, allowed, &mut each).map(|_| ()),
            Some(files) => stat::visit(&self.roots, files, rules, allowed, &mut each),
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut ignored = BTreeSet::new();
        for places in &self.places {
            let places = places.lock().unwrap_or_else(PoisonError::into_inner);
            ignored.extend(places.ignored_settings().iter().cloned());
        }
        ignored
            .into_iter()
            .map(|path| Warning::SettingsOutside { path })
            .collect()
    }

    fn read(&self, item: &Item, intake: &mut Intake<'_>) -> Result<Read> {
        let path = Path::new(&item.name);
        let fail = |error| Error::io("cannot read", path, error);
        let allowed = &self.reading.allowed;
        if !allowed.contains(path) {
            return Ok(Read::Skipped(walk::reason::NOT_ALLOWED.into()));
        }
        if stat::is_part_of_conversation(path) || transcripts::is_aside(path, allowed) {
            return Ok(Read::Skipped("part of a conversation".into()));
        }
        let text_options = self.text_options(item, intake)?;
        // Many binary files are recognised by name and need not be opened.
        let by_name = format::recognise(path, &[]).err();
        if by_name == Some(Skip::Binary) || item.stat.size == 0 {
            let skip = by_name
                .filter(|_| item.stat.size > 0)
                .unwrap_or(Skip::Empty);
            return document::leave_out(item, skip, intake);
        }
        let mut opened = stat::Opened::open(path, allowed).map_err(fail)?;
        intake.set_stat(stat::with_companions(path, opened.stat, allowed));
        let mut head = Vec::new();
        (&mut opened.file)
            .take(HEAD_BYTES)
            .read_to_end(&mut head)
            .map_err(fail)?;
        if let Some(format) = transcripts::recognise(path, &head) {
            intake.set_recipe(text_options.recipe_of(CONVERSATION_VERSION));
            return conversation::read(self, text_options, item, format, opened, intake);
        }
        let format = match format::recognise(path, &head) {
            Ok(format) => format,
            Err(skip) => return document::leave_out(item, skip, intake),
        };
        let is_generated = format::is_generated(path, &head);
        if is_generated && !self.reading.generated {
            return document::leave_out(item, Skip::Generated, intake);
        }
        let whole = opened.stat.size <= WHOLE_BYTES;
        let extracted = format.is_extracted() || !document::is_utf8(&head);
        // A generated file was asked for as a whole.
        let search = if is_generated {
            Search::NotGenerated
        } else {
            Search::All
        };
        let options = ReadOptions {
            text_options,
            search,
            skips_generated: !self.reading.generated,
        };
        match (whole, extracted) {
            (true, _) => document::read(self, options, item, opened, intake),
            (false, true) if opened.stat.size <= EXTRACTED_BYTES => {
                document::read(self, options, item, opened, intake)
            }
            (false, true) => document::leave_out(item, Skip::TooLargeForKind, intake),
            (false, false) => large::read(self, options, item, &format, opened, intake),
        }
    }
}

/// Whether the old file is gone and would be read in the same way under its new name.
fn is_same_kind_gone(old: &str, new: &str) -> bool {
    let (old_path, new_path) = (Path::new(old), Path::new(new));
    old_path.extension() == new_path.extension()
        && loci_secrets::setting_of(old_path) == loci_secrets::setting_of(new_path)
        && is_gone(old)
}

/// The metadata keys that the miner sets. A drawer that is filed again without one of them loses
/// it.
const OWN_KEYS: [&str; 17] = [
    "heading",
    "part",
    "parts",
    "format",
    "encoding",
    "extracted",
    "exchange",
    "agent",
    "conversation",
    "authored_at",
    "ended_at",
    "speakers",
    "tools",
    "model",
    "folder",
    "branch",
    "export_file",
];

/// The tags of a drawer, a list.
const TAGS: &str = "tags";
/// The title of the file, in drawers that are not below it.
const TITLE: &str = "title";
/// The targets of the links in a drawer, as written.
pub const LINKS_TO: &str = "links_to";
/// The names of the files that these targets may mean, by which the links to a file are found.
pub const LINK_NAMES: &str = "link_names";
/// The keys that a file sets in some of its drawers. Somebody else may set them in drawers of files
/// that do not.
const SET_KEYS: [&str; 4] = [TAGS, TITLE, LINKS_TO, LINK_NAMES];

/// Whether frontmatter may not set the key, because it belongs to the miner, or to people: only they
/// pin drawers.
fn is_reserved(key: &str) -> bool {
    OWN_KEYS.contains(&key)
        || matches!(
            key,
            "wing" | "room" | "source_file" | "start_line" | "end_line" | "pinned"
        )
        || key == LINKS_TO
        || key == LINK_NAMES
}

fn own_keys() -> Vec<String> {
    OWN_KEYS.iter().map(|key| (*key).to_owned()).collect()
}

/// The metadata of all drawers of a source.
fn base(name: &str, place: &Placement) -> Metadata {
    let mut metadata = Metadata::default();
    set(&mut metadata, "wing", place.wing.as_str());
    set(&mut metadata, "room", place.room.as_str());
    set(&mut metadata, "source_file", name);
    metadata
}

fn set(metadata: &mut Metadata, key: &str, value: impl Into<MetaValue>) {
    metadata.0.insert(key.to_owned(), value.into());
}

fn set_lines(metadata: &mut Metadata, start: u32, end: u32) {
    set(metadata, "start_line", i64::from(start));
    set(metadata, "end_line", i64::from(end));
}
