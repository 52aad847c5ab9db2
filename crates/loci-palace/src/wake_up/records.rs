//! Recognises statements in files: records of decisions, minutes of meetings, and lists below a
//! heading that announces them. Everything else in a file is left out.

use super::language::{Cue, Label};
use super::lexicon::{Cues, label_of, lowered};
use super::prose::{Line, lines, sentences, word_count};
use super::record_words::{FOREIGN, NOT_IN_FORCE, RECORDS, STATUS};
use super::statement::{About, Kind, MOST_CHARACTERS, Recognised, Revision, Statement, one_line};
use super::topic::Topic;

/// Maximum number of statements of one file.
const OF_ONE_FILE: usize = 6;
/// Endings of the names of files that people write prose in.
const PROSE: [&str; 8] = [
    ".md",
    ".markdown",
    ".txt",
    ".rst",
    ".org",
    ".adoc",
    ".mdx",
    ".text",
];

/// A file, or the parts of it that were read.
pub(super) struct Record<'a> {
    /// Its path from the top of its project.
    pub(super) path: &'a str,
    /// The state that its front matter names.
    pub(super) status: &'a str,
    pub(super) chunks: Vec<Chunk<'a>>,
    pub(super) moment: i64,
}

/// A drawer of a file.
pub(super) struct Chunk<'a> {
    pub(super) text: &'a str,
    /// The headings above it.
    pub(super) headings: &'a str,
    pub(super) drawer: usize,
}

/// A line of a file, with the drawer that holds it.
struct Placed<'a> {
    line: Line<'a>,
    drawer: usize,
}

/// Whether the file may hold statements of the people of the project.
pub(super) fn is_prose_file(path: &str) -> bool {
    let path = lowered(path);
    let name = path.rsplit('/').next().unwrap_or(&path);
    let is_prose = PROSE.iter().any(|ending| name.ends_with(ending)) || !name.contains('.');
    // In the name of a file, such a word may be its subject: `0002-build-images.md`.
    let stem = name.split('.').next().unwrap_or(name);
    let folders = path.strip_suffix(name).unwrap_or_default();
    is_prose
        && !FOREIGN.contains(&stem)
        && !folders
            .split('/')
            .flat_map(parts_of)
            .any(|part| FOREIGN.contains(&part))
        && ![
            "changelog",
            "license",
            "licence",
            "copying",
            "authors",
            "news",
            "history",
        ]
        .iter()
        .any(|other| name.starts_with(other))
}

fn is_record(path: &str) -> bool {
    let path = lowered(path);
    path.split('/')
        .flat_map(parts_of)
        .any(|part| RECORDS.contains(&part) || part.starts_with("会议"))
}

/// A part of a path, and the words of which it consists.
fn parts_of(part: &str) -> impl Iterator<Item = &str> {
    let words = part.split(['-', '_', '.', ' ']);
    std::iter::once(part).chain(words)
}

impl Record<'_> {
    pub(super) fn recognise(&self, into: &mut Recognised) {
        if !is_prose_file(self.path) {
            return;
        }
        let placed: Vec<Placed<'_>> = self
            .chunks
            .iter()
            .flat_map(|chunk| {
                let all = lines(chunk.text).into_iter();
                all.map(|line| Placed {
                    line,
                    drawer: chunk.drawer,
                })
            })
            .collect();
        let is_form = placed.iter().any(|placed| placed.line.words.contains('{'));
        let words: Vec<&str> = placed.iter().map(|placed| placed.line.words).collect();
        let unit = into.unit(&words.join("\n"));
        if is_form || self.is_not_in_force(&placed) {
            return;
        }
        let is_record = is_record(self.path);
        let before = into.statements.len();
        let mut label = self.chunks.first().and_then(|chunk| {
            let last = chunk.headings.rsplit(" > ").next().unwrap_or_default();
            label_of(last)
        });
        let mut title = "";
        let mut has_label = false;
        let mut taken = 0;
        for Placed { line, drawer } in &placed {
            if line.heading > 0 {
                if line.heading == 1 {
                    title = line.words;
                }
                label = label_of(line.words);
                has_label |= label.is_some();
                taken = 0;
                continue;
            }
            let named = line.words.split_once([':', '：']);
            let before = named
                .and_then(|(words, _)| label_of(words))
                .filter(|_| is_record);
            let text = match before.or(label) {
                Some(found) if !line.is_checked => Some((found, line.words)),
                _ => None,
            };
            let Some((found, text)) = text else { continue };
            // Below a heading, a list counts item by item, and other text with its first lines.
            let is_allowed = line.is_item || before.is_some() || is_record && taken == 0;
            if is_allowed && word_count(text) > 1 {
                taken += 1;
                self.push(found, title, text, *drawer, unit, into);
            }
        }
        if is_record && !has_label && into.statements.len() == before && is_decision_path(self.path)
        {
            let first = placed.iter().find(|placed| {
                placed.line.heading == 0
                    && word_count(placed.line.words) > 3
                    && !is_status(placed.line.words)
            });
            if let Some(first) = first {
                self.push(
                    Label::Decision,
                    title,
                    first.line.words,
                    first.drawer,
                    unit,
                    into,
                );
            }
        }
        into.statements.truncate(before + OF_ONE_FILE);
    }

    fn push(
        &self,
        label: Label,
        title: &str,
        text: &str,
        drawer: usize,
        unit: usize,
        into: &mut Recognised,
    ) {
        let (kind, score) = match label {
            Label::Decision => (Kind::Decision, 1.8),
            Label::Rule => (Kind::Rule, 1.6),
            Label::Task => (Kind::Task, 1.8),
            Label::Person => (Kind::Person, 1.6),
        };
        let cues = Cues::of(text);
        let is_title_of_decision =
            label == Label::Decision && is_decision_path(self.path) && !title.is_empty();
        let statement = if is_title_of_decision {
            let short: String = sentences(text)
                .into_iter()
                .take(2)
                .collect::<Vec<_>>()
                .join(" ");
            format!("{title}: {short}")
        } else {
            text.to_owned()
        };
        let statement = if statement.chars().count() > MOST_CHARACTERS {
            text.to_owned()
        } else {
            statement
        };
        let topic = Topic::of(&statement);
        if cues.has(Cue::Change) {
            into.revisions.push(Revision {
                unit,
                turn: 0,
                moment: self.moment,
                topic: topic.clone(),
            });
        }
        into.statements.push(Statement {
            kind,
            text: one_line(&statement),
            score,
            drawer,
            moment: self.moment,
            about: About {
                context: topic.clone(),
                topic,
                unit,
                changes: cues.has(Cue::Change),
                has_number: statement.chars().any(|letter| letter.is_ascii_digit()),
                is_record: is_decision_path(self.path),
                ..About::default()
            },
        });
    }

    /// Whether the record is marked as rejected, replaced or a draft.
    fn is_not_in_force(&self, placed: &[Placed<'_>]) -> bool {
        let is_off = |words: &str| {
            let words = lowered(words);
            NOT_IN_FORCE.iter().any(|state| words.contains(state))
        };
        // A heading `Status` with the state below it.
        let below = placed.windows(2).any(|pair| match pair {
            [heading, state] => {
                heading.line.heading > 0
                    && STATUS.contains(&lowered(heading.line.words).as_str())
                    && is_off(state.line.words)
            }
            _ => false,
        });
        is_off(self.status)
            || below
            || placed.iter().any(|placed| {
                let words = placed.line.words;
                is_status(words)
                    && words
                        .split_once([':', '：'])
                        .is_some_and(|(_, state)| is_off(state))
            })
    }
}

/// The date in the name of a file, such as `2026-01-13.md`, in milliseconds since 1970.
pub(super) fn date_in(path: &str) -> Option<i64> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let starts = name
        .char_indices()
        .filter_map(|(at, _)| name.get(at..at + 10));
    let mut dates = starts.filter_map(|day| day.parse::<jiff::civil::Date>().ok());
    let midnight = dates.next()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(midnight.timestamp().as_millisecond())
}

fn is_decision_path(path: &str) -> bool {
    let path = lowered(path);
    let names = [
        "adr",
        "adrs",
        "decision",
        "decisions",
        "entscheidungen",
        "decisiones",
        "décisions",
        "решения",
        "决策",
        "rfcs",
    ];
    path.split('/')
        .flat_map(parts_of)
        .any(|part| names.contains(&part))
}

fn is_status(words: &str) -> bool {
    let words = lowered(words);
    let words = words.trim_start_matches(['*', '_', ' ']);
    STATUS.iter().any(|name| {
        let rest = words.strip_prefix(name);
        rest.is_some_and(|rest| {
            rest.trim_start_matches(['*', '_', ' '])
                .starts_with([':', '：'])
        })
    })
}
