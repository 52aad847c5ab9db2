//! Splits a text into lines and sentences that a person wrote, and leaves out code, markup, logs,
//! quotations and front matter.

use std::borrow::Cow;
use std::collections::HashSet;

use super::lexicon::is_ideograph;

/// Lines that begin a mail.
const MAIL: [&str; 17] = [
    "From: ",
    "Subject: ",
    "Von: ",
    "Betreff: ",
    "От: ",
    "Тема: ",
    "De: ",
    "De : ",
    "Dear ",
    "Sehr geehrte",
    "Уважаем",
    "Estimad",
    "尊敬的",
    "Asunto: ",
    "Objet : ",
    "发件人",
    "主题：",
];

/// A line of prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its place in the text, from 0.
    pub(super) number: usize,
    /// The words, without the mark of a list or a heading.
    pub(super) words: &'a str,
    /// The level of a heading; 0 for other lines.
    pub(super) heading: usize,
    /// Whether it is an item of a list.
    pub(super) is_item: bool,
    /// Whether it is the checked box of a list.
    pub(super) is_checked: bool,
}

/// The lines of prose of a text.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_front = false;
    for (number, raw) in text.lines().enumerate() {
        let line = raw.trim();
        if let Some(mark) = fence {
            if line.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            fence = line.get(..3);
            continue;
        }
        if matches!(line, "---" | "+++") && (number == 0 || is_front) {
            is_front = !is_front;
            continue;
        }
        // What follows the head of a mail was written by others.
        if MAIL.iter().any(|mark| line.starts_with(mark)) {
            break;
        }
        let is_indented = raw.starts_with("    ") || raw.starts_with('\t');
        if is_front || line.is_empty() || is_indented && !begins_item(line) || !is_prose(line) {
            continue;
        }
        lines.push(line_of(number, line));
    }
    lines
}

fn line_of(number: usize, line: &str) -> Line<'_> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    if level > 0 && words.starts_with(' ') {
        return Line {
            number,
            words: words.trim(),
            heading: level,
            is_item: false,
            is_checked: false,
        };
    }
    let words = without_mark(line);
    let is_item = words.len() < line.len() || words.starts_with("[ ]") || words.starts_with("[x]");
    let is_checked = ["[x]", "[X]"].iter().any(|mark| words.starts_with(mark));
    let words = ["[x]", "[X]", "[ ]"]
        .iter()
        .find_map(|mark| words.strip_prefix(mark))
        .unwrap_or(words);
    Line {
        number,
        words: words.trim(),
        heading: 0,
        is_item,
        is_checked,
    }
}

/// Whether a line begins with the mark of a list: `-`, `*`, `•`, `+` or a number.
fn begins_item(line: &str) -> bool {
    without_mark(line).len() < line.len()
}

fn without_mark(line: &str) -> &str {
    for mark in ["- ", "* ", "• ", "+ ", "– "] {
        if let Some(rest) = line.strip_prefix(mark) {
            return rest;
        }
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = line.get(digits..).unwrap_or_default();
    match rest.strip_prefix([')', '.']) {
        Some(rest) if (1..=3).contains(&digits) && rest.starts_with(' ') => rest,
        _ => line,
    }
}

/// Whether a line reads like the words of a person, not like markup, code, a table or a log.
fn is_prose(line: &str) -> bool {
    const MARKS: [&str; 16] = [
        "{{", "}}", "{%", "</", "/>", "<!", "<?", "=>", "();", "){", ") {", "==", "&&", "::", "];",
        "\\begin",
    ];
    if line.starts_with(['<', '|', '>', '{', '}', '[', '@', '\\', '%', ';'])
        && !line.starts_with("[ ]")
        && !line.starts_with("[x]")
        || [
            "//",
            "/*",
            "#!",
            "$ ",
            "at ",
            "def ",
            "fn ",
            "class ",
            "import ",
            "from .",
            "Traceback",
        ]
        .iter()
        .any(|mark| line.starts_with(mark))
        || line.bytes().any(is_code_byte) && MARKS.iter().any(|mark| line.contains(mark))
        || line.ends_with([';', '{', '}', '\\'])
        || begins_like_log(line)
    {
        return false;
    }
    let (mut letters, mut others) = (0_usize, 0_usize);
    if line.is_ascii() {
        letters = line.bytes().filter(u8::is_ascii_alphabetic).count();
        let spaces = line.bytes().filter(u8::is_ascii_whitespace).count();
        others = line.len() - letters - spaces;
    } else {
        for letter in line.chars().filter(|letter| !letter.is_whitespace()) {
            if letter.is_alphabetic() {
                letters += 1;
            } else {
                others += 1;
            }
        }
    }
    letters >= 2 && letters >= others
}

/// Whether a byte is in each of the marks of markup and code.
fn is_code_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'{' | b'}' | b'<' | b'>' | b'=' | b'(' | b')' | b'&' | b':' | b']' | b'\\'
    )
}

/// Whether a line begins with a date and a time, as logs do.
fn begins_like_log(line: &str) -> bool {
    let start: Vec<char> = line.chars().take(20).collect();
    let digits = start
        .iter()
        .filter(|letter| letter.is_ascii_digit())
        .count();
    digits >= 12
}

/// The sentences of a line. A sentence keeps its full stop.
pub(super) fn sentences(line: &str) -> Vec<&str> {
    if line.is_ascii() && !line.bytes().any(|byte| matches!(byte, b'.' | b'!' | b'?')) {
        let line = line.trim();
        return if line.is_empty() {
            Vec::new()
        } else {
            vec![line]
        };
    }
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let ends = match letter {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' => {
                next.is_none_or(char::is_whitespace)
                    && !is_abbreviation(line.get(start..at).unwrap_or_default())
            }
            _ => false,
        };
        if ends {
            let end = at + letter.len_utf8();
            sentences.extend(line.get(start..end).map(str::trim));
            start = end;
        }
    }
    sentences.extend(line.get(start..).map(str::trim));
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Whether the words before a full stop end with an abbreviation or a number of a list.
fn is_abbreviation(words: &str) -> bool {
    let last = words.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_number = last.chars().all(|letter| letter.is_ascii_digit()) && last.len() <= 2;
    is_number
        || last.chars().count() == 1 && last.chars().all(char::is_alphabetic)
        || matches!(
            last,
            "Dr" | "Prof"
                | "Mr"
                | "Mrs"
                | "Ms"
                | "St"
                | "Nr"
                | "No"
                | "Abb"
                | "Fig"
                | "ca"
                | "bzw"
                | "z.B"
                | "d.h"
                | "e.g"
                | "i.e"
                | "etc"
                | "vs"
                | "max"
                | "min"
                | "Sr"
                | "Sra"
                | "Dra"
                | "Mme"
                | "т.е"
                | "т.д"
                | "им"
        )
}

/// Whether a text contains a mail or a letter.
pub(super) fn has_mail(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| MAIL.iter().any(|mark| line.starts_with(mark)))
}

/// The speaker of a line of a pasted chat: `**ann**: hello`, `@ann: hello`, `ann: hello`.
fn speaker_of(line: &str) -> Option<(&str, bool)> {
    let (name, words) = line.trim().split_once(':')?;
    let bare = name.trim_matches(['*', '@', ' ', '_']);
    let is_name = (1..=24).contains(&bare.chars().count()) && bare.split(' ').count() <= 2;
    (is_name && words.starts_with([' ', '*'])).then_some((bare, name.contains(['*', '@'])))
}

/// From this many lines in a row with the same first word on, they are a pasted list or log.
const SAME_START: usize = 4;

/// A text without rows of lines that begin with the same word.
fn without_rows(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.lines().collect();
    let first = |line: &&str| {
        line.split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let rows = lines.chunk_by(|one, other| first(one) == first(other));
    let is_pasted = |row: &[&str]| {
        row.len() >= SAME_START
            && row
                .iter()
                .all(|line| word_count(line) > 1 && !begins_item(line.trim()))
    };
    let kept: Vec<&str> = rows
        .filter(|row| !is_pasted(row))
        .flatten()
        .copied()
        .collect();
    if kept.len() == lines.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kept.join("\n"))
}

/// A text without the lines of a pasted chat. It is a chat if two lines have a marked speaker, or two
/// lines the same one.
fn without_chat(text: &str) -> Cow<'_, str> {
    let speakers: Vec<(&str, bool)> = text.lines().filter_map(speaker_of).collect();
    let marked = speakers.iter().filter(|(_, is_marked)| *is_marked).count();
    let mut names = HashSet::new();
    let is_repeated = speakers.iter().any(|(name, _)| !names.insert(*name));
    if marked < 2 && !is_repeated {
        return Cow::Borrowed(text);
    }
    let kept = text.lines().filter(|line| speaker_of(line).is_none());
    Cow::Owned(kept.collect::<Vec<_>>().join("\n"))
}

/// A text without longer quotations in quotation marks, such as a draft of a mail, and without pasted
/// chats and lists.
pub(super) fn without_quotations(text: &str) -> String {
    const LONG: usize = 40;
    let text = without_rows(text);
    let text = without_chat(&text);
    if text.is_ascii() && !text.bytes().any(|byte| byte == b'"') {
        return text.into_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find(['"', '“', '„', '«']) {
        let (before, quoted) = rest.split_at(at);
        kept.push_str(before);
        let mut inside = quoted.chars();
        let close = match inside.next() {
            Some('“' | '„') => ['”', '“'],
            Some('«') => ['»', '»'],
            _ => ['"', '"'],
        };
        let inside = inside.as_str();
        match inside.find(close) {
            Some(end)
                if inside
                    .get(..end)
                    .is_some_and(|words| words.chars().count() > LONG) =>
            {
                kept.push('…');
                let after = inside.get(end..).unwrap_or_default();
                let mut after = after.chars();
                after.next();
                rest = after.as_str();
            }
            _ => {
                let length = quoted.len() - inside.len();
                kept.push_str(quoted.get(..length).unwrap_or_default());
                rest = inside;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Number of words; a Chinese character counts as half a word.
pub(super) fn word_count(text: &str) -> usize {
    let ideographs = text.chars().filter(|letter| is_ideograph(*letter)).count();
    let spaced = text
        .split_whitespace()
        .filter(|word| {
            word.chars()
                .any(|letter| letter.is_alphanumeric() && !is_ideograph(letter))
        })
        .count();
    spaced + ideographs / 2
}
