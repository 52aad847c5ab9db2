//! Decides the wing and room of a file or conversation.
//!
//! The user's choice comes first, then the nearest `.loci.toml`, then the project and the folder. A
//! project has one name in all its working trees. Its wing is that name, unless the palace has
//! recorded another one for it. This module only reads, and the same files always give the same
//! result.

mod config;
mod first_commit;
mod name;
mod project;
mod remote;
pub(crate) mod repository;
mod settings;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::Result;

use loci_files::allowed::{AllowedRoots, EVERYTHING};

pub use name::{GENERAL, MAX_NAME_BYTES};
pub use project::{FoundProject, owner_of};
pub use settings::SETTINGS_FILE;

use name::{checked, made_valid};
use repository::{is_top, normal};
use settings::Settings;

/// The room of conversations.
pub const CONVERSATIONS: &str = "conversations";

/// How many folders are cached. Files come folder by folder, so clearing the cache is cheap.
const MAX_FOLDERS: usize = 8_192;

/// The wing and room of a drawer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// The person or project.
    pub wing: String,
    /// The topic in the wing.
    pub room: String,
}

/// A placement, and the project that its wing is named after.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Located {
    /// The placement by name. The palace may have recorded another wing for the project.
    pub place: Placement,
    /// `None` if the wing was chosen, or if there is no project.
    pub project: Option<Arc<FoundProject>>,
}

/// The user's choice of wing and room. It takes precedence over everything else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The wing of all files.
    pub wing: Option<String>,
    /// The room of all files.
    pub room: Option<String>,
}

/// Finds the wings and rooms of files below one root. It examines each folder once and caches a
/// bounded number of folders. If settings change later, a new `Places` is needed.
///
/// ```
/// use loci_mine::place::{Chosen, Places};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path().join("notes");
/// # std::fs::create_dir(&root)?;
/// # let root = root.canonicalize()?;
/// let place = Places::new(&root, Chosen::default()).of(&root.join("garden/roses.md"))?;
/// assert_eq!((place.wing.as_str(), place.room.as_str()), ("notes", "garden"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Places {
    root: PathBuf,
    chosen: Chosen,
    allowed: AllowedRoots,
    folders: HashMap<PathBuf, Arc<Folder>>,
    /// The project of the root outside any repository.
    plain: Arc<FoundProject>,
    ignored_settings: BTreeSet<PathBuf>,
}

/// The cached facts of one folder.
#[derive(Debug, Clone, Default)]
struct Folder {
    project: Option<Arc<TopFolder>>,
    /// The settings that apply, nearest first.
    settings: Vec<Arc<Settings>>,
}

/// The top folder of a project.
#[derive(Debug)]
struct TopFolder {
    top: PathBuf,
    project: Arc<FoundProject>,
}

impl Places {
    /// Creates `Places` for `root`, the folder or file that is mined. A relative root is resolved
    /// against the current directory, and links in it are resolved.
    pub fn new(root: &Path, chosen: Chosen) -> Self {
        Self::within(root, chosen, &EVERYTHING)
    }

    /// Like [`Places::new`], but examines only allowed folders. A root in a repository that begins
    /// outside of them belongs to the repository that is recorded above it. If there is none, the
    /// root is a project of its own.
    pub fn within(root: &Path, chosen: Chosen, allowed: &AllowedRoots) -> Self {
        let real = crate::walk::real_path(root)
            .or_else(|_| std::path::absolute(root))
            .unwrap_or_else(|_| root.to_path_buf());
        let root = match real.parent() {
            Some(folder) if real.is_file() => folder.to_path_buf(),
            _ => real,
        };
        let name = root.to_string_lossy();
        let plain = Arc::new(if allowed.is_everything() {
            FoundProject::folder(&name)
        } else {
            FoundProject::gone(&name)
        });
        Self {
            root,
            chosen,
            allowed: allowed.clone(),
            folders: HashMap::new(),
            plain,
            ignored_settings: BTreeSet::new(),
        }
    }

    /// The settings files found so far that were ignored because they are links out of their
    /// project.
    pub(crate) fn ignored_settings(&self) -> &BTreeSet<PathBuf> {
        &self.ignored_settings
    }

    /// Returns the place of one file by names alone, as in a palace that has recorded no projects.
    pub fn of(&mut self, file: &Path) -> Result<Placement> {
        Ok(self.locate(file)?.place)
    }

    /// Returns the place and project of one file, given by its absolute path. The file need not
    /// exist. Fails when a chosen name or a `.loci.toml` above the file is invalid; the error names
    /// it.
    pub fn locate(&mut self, file: &Path) -> Result<Located> {
        let chosen = |value: &Option<String>, flag: &str| {
            value
                .as_ref()
                .map(|name| checked(name, || flag.to_owned()))
                .transpose()
        };
        let wing = chosen(&self.chosen.wing, "wing")?;
        let room = chosen(&self.chosen.room, "room")?;
        if let (Some(wing), Some(room)) = (&wing, &room) {
            return Ok(Located {
                place: Placement {
                    wing: wing.clone(),
                    room: room.clone(),
                },
                project: None,
            });
        }
        let folder = self.folder(file.parent().unwrap_or(file))?;
        let top = folder
            .project
            .as_ref()
            .map_or(&self.root, |project| &project.top);
        let set_wing = wing.or_else(|| folder.wing());
        let project = match (&set_wing, &folder.project) {
            (Some(_), _) => None,
            (None, Some(found)) => Some(Arc::clone(&found.project)),
            (None, None) => Some(Arc::clone(&self.plain)),
        };
        let name = |found: &Arc<FoundProject>| found.project.name.clone();
        let wing = set_wing
            .or_else(|| project.as_ref().map(name))
            .unwrap_or_else(|| GENERAL.to_owned());
        let room = room
            .or_else(|| {
                let room = |settings: &Arc<Settings>| settings.room_of(file).map(str::to_owned);
                folder.settings.iter().find_map(room)
            })
            .unwrap_or_else(|| room_below(top, file));
        Ok(Located {
            place: Placement { wing, room },
            project,
        })
    }

    /// Searches upwards for the nearest cached folder, then adds the folders in between.
    fn folder(&mut self, folder: &Path) -> Result<Arc<Folder>> {
        let mut known = Arc::new(Folder::default());
        let mut unknown = Vec::new();
        for each in folder
            .ancestors()
            .take_while(|each| self.allowed.contains(each))
        {
            if let Some(found) = self.folders.get(each) {
                known = Arc::clone(found);
                break;
            }
            unknown.push(each);
        }
        if self.folders.len() + unknown.len() > MAX_FOLDERS {
            self.folders.clear();
        }
        for each in unknown.into_iter().rev() {
            known = Arc::new(known.below(each, &self.root, &self.allowed)?);
            if known.project.is_some() || each.starts_with(&self.root) {
                let ignored = Settings::ignored(each, known.top_or(&self.root));
                self.ignored_settings.extend(ignored);
            }
            self.folders.insert(each.to_path_buf(), Arc::clone(&known));
        }
        Ok(known)
    }
}

impl Folder {
    /// The top of the project, or else the mined root.
    fn top_or<'a>(&'a self, root: &'a Path) -> &'a Path {
        self.project.as_ref().map_or(root, |project| &project.top)
    }

    /// Returns the facts of `folder`, which is directly below this one.
    fn below(&self, folder: &Path, root: &Path, allowed: &AllowedRoots) -> Result<Self> {
        let mut found = self.clone();
        if is_top(folder, allowed) {
            found = Self {
                project: Some(Arc::new(TopFolder {
                    top: folder.to_path_buf(),
                    project: Arc::new(FoundProject::repository(folder, allowed)),
                })),
                settings: Vec::new(),
            };
        }
        // Outside a repository, only settings in the mined root apply.
        if (found.project.is_some() || folder.starts_with(root))
            && let Some(settings) = Settings::of(folder, found.top_or(root), allowed)?
        {
            found.settings.insert(0, Arc::new(settings));
        }
        Ok(found)
    }

    /// The wing that a `.loci.toml` sets.
    fn wing(&self) -> Option<String> {
        self.settings
            .iter()
            .find_map(|settings| settings.wing.clone())
    }
}

/// Returns the first folder between `top` and the file.
fn room_below(top: &Path, file: &Path) -> String {
    let mut parts = file
        .strip_prefix(top)
        .into_iter()
        .flat_map(Path::components);
    match (parts.next(), parts.next()) {
        (Some(first), Some(_)) => made_valid(&first.as_os_str().to_string_lossy(), GENERAL),
        _ => GENERAL.to_owned(),
    }
}

/// Returns the place of a conversation by names alone, as in a palace that has recorded no
/// projects.
pub fn of_conversation(folder: Option<&str>) -> Placement {
    locate_conversation(folder).place
}

/// Returns the place and project of a conversation in `folder`, the agent's working directory. An
/// existing folder gives the same place as its files. A deleted folder belongs to the project that
/// is recorded there or, for a repository, above it. Otherwise it is a project of its own, so that
/// no project shows the conversations of another one. Paths of other operating systems are
/// supported. An invalid `.loci.toml` is ignored, because a conversation is always kept.
pub fn locate_conversation(folder: Option<&str>) -> Located {
    locate_conversation_within(folder, &EVERYTHING)
}

/// Like [`locate_conversation`], but examines only allowed folders. A folder outside of them counts
/// as deleted.
pub(crate) fn locate_conversation_within(folder: Option<&str>, allowed: &AllowedRoots) -> Located {
    let named = folder.map(str::trim).filter(|folder| !folder.is_empty());
    let (wing, project) = match named {
        None => (None, None),
        Some(folder) => {
            let before = before_worktrees(folder);
            located_folder(Path::new(folder), allowed)
                .or_else(|| located_folder(Path::new(before), allowed))
                .unwrap_or_else(|| (None, Some(FoundProject::gone(before))))
        }
    };
    let name = |found: &FoundProject| found.project.name.clone();
    Located {
        place: Placement {
            wing: wing
                .or_else(|| project.as_ref().map(name))
                .unwrap_or_else(|| GENERAL.to_owned()),
            room: CONVERSATIONS.to_owned(),
        },
        project: project.map(Arc::new),
    }
}

/// Returns the project folder above an agent's working tree. Agents create working trees in
/// `.worktrees` or `.agent/worktrees` and delete them when they are done.
fn before_worktrees(folder: &str) -> &str {
    let mut end = 0;
    let mut before: Option<(usize, &str)> = None;
    for part in folder.split(['/', '\\']) {
        match before {
            Some((start, name)) if part == "worktrees" && name.starts_with('.') => {
                return folder.get(..start).unwrap_or(folder);
            }
            _ if part == ".worktrees" => return folder.get(..end).unwrap_or(folder),
            _ => before = Some((end, part)),
        }
        end += part.len() + 1;
    }
    folder
}

/// Returns the wing that a `.loci.toml` sets for a folder, or the project of the folder; `None` if
/// the folder does not exist.
fn located_folder(
    folder: &Path,
    allowed: &AllowedRoots,
) -> Option<(Option<String>, Option<FoundProject>)> {
    if !folder.is_absolute() || !allowed.contains(folder) || !folder.is_dir() {
        return None;
    }
    let real = crate::walk::real_path(folder).unwrap_or_else(|_| normal(folder));
    let top = real.ancestors().find(|each| is_top(each, allowed));
    let set_wing = real
        .ancestors()
        .take_while(|each| each.starts_with(top.unwrap_or(&real)))
        .find_map(|each| {
            Settings::of(each, top.unwrap_or(&real), allowed)
                .ok()
                .flatten()?
                .wing
        });
    if set_wing.is_some() {
        return Some((set_wing, None));
    }
    Some((
        None,
        Some(top.map_or_else(
            || {
                let name = real.to_string_lossy();
                if allowed.is_everything() {
                    FoundProject::folder(&name)
                } else {
                    FoundProject::gone(&name)
                }
            },
            |top| FoundProject::repository(top, allowed),
        )),
    ))
}
