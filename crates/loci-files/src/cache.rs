//! The user's cache directory. Everything in it can be deleted at any time.

use std::path::PathBuf;

/// `$XDG_CACHE_HOME/loci`, else `~/.cache/loci`. `None` if there is no home directory. The
/// directory may not exist yet.
pub fn user_cache() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("loci"))
}
