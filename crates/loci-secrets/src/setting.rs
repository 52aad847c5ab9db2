//! Recognises settings files, in which a name is enough to identify a secret.

use std::path::Path;

/// How strong the evidence for a secret must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Setting {
    /// Prose, code and data. Only recognisable secrets are masked.
    #[default]
    Plain,
    /// A settings file such as `.env`. Every value with a secret name is masked.
    DotEnv,
}

/// The complete names of settings files.
const NAMES: [&str; 16] = [
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    "pgpass.conf",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".git-credentials",
    "credentials",
    "secrets",
];

/// The stems of settings files, before a last dot and these extensions.
const STEMS: [&str; 4] = [
    "credentials",
    "secrets",
    ".credentials",
    "application_default_credentials",
];
const ENDINGS: [&str; 7] = ["env", "toml", "json", "ini", "yml", "yaml", "cfg"];

/// Settings files with a general name in a specific directory.
const PLACES: [(&str, &str); 2] = [(".docker", "config.json"), (".kube", "config")];

/// The extensions of `.env` copies that are meant to be published.
const EXAMPLE_EXTENSIONS: [&str; 6] = ["example", "sample", "template", "dist", "tmpl", "md"];

/// Recognises a settings file by its path. The file is not read.
///
/// ```
/// use std::path::Path;
/// use loci_secrets::{Setting, setting_of};
/// assert_eq!(setting_of(Path::new("app/.env.local")), Setting::DotEnv);
/// assert_eq!(setting_of(Path::new("app/.env.example")), Setting::Plain);
/// ```
pub fn setting_of(path: &Path) -> Setting {
    let part = |part: Option<&std::ffi::OsStr>| {
        part.map(|name| name.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default()
    };
    let name = part(path.file_name());
    let directory = part(path.parent().and_then(Path::file_name));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
    let env = name.starts_with(".env.") && !EXAMPLE_EXTENSIONS.contains(&ending);
    let is_setting = NAMES.contains(&name.as_str())
        || env
        || (ending == "env" && !EXAMPLE_EXTENSIONS.contains(&stem))
        || ending == "tfvars"
        || (STEMS.contains(&stem) && ENDINGS.contains(&ending))
        || PLACES.contains(&(directory.as_str(), name.as_str()));
    if is_setting {
        Setting::DotEnv
    } else {
        Setting::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_settings_are_recognised_by_their_path() {
        for path in [
            ".env",
            "a/.env.local",
            "a/.ENV.production",
            "prod.env",
            ".envrc",
            "home/.netrc",
            ".pgpass",
            ".aws/credentials",
            ".npmrc",
            ".pypirc",
            ".cargo/credentials.toml",
            "config/secrets.yml",
            "terraform.tfvars",
            ".docker/config.json",
            ".kube/config",
        ] {
            assert_eq!(setting_of(Path::new(path)), Setting::DotEnv, "{path}");
        }
        for path in [
            "",
            "/",
            "README.md",
            ".env.example",
            ".env.sample",
            "environment.rs",
            "src/secrets.rs",
            "docs/credentials.md",
            "config",
            "app/config.json",
            "example.env",
        ] {
            assert_eq!(setting_of(Path::new(path)), Setting::Plain, "{path}");
        }
    }
}
