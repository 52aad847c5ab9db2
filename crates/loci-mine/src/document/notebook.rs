//! Extracts the text of a Jupyter notebook: the Markdown of its cells, and its code in fences.
//!
//! Outputs are left out. They are mostly pictures, and tables that running the code makes again.

use serde::Deserialize;

#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
    /// The cells of format 3.
    #[serde(default)]
    worksheets: Vec<Worksheet>,
    #[serde(default)]
    metadata: Settings,
}

#[derive(Deserialize)]
struct Worksheet {
    #[serde(default)]
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "cell_type")]
    kind: String,
    #[serde(default)]
    source: Lines,
    /// The code of a cell in format 3.
    #[serde(default)]
    input: Lines,
    /// The level of a heading in format 3.
    level: Option<u8>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    language_info: Name,
    kernelspec: Kernel,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Kernel {
    language: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Whole(String),
    Each(Vec<String>),
}

impl Default for Lines {
    fn default() -> Self {
        Lines::Whole(String::new())
    }
}

impl Lines {
    fn joined(&self) -> String {
        match self {
            Lines::Whole(text) => text.clone(),
            Lines::Each(lines) => lines.concat(),
        }
    }
}

/// Returns the text of a notebook, or `None` if it is not one.
pub(super) fn extract(source: &str) -> Option<String> {
    let notebook: Notebook = serde_json::from_str(source).ok()?;
    let is_notebook = source.contains("\"nbformat\"") || !notebook.cells.is_empty();
    if !is_notebook {
        return None;
    }
    let Settings {
        language_info,
        kernelspec,
    } = notebook.metadata;
    let language = [language_info.name, kernelspec.language]
        .into_iter()
        .find(|name| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_graphic() && letter != '`')
        })
        .unwrap_or_default();
    let mut text = String::new();
    let sheets = notebook.worksheets.iter().flat_map(|sheet| &sheet.cells);
    for cell in notebook.cells.iter().chain(sheets) {
        let (source, input) = (cell.source.joined(), cell.input.joined());
        let words = if source.is_empty() { input } else { source };
        let words = words.trim_matches(['\n', '\r']);
        if words.trim().is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        match cell.kind.as_str() {
            "code" => {
                // The fence must be longer than every run of backticks in the code.
                let longest = words.split(|letter| letter != '`').map(str::len).max();
                let fence = "`".repeat(longest.map_or(3, |longest| (longest + 1).max(3)));
                for part in [&fence, &language, "\n", words, "\n", &fence] {
                    text.push_str(part);
                }
            }
            "heading" => {
                let level = cell.level.unwrap_or(1).clamp(1, 6);
                text.push_str(&"#".repeat(usize::from(level)));
                text.push(' ');
                text.push_str(words);
            }
            _ => text.push_str(words),
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    Some(text)
}
