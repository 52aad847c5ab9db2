//! CPU time of this process, which does not depend on other load of the machine.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of CPU that all threads have used so far.
fn cpu_ms() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// The result of `work`, and the CPU milliseconds that it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_ms();
    let result = work();
    (result, cpu_ms() - before)
}

/// The percentile of some values by nearest rank; 0 if there are none.
pub(crate) fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.5).to_string(), "10");
        assert_eq!(percentile(&values, 0.95).to_string(), "19");
        assert_eq!(percentile(&[7.0], 0.95).to_string(), "7");
        assert_eq!(percentile(&[], 0.5).to_string(), "0");
    }

    #[test]
    fn work_costs_time() {
        let (sum, cost) = timed(|| (0..2_000_000_u64).fold(0, |sum, n| sum ^ (n * n)));
        assert!(sum > 0 && cost > 0.0);
    }
}
