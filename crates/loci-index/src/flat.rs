//! The `flat` kind of index. Every query scans all allowed rows by their 1-bit codes, then the best
//! of them by their wider codes. There is no search structure that could be wrong: the result is
//! exact up to the precision of the codes.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::build::nibble_shift;
use crate::codes::{Encoder, RowCodes, bit_dimension};
use crate::damage::Damage;
use crate::distance::QueryVector;
use crate::index::{Candidates, VectorIndex};
use crate::kernels::{self, BLOCK_ROWS, BlockTerms};
use crate::open::Sections;
use crate::query::QueryCodes;
use crate::registration::Registration;
use crate::shortlist::Shortlist;
use crate::slots::{SlotSet, find_row};
use crate::stored_codes::{MOST_IN_MEMORY, StoredCodes};
use crate::stored_vector::vector_from_bytes;

/// Number of rows ahead whose codes are prefetched.
const PREFETCH_ROWS: usize = 6;

/// The content of a checked file.
pub(crate) struct Parts {
    pub(crate) registration: Registration,
    pub(crate) encoder: Encoder,
    pub(crate) rows: Vec<u64>,
    pub(crate) scales: Vec<f32>,
    pub(crate) addends: Vec<f32>,
    pub(crate) factors: Vec<f32>,
    pub(crate) bits: Vec<u8>,
    pub(crate) sections: Sections,
}

/// An open snapshot.
pub(crate) struct Flat {
    registration: Registration,
    encoder: Encoder,
    rows: Vec<u64>,
    scales: Vec<f32>,
    addends: Vec<f32>,
    factors: Vec<f32>,
    bits: Vec<u8>,
    codes: OnceLock<StoredCodes>,
    // `None` after the codes are loaded into memory.
    sections: Mutex<Option<Sections>>,
    // Whether codes that stayed in the file could not be read.
    is_unreadable: AtomicBool,
}

impl std::fmt::Debug for Flat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Flat")
            .field("registration", &self.registration)
            .field("warm", &self.is_warm())
            .finish_non_exhaustive()
    }
}

impl Flat {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            registration: parts.registration,
            encoder: parts.encoder,
            rows: parts.rows,
            scales: parts.scales,
            addends: parts.addends,
            factors: parts.factors,
            bits: parts.bits,
            codes: OnceLock::new(),
            sections: Mutex::new(Some(parts.sections)),
            is_unreadable: AtomicBool::new(false),
        }
    }

    pub(crate) fn has_bits(&self) -> bool {
        bit_dimension(self.registration.dimension) > 0
    }

    /// Number of rows that the 1-bit scan passes to the wider codes. Measured
    /// (`examples/measure.rs`): 1,000 keep recall at 0.998 or more on all kinds of data that were
    /// tried at 100,000 rows. The share matters if a cluster has more rows than that, as in a
    /// million rows around 100 centres. A filter that leaves few rows of a cluster makes the last
    /// neighbours distant and similar, so it gets twice as many.
    fn shortlist_length(&self, eligible: usize, wanted: usize) -> usize {
        let least = if eligible < self.rows.len() / 2 {
            2_000
        } else {
            1_000
        };
        (eligible / 100)
            .max(wanted.saturating_mul(10))
            .clamp(least, 20_000)
            .max(wanted)
    }

    /// Whether the 1-bit scan is worthwhile. It reads all rows, allowed or not, and costs per row
    /// about a twelfth of reading the codes in memory. Reading them from the file costs far
    /// more.
    fn scan_pays(&self, codes: &StoredCodes, eligible: usize, length: usize) -> bool {
        if codes.is_in_file() {
            return eligible > length;
        }
        self.has_bits()
            && eligible > length.saturating_mul(4)
            && eligible.saturating_mul(12) > self.rows.len()
    }

    fn scan_bits(&self, query: &QueryCodes, eligible: &SlotSet, list: &mut Shortlist) {
        let block_bytes = bit_dimension(self.registration.dimension) * BLOCK_ROWS / 8;
        let factors = self.factors.as_chunks().0;
        let addends = self.addends.as_chunks().0;
        let blocks = self.bits.chunks_exact(block_bytes.max(1));
        let mut scores = [0.0; BLOCK_ROWS];
        for (at, (((block, factors), addends), members)) in blocks
            .zip(factors)
            .zip(addends)
            .zip(eligible.blocks())
            .enumerate()
        {
            if members == 0 {
                continue;
            }
            let terms = BlockTerms { factors, addends };
            let above =
                kernels::score_block(block, &query.signs, &terms, list.threshold(), &mut scores);
            let mut rest = above & members;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let score = scores.get(bit as usize).copied().unwrap_or_default();
                list.offer(score, (at * BLOCK_ROWS) as u32 + bit);
            }
        }
    }

    /// Scores rows by their codes. `slots` must be ascending. `None` if the codes cannot be
    /// read any more.
    fn scan_codes(
        &self,
        codes: &StoredCodes,
        query: &QueryCodes,
        slots: &[u32],
        list: &mut Shortlist,
    ) -> Option<()> {
        let width = self.encoder.width();
        let (mut buffer, mut unpacked) = (Vec::new(), Vec::new());
        for (at, &slot) in slots.iter().enumerate() {
            if let Some(ahead) = slots.get(at + PREFETCH_ROWS) {
                kernels::prefetch(codes.in_memory(*ahead));
            }
            let index = slot as usize;
            if let (Some(scale), Some(addend)) = (self.scales.get(index), self.addends.get(index)) {
                let codes = width.unpack(codes.read(slot, &mut buffer)?, &mut unpacked);
                list.offer(query.score(codes, *scale, *addend), slot);
            }
        }
        Some(())
    }

    fn nearest(
        &self,
        query: &QueryCodes,
        wanted: usize,
        eligible: &SlotSet,
        count: usize,
    ) -> Vec<u32> {
        let coarse = |wanted: usize| {
            let mut list = Shortlist::new(wanted, count);
            self.scan_bits(query, eligible, &mut list);
            list.into_sorted()
        };
        let Some(codes) = self.loaded() else {
            return coarse(wanted);
        };
        let length = self.shortlist_length(count, wanted);
        let slots: Vec<u32> = if self.scan_pays(codes, count, length) {
            let mut list = Shortlist::new(length, count);
            self.scan_bits(query, eligible, &mut list);
            let mut slots = list.into_slots();
            slots.sort_unstable();
            slots
        } else {
            eligible.iter().map(|slot| slot as u32).collect()
        };
        let mut list = Shortlist::new(wanted, slots.len());
        if self.scan_codes(codes, query, &slots, &mut list).is_none() {
            // The next `warm` reads all of them again, and reports what is wrong.
            self.is_unreadable.store(true, Ordering::Relaxed);
            return coarse(length);
        }
        list.into_sorted()
    }

    /// The codes, if they are loaded and can be read.
    fn loaded(&self) -> Option<&StoredCodes> {
        let is_unreadable = self.is_unreadable.load(Ordering::Relaxed);
        self.codes.get().filter(|_| !is_unreadable)
    }

    /// Loads the codes, and keeps up to this many bytes of them in memory.
    fn load(&self, most_in_memory: u64) -> Result<bool, Damage> {
        let mut sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        if self.loaded().is_some() {
            return Ok(false);
        }
        let Some(open) = sections.as_mut() else {
            return Ok(false);
        };
        let dimension = self.registration.dimension;
        let row_bytes = self.encoder.width().row_bytes(dimension);
        // Codes that cannot be read row by row stay in memory.
        let most_in_memory = if self.has_bits() {
            most_in_memory
        } else {
            u64::MAX
        };
        let codes = StoredCodes::load(open, row_bytes, most_in_memory)?;
        let is_in_file = codes.is_in_file();
        // If they are set already, the file was unreadable in between and is the same again.
        let _ = self.codes.set(codes);
        self.is_unreadable.store(false, Ordering::Relaxed);
        if !is_in_file {
            *sections = None;
        }
        Ok(true)
    }

    fn rows_of(&self, slots: impl IntoIterator<Item = usize>) -> Vec<u64> {
        slots
            .into_iter()
            .filter_map(|slot| self.rows.get(slot).copied())
            .collect()
    }

    fn nibbles_of(&self, slot: usize) -> impl Iterator<Item = u8> {
        let groups = bit_dimension(self.registration.dimension) / 4;
        let half = BLOCK_ROWS / 2;
        let start = slot / BLOCK_ROWS * groups * half + slot % half;
        let bytes = self.bits.iter().skip(start).step_by(half).take(groups);
        bytes.map(move |byte| byte >> nibble_shift(slot) & 15)
    }
}

impl VectorIndex for Flat {
    fn registration(&self) -> &Registration {
        &self.registration
    }

    fn rows(&self) -> &[u64] {
        &self.rows
    }

    fn slot(&self, row: u64) -> Option<usize> {
        find_row(&self.rows, row).ok()
    }

    fn candidates(
        &self,
        query: &QueryVector,
        wanted: usize,
        allowed: Option<&SlotSet>,
        masked: &SlotSet,
    ) -> Candidates {
        if query.vector().len() != self.registration.dimension
            || query.metric() != self.registration.metric
        {
            return Candidates::default();
        }
        let mut eligible = SlotSet::full(self.rows.len());
        if let Some(allowed) = allowed {
            eligible.retain_all(allowed);
        }
        eligible.remove_all(masked);
        let count = eligible.count();
        if count <= wanted {
            return Candidates {
                rows: self.rows_of(eligible.iter()),
                complete: true,
            };
        }
        if wanted == 0 {
            return Candidates::default();
        }
        let query = QueryCodes::new(&self.encoder, query.vector());
        let slots = self.nearest(&query, wanted, &eligible, count);
        Candidates {
            rows: self.rows_of(slots.into_iter().map(|slot| slot as usize)),
            complete: false,
        }
    }

    fn warm(&self) -> Result<bool, Damage> {
        self.load(MOST_IN_MEMORY)
    }

    fn is_warm(&self) -> bool {
        self.loaded().is_some()
    }

    fn agrees(&self, row: u64, vector_bytes: &[u8]) -> Option<bool> {
        let slot = self.slot(row)?;
        let is_fit = |vector: &Vec<f32>| {
            vector.len() == self.registration.dimension && vector.iter().all(|x| x.is_finite())
        };
        let Some(mut vector) = vector_from_bytes(vector_bytes).filter(is_fit) else {
            return Some(false);
        };
        let mut row = RowCodes::default();
        self.encoder.encode(&mut vector, &mut row);
        let same = |stored: &[f32], computed: f32| {
            stored
                .get(slot)
                .is_some_and(|stored| stored.to_bits() == computed.to_bits())
        };
        let mut buffer = Vec::new();
        let codes_agree = self
            .loaded()
            .is_none_or(|codes| codes.read(slot as u32, &mut buffer) == Some(&row.codes));
        Some(
            codes_agree
                && same(&self.scales, row.scale)
                && same(&self.addends, row.addend)
                && same(&self.factors, row.factor)
                && self.nibbles_of(slot).eq(row.nibbles.iter().copied()),
        )
    }
}
