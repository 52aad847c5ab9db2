//! The paths that clients may mine. A client names paths, and answers show their content, so
//! without a restriction a client could read every file that the owner can. Nothing is allowed by
//! default.

use std::path::{Component, Path, PathBuf};

use loci_palace::{AllowedRoots, Error, Result, quoted_path};

/// Folders and files that the owner allows clients to mine.
#[derive(Debug, Clone, Default)]
pub struct MineRoots {
    /// Absolute paths. Links in them are resolved when a call is checked.
    roots: Vec<PathBuf>,
}

impl MineRoots {
    /// Allows one more folder or file, with everything in it. `~` is the home directory. A relative
    /// path is an error; `named_by` is its origin, for the error.
    pub fn allow(&mut self, path: &Path, named_by: &str) -> Result<()> {
        let path = expanded(path);
        if !path.is_absolute() {
            return Err(Error::invalid(
                format!("{named_by} `{}`", path.display()),
                "is not an absolute path",
            ));
        }
        if !self.roots.contains(&path) {
            self.roots.push(path);
        }
        Ok(())
    }

    /// The roots that do not exist.
    pub fn missing(&self) -> impl Iterator<Item = &Path> {
        let roots = self.roots.iter().map(PathBuf::as_path);
        roots.filter(|root| !root.exists())
    }

    /// The paths that a client may mine, with the current targets of links.
    pub(crate) fn allowed(&self) -> AllowedRoots {
        AllowedRoots::only(self.roots.iter().map(PathBuf::as_path))
    }

    /// Refuses a resolved path that is in no allowed root. `asked` is the path that the client
    /// named.
    pub(crate) fn check(&self, real: &Path, asked: &Path) -> Result<()> {
        let is_around = |root: &PathBuf| {
            root.canonicalize()
                .is_ok_and(|root| real.starts_with(&root))
        };
        if self.roots.iter().any(is_around) {
            return Ok(());
        }
        Err(refused(asked))
    }

    /// Resolves a path that a client named. The error about a path outside the roots is the same
    /// whether the path exists or not.
    pub(crate) fn resolve(&self, asked: &Path) -> Result<PathBuf> {
        if let Ok(real) = asked.canonicalize() {
            return self.check(&real, asked).map(|()| real);
        }
        let is_plain = |part| !matches!(part, Component::ParentDir);
        let is_inside = asked.components().all(is_plain)
            && self.roots.iter().any(|root| asked.starts_with(root));
        if is_inside {
            return Err(Error::invalid(
                format!("path {}", quoted_path(asked)),
                "does not exist; give a file or a folder",
            ));
        }
        Err(refused(asked))
    }
}

fn refused(asked: &Path) -> Error {
    Error::invalid(
        format!("path {}", quoted_path(asked)),
        "is outside of the folders that the owner allows to be mined here; the owner can allow it \
         with `loci mcp --allow-mine PATH`, or with `mine_roots = [\"PATH\"]` below `[mcp]` in \
         config.toml",
    )
}

/// A path with `~` replaced by the home directory.
fn expanded(path: &Path) -> PathBuf {
    let home = || std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    match path.strip_prefix("~").ok().zip(home()) {
        Some((rest, home)) if rest.as_os_str().is_empty() => home,
        Some((rest, home)) => home.join(rest),
        None => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_really_lies_in_an_allowed_root_is_resolved() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let at = |name: &str| place.join(name);
        for folder in ["notes/sub", "notes-private", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
            loci_files::own::write(&at(folder).join("a.md"), "x").unwrap();
        }
        symlink(at("outside"), at("notes/way")).unwrap();
        symlink(at("outside/a.md"), at("notes/link.md")).unwrap();
        symlink(at("notes"), at("name")).unwrap();
        let mut roots = MineRoots::default();
        assert!(roots.resolve(&at("notes")).is_err(), "nothing by default");
        roots.allow(&at("name"), "`--allow-mine`").unwrap();
        for inside in [
            "notes",
            "name",
            "notes/sub/a.md",
            "name/sub",
            "notes/sub/../sub",
        ] {
            assert!(roots.resolve(&at(inside)).is_ok(), "{inside}");
        }
        for outside in [
            "",
            "notes-private",
            "notes-private/a.md",
            "notes/way",
            "notes/way/a.md",
            "notes/link.md",
            "notes/../outside",
            "name/../outside/a.md",
            "nothing",
            "notes/../nothing",
        ] {
            let said = roots.resolve(&at(outside)).unwrap_err().to_string();
            for part in [outside, "--allow-mine", "mine_roots"] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
        let said = roots.resolve(&at("name/nothing")).unwrap_err().to_string();
        assert!(said.contains("does not exist"), "{said}");
    }

    #[test]
    fn a_relative_root_is_an_error_and_a_missing_one_is_named() {
        let mut roots = MineRoots::default();
        let said = roots.allow(Path::new("notes"), "`mine_roots`").unwrap_err();
        assert!(said.to_string().contains("`mine_roots` `notes`"), "{said}");
        roots.allow(Path::new("/no/such/root"), "x").unwrap();
        roots.allow(Path::new("/"), "x").unwrap();
        let missing: Vec<&Path> = roots.missing().collect();
        assert_eq!(missing, [Path::new("/no/such/root")]);
        assert_eq!(
            expanded(Path::new("~/notes")),
            std::env::home_dir().unwrap().join("notes")
        );
        assert_eq!(expanded(Path::new("~other")), Path::new("~other"));
    }
}
