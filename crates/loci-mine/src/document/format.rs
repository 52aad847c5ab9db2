//! The formats of text and their names.

/// The format of a text, which decides how it is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Markdown.
    Markdown,
    /// Prose, logs, tables, and any other text without a known structure.
    Text,
    /// reStructuredText.
    Rst,
    /// Source code.
    Code(Language),
    /// One JSON value.
    Json,
    /// A JSON value on each line.
    JsonLines,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// HTML. Its text is extracted, with headings, lists and code as Markdown.
    Html,
    /// SVG. Its title, descriptions and labels are extracted.
    Svg,
    /// A Jupyter notebook. Its cells are extracted as Markdown, without outputs.
    Notebook,
    /// PDF. Its text is extracted as paragraphs.
    Pdf,
    /// DOCX. Its text is extracted, with headings and lists as Markdown.
    Docx,
}

impl Format {
    /// Whether the text is extracted, so that its lines are not those of the file.
    pub fn is_extracted(&self) -> bool {
        matches!(
            self,
            Format::Html | Format::Svg | Format::Notebook | Format::Pdf | Format::Docx
        )
    }

    /// A short lower-case name, such as `markdown` or `rust`.
    pub fn name(&self) -> &'static str {
        match self {
            Format::Markdown => "markdown",
            Format::Text => "text",
            Format::Rst => "rst",
            Format::Code(language) => language.name(),
            Format::Json => "json",
            Format::JsonLines => "jsonl",
            Format::Yaml => "yaml",
            Format::Toml => "toml",
            Format::Html => "html",
            Format::Svg => "svg",
            Format::Notebook => "notebook",
            Format::Pdf => "pdf",
            Format::Docx => "docx",
        }
    }
}

/// A programming language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "languages are known by their names")]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Go,
    Java,
    C,
    Cpp,
    CSharp,
    Ruby,
    Php,
    Swift,
    Kotlin,
    Scala,
    Shell,
    Sql,
    Lua,
    /// A language that is only known by its name.
    Other(&'static str),
}

impl Language {
    /// A short lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "javascript",
            Language::TypeScript => "typescript",
            Language::Go => "go",
            Language::Java => "java",
            Language::C => "c",
            Language::Cpp => "cpp",
            Language::CSharp => "csharp",
            Language::Ruby => "ruby",
            Language::Php => "php",
            Language::Swift => "swift",
            Language::Kotlin => "kotlin",
            Language::Scala => "scala",
            Language::Shell => "shell",
            Language::Sql => "sql",
            Language::Lua => "lua",
            Language::Other(name) => name,
        }
    }

    pub(crate) fn is_lisp(self) -> bool {
        matches!(
            self,
            Language::Other("clojure" | "lisp" | "scheme" | "emacs-lisp" | "racket")
        )
    }

    /// Whether `//` and `/* */` are comments.
    pub(crate) fn has_slash_comments(self) -> bool {
        match self {
            Language::Rust
            | Language::JavaScript
            | Language::TypeScript
            | Language::Go
            | Language::Java
            | Language::C
            | Language::Cpp
            | Language::CSharp
            | Language::Php
            | Language::Swift
            | Language::Kotlin
            | Language::Scala => true,
            Language::Other(name) => matches!(
                name,
                "css"
                    | "scss"
                    | "less"
                    | "dart"
                    | "groovy"
                    | "zig"
                    | "objective-c"
                    | "protobuf"
                    | "solidity"
                    | "verilog"
                    | "graphql"
                    | "vue"
                    | "svelte"
                    | "d"
                    | "hcl"
            ),
            Language::Python | Language::Ruby | Language::Shell | Language::Sql | Language::Lua => {
                false
            }
        }
    }

    /// Whether strings in three quotes can span lines.
    pub(crate) fn has_triple_quotes(self) -> bool {
        matches!(
            self,
            Language::Python
                | Language::Java
                | Language::Swift
                | Language::Kotlin
                | Language::Scala
                | Language::Other("dart" | "elixir" | "julia" | "groovy" | "gdscript" | "starlark")
        )
    }
}
