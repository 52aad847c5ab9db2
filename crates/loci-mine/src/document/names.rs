//! A table from file names to formats.
//!
//! This module does not examine bytes.

use std::path::Path;

use super::format::{Format, Language};

/// What a file name says about the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Format(Format),
    Binary,
    Unknown,
}

/// Looks up the name of `path`.
pub(super) fn named(path: &Path) -> Named {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    if let Some(format) = by_whole_name(&name) {
        return Named::Format(format);
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return Named::Unknown;
    };
    if stem.is_empty() {
        return Named::Unknown;
    }
    if BINARY.contains(&extension) {
        return Named::Binary;
    }
    by_extension(extension).map_or(Named::Unknown, Named::Format)
}

fn by_whole_name(name: &str) -> Option<Format> {
    Some(match name {
        "makefile" | "gnumakefile" => Format::Code(Language::Other("make")),
        "dockerfile" | "containerfile" => Format::Code(Language::Other("dockerfile")),
        "cmakelists.txt" => Format::Code(Language::Other("cmake")),
        "gemfile" | "rakefile" | "vagrantfile" | "podfile" => Format::Code(Language::Ruby),
        "jenkinsfile" => Format::Code(Language::Other("groovy")),
        "build" | "build.bazel" | "workspace" => Format::Code(Language::Other("starlark")),
        ".bashrc" | ".bash_profile" | ".profile" | ".zshrc" | ".zprofile" => {
            Format::Code(Language::Shell)
        }
        "cargo.lock" | "poetry.lock" | "uv.lock" | "pipfile" => Format::Toml,
        "flake.lock" | "composer.lock" | "pipfile.lock" | "deno.lock" | ".babelrc"
        | ".eslintrc" => Format::Json,
        "yarn.lock" => Format::Yaml,
        "readme" | "license" | "licence" | "changelog" | "authors" | "notice" | "copying"
        | "todo" | "go.sum" => Format::Text,
        _ => return None,
    })
}

fn by_extension(extension: &str) -> Option<Format> {
    Some(match extension {
        "md" | "markdown" | "mdown" | "mkd" | "mdx" | "mdc" | "qmd" | "rmd" => Format::Markdown,
        "rst" | "rest" => Format::Rst,
        "txt" | "text" | "log" | "csv" | "tsv" | "adoc" | "asciidoc" | "org" | "tex" | "bib"
        | "srt" | "vtt" | "eml" | "ini" | "cfg" | "conf" | "properties" | "env" | "diff"
        | "patch" | "po" => Format::Text,
        "json" | "json5" | "jsonc" | "geojson" | "webmanifest" | "map" => Format::Json,
        "jsonl" | "ndjson" | "jsonlines" => Format::JsonLines,
        "yaml" | "yml" => Format::Yaml,
        "toml" => Format::Toml,
        "html" | "htm" | "xhtml" => Format::Html,
        "svg" => Format::Svg,
        "ipynb" => Format::Notebook,
        "pdf" => Format::Pdf,
        "docx" | "docm" | "dotx" => Format::Docx,
        other => Format::Code(language(other)?),
    })
}

fn language(extension: &str) -> Option<Language> {
    Some(match extension {
        "rs" => Language::Rust,
        "py" | "pyi" | "pyw" => Language::Python,
        "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
        "ts" | "tsx" | "mts" | "cts" => Language::TypeScript,
        "go" => Language::Go,
        "java" => Language::Java,
        "c" | "h" => Language::C,
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "ino" | "cu" | "cuh" => Language::Cpp,
        "cs" => Language::CSharp,
        "rb" | "gemspec" | "rake" => Language::Ruby,
        "php" => Language::Php,
        "swift" => Language::Swift,
        "kt" | "kts" => Language::Kotlin,
        "scala" | "sc" | "sbt" => Language::Scala,
        "sh" | "bash" | "zsh" | "ksh" | "fish" => Language::Shell,
        "sql" => Language::Sql,
        "lua" => Language::Lua,
        other => Language::Other(other_language(other)?),
    })
}

fn other_language(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "css" => "css",
        "scss" | "sass" => "scss",
        "less" => "less",
        "xml" | "xsd" | "xsl" | "plist" | "csproj" => "xml",
        "vue" => "vue",
        "svelte" => "svelte",
        "dart" => "dart",
        "ex" | "exs" => "elixir",
        "erl" | "hrl" => "erlang",
        "hs" => "haskell",
        "ml" | "mli" => "ocaml",
        "fs" | "fsx" => "fsharp",
        "clj" | "cljs" | "cljc" | "edn" => "clojure",
        "lisp" | "cl" => "lisp",
        "scm" => "scheme",
        "rkt" => "racket",
        "el" => "emacs-lisp",
        "jl" => "julia",
        "r" => "r",
        "pl" | "pm" => "perl",
        "ps1" | "psm1" => "powershell",
        "bat" | "cmd" => "batch",
        "groovy" | "gradle" => "groovy",
        "zig" => "zig",
        "nim" => "nim",
        "cr" => "crystal",
        "d" => "d",
        "m" | "mm" => "objective-c",
        "asm" | "s" => "assembly",
        "v" | "sv" | "vh" => "verilog",
        "vhd" | "vhdl" => "vhdl",
        "f90" | "f95" | "for" => "fortran",
        "pas" => "pascal",
        "proto" => "protobuf",
        "graphql" | "gql" => "graphql",
        "tf" | "hcl" | "tfvars" => "hcl",
        "nix" => "nix",
        "vim" => "vim",
        "cmake" => "cmake",
        "mk" => "make",
        "bzl" | "star" => "starlark",
        "sol" => "solidity",
        "gd" => "gdscript",
        "tcl" => "tcl",
        "awk" => "awk",
        _ => return None,
    })
}

/// Returns the language of a script by the interpreter in its first line.
pub(super) fn interpreted(head: &[u8]) -> Option<Language> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let mut program = words.next()?.rsplit('/').next()?;
    if program == "env" {
        program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    }
    let program = program.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    Some(match program {
        "python" | "pypy" | "uv" => Language::Python,
        "node" | "nodejs" | "bun" => Language::JavaScript,
        "deno" | "ts-node" | "tsx" => Language::TypeScript,
        "ruby" => Language::Ruby,
        "php" => Language::Php,
        "lua" | "luajit" => Language::Lua,
        "perl" => Language::Other("perl"),
        "awk" | "gawk" => Language::Other("awk"),
        "tclsh" => Language::Other("tcl"),
        "rscript" | "Rscript" => Language::Other("r"),
        "make" => Language::Other("make"),
        // Shells, and other interpreters of command lines.
        _ => Language::Shell,
    })
}

const BINARY: &[&str] = &[
    // Images, audio, video, fonts.
    "png",
    "jpg",
    "jpeg",
    "gif",
    "bmp",
    "ico",
    "webp",
    "avif",
    "heic",
    "tif",
    "tiff",
    "psd",
    "xcf",
    "raw",
    "icns",
    "mp3",
    "mp4",
    "m4a",
    "m4v",
    "mov",
    "avi",
    "mkv",
    "webm",
    "wav",
    "flac",
    "ogg",
    "opus",
    "aac",
    "wma",
    "wmv",
    "ttf",
    "otf",
    "woff",
    "woff2",
    "eot",
    // Archives and disk images.
    "zip",
    "gz",
    "tgz",
    "bz2",
    "xz",
    "zst",
    "lz4",
    "7z",
    "rar",
    "tar",
    "jar",
    "war",
    "whl",
    "egg",
    "deb",
    "rpm",
    "apk",
    "dmg",
    "iso",
    "img",
    "msi",
    "cab",
    "nupkg",
    "crate",
    "gem",
    // Executables.
    "exe",
    "dll",
    "so",
    "dylib",
    "o",
    "obj",
    "a",
    "lib",
    "pyc",
    "pyo",
    "pyd",
    "class",
    "wasm",
    "bin",
    "elf",
    "node",
    "rlib",
    "rmeta",
    "pdb",
    // Data.
    "db",
    "sqlite",
    "sqlite3",
    "db3",
    "mdb",
    "parquet",
    "arrow",
    "feather",
    "avro",
    "orc",
    "npy",
    "npz",
    "pkl",
    "pickle",
    "pt",
    "pth",
    "onnx",
    "safetensors",
    "gguf",
    "h5",
    "hdf5",
    "tflite",
    "mat",
    "dat",
    "idx",
    "pack",
    "lmdb",
    "rdb",
    // Documents whose text cannot be extracted.
    "doc",
    "xls",
    "xlsx",
    "ppt",
    "pptx",
    "odt",
    "ods",
    "odp",
    "epub",
    "mobi",
    "pages",
    "numbers",
    "key",
    "rtf",
    "vsd",
    "blend",
    "fbx",
    "glb",
    "stl",
    "dwg",
    "swf",
    "p12",
    "pfx",
    "jks",
    "keystore",
    "der",
    "gpg",
];
