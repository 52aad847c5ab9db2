//! ChromaDB's side of the benchmark. The script measures itself, in one process for the work and
//! one for the cold start.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use serde_json::Value;

use crate::peers;

pub(crate) fn measure(python: &Path, directory: &Path) -> anyhow::Result<Value> {
    let mut figures = serde_json::Map::new();
    for phase in ["work", "cold"] {
        let output = Command::new(python)
            .arg(peers::script("chroma_bench.py"))
            .args([phase.as_ref(), directory.as_os_str()])
            .output()?;
        ensure!(
            output.status.success(),
            "chromadb {phase}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let part: Value = serde_json::from_slice(&output.stdout)?;
        eprintln!("chromadb {phase}: {part}");
        figures.extend(part.as_object().cloned().unwrap_or_default());
    }
    Ok(Value::Object(figures))
}
