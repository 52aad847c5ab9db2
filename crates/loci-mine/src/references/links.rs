//! Links between files: `[text](../other.md#part)`, `[ref]: other.md` and `[[Note#Heading|alias]]`.

/// The longest target, in bytes.
const LONGEST: usize = 512;

/// Calls `each` with the targets of the links of a line without code. Wikilinks keep their brackets.
/// Images, addresses and links within the file are left out.
pub(super) fn each(line: &str, mut each: impl FnMut(String)) {
    if let Some(target) = definition(line) {
        each(target);
        return;
    }
    let mut rest = line;
    let mut is_image = false;
    while let Some(at) = rest.find(['[', ']']) {
        let (before, here) = rest.split_at(at);
        if let Some(inner) = here.strip_prefix("[[") {
            if let Some((inner, after)) = inner.split_once("]]") {
                if let Some(target) = wikilink(inner) {
                    each(target);
                }
                rest = after;
                continue;
            }
        } else if here.starts_with('[') {
            is_image = before.ends_with('!');
        } else if let Some(inner) = here.strip_prefix("](") {
            if let Some(target) = destination(inner).filter(|_| !is_image) {
                each(target);
            }
            is_image = false;
        }
        rest = here.get(1..).unwrap_or_default();
    }
}

fn wikilink(inner: &str) -> Option<String> {
    let target = inner.split('|').next().unwrap_or_default();
    let target = target.trim_end_matches('\\').trim();
    let fits = !target.is_empty()
        && target.len() <= LONGEST
        && !target.starts_with('#')
        && !target.contains(['[', ']', '\u{0}']);
    fits.then(|| format!("[[{target}]]"))
}

/// Returns the target of `[ref]: target "title"`.
fn definition(line: &str) -> Option<String> {
    let begin = line.trim_start();
    let (name, after) = begin.strip_prefix('[')?.split_once("]:")?;
    if name.is_empty() || name.starts_with('^') || name.contains(['[', ']']) {
        return None;
    }
    destination(after.trim_start())
}

/// Returns the relative target at the start of `rest`, which a `)` or white space ends.
fn destination(rest: &str) -> Option<String> {
    let rest = rest.trim_start();
    let target = if let Some(inner) = rest.strip_prefix('<') {
        inner.split('>').next()?
    } else {
        let mut depth = 0;
        let end = rest.find(|letter: char| {
            match letter {
                '(' => depth += 1,
                ')' if depth == 0 => return true,
                ')' => depth -= 1,
                _ => {}
            }
            letter.is_whitespace()
        });
        rest.get(..end.unwrap_or(rest.len()))?
    };
    let fits = !target.is_empty()
        && target.len() <= LONGEST
        && !target.starts_with(['#', '/', '?', '{', '$', '%', '\\'])
        && !has_scheme(target)
        && !target.contains('\u{0}');
    fits.then(|| target.to_owned())
}

fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

/// The target of a link, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// A path relative to the folder of the file that links, and the part of the target.
    Path {
        /// The path, with percent signs decoded.
        path: String,
        /// The part after `#`; may be empty.
        part: String,
    },
    /// The name of a note, with folders before it or not, and a heading.
    Note {
        /// The name.
        name: String,
        /// The heading; may be empty.
        part: String,
    },
}

impl LinkTarget {
    /// Takes a target apart that [`super::find`] returned.
    pub fn parse(target: &str) -> Self {
        if let Some(inner) = target
            .strip_prefix("[[")
            .and_then(|inner| inner.strip_suffix("]]"))
        {
            let (name, part) = inner.split_once('#').unwrap_or((inner, ""));
            // `#A#B` is the heading B below A.
            let part = part.rsplit('#').next().unwrap_or_default();
            return Self::Note {
                name: name.trim().to_owned(),
                part: part.trim().to_owned(),
            };
        }
        let (path, part) = target.split_once('#').unwrap_or((target, ""));
        let path = path.split('?').next().unwrap_or_default();
        Self::Path {
            path: decoded(path),
            part: decoded(part),
        }
    }

    /// The names by which a target file may be called: the end of its path, in lower case, with and
    /// without what may be an extension. A folder stands for its README or its index.
    pub fn names(&self) -> Vec<String> {
        let (Self::Path { path: target, .. } | Self::Note { name: target, .. }) = self;
        let last = target
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let mut names = vec![target_name(last), last.to_lowercase()];
        names.dedup();
        if target.ends_with('/') || matches!(last, "." | "..") {
            names = vec!["readme".to_owned(), "index".to_owned()];
        }
        names.retain(|name| !name.is_empty());
        names
    }
}

/// The name of a file by which links are found: in lower case, without folder and extension.
pub fn target_name(path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or_default();
    let stem = match last.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty() && extension.len() <= 8 && !extension.contains(' ') =>
        {
            stem
        }
        _ => last,
    };
    stem.to_lowercase()
}

/// Decodes percent signs. What is no UTF-8 afterwards stays as it is.
fn decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let value = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match value {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_taken_apart() {
        let path = |path: &str, part: &str| LinkTarget::Path {
            path: path.into(),
            part: part.into(),
        };
        assert_eq!(
            LinkTarget::parse("../a%20b.md?x#the-part"),
            path("../a b.md", "the-part")
        );
        assert_eq!(LinkTarget::parse("100%.md"), path("100%.md", ""));
        let note = LinkTarget::parse("[[a/Note 1.2#Top#Sub]]");
        assert_eq!(
            note,
            LinkTarget::Note {
                name: "a/Note 1.2".into(),
                part: "Sub".into()
            }
        );
        assert_eq!(LinkTarget::parse("guide/").names(), ["readme", "index"]);
        assert_eq!(
            LinkTarget::parse("../Guide.MD#x").names(),
            ["guide", "guide.md"]
        );
    }
}
