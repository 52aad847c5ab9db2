//! Finds the structure of Markdown: sections by headings, and fences, tables and frontmatter that
//! stay whole.
//!
//! It follows CommonMark where single lines decide. It builds no tree and never looks back further
//! than the title of a paragraph, so the time is linear at any nesting depth.

use super::ends_sentence;
use super::front;
use super::outline::{Outline, bounded};
use super::rows::{Cut, Row};
use super::trail::{Open, Trail, TrailHeading};

const LONGEST_TITLE: usize = 200;
/// More lines than this above an underline are a paragraph and a rule, not a title.
const TITLE_LINES: usize = 3;

/// Reads all rows of `outline`. Fences and tables of up to `whole` bytes are not cut.
pub(super) fn read(text: &str, outline: &mut Outline, trail: &Trail, whole: usize) {
    let mut reader = Reader {
        text,
        outline,
        whole,
        paragraph: None,
        list: 0,
        after_title: false,
    };
    let mut row = 0;
    if let Some(open @ Open::Fence { .. }) = trail.open {
        row = reader.fence(0, open, 0);
    } else if !trail.begun {
        row = reader.frontmatter();
    }
    while row < reader.outline.rows.len() {
        row = reader.block(row);
    }
}

struct Reader<'a, 'b> {
    text: &'a str,
    outline: &'b mut Outline,
    whole: usize,
    /// The first row of the open paragraph.
    paragraph: Option<usize>,
    /// The content indentation of the open list item; 0 outside lists.
    list: u16,
    after_title: bool,
}

impl<'a> Reader<'a, '_> {
    fn row(&self, row: usize) -> Option<Row> {
        self.outline.rows.get(row).copied()
    }

    fn trimmed(&self, row: usize) -> &'a str {
        self.row(row).map_or("", |row| row.trimmed(self.text))
    }

    fn frontmatter(&mut self) -> usize {
        let Some(block) = front::block(self.text) else {
            return 0;
        };
        let rows = &self.outline.rows;
        let end = rows.partition_point(|row| row.start < block.end);
        self.outline.keep_whole(0, end, self.whole);
        end
    }

    /// Reads the block that starts at `row` and returns where the next one starts.
    fn block(&mut self, row: usize) -> usize {
        let Some(here) = self.row(row) else {
            return row + 1;
        };
        let line = here.trimmed(self.text);
        if here.gap {
            self.paragraph = None;
        }
        if here.gap && here.column < self.list {
            self.list = 0;
        }
        let after_title = std::mem::take(&mut self.after_title);
        let first = line.as_bytes().first().copied().unwrap_or(b' ');

        if first == b'#'
            && here.column <= 3
            && let Some((level, title)) = atx(line)
        {
            self.title(row, level, title);
            return row + 1;
        }
        if matches!(first, b'=' | b'-') && here.column <= 3 && !here.gap && self.setext(row, line) {
            return row + 1;
        }
        if matches!(first, b'`' | b'~' | b'>' | b'-' | b'*' | b'+' | b'0'..=b'9')
            && let Some(open) = opening(line, here.column, self.list)
        {
            self.paragraph = None;
            self.soften(row, here, after_title, true);
            return self.fence(row, open, 1);
        }
        if let Some(content) = item(line) {
            self.list = here.column + content;
            self.paragraph = None;
            let cut = if here.gap { Cut::PARAGRAPH } else { Cut::ITEM };
            self.outline.set_cut(row, cut.at(here.column));
            self.soften(row, here, after_title, true);
            return row + 1;
        }
        if line.contains('|') && self.table_follows(row) {
            self.paragraph = None;
            self.soften(row, here, after_title, true);
            return self.table(row);
        }
        self.soften(row, here, after_title, false);
        if self.paragraph.is_none() && self.list == 0 && first != b'>' && here.column <= 3 {
            self.paragraph = Some(row);
        }
        row + 1
    }

    /// Makes a cut before `row` less likely after a title or in the middle of a sentence.
    fn soften(&mut self, row: usize, here: Row, after_title: bool, block: bool) {
        if after_title {
            self.outline.set_cut(row, Cut::AVOID);
        } else if !here.gap && !block && row > 0 {
            let before = self.row(row - 1).map_or("", |row| row.text(self.text));
            if !ends_sentence(before) {
                self.outline.set_cut(row, Cut::WRAPPED);
            }
        }
    }

    fn title(&mut self, row: usize, level: u8, title: &str) {
        self.paragraph = None;
        self.list = 0;
        self.after_title = true;
        self.outline.leave(|step| step.level >= level);
        self.outline.begin(
            row,
            TrailHeading {
                level,
                column: 0,
                title: bounded(title, LONGEST_TITLE),
            },
        );
    }

    /// Reads an underline of the open paragraph. Returns `false` if the line is not one.
    fn setext(&mut self, row: usize, line: &str) -> bool {
        let level = if line.starts_with('=') { 1 } else { 2 };
        let mark = if level == 1 { '=' } else { '-' };
        let Some(first) = self.paragraph else {
            return false;
        };
        if row - first > TITLE_LINES || line.chars().any(|character| character != mark) {
            return false;
        }
        let words: Vec<_> = (first..row).map(|row| self.trimmed(row)).collect();
        self.title(first, level, &words.join(" "));
        for row in first + 1..=row {
            self.outline.set_cut(row, Cut::AVOID);
        }
        true
    }

    /// Reads the fence that was opened `opened` rows after `row`, and returns where the next block
    /// starts.
    fn fence(&mut self, row: usize, open: Open, opened: usize) -> usize {
        let mut end = row + opened;
        while let Some(here) = self.row(end) {
            let line = here.trimmed(self.text);
            if let Open::Fence { quoted: true, .. } = open
                && !line.starts_with('>')
            {
                break;
            }
            end += 1;
            if closes(line, here.column, open) {
                break;
            }
        }
        self.outline.opens.push(open);
        let inside = self.outline.opens.len() as u32;
        for row in self
            .outline
            .rows
            .get_mut(row + opened..end)
            .unwrap_or_default()
        {
            row.inside = inside;
        }
        self.outline.keep_whole(row, end, self.whole);
        end
    }

    fn table_follows(&self, row: usize) -> bool {
        self.row(row + 1).is_some_and(|next| {
            let line = next.trimmed(self.text);
            !next.gap
                && line.contains('|')
                && line.contains('-')
                && line
                    .bytes()
                    .all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t' | b'>'))
        })
    }

    fn table(&mut self, row: usize) -> usize {
        let mut end = row + 2;
        while let Some(here) = self.row(end)
            && !here.gap
            && here.trimmed(self.text).contains('|')
        {
            end += 1;
        }
        self.outline.keep_whole(row, end, self.whole);
        end
    }
}

/// Returns the level and title of a heading that begins with `#`.
fn atx(line: &str) -> Option<(u8, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    if level > 6 || !(title.is_empty() || title.starts_with([' ', '\t'])) {
        return None;
    }
    let title = title.trim();
    let open = title.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some((level as u8, if closed { open.trim_end() } else { title }))
}

/// Returns the number of bytes before the content of a list item, if `line` begins one.
fn item(line: &str) -> Option<u16> {
    let bytes = line.as_bytes();
    let marker = match bytes.first()? {
        b'-' | b'*' | b'+' => 1,
        b'0'..=b'9' => {
            let digits = bytes
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if digits > 9 || !matches!(bytes.get(digits), Some(b'.' | b')')) {
                return None;
            }
            digits + 1
        }
        _ => return None,
    };
    matches!(bytes.get(marker), None | Some(b' ' | b'\t')).then_some(marker as u16 + 1)
}

/// Returns the fence that `line` opens, after any markers of quotes and list items.
fn opening(line: &str, column: u16, list: u16) -> Option<Open> {
    let mut rest = line;
    let mut quoted = false;
    let mut indent = list;
    // Deeper nesting is not followed.
    for _ in 0..8 {
        if let Some(inner) = rest.strip_prefix('>') {
            quoted = true;
            rest = inner.trim_start();
        } else if let Some(content) = item(rest) {
            indent = column + (line.len() - rest.len()) as u16 + content;
            rest = rest.get(usize::from(content)..).unwrap_or("").trim_start();
        } else {
            break;
        }
    }
    let mark = rest
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    let own_line = rest.len() == line.len();
    if length < 3 || (mark == '`' && info.contains('`')) || (own_line && column > list + 3) {
        return None;
    }
    Some(Open::Fence {
        mark,
        length: length as u32,
        quoted,
        indent: indent.saturating_add(3),
    })
}

fn closes(line: &str, column: u16, open: Open) -> bool {
    let Open::Fence {
        mark,
        length,
        quoted,
        indent,
    } = open
    else {
        return false;
    };
    let line = if quoted {
        line.trim_start_matches(['>', ' ', '\t'])
    } else {
        line
    };
    let rest = line.trim_start_matches(mark);
    rest.is_empty() && line.len() - rest.len() >= length as usize && (quoted || column <= indent)
}
