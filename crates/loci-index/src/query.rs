//! A query in the form that is compared with codes.

use crate::codes::Encoder;
use crate::kernels::{self, MAX_QUERY_INTEGER, MAX_TABLE_ENTRY, SignTable};

/// A query for one snapshot.
pub(crate) struct QueryCodes {
    integers: Vec<i16>,
    integer_scale: f32,
    pub(crate) signs: SignTable,
}

impl QueryCodes {
    pub(crate) fn new(encoder: &Encoder, query: &[f32]) -> Self {
        let mut relative = query.to_vec();
        encoder.centred(&mut relative);
        let largest = relative
            .iter()
            .fold(0.0_f32, |most, number| most.max(number.abs()));
        let integer_scale = largest / MAX_QUERY_INTEGER;
        // A cast to an integer saturates and maps NaN to 0.
        let integers = relative
            .iter()
            .map(|number| (number / integer_scale).round() as i16)
            .collect();
        encoder.rotate(&mut relative);
        Self {
            integers,
            integer_scale,
            signs: sign_table(&relative),
        }
    }

    /// The score of a row by its codes, 8 bits each.
    pub(crate) fn score(&self, codes: &[u8], scale: f32, addend: f32) -> f32 {
        let product = kernels::dot_codes(codes, &self.integers) as f32;
        kernels::orderly(scale * (product * self.integer_scale) + addend)
    }
}

/// For every group of four dimensions, the product of the query with each pattern of four signs,
/// shifted to start at 0 and quantised so that the sums of the scan fit.
fn sign_table(rotated: &[f32]) -> SignTable {
    let (groups, _) = rotated.as_chunks::<4>();
    let reach = |group: &[f32; 4]| group.iter().map(|number| number.abs()).sum::<f32>();
    let widest = groups.iter().map(reach).fold(0.0_f32, f32::max);
    let largest = (usize::from(u16::MAX) / groups.len().max(1)).min(usize::from(MAX_TABLE_ENTRY));
    let step = 2.0 * widest / largest as f32;
    let mut offset = 0.0;
    let weights: Vec<[u8; 16]> = groups
        .iter()
        .map(|group| {
            let shift = reach(group);
            offset += shift;
            let mut weights = [0; 16];
            for (pattern, weight) in weights.iter_mut().enumerate() {
                let product: f32 = group
                    .iter()
                    .enumerate()
                    .map(|(at, number)| {
                        if pattern >> at & 1 == 1 {
                            *number
                        } else {
                            -*number
                        }
                    })
                    .sum();
                *weight = ((product + shift) / step + 0.5).min(largest as f32) as u8;
            }
            weights
        })
        .collect();
    let entries = weights
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[first, second]| {
            std::array::from_fn(|at| *first.iter().chain(second).nth(at).unwrap_or(&0))
        })
        .collect();
    SignTable {
        entries,
        step,
        offset,
    }
}
