//! Classifies one line of code: whether it begins a definition, and otherwise its kind.
//!
//! It knows keywords, not grammars. One table serves all languages, and an unknown language still
//! has its blocks.

use crate::document::Language;

/// The kind of a line of code, without its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Begins a function, type, module or the like.
    Definition,
    /// A name with arguments, which begins a definition if a block follows.
    Signature,
    /// A comment, attribute or decorator, which belongs to the next line.
    Lead,
    /// Ends or continues an open block: `}`, `end`, `else`, `{`.
    Closing,
    /// A line at the margin whatever its block: a preprocessor directive, a label.
    Margin,
    /// Anything else.
    Plain,
}

const MODIFIERS: &[&str] = &[
    "pub",
    "async",
    "export",
    "default",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "final",
    "abstract",
    "override",
    "unsafe",
    "extern",
    "inline",
    "virtual",
    "open",
    "sealed",
    "data",
    "suspend",
    "declare",
    "readonly",
    "partial",
    "constexpr",
    "explicit",
    "friend",
    "synchronized",
    "native",
    "strictfp",
    "local",
    "template",
    "typedef",
    "const",
    "noinline",
    "operator",
    "tailrec",
    "lateinit",
    "mutating",
    "case",
    "global",
    "auto",
    "volatile",
    "comptime",
    "noreturn",
    "export default",
    "fileprivate",
    "annotation",
    "companion",
    "implicit",
    "lazy",
    "opaque",
];

const DEFINING: &[&str] = &[
    "fn",
    "def",
    "class",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "module",
    "interface",
    "type",
    "function",
    "func",
    "fun",
    "namespace",
    "union",
    "record",
    "object",
    "extension",
    "protocol",
    "macro_rules!",
    "macro",
    "defmodule",
    "defp",
    "defmacro",
    "defimpl",
    "defprotocol",
    "sub",
    "procedure",
    "message",
    "service",
    "contract",
    "library",
    "actor",
    "instance",
    "newtype",
    "concept",
    "subroutine",
    "constructor",
    "init",
    "deinit",
    "defn",
    "defun",
];

const CONTROL: &[&str] = &[
    "if", "for", "while", "switch", "match", "with", "try", "return", "do", "loop", "unless",
    "until", "when", "select", "defer", "go", "await", "yield", "throw", "raise", "assert",
    "print", "new", "delete", "sizeof", "using", "lock", "foreach", "repeat", "import", "from",
    "use", "include", "require", "package", "let", "var", "val", "mut", "echo", "del", "pass",
    "break", "continue", "goto", "unsafe", "begin", "puts", "super", "this", "self", "case",
];

const GOING_ON: &[&str] = &[
    "end",
    "else",
    "elif",
    "elsif",
    "except",
    "finally",
    "catch",
    "rescue",
    "ensure",
    "fi",
    "done",
    "esac",
    "then",
    "where",
    "endif",
    "endfunction",
    "endmodule",
    "default:",
    "and",
    "or",
];

/// Returns the kind of a line, without its indentation, in `language`.
pub(super) fn kind(line: &str, language: Language) -> Kind {
    let first = line.as_bytes().first().copied().unwrap_or(b' ');
    match first {
        b'}' | b')' | b']' | b'{' | b'|' | b'&' | b'.' | b',' | b'?' | b':' => {
            return Kind::Closing;
        }
        b'#' => return hash_kind(line, language),
        b'/' if line.starts_with("//") || line.starts_with("/*") => return Kind::Lead,
        b'*' | b'@' => return Kind::Lead,
        b'-' if line.starts_with("--") => return Kind::Lead,
        b';' if language.is_lisp() => return Kind::Lead,
        b'%' if language.name() == "erlang" => return Kind::Lead,
        b'(' if language.is_lisp() => return lisp_kind(line),
        b'[' if matches!(language, Language::CSharp) => return Kind::Lead,
        b'(' | b'[' | b'"' | b'\'' | b'=' | b'+' | b'<' | b'>' | b'!' => return Kind::Plain,
        _ => {}
    }
    let mut rest = line;
    let mut modified = false;
    // A definition has only a few modifiers.
    for _ in 0..8 {
        let (word, after) = word(rest);
        if word.is_empty() {
            return Kind::Plain;
        }
        if DEFINING.contains(&word) {
            return defining_kind(word, after, modified);
        }
        if !modified {
            if GOING_ON.contains(&word) && !after.starts_with(['(', ' ']) || word == "else" {
                return Kind::Closing;
            }
            if GOING_ON.contains(&word) && !after.contains('=') {
                return Kind::Closing;
            }
        }
        let next = after.trim_start();
        if !MODIFIERS.contains(&word) || next.starts_with(['=', '.', ':', ',', ';']) {
            break;
        }
        modified = true;
        rest = match next.as_bytes().first() {
            // As in `pub(crate)`.
            Some(b'(') => next.split_once(')').map_or("", |(_, after)| after),
            // As in `extern "C"`.
            Some(b'"') => next.splitn(3, '"').nth(2).unwrap_or(""),
            _ => next,
        }
        .trim_start();
    }
    binding_or_signature(rest, line, language)
}

fn hash_kind(line: &str, language: Language) -> Kind {
    match language {
        Language::Rust => Kind::Lead,
        Language::C | Language::Cpp | Language::CSharp => Kind::Margin,
        _ if line.starts_with("#!") => Kind::Plain,
        _ => Kind::Lead,
    }
}

fn lisp_kind(line: &str) -> Kind {
    let (word, _) = word(line.get(1..).unwrap_or(""));
    if word.starts_with("def") || word == "ns" {
        Kind::Definition
    } else {
        Kind::Plain
    }
}

/// Returns the kind of a line if `word` is a defining keyword that `after` follows.
fn defining_kind(word: &str, after: &str, modified: bool) -> Kind {
    let next = after.trim_start();
    let named = next
        .starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '`' | '$' | '~'));
    let bracketed = next.starts_with(['(', '<', '*', '{']);
    let spaced = after.starts_with([' ', '\t']);
    match word {
        // These words are as often names: `type = 3`, `message(x)`, `object.key`.
        "constructor" | "init" | "deinit" => {
            if bracketed {
                Kind::Signature
            } else {
                Kind::Plain
            }
        }
        _ if spaced && named && !next.starts_with("= ") => Kind::Definition,
        "fn" | "func" | "function" | "impl" | "enum" | "struct" | "namespace" | "union"
        | "extension" | "object"
            if bracketed && (modified || spaced || word == "impl") =>
        {
            Kind::Definition
        }
        _ => Kind::Plain,
    }
}

/// Recognises a function bound to a name, or a name with arguments.
fn binding_or_signature(rest: &str, line: &str, language: Language) -> Kind {
    let (first, after) = word(rest);
    if matches!(first, "const" | "let" | "var")
        || (rest.len() < line.len() && after.trim_start().starts_with('='))
    {
        let value = line
            .split_once('=')
            .map_or("", |(_, value)| value.trim_start());
        let function = value.starts_with("function")
            || value.starts_with("async")
            || value.starts_with("class")
            || value.ends_with("=> {")
            || value.ends_with("=>");
        return if function {
            Kind::Definition
        } else {
            Kind::Plain
        };
    }
    if matches!(language, Language::Shell) {
        let named = after.starts_with("()") || after.starts_with(" ()");
        return if named { Kind::Definition } else { Kind::Plain };
    }
    if CONTROL.contains(&first) || matches!(language, Language::Python | Language::Rust) {
        return Kind::Plain;
    }
    if matches!(language, Language::Sql) {
        let creates = first.eq_ignore_ascii_case("create") || first.eq_ignore_ascii_case("alter");
        return if creates {
            Kind::Definition
        } else {
            Kind::Plain
        };
    }
    if after.starts_with(':') && !after.starts_with("::") && after.len() <= 2 {
        return Kind::Margin;
    }
    let Some(open) = line.find('(') else {
        return Kind::Plain;
    };
    let before = line.get(..open).unwrap_or("");
    let end = line.trim_end();
    let called = end.ends_with(';')
        || before.contains('=')
        || before.contains('.') && !before.contains("::");
    if called { Kind::Plain } else { Kind::Signature }
}

/// Returns the first word of `text` and the text after it.
fn word(text: &str) -> (&str, &str) {
    let end = text
        .find(|character: char| {
            !(character.is_alphanumeric() || matches!(character, '_' | '!' | '$' | '-'))
        })
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}
