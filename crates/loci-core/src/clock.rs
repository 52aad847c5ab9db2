//! The clock. All code takes the time from here, so that a wrong clock has the same harmless effect
//! everywhere: a time before 1970 counts as the start of 1970, and a time too late for a date
//! counts as the last possible one. Durations are measured with `std::time::Instant`, not here.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use uuid::{ContextV7, Uuid};

/// Sets the clock of a debug build, in seconds since 1970 (negative before it). Tests use it; a
/// release build does not read it.
#[cfg(debug_assertions)]
const TEST_VARIABLE: &str = "LOCI_TEST_NOW";

/// The last second that can be written as a date in every time zone, near the end of 9999.
const LAST: Timestamp = Timestamp::constant(253_402_207_199, 0);

/// The current time, limited to the range from 1970 to the end of 9999.
pub fn now() -> Timestamp {
    within_range(system_time())
}

fn within_range(time: SystemTime) -> Timestamp {
    match Timestamp::try_from(time) {
        Ok(now) => now.clamp(Timestamp::UNIX_EPOCH, LAST),
        Err(_) if time < UNIX_EPOCH => Timestamp::UNIX_EPOCH,
        Err(_) => LAST,
    }
}

/// Converts milliseconds since 1970. A number out of range becomes the first or the last moment
/// that can be written as a date.
pub fn moment(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(if milliseconds < 0 {
        Timestamp::MIN
    } else {
        LAST
    })
}

/// Milliseconds since 1970; never negative.
pub fn now_ms() -> i64 {
    now().as_millisecond()
}

/// Nanoseconds since 1970, for comparison with file times.
pub fn now_ns() -> i64 {
    nanoseconds(system_time())
}

/// Nanoseconds since 1970, negative before it. Times out of range (before 1677, after 2262) become
/// the nearest one in range.
pub fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// The current time for file names: `20260131-235959`, UTC.
pub fn file_stamp() -> String {
    now().strftime("%Y%m%d-%H%M%S").to_string()
}

/// A new id: a UUID of version 7. Ids of one process are ordered by creation, even if the clock
/// stops or goes back. Ids of different processes differ by random bits.
pub fn new_id() -> String {
    static CONTEXT: Mutex<ContextV7> = Mutex::new(ContextV7::new());
    let now = now();
    // The context does not randomise its counter at the very first moment of 1970.
    let milliseconds = now.as_millisecond().max(1) as u64;
    let nanoseconds = (now.subsec_nanosecond().unsigned_abs()) % 1_000_000;
    let time = uuid::Timestamp::from_unix(
        &CONTEXT,
        milliseconds / 1_000,
        (milliseconds % 1_000) as u32 * 1_000_000 + nanoseconds,
    );
    Uuid::new_v7(time).to_string()
}

/// The current time without range checks, for comparison with file times.
pub fn system_time() -> SystemTime {
    #[cfg(debug_assertions)]
    if let Some(time) = test_time() {
        return time;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the only place that reads the clock"
    )]
    SystemTime::now()
}

#[cfg(debug_assertions)]
fn test_time() -> Option<SystemTime> {
    let seconds: i64 = std::env::var(TEST_VARIABLE).ok()?.parse().ok()?;
    let distance = std::time::Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn ids_of_one_process_are_unique_and_in_order() {
        let ids: Vec<String> = (0..2_000).map(|_| new_id()).collect();
        let sorted: BTreeSet<&String> = ids.iter().collect();
        assert!(sorted.into_iter().eq(ids.iter()));
        let first = Uuid::parse_str(&ids[0]).unwrap();
        assert_eq!(first.get_version_num(), 7);
    }

    #[test]
    fn a_clock_out_of_range_counts_as_the_nearest_moment_that_can_be_written() {
        let seconds = Duration::from_secs;
        let far = [
            (UNIX_EPOCH - seconds(86_400), "1970-01-01T00:00:00Z"),
            (UNIX_EPOCH - seconds(u64::MAX >> 2), "1970-01-01T00:00:00Z"),
            (
                UNIX_EPOCH + seconds(253_402_300_800),
                "9999-12-30T21:59:59Z",
            ),
            (UNIX_EPOCH + seconds(u64::MAX >> 2), "9999-12-30T21:59:59Z"),
        ];
        for (time, expected) in far {
            let now = within_range(time);
            assert_eq!(now.to_string(), expected);
            assert_eq!(moment(now.as_millisecond()), now);
        }
        assert_eq!(moment(i64::MAX), LAST);
        assert_eq!(moment(i64::MIN), Timestamp::MIN);
    }

    #[test]
    fn times_of_files_that_do_not_fit_become_the_nearest_that_do() {
        let centuries = Duration::from_secs(3_600 * 24 * 365 * 400);
        assert_eq!(nanoseconds(UNIX_EPOCH + centuries), i64::MAX);
        assert_eq!(nanoseconds(UNIX_EPOCH - centuries), i64::MIN);
        assert_eq!(
            nanoseconds(UNIX_EPOCH - Duration::from_secs(1)),
            -1_000_000_000
        );
    }
}
