//! Classifies a folder by its name and its content: a palace, a cache, or third-party code. It
//! knows names only; the gate decides whether to leave a folder out.

use std::io::Read;
use std::path::Path;

use loci_files::allowed::AllowedRoots;

/// The files directly in a folder that matter to the rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Signs {
    pub(super) lociignore: bool,
    pub(super) ignore: bool,
    pub(super) gitignore: bool,
    pub(super) git: bool,
    palace: bool,
    environment: bool,
    cache_tag: bool,
}

const LOCIIGNORE: &str = ".lociignore";
const IGNORE: &str = ".ignore";
const GITIGNORE: &str = ".gitignore";

/// The names of pattern files, strongest first.
pub(crate) const LISTS: [&str; 3] = [LOCIIGNORE, IGNORE, GITIGNORE];

/// The files of a palace. The lock file exists even while a restore swaps the database.
const PALACE: [&str; 2] = ["palace.sqlite3", "palace.lock"];

/// The signature of `CACHEDIR.TAG`, by which caches are marked.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Folders of third-party code or of a tool, whatever their content.
const VENDORED: [&str; 14] = [
    "node_modules",
    "bower_components",
    "site-packages",
    "__pycache__",
    "Pods",
    "DerivedData",
    ".venv",
    ".tox",
    ".nox",
    ".gradle",
    ".terraform",
    ".next",
    ".nuxt",
    ".svelte-kit",
];

/// Folders with a common name that belong to a tool only if its own files are beside or inside
/// them.
const VENDORED_BESIDE: [(&str, &[&str], &[&str]); 2] = [
    ("target", &["Cargo.toml"], &[]),
    (
        "vendor",
        &[
            "go.mod",
            "go.work",
            "composer.json",
            "Gemfile",
            "Cargo.toml",
        ],
        &["modules.txt", "autoload.php", "bundle"],
    ),
];

impl Signs {
    /// Records one name of the folder's listing.
    pub(super) fn note(&mut self, name: &str) {
        match name {
            LOCIIGNORE => self.lociignore = true,
            IGNORE => self.ignore = true,
            GITIGNORE => self.gitignore = true,
            ".git" => self.git = true,
            "pyvenv.cfg" => self.environment = true,
            "CACHEDIR.TAG" => self.cache_tag = true,
            _ => self.palace |= makes_palace(name),
        }
    }

    /// Checks for the files without a listing, for folders that are only passed through.
    pub(super) fn probe(folder: &Path) -> Self {
        let mut signs = Self::default();
        let names = LISTS
            .iter()
            .chain(&PALACE)
            .chain(&[".git", "pyvenv.cfg", "CACHEDIR.TAG"]);
        for name in names {
            if folder.join(name).symlink_metadata().is_ok() {
                signs.note(name);
            }
        }
        signs
    }

    pub(super) fn is_palace(self) -> bool {
        self.palace
    }

    /// Whether the content of the folder shows that it belongs to a tool.
    pub(super) fn is_vendored(self, folder: &Path, allowed: &AllowedRoots) -> bool {
        let tag = || folder.join("CACHEDIR.TAG");
        self.environment || (self.cache_tag && has_cache_signature(&tag(), allowed))
    }
}

/// Whether a file of this name makes its folder a palace.
pub(crate) fn makes_palace(name: &str) -> bool {
    PALACE.contains(&name)
}

/// Whether the name of the folder and its neighbours show that it belongs to a tool.
pub(super) fn is_vendored_by_name(folder: &Path, name: &str) -> bool {
    VENDORED.contains(&name)
        || VENDORED_BESIDE.iter().any(|(vendored, beside, within)| {
            name == *vendored
                && (beside
                    .iter()
                    .any(|each| folder.with_file_name(each).exists())
                    || within.iter().any(|each| folder.join(each).exists()))
        })
}

/// Whether version control stores its files in a folder of this name. Such folders are never mined.
pub(super) fn is_version_control(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn" | ".jj" | ".bzr" | ".pijul")
}

fn has_cache_signature(tag: &Path, allowed: &AllowedRoots) -> bool {
    let mut start = Vec::new();
    allowed.metadata(tag).is_ok_and(|found| found.is_file())
        && allowed
            .open(tag)
            .and_then(|file| {
                file.take(CACHE_SIGNATURE.len() as u64)
                    .read_to_end(&mut start)
            })
            .is_ok()
        && start == CACHE_SIGNATURE
}
