//! Reads `.loci.toml`, in which a folder sets the wing and rooms of its files. An unknown key is an
//! error, so that a typo does not silently mean the default.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use loci_core::{Error, Result};
use serde::Deserialize;
use toml::Spanned;

use super::name::checked;
use loci_files::allowed::AllowedRoots;

/// The name of the settings file.
pub const SETTINGS_FILE: &str = ".loci.toml";

const MAX_SETTINGS_BYTES: u64 = 256 << 10;

/// The settings of one folder.
#[derive(Debug)]
pub(super) struct Settings {
    folder: PathBuf,
    pub(super) wing: Option<String>,
    room: Option<String>,
    patterns: GlobSet,
    rooms: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    wing: Option<Spanned<String>>,
    room: Option<Spanned<String>>,
    #[serde(default)]
    rooms: Vec<WrittenRoom>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRoom {
    path: Spanned<String>,
    room: Spanned<String>,
}

impl Settings {
    /// Reads the settings in this folder. `None` when it has no such file, or one that is ignored
    /// (see [`Self::ignored`]).
    pub(super) fn of(folder: &Path, top: &Path, allowed: &AllowedRoots) -> Result<Option<Self>> {
        if Self::ignored(folder, top).is_some() {
            return Ok(None);
        }
        let path = folder.join(SETTINGS_FILE);
        match read(&path, allowed) {
            Ok(None) => Ok(None),
            Ok(Some(text)) => match Self::parse(folder, &path, &text) {
                // The link may lead to any file of the user, and the parse error would quote from
                // it.
                Err(_) if path.is_symlink() => Err(Error::invalid(
                    format!("`{}`", path.display()),
                    "is a link to a file that is not a valid `.loci.toml`",
                )),
                settings => settings.map(Some),
            },
            Err(error) => Err(Error::io("cannot read", path, error)),
        }
    }

    /// Returns the settings file of this folder if it is a link that leads out of `top`, the
    /// project or the mined folder. Such a link may lead to any file of the user, and a wing or
    /// room from it would reveal its content.
    pub(super) fn ignored(folder: &Path, top: &Path) -> Option<PathBuf> {
        let path = folder.join(SETTINGS_FILE);
        (path.is_symlink() && !leads_into(&path, top)).then_some(path)
    }

    fn parse(folder: &Path, path: &Path, text: &str) -> Result<Self> {
        let place = |at: usize| format!("`{}`, line {}", path.display(), line_of(text, at));
        let written: Written = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Error::invalid(place(at), error.message().to_owned())
        })?;
        let name = |key: &str, value: &Spanned<String>| {
            checked(value.get_ref(), || {
                format!("{}, key `{key}`", place(value.span().start))
            })
        };
        let mut patterns = GlobSetBuilder::new();
        let mut rooms = Vec::new();
        for each in &written.rooms {
            let refuse = |problem: String| {
                Error::invalid(
                    format!("{}, key `path`", place(each.path.span().start)),
                    problem,
                )
            };
            for pattern in both_forms(each.path.get_ref()).map_err(refuse)? {
                let glob = GlobBuilder::new(&pattern)
                    .literal_separator(true)
                    .build()
                    .map_err(|error| refuse(error.to_string()))?;
                patterns.add(glob);
                rooms.push(name("room", &each.room)?);
            }
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            wing: written.wing.map(|wing| name("wing", &wing)).transpose()?,
            room: written.room.map(|room| name("room", &room)).transpose()?,
            patterns: patterns
                .build()
                .map_err(|error| Error::invalid(place(0), error.to_string()))?,
            rooms,
        })
    }

    /// Returns the room for the file: the one of the first matching pattern, or else `room`.
    pub(super) fn room_of(&self, file: &Path) -> Option<&str> {
        let by_pattern = (!self.rooms.is_empty())
            .then(|| file.strip_prefix(&self.folder).ok())
            .flatten()
            .and_then(|inside| self.patterns.matches(inside).into_iter().min())
            .and_then(|first| self.rooms.get(first));
        by_pattern.or(self.room.as_ref()).map(String::as_str)
    }
}

/// Returns the pattern and its variant for everything below a folder.
fn both_forms(pattern: &str) -> std::result::Result<[String; 2], String> {
    let bare = pattern.trim_end_matches('/');
    let bare = bare.strip_prefix("./").unwrap_or(bare);
    if bare.is_empty() || bare.starts_with('/') || bare.split('/').any(|part| part == "..") {
        return Err(format!(
            "`{}` is not a path below the folder of this file",
            pattern.escape_debug()
        ));
    }
    Ok([bare.to_owned(), format!("{bare}/**")])
}

/// Whether the target of the link lies in `top`. A broken link does not.
fn leads_into(link: &Path, top: &Path) -> bool {
    match (fs::canonicalize(link), fs::canonicalize(top)) {
        (Ok(real), Ok(top)) => real.starts_with(top),
        _ => false,
    }
}

fn read(path: &Path, allowed: &AllowedRoots) -> io::Result<Option<String>> {
    match allowed.metadata(path) {
        // A named pipe must not be opened, because opening would block until a writer comes.
        Ok(found) if !found.is_file() => {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(found) if found.len() > MAX_SETTINGS_BYTES => {
            return Err(io::Error::other(format!(
                "it is longer than {MAX_SETTINGS_BYTES} bytes"
            )));
        }
        Ok(_) => {}
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(error),
            };
        }
    }
    let mut text = String::new();
    allowed
        .open(path)?
        .take(MAX_SETTINGS_BYTES)
        .read_to_string(&mut text)?;
    Ok(Some(text))
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_files::allowed::EVERYTHING;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Settings> {
        Settings::parse(Path::new("/p"), Path::new("/p/.loci.toml"), text)
    }

    fn problem(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_file_and_known_keys() {
        let message = problem("wing = \"a\"\nwong = \"b\"\n");
        for part in [
            "/p/.loci.toml",
            "line 2",
            "wong",
            "`wing`",
            "`room`",
            "`rooms`",
        ] {
            assert!(message.contains(part), "{part} missing in {message}");
        }
        let message = problem("[[rooms]]\npath = \"x\"\nroom = \"y\"\nwing = \"z\"\n");
        for part in ["line 4", "wing", "`path`", "`room`"] {
            assert!(message.contains(part), "{part} missing in {message}");
        }
    }

    /// The link may lead to any file of the user, and agents see errors.
    #[test]
    fn an_error_quotes_nothing_of_a_file_that_a_link_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let (private, folder) = (place.path().join("private"), place.path().join("tree"));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&private, folder.join(SETTINGS_FILE)).unwrap();
        for text in ["hunter2 = 1\n", "root:hunter2:1\n", "wing = [\"hunter2\"]"] {
            loci_files::own::write(&private, text).unwrap();
            let message = Settings::of(&folder, place.path(), &EVERYTHING)
                .unwrap_err()
                .to_string();
            assert!(message.contains("is a link"), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn settings_behind_a_link_that_leads_out_of_the_tree_do_not_count() {
        let place = tempfile::tempdir().unwrap();
        let (private, folder) = (place.path().join("private"), place.path().join("tree"));
        fs::create_dir(&folder).unwrap();
        loci_files::own::write(&private, "wing = \"outside\"\n").unwrap();
        std::os::unix::fs::symlink(&private, folder.join(SETTINGS_FILE)).unwrap();
        assert!(
            Settings::of(&folder, &folder, &EVERYTHING)
                .unwrap()
                .is_none()
        );
        let inside = Settings::of(&folder, place.path(), &EVERYTHING)
            .unwrap()
            .unwrap();
        assert_eq!(inside.wing.as_deref(), Some("outside"));
    }

    #[test]
    fn a_broken_file_is_named_with_its_line() {
        assert!(problem("wing = \"a\"\n\nroom = \n").contains("line 3"));
        assert!(problem("wing = 3").contains("line 1"));
    }

    #[test]
    fn a_name_that_cannot_be_kept_is_refused_where_it_stands() {
        for bad in ["", " x", "a\\u0007"] {
            let message = problem(&format!("\nwing = \"{bad}\"\n"));
            assert!(message.contains("line 2, key `wing`"), "{message}");
        }
    }

    #[test]
    fn the_first_pattern_that_matches_gives_the_room() {
        let settings = parse(
            "room = \"rest\"\n[[rooms]]\npath = \"docs/api/**\"\nroom = \"reference\"\n\
             [[rooms]]\npath = \"docs\"\nroom = \"handbook\"\n\
             [[rooms]]\npath = \"*.md\"\nroom = \"notes\"\n",
        )
        .unwrap();
        for (file, room) in [
            ("/p/docs/api/a.md", "reference"),
            ("/p/docs/a.md", "handbook"),
            ("/p/docs/x/y/a.md", "handbook"),
            ("/p/a.md", "notes"),
            ("/p/src/a.md", "rest"),
            ("/p/docs.txt", "rest"),
        ] {
            assert_eq!(settings.room_of(Path::new(file)), Some(room), "{file}");
        }
    }

    #[test]
    fn a_pattern_may_not_leave_its_folder() {
        for bad in ["../x/**", "/etc/**", "", "/"] {
            let message = problem(&format!("[[rooms]]\npath = \"{bad}\"\nroom = \"x\"\n"));
            assert!(message.contains("line 2"), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}|(wing|room|\\[\\[rooms\\]\\]|path|=|\"|\n|\\*|\\{|\\[| ){0,40}") {
            let _ = parse(&text);
        }
    }
}
