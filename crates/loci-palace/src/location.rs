//! Parses palaces and directories that users name on the command line, in variables and in
//! config.toml. A leading `~` is the home directory, and a URL is never the name of a directory.

use std::path::{Component, Path, PathBuf};

use loci_core::{Error, PalaceRef, PalaceUrl, Result, holds_password, path_text};

/// The palace that `written` names: a directory, or a URL. `what` is its origin, for errors.
pub fn palace_of(what: &str, written: &Path) -> Result<PalaceRef> {
    match PalaceUrl::parse(written) {
        Some(url) => Ok(PalaceRef::Url(url)),
        None => directory_of(what, written).map(PalaceRef::Directory),
    }
}

/// The directory that `written` names. `what` is its origin, for errors: `--palace`, `LOCI_PALACE`,
/// ….
pub fn directory_of(what: &str, written: &Path) -> Result<PathBuf> {
    if let Some(url) = PalaceUrl::parse(written) {
        let scheme = url.scheme();
        return Err(Error::invalid(
            what,
            format!(
                "`{url}` has the scheme `{scheme}`, but a directory is required; a directory of that name is \
                 written `./{scheme}:…`"
            ),
        ));
    }
    refuse_password(what, written)?;
    let mut parts = written.components();
    let Some(Component::Normal(first)) = parts.next() else {
        return Ok(written.to_owned());
    };
    if first == "~" {
        let home = home().ok_or_else(|| {
            Error::invalid(
                format!("{what} `{}`", path_text(written)),
                "there is no home directory to replace `~`; write the full path",
            )
        })?;
        // Joining an empty rest would add a slash.
        let rest = parts.as_path();
        if rest.as_os_str().is_empty() {
            return Ok(home);
        }
        return Ok(home.join(rest));
    }
    if first.as_encoded_bytes().starts_with(b"~") {
        return Err(Error::invalid(
            format!("{what} `{}`", path_text(written)),
            format!(
                "the home directory of another user is not looked up; write the full path, or \
                 `./{}` for a directory of that name",
                path_text(Path::new(first))
            ),
        ));
    }
    Ok(written.to_owned())
}

/// Refuses a path that looks like an address with a password. `./` before it makes it a directory, and
/// so does a `/`, but for two of them.
fn refuse_password(what: &str, written: &Path) -> Result<()> {
    let text = written.to_string_lossy();
    let is_path = text.starts_with("./")
        || text.starts_with("../")
        || text.starts_with('/') && !text.starts_with("//");
    if is_path || !holds_password(&text) {
        return Ok(());
    }
    Err(Error::invalid(
        what,
        "looks like an address with a password, but is no URL (`scheme://…`); a directory of that \
         name is written `./…`",
    ))
}

/// The palace that a key of a configuration file names.
pub(crate) fn configured_palace(what: &str, written: &Path) -> Result<PalaceRef> {
    match PalaceUrl::parse(written) {
        Some(url) => Ok(PalaceRef::Url(url)),
        None => configured_directory(what, written).map(PalaceRef::Directory),
    }
}

/// The directory that a key of a configuration file names. It must be absolute, because commands
/// run in any directory.
pub(crate) fn configured_directory(what: &str, written: &Path) -> Result<PathBuf> {
    let directory = directory_of(what, written)?;
    if directory.is_absolute() {
        return Ok(directory);
    }
    Err(Error::invalid(
        format!("{what} `{}`", path_text(written)),
        "a relative path depends on the current directory; begin it with `/` or `~/`",
    ))
}

/// A location for diagnostics: a URL without its user, password, path and query.
pub fn display_location(written: &Path) -> String {
    if refuse_password("", written).is_err() {
        return "…".to_owned();
    }
    PalaceRef::from(written).to_string()
}

/// The home directory of the user.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(written: &str) -> String {
        directory_of("--palace", Path::new(written))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_url_is_never_a_directory_and_its_password_is_never_shown() {
        for url in [
            "postgres://loci:not-a-secret@db.example/palace",
            "postgresql://loci:not-a-se/cret@db.example/palace",
            "postgres://db.example/palace?password=not-a-secret",
            "postgres://db.example:5432/palace?password=not-a-secret&mail=a@b",
            "sqlite:///home/a/palace",
            "file:///home/a/palace",
            "s3+https://bucket/not-a-secret",
        ] {
            let error = refused(url);
            assert!(
                !error.contains("secret") && !error.contains("cret@"),
                "{error}"
            );
            assert!(error.contains("has the scheme"), "{error}");
            let palace = palace_of("--palace", Path::new(url)).unwrap();
            assert!(palace.scheme().is_some(), "{palace}");
        }
        assert!(refused("http://db.example:1/x").contains("`http://db.example/…`"));
    }

    #[test]
    fn an_address_with_a_password_is_no_directory_and_is_not_shown() {
        for written in [
            "\"postgres://u:SECRET@h/db\"",
            "post_gres://u:SECRET@h",
            "//u:SECRET@h/db",
            "postgres:u:SECRET@h/db",
            "host=h user=u password=SECRET",
        ] {
            let error = refused(written);
            assert!(!error.contains("SECRET"), "{error}");
            assert!(error.contains("looks like an address"), "{error}");
            assert!(!display_location(Path::new(written)).contains("SECRET"));
        }
        for directory in ["./u:x@h", "/srv/u:x@h", "mail@host"] {
            let path = Path::new(directory);
            assert_eq!(directory_of("--palace", path).unwrap(), path);
        }
    }

    #[test]
    fn a_drive_and_a_name_with_a_colon_are_directories() {
        for path in [
            "C:\\palace",
            "c://palace",
            "./postgres://x",
            "a:b",
            "/x/http://y",
            "a b://c",
        ] {
            let path = Path::new(path);
            assert_eq!(directory_of("--palace", path).unwrap(), path);
        }
    }

    #[test]
    fn a_tilde_is_the_home_directory_and_that_of_another_user_is_refused() {
        let home = home().unwrap();
        let of = |written: &str| directory_of("--palace", Path::new(written)).unwrap();
        assert_eq!(of("~"), home);
        assert_eq!(of("~/"), home);
        assert_eq!(of("~/p"), home.join("p"));
        assert_eq!(of("./~/p"), Path::new("./~/p"));
        assert_eq!(of("a~"), Path::new("a~"));
        assert!(refused("~alice/p").contains("`./~alice`"));
    }

    #[test]
    fn a_configured_directory_is_absolute() {
        let of = |written: &str| configured_directory("`palace`", Path::new(written));
        assert!(of("/p").is_ok() && of("~/p").is_ok());
        for relative in ["p", "./p", "../p", ""] {
            assert!(of(relative).is_err(), "{relative}");
        }
    }
}
