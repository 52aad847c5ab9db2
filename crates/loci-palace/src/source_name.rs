//! Finds the sources that a user means: a name, a path in any form, or a folder.

use std::path::{Component, Path, PathBuf};

use loci_core::{Filter, Get, Include, KeyTest, Result, Selection};

use crate::location::home;
use crate::palace::Palace;

/// The metadata key with the name of a source.
const KEY: &str = "source_file";

/// What a user means by a name of sources.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceMatch {
    /// One source with this name.
    Named(String),
    /// All sources below this folder.
    Below(String),
    /// No drawer has such a source. The names are those that it could have.
    Unknown {
        /// The name as typed, and the paths that it stands for.
        names: Vec<String>,
    },
}

impl SourceMatch {
    /// A name of sources that nobody has looked for.
    pub fn unknown(typed: &str) -> Self {
        Self::Unknown {
            names: names_of(typed),
        }
    }

    /// The drawers of the sources. For an unknown name, those of a source with exactly that name,
    /// so that an answer can say that there is none.
    pub fn filter(&self) -> Filter {
        match self {
            Self::Named(name) => Filter::eq(KEY, name.as_str()),
            Self::Below(folder) => below(folder),
            Self::Unknown { names } => {
                Filter::eq(KEY, names.first().map(String::as_str).unwrap_or_default())
            }
        }
    }

    /// The same, but an unknown name stands for everything that it could be: the drawers may be
    /// gone while copies of them are kept.
    pub fn widest_filter(&self) -> Filter {
        match self {
            Self::Named(_) | Self::Below(_) => self.filter(),
            Self::Unknown { names } => Filter::Or(
                names
                    .iter()
                    .flat_map(|name| {
                        let folder = is_folder(name).then(|| below(name));
                        [Some(Filter::eq(KEY, name.as_str())), folder]
                    })
                    .flatten()
                    .collect(),
            ),
        }
    }
}

impl Palace {
    /// The sources that `typed` names, in one collection or in all. A source with exactly this name
    /// comes first, then one with the absolute path (`~` and relative paths are resolved; the file
    /// need not exist any more), then all sources below that folder.
    pub fn match_source(&self, typed: &str, collection: Option<&str>) -> Result<SourceMatch> {
        let names = names_of(typed);
        let collections = self.scope(collection)?;
        let any = |filter: &Filter| -> Result<bool> {
            let get = Get {
                limit: Some(1),
                include: Include::NONE,
                ..Get::new(Selection::matching(filter.clone()))
            };
            for collection in &collections {
                let found = collection.get(&get)?;
                // A damaged drawer is only in the warnings.
                if !found.ids.is_empty() || !found.warnings.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        for name in &names {
            if any(&Filter::eq(KEY, name.as_str()))? {
                return Ok(SourceMatch::Named(name.clone()));
            }
        }
        for name in names.iter().filter(|name| is_folder(name)) {
            if any(&below(name))? {
                return Ok(SourceMatch::Below(name.clone()));
            }
        }
        Ok(SourceMatch::Unknown { names })
    }
}

/// Whether a name can be that of a folder.
fn is_folder(name: &str) -> bool {
    Path::new(name).is_absolute()
}

/// The sources below a folder.
fn below(folder: &str) -> Filter {
    Filter::Key {
        key: KEY.to_owned(),
        test: KeyTest::StartsWith(format!("{}/", folder.trim_end_matches('/'))),
    }
}

/// The name as typed, the absolute path, and the same without links, each once.
fn names_of(typed: &str) -> Vec<String> {
    let mut names = vec![typed.to_owned()];
    let mut add = |path: &Path| {
        let name = path.to_str().map(str::to_owned);
        names.extend(name.filter(|name| !names.contains(name)));
    };
    if let Some(path) = absolute(typed) {
        add(&path);
        if let Some(real) = without_links(&path) {
            add(&real);
        }
    }
    names
}

/// The absolute path of a name. `..` is resolved by name, because the file may be gone.
fn absolute(typed: &str) -> Option<PathBuf> {
    if typed.is_empty() {
        return None;
    }
    let path = match typed.strip_prefix('~') {
        Some("") => home()?,
        Some(rest) if rest.starts_with('/') => home()?.join(rest.trim_start_matches('/')),
        _ => std::path::absolute(typed).ok()?,
    };
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    Some(normal)
}

/// The path with the links of its existing part resolved. Miners store such paths.
fn without_links(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        let rest = path.strip_prefix(above).ok()?;
        Some(if rest.as_os_str().is_empty() {
            real
        } else {
            real.join(rest)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_in_every_form_and_a_name_stays_a_name() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("notes")).unwrap();
        std::os::unix::fs::symlink(real.join("notes"), real.join("link")).unwrap();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let gone = text(real.join("link/../notes/./gone.md"));
        assert_eq!(names_of(&gone)[1], text(real.join("notes/gone.md")));
        let linked = names_of(&text(real.join("link/gone.md")));
        assert!(
            linked.contains(&text(real.join("notes/gone.md"))),
            "{linked:?}"
        );
        let folder = names_of(&format!("{}/", text(real.join("notes"))));
        assert!(folder.contains(&text(real.join("notes"))), "{folder:?}");
        assert_eq!(names_of("chatgpt:1").first().unwrap(), "chatgpt:1");
        let home = home().unwrap();
        assert!(names_of("~/a.md").contains(&text(home.join("a.md"))));
        assert!(names_of("~").contains(&text(home)));
        assert!(names_of("~ana/a.md").contains(&"~ana/a.md".to_owned()));
        assert_eq!(names_of(""), [""]);
    }
}
