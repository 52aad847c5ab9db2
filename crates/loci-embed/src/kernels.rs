//! The inner loops. Each is portable Rust. On x86-64 with AVX2 and FMA, a copy of the same code
//! that is compiled for them runs instead, and for one loop the version in `avx2`. This is the only
//! module with unsafe code.
//!
//! Every sum has one fixed order, which depends neither on the number of threads nor on the rest of
//! the batch. With fused multiply-add (x86-64 since 2013, every 64-bit ARM) every step is exactly
//! rounded, so machines agree. Without it, products are rounded before they are added.
#![expect(unsafe_code, reason = "calls into functions compiled for AVX2 and FMA")]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod codes;
mod dense;
mod halves;
mod rows;

pub(crate) use codes::{MOST_CODES, unpack};
pub(crate) use dense::Packed;
pub(crate) use halves::half;

/// `a * b + c`, fused if the caller was compiled for it.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn fma<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Whether the portable code may use fused multiply-add without checking the processor.
const PORTABLE_FUSED: bool = cfg!(target_arch = "aarch64");

/// Defines a function that selects the best version of generic code at run time.
macro_rules! dispatch {
    ($(#[$doc:meta])* $name:ident => $module:ident::$body:ident, ($($arg:ident: $type:ty),*) $(-> $out:ty)?) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $type),*) $(-> $out)? {
                    $module::$body::<true>($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: AVX2 and FMA were detected.
                    return unsafe { wide($($arg),*) };
                }
            }
            $module::$body::<PORTABLE_FUSED>($($arg),*)
        }
    };
}

dispatch! {
    /// `out = rows × weights + bias`, for row-major `rows` and `out`.
    multiply => dense::multiply, (rows: &[f32], weights: &Packed, out: &mut [f32])
}
dispatch! {
    /// Normalises each row in place after adding `residual` to it.
    add_and_normalise => rows::add_and_normalise,
    (rows: &mut [f32], residual: &[f32], weight: &[f32], bias: &[f32], epsilon: f32)
}
dispatch! {
    /// The exact (error function) GELU of every value.
    gelu => rows::gelu, (values: &mut [f32])
}
dispatch! {
    /// Softmax of each row of `length` values after multiplying by `scale`.
    softmax => rows::softmax, (values: &mut [f32], length: usize, scale: f32)
}
dispatch! {
    /// `sum += factor * row`, for a row of 4-bit codes.
    add_scaled => codes::add_scaled, (sum: &mut [f32], row: &[u8], factor: f32)
}
dispatch! {
    /// Inner product of two rows of 4-bit codes.
    dot_codes => codes::dot, (a: &[u8], b: &[u8]) -> i32
}
/// Inner products of a row of at most [`MOST_CODES`] 4-bit codes with several rows that
/// [`unpack`] unpacked, one after the other.
pub(crate) fn dots(row: &[u8], unpacked: &[u8], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if avx2::can_read(row) && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 was detected.
        unsafe { avx2::dots(row, unpacked, out) };
        return;
    }
    codes::dots(row, unpacked, out);
}
dispatch! {
    /// The values as half-precision numbers, little-endian, two bytes each.
    round_to_halves => halves::round, (values: &[f32], out: &mut [u8])
}

/// Scales `vector` to unit length. A zero vector stays zero.
pub(crate) fn normalise(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    if square > 1e-24 {
        let factor = (1.0 / square.sqrt()) as f32;
        for value in vector {
            *value *= factor;
        }
    } else {
        vector.fill(0.0);
    }
}
