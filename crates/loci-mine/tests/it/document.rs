//! The guarantees of reading files: which files are text, and that text is kept as it is.
#![allow(clippy::format_push_string)]

use std::io::{Cursor, Write as _};
use std::path::Path;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use loci_mine::document::{
    Document, Format, Language, Skip, encoding_of, is_generated, read, recognise,
};
use proptest::prelude::*;

fn read_as(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Document, Skip> {
    read(Path::new(name), bytes.into())
}

fn format_of(name: &str, head: &str) -> Result<Format, Skip> {
    recognise(Path::new(name), head.as_bytes())
}

#[test]
fn names_decide_before_contents() {
    let cases = [
        ("a/README.md", Format::Markdown),
        ("NOTES.MD", Format::Markdown),
        ("a.rst", Format::Rst),
        ("a.rs", Format::Code(Language::Rust)),
        ("a.tsx", Format::Code(Language::TypeScript)),
        ("Dockerfile", Format::Code(Language::Other("dockerfile"))),
        ("Cargo.lock", Format::Toml),
        ("package-lock.json", Format::Json),
        ("log.jsonl", Format::JsonLines),
        ("a.yml", Format::Yaml),
        ("a.html", Format::Html),
        ("a.csv", Format::Text),
        ("a.unheardof", Format::Text),
        (".gitignore", Format::Text),
        ("noextension", Format::Text),
    ];
    for (name, format) in cases {
        assert_eq!(format_of(name, "some text"), Ok(format), "{name}");
    }
    assert_eq!(Format::Code(Language::Rust).name(), "rust");
}

#[test]
fn contents_decide_where_names_do_not() {
    let python = Ok(Format::Code(Language::Python));
    assert_eq!(
        format_of("tool", "#!/usr/bin/env python3\nimport os\n"),
        python
    );
    assert_eq!(format_of("tool", "#!/usr/bin/env -S python3 -u\n"), python);
    assert_eq!(
        format_of("tool", "#!/bin/bash\n"),
        Ok(Format::Code(Language::Shell))
    );
    assert_eq!(format_of("page", "\n<!DOCTYPE HTML><p>"), Ok(Format::Html));
    assert_eq!(format_of("paper", "%PDF-1.7\n"), Ok(Format::Pdf));
    assert_eq!(format_of("a.pdf", "<html>not found"), Ok(Format::Html));
}

#[test]
fn what_is_not_text_is_skipped() {
    assert_eq!(recognise(Path::new("a.png"), b""), Err(Skip::Binary));
    assert_eq!(recognise(Path::new("a.md"), b""), Err(Skip::Empty));
    assert_eq!(
        recognise(Path::new("a.md"), b"PNG\0\0\x01"),
        Err(Skip::Binary)
    );
    let noise: Vec<u8> = (0..2000u32).map(|i| (i * 73 % 255 + 1) as u8).collect();
    assert_eq!(recognise(Path::new("a"), &noise), Err(Skip::Binary));
    assert_eq!(read_as("a.md", " \n\t\n"), Err(Skip::Empty));
    assert_eq!(Skip::NoText.to_string(), "no text in it");
}

#[test]
fn utf_8_is_kept_byte_for_byte() {
    let text = "a\r\nb\u{feff}\tc  \r\n\r\nd\re\u{301}";
    let document = read_as("a.txt", text).unwrap();
    assert_eq!(document.text, text);
    assert_eq!((document.encoding, document.extracted), (None, false));
    let marked = read_as("a.txt", [b"\xef\xbb\xbf", text.as_bytes()].concat()).unwrap();
    assert_eq!((marked.text.as_str(), marked.encoding), (text, None));
}

#[test]
fn a_character_cut_at_the_end_of_the_head_is_no_damage() {
    let text = "日本語のテキスト".as_bytes();
    for end in 1..text.len() {
        assert_eq!(encoding_of(&text[..end]), Some(UTF_8), "{end}");
    }
}

#[test]
fn damaged_utf_8_is_still_utf_8() {
    let mut bytes = "Größe, Länge, Übergröße.\n".repeat(10).into_bytes();
    bytes[30] = 0xff;
    let document = read_as("a.txt", bytes).unwrap();
    assert_eq!(document.encoding.unwrap(), "utf-8, with damaged bytes");
    assert!(document.text.contains('\u{fffd}') && document.text.contains("Länge"));
}

#[test]
fn other_encodings_are_decoded() {
    let text = "Größe und Länge, naïve café: déjà vu.\n".repeat(4);
    let (latin, _, _) = WINDOWS_1252.encode(&text);
    let document = read_as("a.txt", latin.into_owned()).unwrap();
    assert_eq!(document.text, text);
    assert_eq!(document.encoding.unwrap(), "windows-1252");

    let japanese = "これは日本語の文章です。とても長い文章です。\n".repeat(4);
    let (shift_jis, _, _) = encoding_rs::SHIFT_JIS.encode(&japanese);
    assert_eq!(
        read_as("a.txt", shift_jis.into_owned()).unwrap().text,
        japanese
    );

    for mark in [true, false] {
        for (encoding, big) in [(UTF_16LE, false), (UTF_16BE, true)] {
            let units = text.encode_utf16();
            let units = mark.then_some(0xfeff).into_iter().chain(units);
            let bytes: Vec<u8> = units
                .flat_map(|unit| {
                    if big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                })
                .collect();
            assert_eq!(encoding_of(&bytes), Some(encoding));
            let document = read_as("a.txt", bytes).unwrap();
            assert_eq!(document.text, text);
            assert!(document.encoding.unwrap().starts_with("utf-16"));
        }
    }
}

#[test]
fn generated_files_are_recognised() {
    let generated = |name: &str, head: &str| is_generated(Path::new(name), head.as_bytes());
    for name in [
        "Cargo.lock",
        "a/package-lock.json",
        "app.min.js",
        "app.js.map",
        "x.min.css",
        "go.sum",
    ] {
        assert!(generated(name, ""), "{name}");
    }
    assert!(generated(
        "a.go",
        "// Code generated by protoc. DO NOT EDIT.\npackage a\n"
    ));
    assert!(generated("a.rs", "//! Text.\n// @generated by a tool\n"));
    assert!(!generated("a.rs", "let x = \"generated, do not edit\";\n"));
    assert!(
        !generated("map", "")
            && !generated("admin.js", "")
            && !generated("a.md", "how it is generated")
    );
}

#[test]
fn html_becomes_text_with_headings_lists_and_code() {
    let page = "<!doctype html><html><head><title>A &amp; B</title><style>p { x }</style>
        <script>if (a < b) { \"</p>\" }</script></head><body><h1>One <b>two</b></h1><p>First
        paragraph,&nbsp;with &lt;tags&gt;.<p>Second.<ul><li>a<ul><li>b</li></ul></li><li>c</ul>
        <ol><li><p>x</p><li>y</ol><pre><code>let x = 1;\n\n  y
</code></pre><table><tr><th>k<th>v<tr><td>1<td>2</table><h3>End</h3>last<br>line<svg><text>no</text></svg>";
    let document = read_as("a.html", page).unwrap();
    assert_eq!(
        document.text,
        "# One two\n\nFirst paragraph,\u{a0}with <tags>.\n\nSecond.\n\n- a\n  - b\n- c\n\n1. x\n2. y\n\n\
         ```\nlet x = 1;\n\n  y\n```\n\nk | v\n1 | 2\n\n### End\n\nlast\nline\n"
    );
    assert_eq!(document.title.as_deref(), Some("A & B"));
    assert!(document.extracted);
    assert_eq!(
        read_as("a.html", "<p><script>x</script>"),
        Err(Skip::NoText)
    );
}

#[test]
fn html_nested_without_end_is_read() {
    let deep = format!("{}text", "<div><ul><li>".repeat(100_000));
    assert!(read_as("a.html", deep).unwrap().text.contains("text"));
}

#[test]
fn html_declares_its_encoding() {
    let page = "<html><meta charset=\"iso-8859-2\"><p>Zażółć gęślą jaźń</p>";
    let (bytes, _, _) = encoding_rs::ISO_8859_2.encode(page);
    let document = read_as("a.html", bytes.into_owned()).unwrap();
    assert_eq!(document.text, "Zażółć gęślą jaźń\n");
}

fn docx(members: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in members {
        writer
            .start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const STYLES: &str = "<w:styles><w:style w:styleId=\"berschrift2\"><w:name w:val=\"heading 2\"/></w:style></w:styles>";
const BODY: &str = "<w:document><w:body><w:p><w:pPr><w:pStyle w:val=\"berschrift2\"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space=\"preserve\">One </w:t></w:r><w:r><w:t>two &amp; &#233;</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<w:p><mc:AlternateContent><mc:Choice><w:t>new</w:t></mc:Choice><mc:Fallback><w:t>old</w:t></mc:Fallback></mc:AlternateContent></w:p>
</w:body></w:document>";

#[test]
fn docx_becomes_text_with_headings() {
    let bytes = docx(&[
        ("word/document.xml", BODY),
        ("word/styles.xml", STYLES),
        ("docProps/core.xml", "<c><dc:title>T &lt; U</dc:title></c>"),
    ]);
    let document = read_as("a.docx", bytes).unwrap();
    assert_eq!(
        document.text,
        "## Head\n\nOne two & é\n\n- item\n\na | b\n\nnew\n"
    );
    assert_eq!(document.title.as_deref(), Some("T < U"));
}

#[test]
fn docx_that_cannot_be_read_is_skipped() {
    let good = docx(&[("word/document.xml", BODY)]);
    assert_eq!(read_as("a.docx", docx(&[("x", "y")])), Err(Skip::Binary));
    assert_eq!(
        read_as("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest".to_vec()),
        Err(Skip::Encrypted)
    );
    for end in 0..good.len() {
        let _ = read_as("a.docx", good[..end].to_vec());
    }
}

#[test]
fn docx_that_unpacks_to_too_much_is_skipped() {
    let bomb = docx(&[("word/document.xml", &" ".repeat(65 << 20))]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(read_as("a.docx", bomb), Err(Skip::TooLarge));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_under_any_name_are_read_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        start in prop::sample::select(vec!["", "PK\x03\x04", "%PDF-1.4\n", "<html>", "\u{feff}"]),
        name in prop::sample::select(vec!["a.md", "a", "a.docx", "a.pdf", "a.html", "a.json"]),
    ) {
        let _ = read_as(name, [start.as_bytes(), &bytes].concat());
    }

    #[test]
    fn any_text_is_kept(text in "[^\u{0}-\u{1f}\u{7f}\u{feff}]{1,400}") {
        prop_assume!(!text.trim().is_empty() && !text.starts_with("%PDF-"));
        prop_assert_eq!(read_as("a.txt", text.clone()).unwrap().text, text);
    }

    #[test]
    fn a_changed_docx_is_read_without_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = docx(&[("word/document.xml", BODY), ("word/styles.xml", STYLES)]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read_as("a.docx", bytes);
    }

    #[test]
    fn any_tags_are_read_without_panic(page in "(<[/!a-z]{0,3}(pre|ul|li|h1|td|title|script|svg|p)? ?[a-z\"=]{0,4}>?|[a-z&;#x ]{0,5}){0,60}") {
        let _ = read_as("a.html", format!("<html>{page}"));
    }
}

/// A PDF of objects; the page tree is 2, the page 3, its content 4, its font 5.
fn pdf(content: &str, page: &str, trailer: &str) -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> {page} >> >>"
        ),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
        "<< /Title (A paper) >>".to_owned(),
        format!(
            "<< /Type /XObject /Subtype /Form /Resources << /Font << /F1 5 0 R >> /XObject << /Self 7 0 R >> >> /Length {} >>\nstream\n{FORM}\nendstream",
            FORM.len()
        ),
    ];
    let mut file = String::from("%PDF-1.4\n");
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", number + 1));
    }
    let start = file.len();
    file.push_str(&format!(
        "xref\n0 {}\n0000000000 65535 f \n",
        objects.len() + 1
    ));
    for place in places {
        file.push_str(&format!("{place:010} 00000 n \n"));
    }
    file.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R /Info 6 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    file.into_bytes()
}

const FORM: &str = "BT /F1 10 Tf 72 200 Td (in a form) Tj ET /Self Do";
/// The font has no character for code 1.
const BULLETS: &str = "BT /F1 12 Tf 14 TL 72 700 Td (One) Tj T* (\\001) Tj 10 0 Td (two) Tj ET";
const CONTENT: &str = "BT /F1 12 Tf 72 720 Td (A line of) Tj ( text) Tj 0 -14 Td [(Ker) 20 (ned) -300 (words)] TJ \
    T* 0 -30 Td (Next \\(para\\)graph) Tj ET q 1 0 0 1 0 -40 cm BT /F1 12 Tf 72 700 Td (Moved) Tj 60 0 Td (right) Tj ET Q";

#[test]
fn pdf_becomes_lines_and_paragraphs() {
    let document = read_as("a.pdf", pdf(CONTENT, "", "")).unwrap();
    assert_eq!(
        document.text,
        "A line of text\nKerned words\n\nNext (para)graph\nMoved right\n"
    );
    assert_eq!(document.title.as_deref(), Some("A paper"));
    assert!(document.extracted);
    let document = read_as("a.pdf", pdf(BULLETS, "", "")).unwrap();
    assert_eq!(document.text, "One\ntwo\n");
}

#[test]
fn a_form_that_draws_itself_ends() {
    let document = read_as("a.pdf", pdf("/X Do", "/XObject << /X 7 0 R >>", "")).unwrap();
    assert!(document.text.starts_with("in a form\n"));
    assert!(document.text.len() < 100);
}

#[test]
fn a_pdf_that_cannot_be_read_is_skipped() {
    assert_eq!(read_as("a.pdf", pdf("0 0 m", "", "")), Err(Skip::NoText));
    let locked = "/Encrypt << /Filter /Standard /V 1 /R 2 /O (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) /U (bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb) /P -4 >> /ID [(x) (x)]";
    assert_eq!(
        read_as("a.pdf", pdf(CONTENT, "", locked)),
        Err(Skip::Encrypted)
    );
    assert_eq!(read_as("a.pdf", "%PDF-1.4\nnothing"), Err(Skip::Binary));
    let good = pdf(CONTENT, "", "");
    for end in (0..good.len()).step_by(7) {
        let _ = read_as("a.pdf", good[..end].to_vec());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_pdf_is_read_without_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = pdf(CONTENT, "/XObject << /X 7 0 R >>", "");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_as("a.pdf", bytes);
    }
}
