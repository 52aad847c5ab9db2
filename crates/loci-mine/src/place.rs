//! Where drawers belong: the wing and room of a file or conversation.
//!
//! What the user says comes first, then the nearest `.loci.toml`, then the project and the folder. A project has one name in all its
//! working trees. Only reads; the same files give the same places.

mod name;
pub(crate) mod repository;
mod settings;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::Result;

pub use name::MAX_NAME_BYTES;
pub use settings::SETTINGS_FILE;

use name::{checked, made_valid};
use repository::{folder_name, is_top, normal, project_name};
use settings::Settings;

/// The room of files that lie in the project's top folder, and the wing of what has no project.
pub const GENERAL: &str = "general";

/// The room of conversations.
pub const CONVERSATIONS: &str = "conversations";

/// Folders whose answer is kept. Files come folder by folder, so a fresh start is cheap.
const MAX_FOLDERS: usize = 8_192;

/// Where a drawer belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The person or project.
    pub wing: String,
    /// The topic in it.
    pub room: String,
}

/// What the user said about the place. What is said here wins over everything else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The wing of all files.
    pub wing: Option<String>,
    /// The room of all files.
    pub room: Option<String>,
}

/// Finds the places of files below one root. Looks at each folder once and keeps a bounded number
/// of answers; settings that change later need a new `Places`.
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
    folders: HashMap<PathBuf, Arc<Folder>>,
}

/// What is known of one folder.
#[derive(Debug, Clone, Default)]
struct Folder {
    project: Option<Arc<Project>>,
    /// Nearest first.
    settings: Vec<Arc<Settings>>,
}

#[derive(Debug)]
struct Project {
    top: PathBuf,
    name: String,
}

impl Places {
    /// Places below `root`, the folder or file that is mined. A relative root is taken from the
    /// current directory, links in it are resolved.
    pub fn new(root: &Path, chosen: Chosen) -> Self {
        let real = crate::walk::real_path(root)
            .or_else(|_| std::path::absolute(root))
            .unwrap_or_else(|_| root.to_path_buf());
        let root = match real.parent() {
            Some(folder) if real.is_file() => folder.to_path_buf(),
            _ => real,
        };
        Self {
            root,
            chosen,
            folders: HashMap::new(),
        }
    }

    /// The place of one file, given by its absolute path. The file need not exist. Fails when a
    /// chosen name or a `.loci.toml` on the way is not valid; the error names it.
    pub fn of(&mut self, file: &Path) -> Result<Place> {
        let chosen = |value: &Option<String>, flag: &str| {
            value
                .as_ref()
                .map(|name| checked(name, || flag.to_owned()))
                .transpose()
        };
        let wing = chosen(&self.chosen.wing, "wing")?;
        let room = chosen(&self.chosen.room, "room")?;
        if let (Some(wing), Some(room)) = (&wing, &room) {
            return Ok(Place {
                wing: wing.clone(),
                room: room.clone(),
            });
        }
        let folder = self.folder(file.parent().unwrap_or(file))?;
        let top = folder
            .project
            .as_ref()
            .map_or(&self.root, |project| &project.top);
        let wing = wing
            .or_else(|| folder.wing())
            .unwrap_or_else(|| made_valid(&folder_name(&self.root).unwrap_or_default(), GENERAL));
        let room = room
            .or_else(|| {
                let said = |settings: &Arc<Settings>| settings.room_of(file).map(str::to_owned);
                folder.settings.iter().find_map(said)
            })
            .unwrap_or_else(|| room_below(top, file));
        Ok(Place { wing, room })
    }

    /// Looks upwards for the nearest folder that is known, then fills in what lies between.
    fn folder(&mut self, folder: &Path) -> Result<Arc<Folder>> {
        let mut known = Arc::new(Folder::default());
        let mut unknown = Vec::new();
        for each in folder.ancestors() {
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
            known = Arc::new(known.below(each, &self.root)?);
            self.folders.insert(each.to_path_buf(), Arc::clone(&known));
        }
        Ok(known)
    }
}

impl Folder {
    /// What `folder` is, directly below this one.
    fn below(&self, folder: &Path, root: &Path) -> Result<Self> {
        let mut found = self.clone();
        if is_top(folder) {
            found = Self {
                project: Some(Arc::new(Project {
                    top: folder.to_path_buf(),
                    name: made_valid(&project_name(folder).unwrap_or_default(), GENERAL),
                })),
                settings: Vec::new(),
            };
        }
        // Outside of a repository only what the user asked to mine may say anything.
        if (found.project.is_some() || folder.starts_with(root))
            && let Some(settings) = Settings::of(folder)?
        {
            found.settings.insert(0, Arc::new(settings));
        }
        Ok(found)
    }

    fn wing(&self) -> Option<String> {
        let said = self
            .settings
            .iter()
            .find_map(|settings| settings.wing.clone());
        said.or_else(|| self.project.as_ref().map(|project| project.name.clone()))
    }
}

/// The first folder between `top` and the file.
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

/// The place of a conversation that was held in `folder`, the agent's working directory. A folder
/// that exists gives the wing that its files have, one that does not gives its last name. Paths of other systems are
/// understood. A broken `.loci.toml` is passed over: a conversation is kept in any case.
pub fn of_conversation(folder: Option<&str>) -> Place {
    let named = folder.map(str::trim).filter(|folder| !folder.is_empty());
    let wing = named.map_or_else(
        || GENERAL.to_owned(),
        |folder| {
            let folder = match wing_of_folder(Path::new(folder)) {
                Some(wing) => return wing,
                None => before_worktrees(folder),
            };
            let last = folder.rsplit(['/', '\\']).find(|part| !part.is_empty());
            wing_of_folder(Path::new(folder))
                .unwrap_or_else(|| made_valid(last.unwrap_or_default(), GENERAL))
        },
    );
    Place {
        wing,
        room: CONVERSATIONS.to_owned(),
    }
}

/// Agents keep working trees below the project, in `.worktrees` or `.agent/worktrees`, and delete them when
/// they are done. The project is what lies before.
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

fn wing_of_folder(folder: &Path) -> Option<String> {
    if !folder.is_absolute() || !folder.is_dir() {
        return None;
    }
    let real = crate::walk::real_path(folder).unwrap_or_else(|_| normal(folder));
    let top = real.ancestors().find(|each| is_top(each));
    let said = real
        .ancestors()
        .take_while(|each| each.starts_with(top.unwrap_or(&real)))
        .find_map(|each| Settings::of(each).ok().flatten()?.wing);
    said.or_else(|| {
        let name = top.map_or_else(|| folder_name(&real), project_name)?;
        Some(made_valid(&name, GENERAL))
    })
}
