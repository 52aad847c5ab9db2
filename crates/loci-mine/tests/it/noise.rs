//! What is recognised as data without anything to read, and what stays.

use std::fmt::Write as _;
use std::path::Path;

use loci_mine::document::{Format, Language, Skip, is_generated, read};
use loci_mine::noise::{Noise, NoiseMap, Search, find};
use loci_mine::split::{Size, Trail, split_around};
use proptest::prelude::*;

const CODE: Format = Format::Code(Language::JavaScript);

/// Base64 of bytes that look random.
fn base64(length: usize, seed: u64) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(ALPHABET[(state >> 33) as usize % 64])
        })
        .collect()
}

fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<&str> = (0..text.len())
        .step_by(width)
        .map(|at| &text[at..(at + width).min(text.len())])
        .collect();
    lines.join("\n")
}

fn path_data(points: usize) -> String {
    let mut path = String::from("M10.5 20.25");
    for point in 0..points {
        write!(
            path,
            "c{}.5-{},3.25 {} 0.{}",
            point % 97,
            point % 13,
            point,
            point % 7
        )
        .unwrap();
    }
    path
}

fn minified(bytes: usize) -> String {
    let mut code = String::new();
    while code.len() < bytes {
        let n = code.len();
        write!(
            code,
            "function a{n}(e,t){{return e.b[t]!==void 0?e.c(t):(t=\"x{n}\",e)}}"
        )
        .unwrap();
    }
    code
}

fn search(text: &str, format: &Format) -> NoiseMap {
    find(text, format, Search::All)
}

/// The texts of the chunks of a text, without its noise.
fn chunks(text: &str, format: &Format) -> Vec<String> {
    let noise = search(text, format);
    let split = split_around(
        text,
        format,
        &Size::default(),
        1,
        &Trail::default(),
        &noise.spans,
    );
    split
        .chunks
        .into_iter()
        .map(|chunk| text[chunk.bytes].to_owned())
        .collect()
}

fn verdict(text: &str, format: &Format) -> Option<Noise> {
    search(text, format).verdict(text, format)
}

#[test]
fn lines_of_encoded_data_end_a_drawer_and_the_next_one_begins_after_them() {
    let image = format!("![](data:image/png;base64,{})", base64(5_000, 1));
    let block = wrapped(&base64(2_000, 2), 76);
    let certificate = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----",
        wrapped(&base64(1_500, 3), 64)
    );
    for noise in [image, block, certificate] {
        let text = format!("# Logo\n\nThe first words.\n\n{noise}\n\nThe last words.\n");
        assert_eq!(
            chunks(&text, &Format::Markdown),
            ["# Logo\n\nThe first words.", "The last words."],
            "{noise}"
        );
    }
}

#[test]
fn text_beside_encoded_data_on_one_line_stays_as_parts_of_the_line() {
    let data = base64(4_000, 4);
    let line = format!(
        "Here is the diagram of the whole engine: ![The engine](data:image/png;base64,{data}) and \
         this is what people say about it."
    );
    let text = format!("Before.\n{line}\nAfter.\n");
    let found = chunks(&text, &Format::Markdown);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[1].ends_with("![The engine]("), "{found:?}");
    assert_eq!(found[2], ") and this is what people say about it.");
    let alternative = format!("![A plan of the garden](data:image/png;base64,{data})");
    assert_eq!(
        chunks(&alternative, &Format::Markdown),
        ["![A plan of the garden]("]
    );
    // The number of a part counts the noise too.
    let noise = search(&text, &Format::Markdown);
    let split = split_around(
        &text,
        &Format::Markdown,
        &Size::default(),
        1,
        &Trail::default(),
        &noise.spans,
    );
    let parts: Vec<_> = split.chunks.iter().map(|chunk| chunk.part).collect();
    assert_eq!(parts, [None, Some((1, 3)), Some((3, 3)), None]);
}

#[test]
fn an_inline_drawing_is_left_out_of_markdown_and_an_example_in_a_fence_stays() {
    let drawing = format!(
        "<svg viewBox=\"0 0 9 9\">\n  <path d=\"M1 1\"/>\n{}</svg>",
        "  <rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"red\"/>\n".repeat(9)
    );
    let text = format!("Above.\n\n{drawing}\n\nBelow.\n");
    assert_eq!(chunks(&text, &Format::Markdown), ["Above.", "Below."]);
    let beside = format!(
        "This is the logo of ours: {} and more words follow here.\n",
        drawing.replace('\n', "")
    );
    let found = chunks(&beside, &Format::Markdown);
    assert_eq!(
        found,
        ["This is the logo of ours: ", " and more words follow here."]
    );
    let fenced = format!("Above.\n\n```html\n{drawing}\n```\n\nBelow.\n");
    assert_eq!(
        chunks(&fenced, &Format::Markdown)
            .concat()
            .matches("<rect")
            .count(),
        9
    );
}

#[test]
fn long_encoded_strings_in_code_are_left_out() {
    let text = format!(
        "// The logo of the shop.\nexport const LOGO = \"data:image/png;base64,{}\";\nexport function draw() {{}}\n",
        base64(3_000, 5)
    );
    assert_eq!(
        chunks(&text, &CODE),
        ["// The logo of the shop.", "export function draw() {}"]
    );
    let mut table = String::from("// Bytes of the font.\nconst uint8_t font[] = {\n");
    for row in 0..200 {
        for column in 0..12 {
            write!(table, "0x{:02x}, ", (row * 31 + column * 7) % 256).unwrap();
        }
        table.push('\n');
    }
    table.push_str("};\n\nint width(void) { return 8; }\n");
    let found = chunks(&table, &Format::Code(Language::C));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("font[]") && found[1].contains("int width"));
}

#[test]
fn whole_files_of_noise_are_told_by_their_kind() {
    let numbers = (0..3_000)
        .map(|n| format!("{}.25,{},{}\n", n, n * 3, n * 7))
        .collect::<Vec<String>>()
        .concat();
    let points = (0..300)
        .map(|n| format!("{:04X};LETTER NUMBER {n};Lu;0;L;;;;;N;;;;;\n", n + 65))
        .collect::<Vec<String>>()
        .concat();
    let dump = (0..40)
        .map(|n| {
            format!(
                "{:08x}: 8950 4e47 0d0a 1a0a 0000 000d 4948 44{:02x}  .PNG........IHD\n",
                n * 16,
                n
            )
        })
        .collect::<Vec<String>>()
        .concat();
    for (text, format, kind) in [
        (base64(9_000, 6), Format::Text, Noise::Encoded),
        (wrapped(&base64(9_000, 7), 76), Format::Text, Noise::Encoded),
        (dump, Format::Text, Noise::Encoded),
        (
            format!("[{}]", numbers.replace('\n', ",")),
            Format::Json,
            Noise::Numbers,
        ),
        (format!("x,y,z\n{numbers}"), Format::Text, Noise::Numbers),
        (points, Format::Text, Noise::Numbers),
        (path_data(400), Format::Text, Noise::Numbers),
        (
            format!(
                "/*! jQuery v3 | (c) OpenJS Foundation */\n{}",
                minified(9_000)
            ),
            CODE,
            Noise::Minified,
        ),
    ] {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(verdict(&text, &format), Some(kind), "{shown}");
    }
}

#[test]
fn what_people_wrote_and_keep_is_no_noise() {
    let long =
        "A paragraph on one long line, as many editors write it, with 3 numbers. ".repeat(40);
    let weights = (1..=365)
        .map(|day| {
            format!(
                "2024-{:02}-{:02};82.{}\n",
                day / 32 + 1,
                day % 28 + 1,
                day % 10
            )
        })
        .collect::<Vec<String>>()
        .concat();
    let log = (0..200)
        .map(|n| {
            format!(
                "2024-01-02 12:33:{:02}.{n:03} INFO 10.0.0.{n} GET /a/{n} 200 {n}\n",
                n % 60
            )
        })
        .collect::<Vec<String>>()
        .concat();
    let hashes = (0..12)
        .map(|n| format!("{n:064x}  release-{n}.tar.gz\n"))
        .collect::<Vec<String>>()
        .concat();
    let words = (0..400)
        .map(|n| format!("apple{n},red,sweet,autumn\n"))
        .collect::<Vec<String>>()
        .concat();
    let ids = (0..20)
        .map(|n| format!("{:040x}\n", u128::from(n as u64) << 70 | 0xabc_def1))
        .collect::<Vec<String>>()
        .concat();
    for (name, text, format) in [
        ("long paragraph", long, Format::Markdown),
        ("poem", "The woods are lovely, dark and deep,\nBut I have promises to keep,\n".repeat(9), Format::Text),
        ("Russian", "Чай горячий, и мы сидим на кухне допоздна. ".repeat(60), Format::Text),
        ("CJK", "今日は天気がいいから散歩しましょう公園まで歩いて行きます".repeat(60), Format::Text),
        ("Thai", "วันนี้อากาศดีมากเราไปเดินเล่นที่สวนกัน".repeat(60), Format::Text),
        ("escaped Russian", format!("{{\"a\": \"{}\"}}", r"\u0427\u0430\u0439 ".repeat(200)), Format::Json),
        ("weights", weights, Format::Text),
        ("log", log, Format::Text),
        ("checksums", hashes, Format::Text),
        ("a table of words", words, Format::Text),
        ("ids", ids, Format::Text),
        ("a few rows", "year,sum\n2020,12\n2021,15\n2022,18\n".into(), Format::Text),
        ("configuration", "{\n  \"port\": 8080,\n  \"hosts\": [\"a.example\", \"b.example\"]\n}\n".repeat(9), Format::Json),
        ("one line of JSON", "{\"name\":\"shop\",\"port\":8080,\"hosts\":[\"a\",\"b\"]}".into(), Format::Json),
        ("JSON of words", format!("[{}]", "{\"title\": \"The long way home\", \"text\": \"We walked all night.\"},".repeat(60)), Format::Json),
        ("a long address", format!("See https://example.org/{} for it.", "part-of/the.path?x=1&".repeat(30)), Format::Markdown),
        ("a long path", format!("{}\n", "usr/share/doc/some-package/examples/".repeat(9)), Format::Text),
        ("rules", format!("{}\n{}\n{}\n", "=".repeat(300), "-".repeat(300), "_".repeat(300)), Format::Text),
        ("a small dump", "00000000: 8950 4e47 0d0a 1a0a 0000 000d 4948 4452  .PNG\n".repeat(4), Format::Markdown),
        ("a key", format!("ssh-ed25519 {} ada@example.org\n", base64(68, 9)), Format::Text),
        ("a small array", "let primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29];\n".repeat(3), CODE),
        ("code", "export function draw(canvas, shapes) {\n  for (const shape of shapes) shape.draw(canvas);\n}\n".repeat(40), CODE),
    ] {
        let found = search(&text, &format);
        assert_eq!(found, NoiseMap::default(), "{name}");
        assert_eq!(found.verdict(&text, &format), None, "{name}");
    }
}

#[test]
fn a_drawing_is_reduced_to_its_title_descriptions_and_labels() {
    let svg = "<?xml version=\"1.0\"?><!-- c --><svg xmlns=\"http://www.w3.org/2000/svg\">\
               <title>The &amp; pipeline</title><desc>How orders travel.</desc>\
               <style>.a{fill:red}</style><path d=\"M1 2\"/><text x=\"1\">Order<tspan>desk</tspan></text>\
               <text>Ware&#x68;ouse</text><text>20</text></svg>";
    for name in ["a.svg", "a.xml", "a"] {
        let document = read(Path::new(name), svg.into()).unwrap();
        assert_eq!(document.format, Format::Svg, "{name}");
        assert_eq!(
            document.text,
            "The & pipeline\n\nHow orders travel.\n\nOrder desk\nWarehouse\n"
        );
        assert_eq!(document.title.as_deref(), Some("The & pipeline"));
        assert!(document.extracted);
    }
    let silent = format!("<svg><path d=\"{}\"/><text>10</text></svg>", path_data(300));
    assert_eq!(read(Path::new("a.svg"), silent.into()), Err(Skip::NoText));
    assert_eq!(
        read(Path::new("a.svg"), "<svg><title>An unfinished".into()),
        Err(Skip::NoText)
    );
}

#[test]
fn markup_that_lays_out_windows_is_noise_and_configuration_is_not() {
    let xml = Format::Code(Language::Other("xml"));
    let layout = format!(
        "<?xml version=\"1.0\"?>\n<LinearLayout xmlns:android=\"http://schemas.android.com/apk/res/android\">\n{}</LinearLayout>\n",
        "  <View android:layout_width=\"match_parent\" android:layout_height=\"1dp\"/>\n"
            .repeat(20)
    );
    assert_eq!(verdict(&layout, &xml), Some(Noise::Drawing));
    let shapes = format!(
        "<shapes>{}</shapes>",
        "<point x=\"12.5\" y=\"33.1\" z=\"8\"/>".repeat(60)
    );
    assert_eq!(verdict(&shapes, &xml), Some(Noise::Drawing));
    let strings =
        "<resources>\n  <string name=\"hi\">Good morning to all of you</string>\n</resources>\n"
            .repeat(12);
    assert_eq!(verdict(&strings, &xml), None);
    let project = "<project><dependency><groupId>org.example</groupId><artifactId>shop-core</artifactId></dependency></project>\n".repeat(9);
    assert_eq!(verdict(&project, &xml), None);
    let settings = "<add key=\"Database\" value=\"Server=db.example;Pool=20\"/>\n".repeat(20);
    assert_eq!(verdict(&settings, &xml), None);
}

#[test]
fn a_notebook_is_read_as_markdown_and_code_without_outputs() {
    let image = base64(4_000, 8);
    let notebook = serde_json::json!({
        "cells": [
            {"cell_type": "markdown", "source": ["# Sales\n", "Read *this* first."]},
            {"cell_type": "code", "source": "print('```')", "outputs": [
                {"data": {"image/png": image}, "output_type": "display_data"}]},
            {"cell_type": "raw", "source": []},
        ],
        "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5,
    });
    let document = read(Path::new("a.ipynb"), notebook.to_string().into()).unwrap();
    assert_eq!(document.format, Format::Notebook);
    assert_eq!(
        document.text,
        "# Sales\nRead *this* first.\n\n````python\nprint('```')\n````\n"
    );
    let broken = read(Path::new("a.ipynb"), "{\"cells\": [".into()).unwrap();
    assert_eq!((broken.format, broken.extracted), (Format::Json, false));
}

#[test]
fn lock_files_and_source_maps_are_recognised_by_content_under_any_name() {
    let generated = |name: &str, head: &str| is_generated(Path::new(name), head.as_bytes());
    for (name, head) in [
        (
            "deps.json",
            "{\n  \"name\": \"x\",\n  \"lockfileVersion\": 3,\n  \"packages\": {",
        ),
        (
            "saved.txt",
            "# THIS IS AN AUTOGENERATED FILE.\n# yarn lockfile v1\n\n\na@1:\n",
        ),
        (
            "deps.yaml",
            "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n",
        ),
        (
            "old",
            "version = 3\n\n[[package]]\nname = \"a\"\nversion = \"1\"\nchecksum = \"00\"\n",
        ),
        (
            "sums",
            "golang.org/x/net v0.1.0 h1:abc=\ngolang.org/x/net v0.1.0/go.mod h1:def=\n",
        ),
        (
            "bundle.json",
            "{\"version\":3,\"sources\":[\"a.js\"],\"names\":[],\"mappings\":\"AAAA;\"}",
        ),
        (
            "gems.txt",
            "GEM\n  remote: https://rubygems.org/\n  specs:\n    rake (13.0)\n",
        ),
    ] {
        assert!(generated(name, head), "{name}");
    }
    for (name, head) in [
        (
            "a.md",
            "# Locks\n\nA file begins with `# yarn lockfile v1` or \"lockfileVersion\" and \"packages\".\n",
        ),
        (
            "package.json",
            "{\n  \"name\": \"x\",\n  \"version\": \"1.0.0\",\n  \"dependencies\": {}\n}",
        ),
        ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"1\"\n"),
        ("config.json", "{\"version\": 3, \"services\": {}}"),
        ("pubspec.yaml", "name: app\nversion: 1.0\n"),
    ] {
        assert!(!generated(name, head), "{name}");
    }
}

#[test]
fn generated_files_that_were_asked_for_keep_all_but_encoded_data() {
    let text = format!("{}\n{}\n", minified(3_000), base64(3_000, 9));
    let found = find(&text, &CODE, Search::NotGenerated);
    let kinds: Vec<Noise> = found.spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [Noise::Encoded]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_in_a_chunk_or_is_noise(
        pieces in prop::collection::vec(
            prop_oneof![
                Just("A line of prose.\n".to_owned()),
                Just("## Heading\n\n".to_owned()),
                Just("```\ncode\n```\n".to_owned()),
                Just(format!("{}\n", base64(700, 1))),
                Just(format!("{}\r\n", wrapped(&base64(700, 2), 64))),
                Just(format!("Some words come before it here: {} and after it come others.\n", base64(900, 3))),
                Just("<svg>\n".repeat(60) + "</svg>\n"),
                Just("12, 13, 14,\n".repeat(400)),
                "\\PC{0,40}\n",
            ],
            0..12,
        ),
    ) {
        let text = pieces.concat();
        for format in [Format::Markdown, Format::Text, CODE, Format::Json, Format::Rst] {
            let noise = search(&text, &format);
            let mut end = 0;
            for span in &noise.spans {
                prop_assert!(span.bytes.start >= end && span.bytes.end > span.bytes.start);
                prop_assert!(text.get(span.bytes.clone()).is_some());
                end = span.bytes.end;
            }
            let split = split_around(&text, &format, &Size::default(), 1, &Trail::default(), &noise.spans);
            let mut covered = vec![false; text.len()];
            for chunk in &split.chunks {
                for at in chunk.bytes.clone() {
                    covered[at] = true;
                }
            }
            for span in &noise.spans {
                for at in span.bytes.clone() {
                    prop_assert!(!covered[at] || text.as_bytes()[at].is_ascii_whitespace(), "noise in a chunk");
                    covered[at] = true;
                }
            }
            for (at, letter) in text.char_indices() {
                prop_assert!(covered[at] || letter.is_whitespace(), "{letter:?} at {at} is lost");
            }
        }
    }
}
