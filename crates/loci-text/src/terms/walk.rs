//! The walker that index, query and highlight share, so that they always agree about terms.
//!
//! A chunk is the text between white space and punctuation. It has components joined by slashes,
//! which have runs joined by other connectors, which have parts where the case changes or a number
//! begins. The walker keeps nothing of the text behind it, so time is linear and memory constant.

use std::ops::Range;

use super::class::{Class, class};
use super::fold::{LONGEST_TERM, fold};
use super::parts::{Parts, without_clitic};
use super::stem::Stems;

/// The kind of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// A single word, or a symbol.
    Word,
    /// A part of a compound.
    Part,
    /// A compound, without the characters that join its parts.
    Whole,
    /// One or two characters of a script that is indexed by pairs.
    Gram,
}

/// A term and its position.
#[derive(Debug)]
pub(super) struct Term<'a> {
    /// The term in its stored form.
    pub(super) text: &'a str,
    /// The folded word before stemming.
    pub(super) folded: &'a str,
    pub(super) kind: TermKind,
    /// The bytes of the text that it comes from.
    pub(super) place: Range<usize>,
    /// Whether it is stored only so that prefixes find it, and is not used in queries.
    pub(super) index_only: bool,
}

/// Calls `take` with each term of `text`, ordered by the end of the term.
pub(super) fn walk(text: &str, take: &mut impl FnMut(&Term<'_>)) {
    walk_where(text, &|_| true, take);
}

/// The same, but folded words that `wants` refuses are not stemmed. Their terms have an empty
/// `text`.
pub(super) fn walk_where(
    text: &str,
    wants: &impl Fn(&str) -> bool,
    take: &mut impl FnMut(&Term<'_>),
) {
    let mut walker = Walker {
        text,
        at: 0,
        stems: Stems::borrow(),
        word: String::new(),
        run: String::new(),
        parts: Parts::default(),
        wants,
        take,
    };
    walker.walk();
    walker.stems.give_back();
}

struct Walker<'a, W, F> {
    text: &'a str,
    at: usize,
    stems: Stems,
    word: String,
    run: String,
    parts: Parts,
    wants: &'a W,
    take: &'a mut F,
}

/// A compound in progress. It is dropped when it becomes longer than a term.
#[derive(Default)]
struct Whole {
    start: usize,
    pieces: usize,
    folded: String,
    too_long: bool,
}

impl Whole {
    fn begin(&mut self, start: usize) {
        self.start = start;
        self.pieces = 0;
        self.folded.clear();
        self.too_long = false;
    }

    fn add(&mut self, run: &str) {
        self.pieces += 1;
        self.too_long |= self.folded.len() + run.len() > LONGEST_TERM;
        if !self.too_long {
            self.folded.push_str(run);
        }
    }

    fn is_compound(&self) -> bool {
        self.pieces > 1 && !self.too_long && !self.folded.is_empty()
    }
}

/// How a run continues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Connector,
    Slash,
}

impl<W: Fn(&str) -> bool, F: FnMut(&Term<'_>)> Walker<'_, W, F> {
    fn walk(&mut self) {
        let mut component = Whole::default();
        let mut chunk = Whole::default();
        while let Some(c) = self.char_at(self.at) {
            match class(c) {
                Class::Word => self.chunk(&mut component, &mut chunk),
                Class::Gram => self.grams(),
                Class::Symbol => {
                    let place = self.at..self.at + c.len_utf8();
                    let symbol = self.text.get(place.clone()).unwrap_or_default();
                    (self.take)(&Term {
                        text: symbol,
                        folded: symbol,
                        kind: TermKind::Word,
                        place,
                        index_only: false,
                    });
                    self.at += c.len_utf8();
                }
                Class::Mark | Class::Joiner | Class::Connector | Class::Other => {
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn char_at(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.text.get(at..)?.chars().next(),
            None => None,
        }
    }

    fn class_at(&self, at: usize) -> Class {
        self.char_at(at).map_or(Class::Other, class)
    }

    fn chunk(&mut self, component: &mut Whole, chunk: &mut Whole) {
        component.begin(self.at);
        chunk.begin(self.at);
        let mut alone = true;
        loop {
            let start = self.at;
            let end = self.run_end();
            let joint = self.joint(end);
            alone &= joint.is_none();
            self.take_run(start..end, alone);
            component.add(&self.run);
            if joint.is_none_or(|(joint, _)| joint == Joint::Slash) {
                self.take_whole(component, end);
                // A component that is too long for a term cannot be part of one.
                chunk.too_long |= component.too_long;
                chunk.add(&component.folded);
            }
            let Some((joint, next)) = joint else {
                self.at = end;
                break;
            };
            self.at = next;
            if joint == Joint::Slash {
                component.begin(next);
            }
        }
        self.take_whole(chunk, self.at);
    }

    /// The end of the run at the current position.
    fn run_end(&self) -> usize {
        let plain = |at: usize| {
            let rest = self.text.as_bytes().get(at..).unwrap_or_default();
            rest.iter()
                .take_while(|byte| byte.is_ascii_alphanumeric())
                .count()
        };
        let mut at = self.at + plain(self.at);
        while let Some(c) = self.char_at(at) {
            let goes_on = match class(c) {
                Class::Word | Class::Mark => true,
                Class::Joiner => self.class_at(at + c.len_utf8()) == Class::Word,
                _ => false,
            };
            if !goes_on {
                break;
            }
            at += c.len_utf8();
        }
        at
    }

    /// The joint between the run that ends at `end` and the next one, and where that begins. At
    /// most three characters join. Repeated characters are dashes, dots and rules, except for `::`,
    /// `//`, `\\` and `__`.
    fn joint(&self, end: usize) -> Option<(Joint, usize)> {
        let mut joint = Joint::Connector;
        let mut before = None;
        let mut at = end;
        for _ in 0..=3 {
            let c = self.char_at(at)?;
            match class(c) {
                Class::Connector if before == Some(c) && !matches!(c, ':' | '/' | '\\' | '_') => {
                    return None;
                }
                Class::Connector => {
                    if matches!(c, '/' | '\\') {
                        joint = Joint::Slash;
                    }
                    before = Some(c);
                    at += c.len_utf8();
                }
                Class::Word => return before.map(|_| (joint, at)),
                _ => return None,
            }
        }
        None
    }

    /// Emits the terms of one run and leaves its folded form in `self.run`.
    fn take_run(&mut self, place: Range<usize>, alone: bool) {
        let raw = without_clitic(self.text.get(place.clone()).unwrap_or_default());
        let place = place.start..place.start + raw.len();
        self.parts.split(raw);
        if self.parts.is_whole() {
            fold(raw, &mut self.run);
            let kind = if alone {
                TermKind::Word
            } else {
                TermKind::Part
            };
            // A single letter carries no information if it is only a part.
            if alone || self.run.chars().nth(1).is_some() {
                self.give_run(kind, place);
            }
            return;
        }
        self.run.clear();
        for part in self.parts.iter() {
            let Some(raw) = raw.get(part.clone()) else {
                continue;
            };
            fold(raw, &mut self.word);
            self.run.push_str(&self.word);
            if self.word.chars().nth(1).is_some() {
                let place = place.start + part.start..place.start + part.end;
                let stems = (self.wants)(&self.word).then_some(&mut self.stems);
                give(&self.word, TermKind::Part, place, stems, self.take);
            }
        }
        let length = super::fold::head(&self.run, LONGEST_TERM).len();
        self.run.truncate(length);
        self.give_run(TermKind::Whole, place);
    }

    fn give_run(&mut self, kind: TermKind, place: Range<usize>) {
        let stems = (self.wants)(&self.run).then_some(&mut self.stems);
        give(&self.run, kind, place, stems, self.take);
    }

    fn take_whole(&mut self, whole: &Whole, end: usize) {
        if whole.is_compound() {
            let place = whole.start..end;
            let stems = (self.wants)(&whole.folded).then_some(&mut self.stems);
            give(&whole.folded, TermKind::Whole, place, stems, self.take);
        }
    }

    /// Emits the pairs of the run of characters at the current position, and its last character.
    fn grams(&mut self) {
        let mut last: Option<(char, Range<usize>)> = None;
        let mut pairs = 0_usize;
        while self.class_at(self.at) == Class::Gram {
            let start = self.at;
            let end = self.cluster_end();
            fold(
                self.text.get(start..end).unwrap_or_default(),
                &mut self.word,
            );
            for c in self.word.chars() {
                if let Some((before, place)) = last {
                    self.run.clear();
                    self.run.extend([before, c]);
                    pairs += 1;
                    give_gram(&self.run, place.start..end, false, self.take);
                }
                last = Some((c, start..end));
            }
            self.at = end;
        }
        if let Some((c, place)) = last {
            give_gram(c.encode_utf8(&mut [0; 4]), place, pairs > 0, self.take);
        }
    }

    /// The end of the character at the current position, including the marks that may combine with
    /// it.
    fn cluster_end(&self) -> usize {
        let mut at = self.at;
        for n in 0..8 {
            let Some(c) = self.char_at(at) else { break };
            let composes = matches!(
                u32::from(c),
                0x302A..=0x302F | 0x3099 | 0x309A | 0xFF9E | 0xFF9F | 0x1160..=0x11FF
            );
            if n > 0 && !composes && class(c) != Class::Mark {
                break;
            }
            at += c.len_utf8();
        }
        at
    }
}

fn give(
    folded: &str,
    kind: TermKind,
    place: Range<usize>,
    stems: Option<&mut Stems>,
    take: &mut impl FnMut(&Term<'_>),
) {
    if !folded.is_empty() {
        take(&Term {
            text: stems.map_or("", |stems| stems.stem(folded)),
            folded,
            kind,
            place,
            index_only: false,
        });
    }
}

fn give_gram(text: &str, place: Range<usize>, index_only: bool, take: &mut impl FnMut(&Term<'_>)) {
    take(&Term {
        text,
        folded: text,
        kind: TermKind::Gram,
        place,
        index_only,
    });
}
