//! The reasons for skipping a path that the rules admit. The texts are stable, because callers
//! count by them.

/// The name, or the name of a link's target, is not UTF-8.
pub const NOT_UTF8: &str = "name is not UTF-8";
/// A pipe, socket or device. It is never opened.
pub const NOT_REGULAR: &str = "not a regular file";
/// The system denies access.
pub const NO_PERMISSION: &str = "no permission";
/// A link whose target does not exist.
pub const BROKEN: &str = "broken link";
/// A link that leads to itself or to a folder above it.
pub const LOOP: &str = "symlink loop";
/// A link, and the rules do not follow links.
pub const LINK: &str = "links are not followed";
/// A link to a file outside the roots, and the rules follow only links that stay inside.
pub const FILE_OUTSIDE: &str = "link to a file outside the roots";
/// A link to a folder outside the roots.
pub const FOLDER_OUTSIDE: &str = "link to a folder outside the roots";
/// A link to a path that is met under its real path, or was met through another link.
pub const MET_ELSEWHERE: &str = "link to what is met elsewhere";
/// The file is larger than the rules allow.
pub const TOO_LARGE: &str = "larger than the limit";
/// A palace of Loci, which is never mined.
pub const PALACE: &str = "a palace of Loci";
/// A companion file outside the roots that the owner allowed. It is not opened.
pub const NOT_ALLOWED: &str = "outside the allowed roots";
/// A conversation with companion files outside the roots that the owner allowed.
pub const PARTS_NOT_ALLOWED: &str = "parts of it lie outside the allowed roots";
