//! Reads the vectors of a `vec0` table from its plain tables: blocks of slots with a bitmap of
//! those in use, the row numbers of the slots, and the vectors of all slots in one blob.

use std::cell::RefCell;
use std::collections::HashMap;

use loci_core::{MAX_DIMENSION, Metric};
use loci_salvage::Snapshot;
use rusqlite::Row;

use crate::{cells, vector};

/// The number of blocks that are kept in memory.
const CACHED: usize = 4;
/// The number of vectors whose length is checked.
const SAMPLED: usize = 64;

/// The locations of the vectors of chunks.
#[derive(Debug, Default)]
pub(super) struct VectorTable {
    /// The block and slot, by row number of the chunk.
    slots: HashMap<i64, (i64, usize)>,
    /// The number of slots of each block.
    sizes: HashMap<i64, usize>,
    dimension: Option<usize>,
    /// Blocks whose tables are inconsistent.
    pub(super) broken: Vec<i64>,
    cache: RefCell<Vec<(i64, Vec<u8>)>>,
}

impl VectorTable {
    /// Reads the locations of the vectors, not the vectors themselves.
    pub(super) fn read(snapshot: &Snapshot) -> Self {
        let mut table = Self {
            dimension: declared(snapshot),
            ..Self::default()
        };
        let sql =
            "SELECT chunk_id, size, validity, rowids FROM chunks_vec_chunks ORDER BY chunk_id";
        // The closure cannot fail. `check_lengths` notices blocks that cannot be read.
        let _ = cells::for_each_row(snapshot, sql, [], |row| {
            table.add_block(row);
            Ok(())
        });
        table.check_lengths(snapshot);
        table
    }

    /// Adds a block, or marks it as broken if its size, bitmap and row numbers do not agree.
    fn add_block(&mut self, row: &Row<'_>) {
        let Some(block) = cells::integer(row, "chunk_id") else {
            return;
        };
        let size = cells::integer(row, "size").and_then(|size| usize::try_from(size).ok());
        let bits = cells::blob(row, "validity").unwrap_or_default();
        let numbers = cells::blob(row, "rowids").unwrap_or_default();
        let fits = |size: usize| {
            bits.len().checked_mul(8) == Some(size) && numbers.len().checked_div(8) == Some(size)
        };
        match size {
            Some(size) if size > 0 && fits(size) => self.add(block, size, bits, numbers),
            _ => self.broken.push(block),
        }
    }

    fn add(&mut self, block: i64, size: usize, bits: &[u8], numbers: &[u8]) {
        self.sizes.insert(block, size);
        let (numbers, _) = numbers.as_chunks::<8>();
        for (slot, number) in numbers.iter().enumerate() {
            let used = bits
                .get(slot / 8)
                .is_some_and(|byte| byte >> (slot % 8) & 1 == 1);
            if used {
                self.slots
                    .insert(i64::from_le_bytes(*number), (block, slot));
            }
        }
    }

    /// Marks blocks as broken if the length of their vectors does not match slots and dimension.
    fn check_lengths(&mut self, snapshot: &Snapshot) {
        let sql = "SELECT rowid AS block, length(vectors) AS bytes FROM chunks_vec_vector_chunks00";
        let lengths = cells::collect(snapshot, sql, [], |row| {
            let bytes = usize::try_from(cells::integer(row, "bytes")?).ok()?;
            Some((cells::integer(row, "block")?, bytes))
        });
        let lengths: HashMap<i64, usize> = lengths.into_iter().collect();
        if self.dimension.is_none() {
            self.dimension = self.sizes.iter().find_map(|(block, size)| {
                let bytes = lengths.get(block)?;
                let dimension = bytes.checked_div(size.checked_mul(4)?)?;
                (1..=MAX_DIMENSION)
                    .contains(&dimension)
                    .then_some(dimension)
            });
        }
        let dimension = self.dimension;
        let broken: Vec<i64> = self
            .sizes
            .iter()
            .filter(|(block, size)| {
                let expected = dimension.and_then(|dimension| size.checked_mul(dimension * 4));
                expected.is_none() || lengths.get(block).copied() != expected
            })
            .map(|(block, _)| *block)
            .collect();
        for block in broken {
            self.sizes.remove(&block);
            self.broken.push(block);
        }
        self.broken.sort_unstable();
    }

    /// The length of the vectors, if there are any.
    pub(super) fn dimension(&self) -> Option<usize> {
        self.dimension
    }

    /// The metric. `vec0` compares by Euclidean distance. For vectors of length one this gives the
    /// same order as the cosine, which palaces use.
    pub(super) fn metric(&self, snapshot: &Snapshot) -> Metric {
        let mut rows: Vec<i64> = self.rows().collect();
        rows.sort_unstable();
        let mut some = rows.into_iter().take(SAMPLED).peekable();
        let any = some.peek().is_some();
        let unit = some.all(|row| {
            let vector = self.get(snapshot, row).ok().flatten().unwrap_or_default();
            let length: f32 = vector.iter().map(|number| number * number).sum();
            (length - 1.0).abs() < 1e-3
        });
        if any && !unit {
            Metric::L2
        } else {
            Metric::Cosine
        }
    }

    /// The row numbers that have a vector.
    pub(super) fn rows(&self) -> impl Iterator<Item = i64> {
        self.slots.keys().copied()
    }

    /// Whether a row has a vector.
    pub(super) fn has(&self, row: i64) -> bool {
        self.slots.contains_key(&row)
    }

    /// The vector of a row. The error is a phrase that says why an existing vector cannot be read.
    pub(super) fn get(&self, snapshot: &Snapshot, row: i64) -> Result<Option<Vec<f32>>, String> {
        let Some((block, slot)) = self.slots.get(&row).copied() else {
            return Ok(None);
        };
        let (Some(_), Some(dimension)) = (self.sizes.get(&block), self.dimension) else {
            return Err(format!("is in block {block}, which is damaged"));
        };
        let length = dimension * 4;
        let start = slot.saturating_mul(length);
        self.block(snapshot, block, |vectors| {
            let bytes = vectors.get(start..start.saturating_add(length));
            let bytes = bytes.ok_or_else(|| format!("is in block {block}, which is truncated"))?;
            vector::read(bytes, Some(dimension)).map(Some)
        })
    }

    /// Passes the vectors of a block to `give`. The last blocks stay in memory.
    fn block<T>(&self, snapshot: &Snapshot, block: i64, give: impl FnOnce(&[u8]) -> T) -> T {
        let mut cache = self.cache.borrow_mut();
        if !cache.iter().any(|(cached, _)| *cached == block) {
            let sql = "SELECT vectors FROM chunks_vec_vector_chunks00 WHERE rowid = ?1";
            let vectors = cells::first(snapshot, sql, [block], |row| {
                Some(cells::blob(row, "vectors").unwrap_or_default().to_vec())
            });
            if cache.len() >= CACHED {
                cache.remove(0);
            }
            cache.push((block, vectors.unwrap_or_default()));
        }
        let found = cache.iter().find(|(cached, _)| *cached == block);
        give(
            found
                .map(|(_, vectors)| vectors.as_slice())
                .unwrap_or_default(),
        )
    }
}

/// The dimension that memtomem recorded, or that the table was created with.
fn declared(snapshot: &Snapshot) -> Option<usize> {
    let noted = super::noted(snapshot, "embedding_dimension");
    let made = || -> Option<usize> {
        let sql = "SELECT sql FROM sqlite_schema WHERE name = 'chunks_vec'";
        let sql = cells::first(snapshot, sql, [], |row| cells::text(row, "sql"))?;
        let (_, rest) = sql.split_once("float[")?;
        rest.split_once(']')?.0.trim().parse().ok()
    };
    let dimension = made().or_else(|| noted?.parse().ok())?;
    (1..=MAX_DIMENSION)
        .contains(&dimension)
        .then_some(dimension)
}
