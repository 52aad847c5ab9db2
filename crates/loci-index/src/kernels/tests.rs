//! Compares the AVX2 versions with the portable ones bit by bit, and both with plain sums.

use proptest::prelude::*;

use super::{BLOCK_ROWS, BlockTerms, MAX_TABLE_ENTRY, SignTable, scalar, x86};

fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    (0_usize..200).prop_flat_map(|len| {
        let vector = || prop::collection::vec(-2.0_f32..2.0, len);
        (vector(), vector())
    })
}

proptest! {
    #[test]
    fn float_kernels_are_bit_identical_and_right((a, b) in pair()) {
        let bytes: Vec<[u8; 4]> = b.iter().map(|number| number.to_le_bytes()).collect();
        let (dot, square) = scalar::dot_and_square(&a, &b);
        let distance = scalar::squared_distance(&a, &b);
        prop_assert_eq!(dot.to_bits(), scalar::dot(&a, &b).to_bits());
        if has_avx2() {
            // SAFETY: AVX2 was detected.
            let (fast, fast_bytes, fast_dot, fast_distance) = unsafe {
                (x86::dot_and_square(&a, &b), x86::dot_and_square(&a, &bytes), x86::dot(&a, &bytes), x86::squared_distance(&a, &bytes))
            };
            prop_assert_eq!(fast, (dot, square));
            prop_assert_eq!(fast_bytes, (dot, square));
            prop_assert_eq!(fast_dot.to_bits(), dot.to_bits());
            prop_assert_eq!(fast_distance.to_bits(), distance.to_bits());
        }
        let wide = |term: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(a, b)| term(f64::from(*a), f64::from(*b))).sum::<f64>();
        prop_assert!((wide(|a, b| a * b) - f64::from(dot)).abs() < 1e-4);
        prop_assert!((wide(|_, b| b * b) - f64::from(square)).abs() < 1e-4);
        prop_assert!((wide(|a, b| (a - b) * (a - b)) - f64::from(distance)).abs() < 2e-4);
        prop_assert!((wide(|a, b| a * b) - scalar::dot_wide(&a, &b)).abs() < 1e-9);
        prop_assert!((wide(|_, b| b.abs()) - scalar::magnitude_sum(&b)).abs() < 1e-9);
    }

    #[test]
    fn code_products_are_exact(
        (codes, query) in (0_usize..300).prop_flat_map(|len| (prop::collection::vec(any::<u8>(), len), prop::collection::vec(-16_383_i16..=16_383, len)))
    ) {
        let plain: i64 = codes.iter().zip(&query).map(|(&code, &number)| i64::from(code as i8) * i64::from(number)).sum();
        prop_assert_eq!(scalar::dot_codes(&codes, &query), plain);
        if has_avx2() {
            // SAFETY: AVX2 was detected.
            prop_assert_eq!(unsafe { x86::dot_codes(&codes, &query) }, plain);
        }
    }

    #[test]
    fn block_scores_are_bit_identical(
        quarters in 1_usize..6, seed: u64, threshold in -400.0_f32..400.0, wild: bool,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let pairs = quarters * 8;
        let block: Vec<u8> = (0..pairs * 32).map(|_| random.u8(..)).collect();
        let table = SignTable {
            entries: (0..pairs).map(|_| std::array::from_fn(|_| random.u8(..=MAX_TABLE_ENTRY))).collect(),
            step: random.f32(),
            offset: random.f32() * 100.0,
        };
        let mut number = || match (wild, random.u8(..)) {
            (true, 0..9) => f32::INFINITY,
            (true, 9..18) => f32::NEG_INFINITY,
            (true, 18..27) => f32::NAN,
            _ => random.f32() - 0.5,
        };
        let factors: [f32; BLOCK_ROWS] = std::array::from_fn(|_| number());
        let addends: [f32; BLOCK_ROWS] = std::array::from_fn(|_| number());
        let terms = BlockTerms { factors: &factors, addends: &addends };
        let mut scores = [0.0; BLOCK_ROWS];
        let above = scalar::score_block(&block, &table, &terms, threshold, &mut scores);
        prop_assert!(scores.iter().all(|score| *score >= -f32::MAX));
        if has_avx2() {
            let mut fast = [0.0; BLOCK_ROWS];
            // SAFETY: AVX2 was detected.
            let fast_above = unsafe { x86::score_block(&block, &table, &terms, threshold, &mut fast) };
            prop_assert_eq!(fast_above, above);
            prop_assert_eq!(fast.map(f32::to_bits), scores.map(f32::to_bits));
        }
    }
}

#[test]
fn the_largest_products_do_not_overflow() {
    let (codes, query) = (vec![0x80_u8; 8192], vec![16_383_i16; 8192]);
    let plain = -128 * 16_383 * 8192_i64;
    assert_eq!(scalar::dot_codes(&codes, &query), plain);
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        assert_eq!(unsafe { x86::dot_codes(&codes, &query) }, plain);
    }
}

#[test]
fn the_largest_table_sums_do_not_overflow() {
    let groups = 8192 / 4;
    let largest = MAX_TABLE_ENTRY.min((usize::from(u16::MAX) / groups) as u8);
    let table = SignTable {
        entries: vec![[largest; 32]; groups / 2],
        step: 1.0,
        offset: 0.0,
    };
    let terms = BlockTerms {
        factors: &[1.0; BLOCK_ROWS],
        addends: &[0.0; BLOCK_ROWS],
    };
    let block = vec![0xA5_u8; groups * 16];
    let mut scores = [0.0; BLOCK_ROWS];
    super::score_block(&block, &table, &terms, 0.0, &mut scores);
    assert_eq!(
        scores.map(|score| score as usize),
        [groups * usize::from(largest); BLOCK_ROWS]
    );
}
