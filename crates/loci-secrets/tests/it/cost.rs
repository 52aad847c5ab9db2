//! Measures how the cost of masking grows with the text.

use std::time::Duration;

use loci_secrets::{Setting, mask};
use rustix::time::{ClockId, clock_gettime};

/// Length of the shorter text; the longer one has four times as many bytes.
const SHORT_BYTES: usize = 20_000;
/// Linear growth is a factor of 4, quadratic growth one of 16.
const MOST_GROWTH: u32 = 9;
/// Costs below this are noise.
const NOISE: Duration = Duration::from_millis(100);

/// Asserts that repetitions of `unit` are masked in linear time. CPU time of this thread is
/// measured, so that other load of the machine does not count.
pub(crate) fn assert_linear(unit: &str) {
    let short = cost(unit, SHORT_BYTES);
    let long = cost(unit, 4 * SHORT_BYTES);
    let most = short * MOST_GROWTH + NOISE;
    assert!(long < most, "{unit:?}: {short:?}, then {long:?}");
}

fn cost(unit: &str, bytes: usize) -> Duration {
    let text = unit.repeat(bytes / unit.len());
    let started = cpu_time();
    mask(&text, Setting::Plain);
    mask(&text, Setting::DotEnv);
    cpu_time().saturating_sub(started)
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.try_into().unwrap(),
        now.tv_nsec.try_into().unwrap(),
    )
}
