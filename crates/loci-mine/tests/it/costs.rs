//! Small files that are crafted to be slow, or to fill memory, take linear time. Processor time is
//! measured, so a busy machine does not matter.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::time::Duration;

use loci_mine::document::{Document, Skip, read};
use loci_transcripts::{Event, Format, Reader};
use rustix::time::{ClockId, clock_gettime};

/// Without limits, each of these files takes minutes, or more memory than most machines have.
const LIMIT: Duration = Duration::from_secs(15);

fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn read_in_time(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Document, Skip> {
    let begun = spent();
    let document = read(Path::new(name), bytes.into());
    let taken = spent().saturating_sub(begun);
    assert!(taken < LIMIT, "{name} takes {taken:?}");
    document
}

/// A PDF of one page with these resources; `objects` are numbered from 5.
fn pdf(content: &str, resources: &str, objects: &[String]) -> Vec<u8> {
    let mut file = format!(
        "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n\
         2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n\
         3 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << {resources} >> >>\nendobj\n\
         4 0 obj\n{}\nendobj\n",
        stream("", content)
    );
    for (number, object) in objects.iter().enumerate() {
        let _ = writeln!(file, "{} 0 obj\n{object}\nendobj", number + 5);
    }
    let count = objects.len() + 5;
    let mut table = format!("xref\n0 {count}\n0000000000 65535 f \n");
    let mut from = 0;
    for number in 1..count {
        let at = file[from..].find(&format!("{number} 0 obj\n")).unwrap() + from;
        let _ = writeln!(table, "{at:010} 00000 n ");
        from = at + 1;
    }
    let start = file.len();
    let _ = write!(
        file,
        "{table}trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.into_bytes()
}

fn stream(dictionary: &str, content: &str) -> String {
    let length = content.len();
    format!("<< {dictionary} /Length {length} >>\nstream\n{content}\nendstream")
}

const HELVETICA: &str =
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

#[test]
fn a_code_block_of_backticks_takes_time_in_proportion_to_its_length() {
    let ticks = "`".repeat(300_000);
    let document = read_in_time("a.html", format!("<pre>a\n{ticks}\nb</pre>")).unwrap();
    let (fence, rest) = document.text.split_once('\n').unwrap();
    assert_eq!(fence.len(), 300_001);
    assert!(rest.starts_with("a\n``"));
    let document = read_in_time("a.html", "<pre>a ``` b</pre>").unwrap();
    assert_eq!(document.text, "````\na ``` b\n````\n");
}

#[test]
fn many_attributes_of_one_tag_of_html_take_time_in_proportion_to_their_number() {
    let mut page = String::from("<p");
    for number in 0..300_000 {
        let _ = write!(page, " a{number}");
    }
    page.push_str(">text</p>");
    assert_eq!(read_in_time("a.html", page).unwrap().text, "text\n");
}

#[test]
fn many_attributes_of_one_element_of_docx_take_time_in_proportion_to_their_number() {
    let mut body = String::from("<w:p><w:pStyle");
    for number in 0..150_000 {
        let _ = write!(body, " a{number}=\"\"");
    }
    body.push_str(" w:val=\"H\"/><w:t>text</w:t></w:p>");
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive
        .start_file(
            "word/document.xml",
            zip::write::SimpleFileOptions::default(),
        )
        .unwrap();
    archive.write_all(body.as_bytes()).unwrap();
    let file = archive.finish().unwrap().into_inner();
    assert_eq!(read_in_time("a.docx", file).unwrap().text, "text\n");
}

#[test]
fn a_long_form_that_is_drawn_again_and_again_does_not_hold_a_pdf_up() {
    let form = stream("/Type /XObject /Subtype /Form", &" ".repeat(1_900 * 1_024));
    let content = format!("BT /F Tf (before) Tj ET {}", "/X Do ".repeat(100_000));
    let file = pdf(
        &content,
        "/Font << /F 6 0 R >> /XObject << /X 5 0 R >>",
        &[form, HELVETICA.to_owned()],
    );
    assert_eq!(read_in_time("a.pdf", file).unwrap().text, "before\n");
}

#[test]
fn widths_that_name_the_same_codes_again_and_again_do_not_hold_a_pdf_up() {
    let widths = "0 65534 500 ".repeat(50_000);
    let wide = format!(
        "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts \
         [<< /Type /Font /Subtype /CIDFontType2 /W [{widths}] >>] >>"
    );
    let file = pdf(
        "BT /G 9 Tf (xx) Tj /F 9 Tf (text) Tj ET",
        "/Font << /F 5 0 R /G 6 0 R >>",
        &[HELVETICA.to_owned(), wide],
    );
    assert_eq!(read_in_time("a.pdf", file).unwrap().text, "text\n");
}

#[test]
fn thousands_of_wide_fonts_do_not_hold_a_pdf_up() {
    let table = stream(
        "",
        "begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange \
         1 beginbfrange <0000> <d000> <0020> endbfrange endcmap",
    );
    let (mut fonts, mut content) = (String::new(), String::from("BT /F 9 Tf (text) Tj "));
    for number in 0..3_000 {
        let _ = write!(
            fonts,
            "/G{number} << /Type /Font /Subtype /Type0 /BaseFont /A /ToUnicode 6 0 R >> "
        );
        let _ = write!(content, "/G{number} 9 Tf ");
    }
    content.push_str("ET");
    let file = pdf(
        &content,
        &format!("/Font << /F 5 0 R {fonts} >>"),
        &[HELVETICA.to_owned(), table],
    );
    assert_eq!(read_in_time("a.pdf", file).unwrap().text, "text\n");
}

#[test]
fn a_message_of_many_tools_takes_time_and_memory_in_proportion_to_its_length() {
    let mut line = String::from(
        r#"{"type":"assistant","uuid":"a","sessionId":"s","message":{"role":"assistant","model":""#,
    );
    line.push_str(&"m".repeat(1_000_000));
    line.push_str(r#"","content":["#);
    for number in 0..20_000 {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            line,
            r#"{comma}{{"type":"tool_use","name":"tool {number}","input":"x"}}"#
        );
    }
    line.push_str("]}}\n");
    let begun = spent();
    let mut reader = Reader::new(Format::ClaudeCode, line.as_bytes(), Path::new("a.jsonl"));
    let (mut calls, mut names) = (0, 0);
    while let Some(event) = reader.next().unwrap() {
        if let Event::Piece(piece) = event {
            calls += piece.text.matches("Tool call").count();
            names += piece.tools.iter().map(String::len).sum::<usize>();
            names += piece.model.map_or(0, |model| model.len());
        }
    }
    let taken = spent().saturating_sub(begun);
    assert!(taken < LIMIT, "{taken:?}");
    assert_eq!(calls, 20_000);
    assert!(names < line.len(), "{names} bytes of names");
}
