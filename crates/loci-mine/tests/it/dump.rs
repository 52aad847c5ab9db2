use loci_mine::document::{is_generated, read, recognise};
use loci_mine::noise::{Search, find};
use std::io::Write;
fn walk(p: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
    let mut e: Vec<_> = std::fs::read_dir(p)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    e.sort();
    for e in e {
        if e.is_dir() {
            walk(&e, out)
        } else {
            out.push(e)
        }
    }
}
#[test]
fn dump() {
    let root = std::env::var("CORPUS").unwrap();
    let mut out =
        std::io::BufWriter::new(std::fs::File::create(std::env::var("OUT").unwrap()).unwrap());
    let mut files = vec![];
    walk(root.as_ref(), &mut files);
    let mut time = std::time::Duration::ZERO;
    let mut bytes_n = 0usize;
    for f in files {
        let Ok(bytes) = std::fs::read(&f) else {
            continue;
        };
        if recognise(&f, &bytes).is_err() {
            continue;
        }
        if is_generated(&f, &bytes) {
            writeln!(out, "{}", serde_json::json!({"file": f, "whole": "generated-head", "text": String::from_utf8_lossy(&bytes[..bytes.len().min(1500)])})).unwrap();
            continue;
        }
        let doc = match read(&f, bytes) {
            Ok(d) => d,
            Err(s) => {
                writeln!(
                    out,
                    "{}",
                    serde_json::json!({"file": f, "whole": format!("skip {s}"), "text": ""})
                )
                .unwrap();
                continue;
            }
        };
        let t = std::time::Instant::now();
        let n = find(&doc.text, &doc.format, Search::All);
        time += t.elapsed();
        bytes_n += doc.text.len();
        let v = n.verdict(&doc.text, &doc.format);
        if let Some(v) = v {
            writeln!(out, "{}", serde_json::json!({"file": f, "whole": v.to_string(), "bytes": doc.text.len(), "text": doc.text.chars().take(1500).collect::<String>()})).unwrap();
        } else {
            for s in &n.spans {
                let t = &doc.text[s.bytes.clone()];
                writeln!(out, "{}", serde_json::json!({"file": f, "span": s.kind.to_string(), "bytes": t.len(), "at": s.bytes.start, "text": t.chars().take(700).collect::<String>(), "before": doc.text[..s.bytes.start].chars().rev().take(80).collect::<String>().chars().rev().collect::<String>()})).unwrap();
            }
        }
    }
    eprintln!("{bytes_n} bytes in {time:?}");
}
