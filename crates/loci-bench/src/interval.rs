//! Confidence intervals at 95 %.

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's interval of a proportion: `successes` of `total`. All of 0..1 if the total is 0.
///
/// ```
/// let (low, high) = loci_bench::interval::wilson(8, 10);
/// assert!((low - 0.490).abs() < 0.001 && (high - 0.943).abs() < 0.001);
/// ```
pub fn wilson(successes: usize, total: usize) -> (f64, f64) {
    if total == 0 {
        return (0.0, 1.0);
    }
    let n = total as f64;
    let share = successes.min(total) as f64 / n;
    let scale = 1.0 + Z * Z / n;
    let centre = (share + Z * Z / (2.0 * n)) / scale;
    let width = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    within(centre - width, centre + width)
}

/// The interval of a mean of values in 0..1 by normal approximation, from the sample variance. All
/// of
/// 0..1 for fewer than two values.
pub fn normal(values: &[f64]) -> (f64, f64) {
    if values.len() < 2 {
        return (0.0, 1.0);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>()
        / (n - 1.0);
    let width = Z * (variance / n).sqrt();
    within(mean - width, mean + width)
}

fn within(low: f64, high: f64) -> (f64, f64) {
    (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: (f64, f64), wanted: (f64, f64)) {
        assert!(
            (found.0 - wanted.0).abs() < 5e-4 && (found.1 - wanted.1).abs() < 5e-4,
            "{found:?} is not {wanted:?}"
        );
    }

    #[test]
    fn wilson_agrees_with_known_values() {
        near(wilson(8, 10), (0.490, 0.943));
        near(wilson(0, 10), (0.0, 0.278));
        near(wilson(10, 10), (0.722, 1.0));
        near(wilson(50, 100), (0.404, 0.596));
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn the_normal_interval_uses_the_sample_variance() {
        // Mean 0.5, variance 1/3, 1.96 * sqrt(1/12) = 0.5658; cut to 0..1.
        near(normal(&[0.0, 1.0, 0.0, 1.0]), (0.0, 1.0));
        // Mean 0.5, variance 0.01, 1.96 * sqrt(0.01 / 3) = 0.1132.
        near(normal(&[0.4, 0.5, 0.6]), (0.387, 0.613));
        assert_eq!(normal(&[0.3]), (0.0, 1.0));
        assert_eq!(normal(&[0.25; 8]), (0.25, 0.25));
    }
}
