//! Reads a JSON list entry by entry.

use std::fmt;
use std::io::BufReader;
use std::marker::PhantomData;
use std::path::Path;

use loci_palace::Error;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::error::Category;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Why reading ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// It is JSON, but not of the expected shape.
    Shape(serde_json::Error),
    /// It is not JSON, or cannot be read.
    Text(serde_json::Error),
    /// The file cannot be opened.
    Open(std::io::Error),
    /// The visitor stopped.
    Visit(Error),
}

impl Failure {
    pub(super) fn into_error(self, path: &Path) -> Error {
        let refuse = |problem| Error::invalid(format!("data set `{}`", path.display()), problem);
        match self {
            Self::Visit(error) => error,
            Self::Open(source) => Error::io("cannot open", path, source),
            Self::Text(error) if error.is_io() => Error::io("cannot read", path, error.into()),
            Self::Text(error) => refuse(format!("not JSON: {error}")),
            Self::Shape(error) => refuse(format!("cannot be read: {error}")),
        }
    }
}

/// Calls `visit` with the position and the value of every entry of the list in a file.
pub(super) fn each<T: DeserializeOwned>(
    path: &Path,
    visit: impl FnMut(usize, T) -> Result<(), Error>,
) -> Result<(), Failure> {
    let file = loci_files::foreign::open(path).map_err(Failure::Open)?;
    let mut json =
        serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER_BYTES, file));
    let mut stopped = None;
    let list = List {
        visit,
        stopped: &mut stopped,
        entry: PhantomData,
    };
    let read = list.deserialize(&mut json).and_then(|()| json.end());
    if let Some(error) = stopped {
        return Err(Failure::Visit(error));
    }
    read.map_err(|error| match error.classify() {
        Category::Data => Failure::Shape(error),
        Category::Io | Category::Syntax | Category::Eof => Failure::Text(error),
    })
}

struct List<'a, T, F> {
    visit: F,
    /// The error of the visitor, because serde cannot carry it.
    stopped: &'a mut Option<Error>,
    entry: PhantomData<T>,
}

impl<'de, T, F> DeserializeSeed<'de> for List<'_, T, F>
where
    T: DeserializeOwned,
    F: FnMut(usize, T) -> Result<(), Error>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T, F> Visitor<'de> for List<'_, T, F>
where
    T: DeserializeOwned,
    F: FnMut(usize, T) -> Result<(), Error>,
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let mut at = 0;
        while let Some(entry) = entries.next_element()? {
            if let Err(error) = (self.visit)(at, entry) {
                *self.stopped = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
            at += 1;
        }
        Ok(())
    }
}
