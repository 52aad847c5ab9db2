//! Splits one JSON array into its elements by byte position.
//!
//! The array is the whole document, or the value of one key of the document's object. The other
//! fields of that object are the frame. Only one element is held in memory. This module does not
//! interpret elements.

use super::records::Next;
use super::utterance::{Point, RecordSpan};
use std::io::{self, BufRead};

/// A longer frame is truncated, which makes it invalid JSON, so it is ignored.
const MAX_FRAME_BYTES: usize = 1 << 20;
const KEPT_BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Elements<R> {
    input: R,
    /// The key of the array; `None` when the document is the array.
    key: Option<&'static str>,
    limit: usize,
    stage: Stage,
    offset: u64,
    count: u64,
    element: Vec<u8>,
    frame: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Inside,
    After,
}

impl<R: BufRead> Elements<R> {
    /// Reads from `point`, which is the start of the document or a position between two elements.
    pub(super) fn new(input: R, key: Option<&'static str>, limit: usize, point: Point) -> Self {
        Self {
            input,
            key,
            limit,
            stage: if point.offset == 0 {
                Stage::Before
            } else {
                Stage::Inside
            },
            offset: point.offset,
            count: point.line,
            element: Vec::new(),
            frame: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.element
    }

    /// The fields read so far outside the array, as an object in which the array is `null`.
    pub(super) fn frame(&self) -> &[u8] {
        &self.frame
    }

    pub(super) fn next(&mut self) -> io::Result<Next> {
        if self.stage == Stage::Before {
            if !self.find_array()? {
                return Ok(Next::Broken("the array is missing"));
            }
            self.stage = Stage::Inside;
        }
        if self.stage == Stage::After {
            return Ok(Next::End);
        }
        self.element.clear();
        if self.element.capacity() > KEPT_BUFFER_BYTES {
            self.element.shrink_to(KEPT_BUFFER_BYTES);
        }
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\r' | b'\n' | b',') => self.step(),
                Some(b']') => {
                    self.step();
                    self.stage = Stage::After;
                    self.finish_frame()?;
                    return Ok(Next::Closed);
                }
                Some(_) => break,
                None => return Ok(Next::Broken("the array does not end")),
            }
        }
        let from = self.point();
        let mut scan = Scan::default();
        let mut too_long = false;
        while !scan.ended {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                return Ok(Next::Broken("the array does not end"));
            }
            let length = scan.advance(bytes);
            too_long |= self.element.len() + length > self.limit;
            if too_long {
                self.element = Vec::new();
            } else {
                self.element
                    .extend_from_slice(bytes.get(..length).unwrap_or_default());
            }
            self.input.consume(length);
            self.offset += length as u64;
        }
        self.count += 1;
        Ok(if too_long {
            Next::TooLong
        } else {
            Next::Record(RecordSpan {
                number: u32::try_from(self.count).unwrap_or(u32::MAX),
                from: Some(from),
                to: Some(self.point()),
            })
        })
    }

    fn point(&self) -> Point {
        Point {
            offset: self.offset,
            line: self.count,
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    fn step(&mut self) {
        self.input.consume(1);
        self.offset += 1;
    }

    /// Moves past the opening bracket of the array and keeps the fields before it as the frame.
    fn find_array(&mut self) -> io::Result<bool> {
        let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
        let (mut string, mut last_key) = (Vec::new(), Vec::new());
        let mut head = Vec::new();
        while let Some(byte) = self.peek()? {
            self.step();
            if head.len() < MAX_FRAME_BYTES {
                head.push(byte);
            }
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ if string.len() < 64 => string.push(byte),
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => {
                    in_string = true;
                    string.clear();
                }
                b':' if depth == 1 => last_key = std::mem::take(&mut string),
                b'[' => match self.key {
                    None if depth == 0 => return Ok(true),
                    Some(key) if depth == 1 && last_key == key.as_bytes() => {
                        head.pop();
                        self.set_frame(head, b"}");
                        return Ok(true);
                    }
                    _ => depth += 1,
                },
                b'{' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' if depth == 1 => last_key.clear(),
                _ => {}
            }
        }
        Ok(false)
    }

    fn set_frame(&mut self, mut head: Vec<u8>, tail: &[u8]) {
        head.extend_from_slice(b"null");
        head.extend_from_slice(tail);
        self.frame = head;
    }

    fn finish_frame(&mut self) -> io::Result<()> {
        if self.key.is_none() || self.frame.is_empty() {
            return Ok(());
        }
        self.frame.pop();
        let mut head = std::mem::take(&mut self.frame);
        loop {
            let bytes = self.input.fill_buf()?;
            let length = bytes.len();
            if length == 0 {
                break;
            }
            if head.len() < MAX_FRAME_BYTES {
                head.extend_from_slice(bytes);
            }
            self.input.consume(length);
            self.offset += length as u64;
        }
        self.frame = head;
        Ok(())
    }
}

/// Finds the end of one element.
#[derive(Debug, Default)]
struct Scan {
    inside: Inside,
    depth: u32,
    ended: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// A number or a literal, which ends at the next delimiter.
    Bare,
    List,
    Text,
    Escape,
}

impl Scan {
    /// Returns how many of `bytes` belong to the element.
    fn advance(&mut self, bytes: &[u8]) -> usize {
        for (i, &byte) in bytes.iter().enumerate() {
            match (self.inside, byte) {
                (Inside::Escape, _) | (Inside::Nothing | Inside::List, b'"') => {
                    self.inside = Inside::Text;
                }
                (Inside::Text, b'\\') => self.inside = Inside::Escape,
                (Inside::Text, b'"') => {
                    self.inside = Inside::List;
                    self.ended = self.depth == 0;
                }
                (Inside::Bare, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t') => {
                    self.ended = true;
                    return i;
                }
                (Inside::Nothing | Inside::List, b'{' | b'[') => {
                    self.inside = Inside::List;
                    self.depth += 1;
                }
                (Inside::List, b'}' | b']') => {
                    self.depth -= 1;
                    self.ended = self.depth == 0;
                }
                (Inside::Nothing, _) => self.inside = Inside::Bare,
                (Inside::Text | Inside::Bare | Inside::List, _) => {}
            }
            if self.ended {
                return i + 1;
            }
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    fn all(json: &str, key: Option<&'static str>, buffer: usize) -> (Vec<String>, Next, String) {
        let input = BufReader::with_capacity(buffer, json.as_bytes());
        let mut elements = Elements::new(input, key, 1 << 20, Point::default());
        let mut found = Vec::new();
        loop {
            match elements.next().unwrap() {
                Next::Record(place) => {
                    let start = place.from.unwrap().offset as usize;
                    let text = std::str::from_utf8(elements.bytes()).unwrap().to_owned();
                    assert!(json[start..].starts_with(&text));
                    assert_eq!(place.to.unwrap().offset as usize, start + text.len());
                    found.push(text);
                }
                end => {
                    let frame = std::str::from_utf8(elements.frame()).unwrap().to_owned();
                    return (found, end, frame);
                }
            }
        }
    }

    #[test]
    fn brackets_in_strings_do_not_end_an_element() {
        let json = r#" [ {"a":"]}\"["}, [1,[2]] ,"x]\\", 12,null ] "#;
        let (found, end, _) = all(json, None, 3);
        assert_eq!(
            found,
            [r#"{"a":"]}\"["}"#, "[1,[2]]", r#""x]\\""#, "12", "null"]
        );
        assert_eq!(end, Next::Closed);
    }

    #[test]
    fn the_fields_beside_the_array_are_its_frame() {
        let json = r#"{"id":"messages","n":{"messages":[0]},"messages":[1,2],"title":"t"}"#;
        let (found, end, frame) = all(json, Some("messages"), 4);
        assert_eq!(found, ["1", "2"]);
        assert_eq!(end, Next::Closed);
        assert_eq!(
            frame,
            r#"{"id":"messages","n":{"messages":[0]},"messages":null,"title":"t"}"#
        );
    }

    #[test]
    fn an_array_that_is_cut_off_gives_its_whole_elements_and_is_broken() {
        let (found, end, _) = all(r#"[{"a":1},{"b":"#, None, 5);
        assert_eq!(found, [r#"{"a":1}"#]);
        assert!(matches!(end, Next::Broken(_)));
    }

    #[test]
    fn an_element_over_the_limit_is_passed_over() {
        let json = format!("[1,\"{}\",2]", "x".repeat(100));
        let mut elements = Elements::new(json.as_bytes(), None, 50, Point::default());
        let mut steps = Vec::new();
        loop {
            let next = elements.next().unwrap();
            steps.push(std::mem::discriminant(&next));
            if next == Next::Closed {
                break;
            }
        }
        let place = std::mem::discriminant(&Next::Record(RecordSpan::default()));
        let long = std::mem::discriminant(&Next::TooLong);
        assert_eq!(
            steps,
            [place, long, place, std::mem::discriminant(&Next::Closed)]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), keyed in any::<bool>()) {
            let key = keyed.then_some("m");
            let mut elements = Elements::new(&*bytes, key, 40, Point::default());
            for _ in 0..100 {
                if matches!(elements.next().unwrap(), Next::End | Next::Closed | Next::Broken(_)) {
                    return Ok(());
                }
            }
            prop_assert!(false, "no end");
        }
    }
}
