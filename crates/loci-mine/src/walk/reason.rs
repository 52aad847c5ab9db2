//! Why something that the rules admit is passed over, in plain words. The words are stable: they
//! are what callers count by.

/// The name, or the name that a link ends at, is not UTF-8.
pub const NOT_UTF8: &str = "name is not UTF-8";
/// A pipe, socket or device. It is never opened.
pub const NOT_REGULAR: &str = "not a regular file";
/// The system does not let us look.
pub const NO_PERMISSION: &str = "no permission";
/// A link that leads to nothing.
pub const BROKEN: &str = "broken link";
/// A link that leads to itself or to a folder that it lies in.
pub const LOOP: &str = "symlink loop";
/// A link, and the rules do not follow links.
pub const LINK: &str = "links are not followed";
/// A link to a file that is in no root, and the rules follow only links that stay inside.
pub const FILE_OUTSIDE: &str = "link to a file outside the roots";
/// A link to a folder that is in no root.
pub const FOLDER_OUTSIDE: &str = "link to a folder outside the roots";
/// A link to what is met under its real path, or was met through another link.
pub const MET_ELSEWHERE: &str = "link to what is met elsewhere";
/// The file has more bytes than the rules allow.
pub const TOO_LARGE: &str = "larger than the limit";
/// A palace of Loci: it is never mined.
pub const PALACE: &str = "a palace of Loci";
/// A file that belongs to what is mined and lies outside of the roots that the owner allowed. It is
/// not opened.
pub const NOT_ALLOWED: &str = "outside the allowed roots";
/// A conversation whose other files lie outside of the roots that the owner allowed.
pub const PARTS_NOT_ALLOWED: &str = "parts of it lie outside the allowed roots";
