//! Targets `pdf`, `docx` and `html`.

use std::io::{Cursor, Write as _};
use std::path::Path;
use std::sync::Once;

use loci_mine::document::read;
use zip::write::SimpleFileOptions;

use crate::input::Input;

/// The input is a PDF file.
pub fn pdf(data: &[u8]) {
    // A panic of the library that parses PDF is caught and becomes a skipped file. The panic hook
    // of libFuzzer would end the process before that. Panics of this target still end it.
    static HOOK: Once = Once::new();
    if cfg!(fuzzing) {
        HOOK.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    }
    check("a.pdf", data.to_vec(), None);
}

/// The input is an HTML file.
pub fn html(data: &[u8]) {
    check("a.html", data.to_vec(), Some(data.len()));
}

/// The input is an archive, or three parts of one, separated by zero bytes. The parts are needed
/// because no mutation produces the checksums of a compressed archive.
pub fn docx(data: &[u8]) {
    let mut input = Input(data);
    if input.byte() % 2 == 0 {
        check("a.docx", input.0.to_vec(), None);
        return;
    }
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut parts = input.0.splitn(3, |byte| *byte == 0);
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for name in ["word/document.xml", "word/styles.xml", "docProps/core.xml"] {
        if let Some(part) = parts.next() {
            archive.start_file(name, stored).unwrap();
            archive.write_all(part).unwrap();
        }
    }
    let file = archive.finish().unwrap().into_inner();
    check("a.docx", file, Some(data.len()));
}

/// `source` is the number of bytes that the text comes from, if they are not compressed.
fn check(name: &str, bytes: Vec<u8>, source: Option<usize>) {
    let read = |bytes| read(Path::new(name), bytes);
    let document = read(bytes.clone());
    if let Ok(document) = &document {
        assert!(
            !document.text.trim().is_empty(),
            "a document with empty text is kept"
        );
        if let Some(source) = source {
            // The mark of an item in a deep list is the longest text that a short element becomes.
            assert!(document.text.len() <= 64 + source * 16, "the text grows");
        }
        let title = document.title.as_deref().unwrap_or("x");
        assert!(!title.is_empty() && title.trim() == title);
    }
    assert_eq!(read(bytes), document, "two readings differ");
}
