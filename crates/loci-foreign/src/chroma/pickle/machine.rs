//! The stack machine that runs a pickle: a stack, marks on it, and a memo.
//!
//! Only the parts of a label map are kept: whole numbers, texts, dictionaries, and instances as
//! their state. Everything else becomes [`Value::Opaque`]. Dictionaries and instances are in one
//! list and are referenced by number. So nothing is copied, no nested values need a recursive drop,
//! and a dictionary that contains itself does no harm.

mod operations;

use super::Form;
use super::input::{Input, Problem};

/// The maximum number of dictionaries and instances. A label map has five. Each one is searched for
/// fields, so the number must stay small.
const OBJECTS: usize = 64;

/// The fields that make a dictionary a label map.
pub(super) const MAPS: [&str; 2] = ["id_to_label", "label_to_id"];

const SHORT: Problem = "an instruction needs more values than there are";
const NOT_A_DICT: Problem = "an item is added to something that is not a dictionary";
const NO_MARK: Problem = "an instruction needs a mark that is missing";
const MEMO: Problem = "an instruction needs a memo entry that is missing";

/// A value on the stack or in the memo.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Opaque,
    Whole(u64),
    Text(&'a str),
    /// The number of a text that had escapes.
    Unescaped(u32),
    /// The number of a dictionary or an instance.
    Object(u32),
}

/// A dictionary, or an instance with its state.
#[derive(Debug, Default)]
struct Object<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    instance: bool,
    state: Option<u32>,
}

/// The state of the machine.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    input: Input<'a>,
    stack: Vec<Value<'a>>,
    /// Heights of the stack at the marks.
    marks: Vec<usize>,
    memo: Vec<Option<Value<'a>>>,
    memoized: usize,
    objects: Vec<Object<'a>>,
    texts: Vec<String>,
    damage: Option<String>,
    result: Option<Value<'a>>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            input: Input::new(bytes),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            memoized: 0,
            objects: Vec::new(),
            texts: Vec::new(),
            damage: None,
            result: None,
        }
    }

    /// Runs to the end of the program or to the first damage, then closes the dictionaries that are
    /// still open.
    pub(super) fn run(&mut self) {
        loop {
            let offset = self.input.offset();
            match self.step() {
                Ok(true) => {}
                Ok(false) => {
                    if self.input.left() > 0 {
                        self.note(self.input.offset(), "bytes follow the end");
                    }
                    return;
                }
                Err(problem) => {
                    self.note(offset, problem);
                    break;
                }
            }
        }
        while let Ok(from) = self.unmark() {
            // An open dictionary gets the complete items. Any other mark is dropped.
            if from
                .checked_sub(1)
                .is_some_and(|below| self.is_object(below))
            {
                let _ = self.set_items(from);
            }
        }
    }

    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    pub(super) fn form(&self) -> Option<Form> {
        if self.objects.iter().any(|object| object.instance) {
            Some(Form::Instance)
        } else if self.objects.is_empty() {
            None
        } else {
            Some(Form::Dict)
        }
    }

    /// The map of this name, from the label map or else from an unfinished one.
    pub(super) fn map(&self, name: &str) -> Option<Value<'a>> {
        let is_map = |value: &Value<'a>| matches!(value, Value::Object(_));
        self.field(name).filter(is_map).or_else(|| {
            let pairs = self.stack.iter().zip(self.stack.iter().skip(1));
            pairs
                .filter(|(key, value)| self.text(**key) == Some(name) && is_map(value))
                .map(|(_, value)| *value)
                .next()
        })
    }

    /// A field of the label map.
    pub(super) fn field(&self, name: &str) -> Option<Value<'a>> {
        self.lookup(self.root()?, name)
    }

    /// The result of the program if it is a label map, or else the first label map. An id may have
    /// the name of a field, so a dictionary counts only if it contains a map.
    fn root(&self) -> Option<u32> {
        let result = match self.result {
            Some(Value::Object(number)) => Some(number),
            _ => None,
        };
        result
            .into_iter()
            .chain(0..self.objects.len() as u32)
            .find(|number| {
                MAPS.iter()
                    .any(|name| matches!(self.lookup(*number, name), Some(Value::Object(_))))
            })
    }

    /// The entries of a dictionary; empty for any other value.
    pub(super) fn entries(&self, dict: Option<Value<'a>>) -> &[(Value<'a>, Value<'a>)] {
        match dict {
            Some(Value::Object(number)) => self
                .objects
                .get(number as usize)
                .map_or(&[], |object| object.entries.as_slice()),
            _ => &[],
        }
    }

    pub(super) fn text<'b>(&'b self, value: Value<'a>) -> Option<&'b str> {
        match value {
            Value::Text(text) => Some(text),
            Value::Unescaped(number) => self.texts.get(number as usize).map(String::as_str),
            _ => None,
        }
    }

    fn lookup(&self, number: u32, name: &str) -> Option<Value<'a>> {
        let object = self.objects.get(number as usize)?;
        let state = object.state.unwrap_or(number);
        self.entries(Some(Value::Object(state)))
            .iter()
            .find(|(key, _)| self.text(*key) == Some(name))
            .map(|(_, value)| *value)
    }

    /// Records a problem. Only the first one is reported.
    fn note(&mut self, offset: usize, problem: &str) {
        self.damage
            .get_or_insert_with(|| format!("at byte {offset}: {problem}"));
    }

    /// Runs one instruction. Returns false at the end of the program.
    fn step(&mut self) -> Result<bool, Problem> {
        let offset = self.input.offset();
        match self.input.byte()? {
            b'.' => {
                self.result = Some(self.pop()?);
                return Ok(false);
            }
            0x80 => {
                if self.input.byte()? > 5 {
                    self.note(offset, "the protocol is newer than 5");
                }
            }
            0x95 => {
                if self.input.length::<8>()? > self.input.left() as u64 {
                    self.note(offset, "a frame extends beyond the end of the file");
                }
            }
            b'(' => self.marks.push(self.stack.len()),
            b'0' => {
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => {
                let from = self.unmark()?;
                self.stack.truncate(from);
            }
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            code => {
                if let Some(value) = self.literal(code)? {
                    self.stack.push(value);
                } else if !self.memory(code)? && !self.container(code)? && !self.call(code)? {
                    return Err("an unknown instruction");
                }
            }
        }
        Ok(true)
    }

    fn object(&mut self, instance: bool) -> Result<Value<'a>, Problem> {
        if self.objects.len() >= OBJECTS {
            return Err("there are far more dictionaries than a label map has");
        }
        self.objects.push(Object {
            instance,
            ..Object::default()
        });
        Ok(Value::Object(self.objects.len() as u32 - 1))
    }

    fn is_object(&self, index: usize) -> bool {
        matches!(self.stack.get(index), Some(Value::Object(_)))
    }

    /// Moves the values from `from` on, as pairs, into the dictionary below them. A value without a
    /// partner is dropped.
    fn set_items(&mut self, from: usize) -> Result<(), Problem> {
        let below = from.checked_sub(1).ok_or(SHORT)?;
        let Some(Value::Object(number)) = self.stack.get(below).copied() else {
            return Err(NOT_A_DICT);
        };
        let object = self.objects.get_mut(number as usize).ok_or(NOT_A_DICT)?;
        let items = self.stack.get(from..).ok_or(SHORT)?;
        let (pairs, left) = items.as_chunks::<2>();
        object
            .entries
            .extend(pairs.iter().map(|[key, value]| (*key, *value)));
        let odd = !left.is_empty();
        self.stack.truncate(from);
        if odd {
            return Err("a key has no value");
        }
        Ok(())
    }

    fn remember(&mut self, index: u64) -> Result<(), Problem> {
        let value = self.top()?;
        // A pickle never has more memo entries than bytes. A larger number is damage and must not
        // allocate memory.
        let index = usize::try_from(index)
            .ok()
            .filter(|index| *index < self.input.offset())
            .ok_or("a memo number is too large")?;
        if index >= self.memo.len() {
            self.memo.resize(index + 1, None);
        }
        if let Some(slot) = self.memo.get_mut(index)
            && slot.replace(value).is_none()
        {
            self.memoized += 1;
        }
        Ok(())
    }

    fn recall(&mut self, index: u64) -> Result<(), Problem> {
        let index = usize::try_from(index).map_err(|_| MEMO)?;
        let value = self.memo.get(index).copied().flatten().ok_or(MEMO)?;
        self.stack.push(value);
        Ok(())
    }

    /// Removes the last mark and returns its height.
    fn unmark(&mut self) -> Result<usize, Problem> {
        self.marks.pop().ok_or(NO_MARK)
    }

    /// Pops a value. Values below the last mark are out of reach.
    fn pop(&mut self) -> Result<Value<'a>, Problem> {
        self.top()?;
        self.stack.pop().ok_or(SHORT)
    }

    fn top(&self) -> Result<Value<'a>, Problem> {
        if self
            .marks
            .last()
            .is_some_and(|mark| *mark >= self.stack.len())
        {
            return Err(SHORT);
        }
        self.stack.last().copied().ok_or(SHORT)
    }
}
