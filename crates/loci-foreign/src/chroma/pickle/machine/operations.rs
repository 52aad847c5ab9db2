//! The instructions, in four groups: values, the memo, containers, calls.

use super::{MEMO, Machine, SHORT, Value};
use crate::chroma::pickle::input::{Problem, unescape, whole};

impl<'a> Machine<'a> {
    /// Values in the program itself.
    pub(super) fn literal(&mut self, code: u8) -> Result<Option<Value<'a>>, Problem> {
        let value = match code {
            b'K' => Value::Whole(self.input.length::<1>()?),
            b'M' => Value::Whole(self.input.length::<2>()?),
            b'J' => number(&self.input.array::<4>()?),
            0x8a => {
                let length = self.input.length::<1>()?;
                number(self.input.bytes(length)?)
            }
            0x8b => {
                let length = self.input.length::<4>()?;
                number(self.input.bytes(length)?)
            }
            b'I' | b'L' => decimal(self.input.ascii_line()?)?,
            0x8c => {
                let length = self.input.length::<1>()?;
                Value::Text(self.input.text(length)?)
            }
            b'X' => {
                let length = self.input.length::<4>()?;
                Value::Text(self.input.text(length)?)
            }
            0x8d => {
                let length = self.input.length::<8>()?;
                Value::Text(self.input.text(length)?)
            }
            b'V' => {
                let text = unescape(self.input.line()?)?;
                self.texts.push(text);
                Value::Unescaped(self.texts.len() as u32 - 1)
            }
            b'N' | 0x88 | 0x89 | b')' | b']' | 0x8f | 0x97 => Value::Opaque,
            code => return self.skipped(code),
        };
        Ok(Some(value))
    }

    /// Values that are skipped: floats, bytes, names.
    fn skipped(&mut self, code: u8) -> Result<Option<Value<'a>>, Problem> {
        match code {
            b'G' => {
                self.input.array::<8>()?;
            }
            b'C' | b'U' => {
                let length = self.input.length::<1>()?;
                self.input.bytes(length)?;
            }
            b'B' | b'T' => {
                let length = self.input.length::<4>()?;
                self.input.bytes(length)?;
            }
            0x8e | 0x96 => {
                let length = self.input.length::<8>()?;
                self.input.bytes(length)?;
            }
            b'F' | b'S' | b'P' => {
                self.input.line()?;
            }
            b'c' => {
                self.input.line()?;
                self.input.line()?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Value::Opaque))
    }

    /// Writes to the memo and reads from it.
    pub(super) fn memory(&mut self, code: u8) -> Result<bool, Problem> {
        match code {
            0x94 => self.remember(self.memoized as u64)?,
            b'q' => {
                let index = self.input.length::<1>()?;
                self.remember(index)?;
            }
            b'r' => {
                let index = self.input.length::<4>()?;
                self.remember(index)?;
            }
            b'p' => {
                let index = self.input.ascii_line()?.parse().map_err(|_| MEMO)?;
                self.remember(index)?;
            }
            b'h' => {
                let index = self.input.length::<1>()?;
                self.recall(index)?;
            }
            b'j' => {
                let index = self.input.length::<4>()?;
                self.recall(index)?;
            }
            b'g' => {
                let index = self.input.ascii_line()?.parse().map_err(|_| MEMO)?;
                self.recall(index)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Dictionaries, and containers that only have to leave the stack: lists, tuples, sets.
    pub(super) fn container(&mut self, code: u8) -> Result<bool, Problem> {
        match code {
            b'}' => {
                let dict = self.object(false)?;
                self.stack.push(dict);
            }
            b'd' => {
                let from = self.unmark()?;
                let dict = self.object(false)?;
                // The items are still on the stack, so the dictionary is inserted below them.
                self.stack.insert(from, dict);
                self.set_items(from + 1)?;
            }
            b's' => {
                let from = self.stack.len().checked_sub(2).ok_or(SHORT)?;
                // Values below the last mark are out of reach, and no mark may end up above the
                // stack.
                if self.marks.last().is_some_and(|mark| *mark >= from) {
                    return Err(SHORT);
                }
                self.set_items(from)?;
            }
            b'u' => {
                let from = self.unmark()?;
                self.set_items(from)?;
            }
            b'a' => {
                self.pop()?;
                self.top()?;
            }
            b'e' | 0x90 => {
                let from = self.unmark()?;
                self.stack.truncate(from);
                self.top()?;
            }
            b't' | b'l' | 0x91 => {
                let from = self.unmark()?;
                self.stack.truncate(from);
                self.stack.push(Value::Opaque);
            }
            0x85..=0x87 => {
                for _ in 0x85..=code {
                    self.pop()?;
                }
                self.stack.push(Value::Opaque);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Names and calls. Nothing is called; an instance is represented by its state.
    pub(super) fn call(&mut self, code: u8) -> Result<bool, Problem> {
        let arguments = match code {
            b'b' => {
                let state = self.pop()?;
                if let (Value::Object(target), Value::Object(state)) = (self.top()?, state)
                    && let Some(object) = self.objects.get_mut(target as usize)
                {
                    object.state = Some(state);
                }
                return Ok(true);
            }
            0x93 => {
                self.pop()?;
                self.pop()?;
                self.stack.push(Value::Opaque);
                return Ok(true);
            }
            0x98 => {
                self.top()?;
                return Ok(true);
            }
            b'Q' => {
                self.pop()?;
                self.stack.push(Value::Opaque);
                return Ok(true);
            }
            b'R' | 0x81 => 2,
            0x92 => 3,
            b'o' | b'i' => {
                if code == b'i' {
                    self.input.line()?;
                    self.input.line()?;
                }
                let from = self.unmark()?;
                self.stack.truncate(from);
                0
            }
            _ => return Ok(false),
        };
        for _ in 0..arguments {
            self.pop()?;
        }
        let instance = self.object(true)?;
        self.stack.push(instance);
        Ok(true)
    }
}

fn number(bytes: &[u8]) -> Value<'static> {
    whole(bytes).map_or(Value::Opaque, Value::Whole)
}

/// A number as protocol 0 writes it. `00` and `01` are booleans.
fn decimal(line: &str) -> Result<Value<'static>, Problem> {
    if matches!(line, "00" | "01") {
        return Ok(Value::Opaque);
    }
    let digits = line.strip_suffix('L').unwrap_or(line);
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a number contains something other than digits");
    }
    Ok(digits.parse().map_or(Value::Opaque, Value::Whole))
}
