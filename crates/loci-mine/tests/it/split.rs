//! The guarantees of splitting, over generated texts and over the texts of this repository.
#![allow(clippy::format_collect)]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loci_mine::document::{Format, Language};
use loci_mine::split::{Chunk, FrontValue, Size, Split, Trail, frontmatter, pieces, split};
use proptest::prelude::*;

const FORMATS: &[Format] = &[
    Format::Markdown,
    Format::Text,
    Format::Rst,
    Format::Code(Language::Rust),
    Format::Code(Language::Python),
    Format::Code(Language::C),
    Format::Code(Language::JavaScript),
    Format::Code(Language::Other("nix")),
    Format::Json,
    Format::JsonLines,
    Format::Yaml,
    Format::Toml,
    Format::Html,
    Format::Pdf,
    Format::Docx,
];

/// Chunks small enough for short test texts to have several.
const MIDDLING: Size = Size {
    target: 1_200,
    max: 2_000,
    min: 400,
    overlap: 0,
};

fn whole(text: &str, format: Format) -> Vec<Chunk> {
    split(text, &format, &MIDDLING, 1, &Trail::default()).chunks
}

fn texts<'a>(text: &'a str, chunks: &[Chunk]) -> Vec<&'a str> {
    chunks
        .iter()
        .map(|chunk| &text[chunk.bytes.clone()])
        .collect()
}

fn headings(text: &str, format: Format) -> Vec<String> {
    let chunks = whole(text, format);
    chunks.into_iter().map(|chunk| chunk.heading).collect()
}

/// Lines without their terminators. A lone carriage return does not end a line.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line = line.strip_suffix('\r').unwrap_or(line);
    }
    lines
}

/// Every guarantee for any text in any format.
fn check(text: &str, format: Format, size: &Size, first_line: u32) {
    let Split { chunks, .. } = split(text, &format, size, first_line, &Trail::default());
    let lines = lines(text);
    let mut times = vec![0; lines.len()];
    let mut seen = HashSet::new();
    let mut part = String::new();
    let mut last = 0;
    for chunk in &chunks {
        let content = &text[chunk.bytes.clone()];
        assert!(!content.trim().is_empty(), "a blank chunk in {format:?}");
        assert!(
            seen.insert((chunk.start_line, content)),
            "twice {}: {content:?}",
            chunk.start_line
        );
        assert!(chunk.bytes.start >= last || size.overlap > 0);
        last = chunk.bytes.end;
        let (first, end) = (
            (chunk.start_line - first_line) as usize,
            (chunk.end_line - first_line) as usize,
        );
        match chunk.part {
            None => {
                let line_start =
                    chunk.bytes.start == 0 || text.as_bytes()[chunk.bytes.start - 1] == b'\n';
                assert!(line_start);
                let number = text[..chunk.bytes.start].matches('\n').count();
                assert_eq!(number, first);
                let span = &lines[first..=end];
                assert_eq!(self::lines(content), span);
                assert!(
                    text[chunk.bytes.end..].is_empty()
                        || text[chunk.bytes.end..].starts_with('\n')
                        || text[chunk.bytes.end..].starts_with("\r\n")
                );
                assert!(!(content.ends_with('\r') && text[chunk.bytes.end..].starts_with('\n')));
                times[first..=end].iter_mut().for_each(|times| *times += 1);
            }
            Some((number, count)) => {
                assert_eq!(first, end);
                if number == 1 {
                    part.clear();
                }
                part.push_str(content);
                if number == count {
                    assert_eq!(part, lines[first]);
                    times[first] += 1;
                }
            }
        }
        assert!(chunk.heading.len() <= 200, "{}", chunk.heading);
        let blank_run = content
            .split(|c: char| !c.is_whitespace())
            .map(str::len)
            .max();
        if chunk.part.is_some() {
            assert!(content.len() <= size.max + chunks.len() + 8 + blank_run.unwrap_or(0));
        } else if content.len() > size.max {
            assert!(content.len() <= 8 * size.max);
            assert!(
                is_one_thing(content, format),
                "{} bytes: {content}",
                content.len()
            );
        }
    }
    for (times, line) in times.iter().zip(&lines) {
        if !line.trim().is_empty() {
            assert!(*times >= 1, "lost in {format:?}: {line:?}");
            assert!(
                *times == 1 || size.overlap > 0,
                "twice in {format:?}: {line:?}"
            );
        }
    }
}

/// A fence, a table or frontmatter.
fn is_one_thing(content: &str, format: Format) -> bool {
    if !matches!(format, Format::Markdown | Format::Html | Format::Docx) {
        return false;
    }
    let first = content.lines().next().unwrap_or("");
    let fence = first.contains("```") || first.contains("~~~");
    let table = first.contains('|');
    fence || table || content.starts_with("---") || content.starts_with("+++")
}

fn small() -> Size {
    Size {
        target: 120,
        max: 200,
        min: 40,
        overlap: 0,
    }
}

/// Files of this repository with the format of their contents.
fn real_files() -> Vec<(PathBuf, Format)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
                continue;
            }
            let format = match path.extension().and_then(|extension| extension.to_str()) {
                Some("md") => Format::Markdown,
                Some("rs") => Format::Code(Language::Rust),
                Some("toml" | "lock") => Format::Toml,
                _ => continue,
            };
            found.push((path, format));
        }
    }
    assert!(found.len() > 50);
    found
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{0,60}[.,:]?",
        1 => "#{1,7} [a-z]{0,9}( #+)?",
        1 => " {0,5}(```|~~~|````)[a-z]{0,3}",
        1 => "(> |- |1\\. |  - )(```)?[a-z ]{0,12}",
        1 => "\\| [a-z]{1,3} \\| [a-z]{1,3} \\|",
        1 => Just("|---|---|".to_owned()),
        1 => "(=|-){3,12}",
        1 => " {0,9}(fn|def|class|impl|func) [a-z]{1,5}(\\(\\))? ?[{:]?",
        1 => " {0,9}(\\}|\\]|\\)|end|\"\"\"|/\\*|\\*/|// x|#\\[a\\])",
        1 => " {0,6}\"?[a-z]{1,4}\"?: ?[{\\[|>]?",
        1 => "\\[{1,2}[a-z]{1,3}(\\.[a-z])?\\]{1,2}",
        1 => "(---|\\+\\+\\+|\\.\\.\\.)",
        3 => Just(String::new()),
        1 => "[ \\t\\u{3000}]{1,4}",
        1 => "\\PC{0,40}",
        1 => "[ab ]{150,700}",
        1 => "a{150,700}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    let ends = prop_oneof![6 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")];
    prop::collection::vec((line(), ends), 0..80).prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_owned()])
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn chunks_of_any_text_keep_every_promise(text in text(), overlap in prop_oneof![Just(0usize), 0usize..150]) {
        for format in FORMATS {
            check(&text, *format, &Size { overlap, ..small() }, 7);
        }
    }

    #[test]
    fn any_sizes_are_taken(text in text(), target in 0usize..300, max in 0usize..300, min in 0usize..300) {
        for format in FORMATS {
            let size = Size { target, max, min, overlap: 0 };
            let split = split(&text, format, &size, 1, &Trail::default());
            let kept: usize = split.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
            prop_assert!(kept <= text.len());
            prop_assert_eq!(split.chunks.is_empty(), text.trim().is_empty());
        }
    }

    #[test]
    fn a_text_split_in_windows_has_the_same_lines(text in text(), format in prop::sample::select(FORMATS)) {
        let mut covered = Vec::new();
        let (mut at, mut line, mut trail) = (0, 1, Trail::default());
        // Windows end at lines and grow until they hold more than one chunk.
        let mut size = 700;
        while at < text.len() {
            let end = text[at..].match_indices('\n').map(|(end, _)| at + end + 1).find(|end| *end >= at + size);
            let end = end.unwrap_or(text.len());
            let split = split(&text[at..end], &format, &small(), line, &trail);
            let mut chunks = split.chunks;
            if end < text.len() {
                let last = chunks.last().map(|chunk| chunk.start_line);
                chunks.retain(|chunk| Some(chunk.start_line) != last);
                let Some(last) = last else { size += 700; continue };
                if chunks.is_empty() { size += 700; continue }
                covered.extend(chunks.iter().map(|chunk| (chunk.start_line, chunk.end_line, chunk.part)));
                let skipped = text[at..].split_inclusive('\n').take((last - line) as usize);
                at += skipped.map(str::len).sum::<usize>();
                line = last;
                trail = serde_json::from_str(&serde_json::to_string(&split.last_trail).unwrap()).unwrap();
                size = 700;
            } else {
                covered.extend(chunks.iter().map(|chunk| (chunk.start_line, chunk.end_line, chunk.part)));
                break;
            }
        }
        let mut times = vec![0; lines(&text).len() + 1];
        for (start, end, part) in covered {
            if part.is_none_or(|(number, _)| number == 1) {
                times[start as usize..=end as usize].iter_mut().for_each(|times| *times += 1);
            }
        }
        for (number, line) in lines(&text).iter().enumerate() {
            prop_assert!(line.trim().is_empty() || times[number + 1] == 1, "{line:?}");
        }
    }
}

#[test]
fn chunks_of_real_files_keep_every_promise() {
    for (path, format) in real_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        for format in [format, Format::Text] {
            check(&text, format, &MIDDLING, 1);
            check(
                &text,
                format,
                &Size {
                    overlap: 200,
                    ..MIDDLING
                },
                1,
            );
            check(&text, format, &small(), 100);
        }
    }
}

#[test]
fn chunks_of_real_files_are_neither_tiny_nor_too_long_for_an_embedding() {
    let (mut bytes, mut count, mut over) = (0, 0, 0);
    for (path, format) in real_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        for chunk in whole(&text, format) {
            bytes += chunk.bytes.len();
            count += 1;
            over += usize::from(chunk.bytes.len() > 1600);
        }
    }
    assert!(bytes / count > 600, "{} bytes on average", bytes / count);
    assert!(over * 8 < count, "{over} of {count} chunks are long");
}

fn section(number: usize) -> String {
    let mut text = format!("## Section {number}\n\n");
    for paragraph in 0..3 + number % 4 {
        let _ = writeln!(
            text,
            "Paragraph {paragraph} of section {number} says {}.\n",
            "something or other ".repeat(1 + (number * 7 + paragraph * 3) % 9)
        );
    }
    text
}

/// Chunks of `after` whose text no chunk of `before` has.
fn changed(before: &str, after: &str, format: Format) -> usize {
    let (old, new) = (whole(before, format), whole(after, format));
    let old: HashSet<_> = texts(before, &old).into_iter().collect();
    texts(after, &new)
        .into_iter()
        .filter(|text| !old.contains(text))
        .count()
}

#[test]
fn an_edit_changes_only_chunks_nearby() {
    let sections: Vec<_> = (0..200).map(section).collect();
    let before = sections.concat();
    for place in [3, 50, 100, 151, 198] {
        let mut edited = sections.clone();
        edited[place]
            .push_str("An inserted paragraph that was not here before, of some length.\n\n");
        assert!(changed(&before, &edited.concat(), Format::Markdown) <= 3);
    }
}

#[test]
fn an_edit_changes_only_chunks_nearby_where_nothing_restarts_the_packing() {
    let short: Vec<_> = (0..400)
        .map(|number| {
            format!(
                "## Part {number}\n\n{}\n\n",
                "word ".repeat(10 + number * 7 % 40)
            )
        })
        .collect();
    let paragraphs: Vec<_> = (0..600)
        .map(|number| {
            format!(
                "Paragraph {number} {}.\n\n",
                "goes on ".repeat(5 + number * 11 % 30)
            )
        })
        .collect();
    let lines: Vec<_> = (0..4000)
        .map(|number| format!("2026-01-01 line {number} of a log\n"))
        .collect();
    for (parts, format) in [
        (short, Format::Markdown),
        (paragraphs, Format::Text),
        (lines, Format::Text),
    ] {
        let before = parts.concat();
        let (mut sum, mut count) = (0, 0);
        for place in (10..parts.len() - 10).step_by(37) {
            let mut edited = parts.clone();
            edited.insert(place, "Something new that is inserted here.\n\n".to_owned());
            sum += changed(&before, &edited.concat(), format);
            count += 1;
        }
        assert!(
            sum <= 4 * count,
            "{sum} chunks changed by {count} edits in {format:?}"
        );
    }
}

#[test]
fn a_fence_is_never_cut() {
    let fence = format!(
        "```rust\n{}```",
        "let x = 1;\n\n# not a heading\n".repeat(100)
    );
    let text = format!("# A\n\nBefore.\n\n{fence}\n\nAfter.\n");
    let chunks = whole(&text, Format::Markdown);
    assert!(texts(&text, &chunks).contains(&fence.as_str()));
    assert!(chunks.iter().all(|chunk| chunk.heading == "A"));
}

#[test]
fn fences_follow_commonmark() {
    let cases = [
        // A longer fence is not closed by a shorter one, nor one kind by the other.
        "````\n```\n# no\n````\n# yes\n",
        "~~~\n```\n# no\n~~~\n# yes\n",
        // A closing fence has no info string.
        "```\n``` x\n# no\n```\n# yes\n",
        // Backticks in the info string mean that it is not a fence.
        "``` a`b\n# yes\n",
        // Inside list items and quotes.
        "- x\n\n  ```\n  # no\n  ```\n# yes\n",
        "1. ```\n   # no\n   ```\n# yes\n",
        "> ```\n> # no\n# yes\n",
        // Indented code does not open a fence.
        "    ```\n# yes\n",
        "   ```\n# no\n   ```\n# yes\n",
    ];
    for text in cases {
        let tail = "x ".repeat(300);
        let text = format!("{text}\n{tail}\n");
        let found = headings(&text, Format::Markdown);
        assert!(
            found.iter().any(|heading| heading == "yes"),
            "{text}: {found:?}"
        );
        assert!(
            found.iter().all(|heading| !heading.contains("no")),
            "{text}"
        );
    }
    let open = format!("```\n# no\n{}", "text\n".repeat(900));
    assert!(
        headings(&open, Format::Markdown)
            .iter()
            .all(String::is_empty)
    );
}

#[test]
fn a_fence_too_large_to_keep_is_cut_at_lines_and_stays_a_fence_in_the_next_window() {
    let code = "# a comment of a script, which is no heading\necho something\n".repeat(600);
    let text = format!("# Top\n\n```sh\n{code}```\n\n# Next\n\nx\n");
    let head = &text[..text.len() / 2];
    let head = &head[..=head.rfind('\n').unwrap()];
    let first = split(head, &Format::Markdown, &MIDDLING, 1, &Trail::default());
    let last = first.chunks.last().unwrap();
    let rest = &text[last.bytes.start..];
    let second = split(
        rest,
        &Format::Markdown,
        &MIDDLING,
        last.start_line,
        &first.last_trail,
    );
    assert!(first.chunks.len() > 8);
    let found: HashSet<_> = first
        .chunks
        .iter()
        .chain(&second.chunks)
        .map(|chunk| chunk.heading.as_str())
        .collect();
    assert_eq!(found, HashSet::from(["Top", "Next"]));
}

#[test]
fn a_table_is_never_cut() {
    let table = format!(
        "| a | b |\n|---|:-:|\n{}",
        "| cell one | cell two |\n".repeat(200)
    );
    let text = format!("Intro.\n\n{table}\nAfter.\n");
    let chunks = whole(&text, Format::Markdown);
    assert!(texts(&text, &chunks).contains(&table.trim_end()));
    let large = format!(
        "| a | b |\n|---|:-:|\n{}",
        "| cell one | cell two |\n".repeat(900)
    );
    assert!(whole(&large, Format::Markdown).len() > 8);
}

#[test]
fn the_heading_is_the_path_of_the_section() {
    let body = "Words of this section that go on for a while. ".repeat(12);
    let text = format!(
        "# Guide ##\n\n{body}\n\n## Install\n\n{body}\n\n### Linux #\n\n{body}\n\nUse\n===\n\n{body}\n\nMore\nof it\n---\n\n{body}\n"
    );
    assert_eq!(
        headings(&text, Format::Markdown),
        [
            "Guide",
            "Guide > Install",
            "Guide > Install > Linux",
            "Use",
            "Use > More of it"
        ]
    );
}

#[test]
fn short_sections_are_merged_under_their_common_heading() {
    let text = "# Guide\n\n## A\n\none\n\n## B\n\n### C\n\ntwo\n";
    let chunks = whole(text, Format::Markdown);
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].heading, "Guide");
    assert_eq!((chunks[0].start_line, chunks[0].end_line), (1, 11));
}

#[test]
fn a_short_section_is_not_merged_with_one_above_it() {
    let body = "Words of this section that go on for a while. ".repeat(12);
    let text = format!("# T\n\n## A\n\n### b\n\n{body}\n\n### c\n\nshort\n\n## D\n\nshort\n");
    assert_eq!(
        headings(&text, Format::Markdown),
        ["T > A > b", "T > A > c", "T > D"]
    );
}

#[test]
fn the_last_trail_is_the_one_before_the_heading_of_the_last_chunk() {
    let body = "Words of this section that go on for a while. ".repeat(12);
    let trail = |last: &str| {
        let text = format!("# T\n\n## A\n\n{body}\n\n## {last}\n\n{body}\n");
        split(&text, &Format::Markdown, &MIDDLING, 1, &Trail::default()).last_trail
    };
    assert_eq!(trail("one"), trail("another"));
    assert_ne!(trail("one"), Trail::default());
}

#[test]
fn a_section_that_fits_is_not_cut_and_a_title_stays_with_its_text() {
    let body = "One paragraph of a section that is longer than the target.\n\n".repeat(30);
    let text = format!("# Title\n\n## Long\n\n{body}## Other\n\n{body}{body}{body}");
    let chunks = whole(&text, Format::Markdown);
    assert_eq!(chunks[0].start_line, 1);
    assert!(texts(&text, &chunks)[0].len() > 1700);
    assert_eq!(chunks[1].heading, "Title > Other");
    for text in texts(&text, &chunks) {
        assert!(!text.lines().last().unwrap().starts_with('#'));
    }
}

#[test]
fn a_long_path_loses_its_outermost_titles() {
    let text = format!(
        "# {}\n## {}\n### Last\n\n{}",
        "a".repeat(150),
        "b".repeat(150),
        "text ".repeat(100)
    );
    let found = headings(&text, Format::Markdown);
    assert_eq!(
        found.last().unwrap(),
        &format!("{} > Last", "b".repeat(150))
    );
    let long = format!("# {}\n\ntext\n", "é".repeat(300));
    assert!(headings(&long, Format::Markdown)[0].ends_with('…'));
}

#[test]
fn an_oversized_list_is_cut_between_its_outer_items() {
    let item =
        |number: usize| format!("- item {number} with some words\n  - inner one\n  - inner two\n");
    let text: String = (0..200).map(item).collect();
    let chunks = whole(&text, Format::Markdown);
    assert!(chunks.len() > 5);
    assert!(
        texts(&text, &chunks)
            .iter()
            .all(|text| text.starts_with("- item"))
    );
}

#[test]
fn lines_repeated_from_the_chunk_before_stay_within_the_overlap() {
    let text: String = (0..300)
        .map(|number| format!("Line number {number} of the text.\n"))
        .collect();
    let size = Size {
        overlap: 100,
        ..MIDDLING
    };
    let chunks = split(&text, &Format::Text, &size, 1, &Trail::default()).chunks;
    for pair in chunks.windows(2) {
        let shared = pair[0].bytes.end - pair[1].bytes.start;
        assert!((40..=100).contains(&shared), "{shared}");
        assert!(pair[1].start_line > pair[0].start_line);
    }
}

#[test]
fn a_line_too_long_is_cut_in_parts() {
    let text = format!(
        "short\n{}\nshort\n",
        "A sentence that is repeated here. ".repeat(200)
    );
    let chunks = whole(&text, Format::Text);
    let parts: Vec<_> = chunks.iter().filter(|chunk| chunk.part.is_some()).collect();
    let count = parts.len() as u32;
    assert_eq!(parts[1].part, Some((2, count)));
    assert!(
        parts
            .iter()
            .all(|part| part.start_line == 2 && part.end_line == 2)
    );
    let joined: String = parts.iter().map(|part| &text[part.bytes.clone()]).collect();
    assert_eq!(joined, text.lines().nth(1).unwrap());
}

#[test]
fn windows_under_a_trail_give_the_same_chunks_as_the_whole() {
    let text: String = (0..200).map(section).collect();
    let all = whole(&text, Format::Markdown);
    let mut got = Vec::new();
    let (mut at, mut line, mut trail) = (0, 1, Trail::default());
    loop {
        let end = text[at..]
            .match_indices('\n')
            .map(|(end, _)| at + end + 1)
            .find(|end| *end > at + 16_000);
        let window = &text[at..end.unwrap_or(text.len())];
        let mut split = split(window, &Format::Markdown, &MIDDLING, line, &trail);
        let last = if end.is_some() {
            split.chunks.pop()
        } else {
            None
        };
        got.extend(split.chunks.into_iter().map(|chunk| Chunk {
            bytes: chunk.bytes.start + at..chunk.bytes.end + at,
            ..chunk
        }));
        let Some(last) = last else { break };
        (at, line, trail) = (at + last.bytes.start, last.start_line, split.last_trail);
    }
    assert_eq!(got, all);
}

#[test]
fn titles_of_rst_are_headings_in_the_order_of_their_styles() {
    let body = "Words of this section that go on for a while. ".repeat(12);
    let text = format!(
        "=====\nGuide\n=====\n\n{body}\n\nInstall\n-------\n\n{body}\n\nLinux\n~~~~~\n\n{body}\n\nUse\n---\n\n{body}\n\n----\n\n{body}\n"
    );
    assert_eq!(
        headings(&text, Format::Rst),
        [
            "Guide",
            "Guide > Install",
            "Guide > Install > Linux",
            "Guide > Use"
        ]
    );
}

#[test]
fn code_is_cut_at_definitions_with_what_belongs_to_them() {
    let body = "        let value = compute(1, 2, 3);\n".repeat(12);
    let text = format!(
        "use std::fmt;\n\n/// A store.\n#[derive(Debug)]\npub struct Store {{\n    at: u32,\n}}\n\nimpl Store {{\n    /// Opens it.\n    #[must_use]\n    pub fn open(path: &Path) -> Store {{\n{body}    }}\n\n    /* Closes\n\nit. */\n    fn close(self) {{\n{body}    }}\n}}\n\n/// Free.\nfn free() {{\n{body}}}\n"
    );
    let chunks = whole(&text, Format::Code(Language::Rust));
    let seen: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            (
                chunk.heading.as_str(),
                text[chunk.bytes.clone()].lines().next().unwrap().trim(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("", "use std::fmt;"),
            (
                "impl Store > pub fn open(path: &Path) -> Store",
                "impl Store {"
            ),
            ("impl Store > fn close(self)", "/* Closes"),
            ("fn free()", "/// Free."),
        ]
    );
}

#[test]
fn python_strings_are_not_read_as_code() {
    let body = "        value = compute(1, 2, 3)\n".repeat(14);
    let text = format!(
        "import os\n\nclass Store:\n    \"\"\"Keeps.\n\ndef not_this():\n    \"\"\"\n\n    @property\n    def at(self):\n{body}\n    async def put(self, x):\n{body}\n\nif __name__ == \"__main__\":\n    main()\n"
    );
    let found = headings(&text, Format::Code(Language::Python));
    assert_eq!(
        found,
        [
            "class Store > def at(self)",
            "class Store > async def put(self, x)",
            ""
        ]
    );
}

#[test]
fn definitions_of_other_languages_are_found() {
    let cases = [
        (
            Language::Go,
            "func (s *Store) Open(path string) error {",
            "}",
        ),
        (
            Language::JavaScript,
            "export default async function open(path) {",
            "}",
        ),
        (Language::JavaScript, "const open = async (path) => {", "}"),
        (Language::TypeScript, "export interface Store<T> {", "}"),
        (
            Language::Java,
            "public static void main(String[] args) throws Exception {",
            "}",
        ),
        (
            Language::C,
            "static int open_store(const char *path)\n{",
            "}",
        ),
        (
            Language::Cpp,
            "void Store::open(const std::string& path) {",
            "}",
        ),
        (
            Language::CSharp,
            "public async Task<int> Open(string path)\n{",
            "}",
        ),
        (Language::Ruby, "def open(path)", "end"),
        (Language::Shell, "open_store() {", "}"),
        (
            Language::Kotlin,
            "suspend fun open(path: String): Store {",
            "}",
        ),
        (Language::Lua, "local function open(path)", "end"),
        (Language::Other("elixir"), "defmodule Store do", "end"),
        (Language::Other("clojure"), "(defn open [path]", "    )"),
    ];
    for (language, head, end) in cases {
        let body = "    something_that_is_done(1)\n".repeat(20);
        let text = format!("{head}\n{body}{end}\n\n{head}\n{body}{end}\n");
        let found = headings(&text, Format::Code(language));
        let title = head
            .lines()
            .next()
            .unwrap()
            .trim_end_matches([' ', '{', '=', '>']);
        assert!(
            found.iter().all(|heading| heading.starts_with(title)),
            "{head}: {found:?}"
        );
    }
}

#[test]
fn data_is_cut_at_its_keys() {
    let entries: String = (0..40)
        .map(|number| format!("    \"name-{number}\": \"^1.{number}.0\",\n"))
        .collect();
    let json = format!(
        "{{\n  \"name\": \"x\",\n  \"dependencies\": {{\n{entries}  }},\n  \"scripts\": {{\n{entries}  }}\n}}\n"
    );
    assert_eq!(headings(&json, Format::Json), ["dependencies", "scripts"]);

    let entries: String = (0..40)
        .map(|number| format!("  name-{number}: 1.{number}.0\n"))
        .collect();
    let yaml = format!(
        "name: x\n\ndependencies:\n{entries}\nscript: |\n  inner:\n    more: 1\n# About jobs\njobs:\n{entries}"
    );
    let chunks = whole(&yaml, Format::Yaml);
    let seen: Vec<_> = chunks.iter().map(|chunk| chunk.heading.as_str()).collect();
    assert_eq!(seen, ["dependencies", "", "jobs"]);
    assert!(texts(&yaml, &chunks)[2].starts_with("# About jobs"));

    let entries: String = (0..40)
        .map(|number| format!("name-{number} = \"1.{number}.0\"\n"))
        .collect();
    let toml = format!(
        "name = \"x\"\n\n[dependencies]\n{entries}\n[target.linux]\n{entries}\n[target.linux.more]\n{entries}"
    );
    assert_eq!(
        headings(&toml, Format::Toml),
        ["dependencies", "target.linux", "target.linux > more"]
    );
}

#[test]
fn lines_of_json_lines_stay_whole() {
    let text: String = (0..100)
        .map(|number| format!("{{\"id\": {number}, \"text\": \"some words. and more\"}}\n"))
        .collect();
    let chunks = whole(&text, Format::JsonLines);
    assert!(chunks.len() > 3 && chunks.iter().all(|chunk| chunk.part.is_none()));
}

#[test]
fn frontmatter_is_read_and_stays_in_the_first_chunk() {
    let text = "---\ntitle: \"A: title\" # why\ntags: [a, 'b, c']\nlist:\n  - one\n  - \"two\"\ncount: 3\nratio: 0.5\ndraft: true\ndate: 2026-01-02\nzip: 01234\nnested:\n  a: b\nsummary: >\n  two\n  lines\nnothing: ~\n# heading: no\n---\n# Title\n\ntext\n";
    let string = |text: &str| FrontValue::Str(text.to_owned());
    let list =
        |items: &[&str]| FrontValue::List(items.iter().map(|item| (*item).to_owned()).collect());
    let expected = [
        ("title", string("A: title")),
        ("tags", list(&["a", "b, c"])),
        ("list", list(&["one", "two"])),
        ("count", FrontValue::Int(3)),
        ("ratio", FrontValue::Float(0.5)),
        ("draft", FrontValue::Bool(true)),
        ("date", string("2026-01-02")),
        ("zip", string("01234")),
        ("summary", string("two lines")),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    assert_eq!(frontmatter(text), expected);
    let chunks = whole(text, Format::Markdown);
    assert_eq!(
        (
            chunks.len(),
            chunks[0].start_line,
            chunks[0].heading.as_str()
        ),
        (1, 1, "")
    );

    let toml =
        "+++\ntitle = \"T\"\ntags = [\"a\", 2]\nday = 2026-01-02\n[nested]\na = 1\n+++\ntext\n";
    let expected = vec![
        ("day".to_owned(), string("2026-01-02")),
        ("tags".to_owned(), list(&["a", "2"])),
        ("title".to_owned(), string("T")),
    ];
    let mut found = frontmatter(toml);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, expected);
    assert_eq!(frontmatter("---\nnot closed: 1\n"), []);
    assert_eq!(frontmatter("text\n---\na: 1\n---\n"), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn frontmatter_is_never_an_error(body in "(\\PC{0,20}(: |:|- |\\[|\"|')?\\n?){0,20}") {
        let _ = frontmatter(&format!("---\n{body}\n---\n"));
        let _ = frontmatter(&format!("+++\n{body}\n+++\n"));
    }
}

#[test]
fn no_text_takes_long() {
    // Large enough that anything worse than linear time shows, even without optimisation.
    let (mib, depth) = if cfg!(debug_assertions) {
        (1 << 16, 500)
    } else {
        (1 << 20, 2000)
    };
    let texts = [
        "[".repeat(mib),
        "a".repeat(4 * mib),
        "# h\n".repeat(100_000),
        (0..100_000)
            .map(|number| format!("{} h{number}\n", "#".repeat(1 + number % 6)))
            .collect(),
        (0..depth)
            .map(|depth| format!("{}- item\n", "  ".repeat(depth)))
            .collect(),
        "```\n".repeat(mib / 4),
        "> ".repeat(mib),
        "- ".repeat(mib),
        "a\n".repeat(2 * mib),
        "\n".repeat(4 * mib),
        "|\n|-\n".repeat(mib / 4),
        "a\n---\n".repeat(mib / 4),
        (0..depth)
            .map(|depth| format!("{}fn f() {{\n", " ".repeat(depth)))
            .collect(),
        "/*".repeat(2 * mib),
        "\"\"\"\n".repeat(mib),
        "a: |\n".repeat(mib),
        "[a]\n".repeat(mib),
        format!("{}b", " ".repeat(4 * mib)),
    ];
    for text in &texts {
        for format in FORMATS {
            let start = Instant::now();
            let chunks = whole(text, *format);
            assert!(!chunks.is_empty() || text.trim().is_empty());
            let took = start.elapsed();
            assert!(
                took < Duration::from_secs(5),
                "{took:?} for {:?} as {format:?}",
                text.chars().take(8).collect::<String>()
            );
        }
        let start = Instant::now();
        assert_eq!(pieces(text, 2000).concat(), *text);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
