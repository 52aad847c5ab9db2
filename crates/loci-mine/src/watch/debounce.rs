//! Collects changes until they pause, but not longer than a limit. It is a pure state machine; the
//! caller provides the time.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use super::{MAX_PATHS, WatchEvent, WatchTiming};

/// Changes that were noted and not yet reported.
#[derive(Debug)]
pub(super) struct Debounce {
    timing: WatchTiming,
    paths: BTreeSet<PathBuf>,
    lost: Option<String>,
    /// The times of the first and last change since the last report.
    between: Option<(Instant, Instant)>,
}

impl Debounce {
    pub(super) fn new(timing: &WatchTiming) -> Self {
        Self {
            timing: *timing,
            paths: BTreeSet::new(),
            lost: None,
            between: None,
        }
    }

    /// Notes a changed path.
    pub(super) fn note(&mut self, path: PathBuf, now: Instant) {
        self.touch(now);
        if self.lost.is_some() {
            return;
        }
        self.paths.insert(path);
        if self.paths.len() > MAX_PATHS {
            self.rescan("more paths changed than are reported one by one", now);
        }
    }

    /// Replaces the changes by a rescan. The first reason is kept.
    pub(super) fn rescan(&mut self, why: &str, now: Instant) {
        self.touch(now);
        self.paths.clear();
        self.lost.get_or_insert_with(|| why.to_owned());
    }

    fn touch(&mut self, now: Instant) {
        let first = self.between.map_or(now, |(first, _)| first);
        self.between = Some((first, now));
    }

    /// The time of the next report, if nothing more happens.
    pub(super) fn due(&self) -> Option<Instant> {
        let (first, last) = self.between?;
        Some((last + self.timing.quiet).min(first + self.timing.at_most))
    }

    /// Returns the report, if it is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<WatchEvent> {
        if self.due()? > now {
            return None;
        }
        self.between = None;
        Some(match self.lost.take() {
            Some(why) => WatchEvent::Rescan { why },
            None => WatchEvent::Changed(std::mem::take(&mut self.paths)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const PACE: WatchTiming = WatchTiming {
        quiet: Duration::from_millis(300),
        at_most: Duration::from_secs(2),
    };

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn changed(event: Option<WatchEvent>) -> Vec<String> {
        match event {
            Some(WatchEvent::Changed(paths)) => {
                paths.iter().map(|p| p.display().to_string()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_reported_when_nothing_changed() {
        let mut debounce = Debounce::new(&PACE);
        assert_eq!(debounce.due(), None);
        assert!(debounce.take(Instant::now() + ms(10_000)).is_none());
    }

    #[test]
    fn quiet_time_delivers_at_once() {
        let start = Instant::now();
        let mut debounce = Debounce::new(&PACE);
        debounce.note("a".into(), start);
        debounce.note("b".into(), start + ms(100));
        debounce.note("a".into(), start + ms(200));
        assert!(debounce.take(start + ms(499)).is_none());
        assert_eq!(debounce.due(), Some(start + ms(500)));
        assert_eq!(changed(debounce.take(start + ms(500))), ["a", "b"]);
        assert!(debounce.take(start + ms(5_000)).is_none());
    }

    #[test]
    fn steady_saves_are_delivered_within_the_bound() {
        let start = Instant::now();
        let mut debounce = Debounce::new(&PACE);
        let mut reported = Vec::new();
        for tick in 0..100 {
            let now = start + ms(tick * 100);
            if debounce.take(now).is_some() {
                reported.push(tick * 100);
            }
            debounce.note("a".into(), now);
        }
        assert_eq!(reported, [2_000, 4_000, 6_000, 8_000]);
    }

    #[test]
    fn overflow_becomes_a_rescan() {
        let start = Instant::now();
        let mut debounce = Debounce::new(&PACE);
        for number in 0..=MAX_PATHS {
            debounce.note(format!("{number}").into(), start);
        }
        debounce.note("one more".into(), start);
        assert!(debounce.paths.is_empty());
        assert!(matches!(
            debounce.take(start + ms(300)),
            Some(WatchEvent::Rescan { .. })
        ));
        debounce.note("after".into(), start + ms(400));
        assert_eq!(changed(debounce.take(start + ms(700))), ["after"]);
    }

    #[test]
    fn a_loss_covers_the_paths_noted_before_and_keeps_its_first_reason() {
        let start = Instant::now();
        let mut debounce = Debounce::new(&PACE);
        debounce.note("a".into(), start);
        debounce.rescan("first", start);
        debounce.rescan("second", start);
        match debounce.take(start + ms(300)) {
            Some(WatchEvent::Rescan { why }) => assert_eq!(why, "first"),
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn every_change_is_reported_once_and_in_time(
            changes in prop::collection::vec((0_u64..700, 0_u8..5), 1..200),
        ) {
            let start = Instant::now();
            let mut debounce = Debounce::new(&PACE);
            let mut now = start;
            let mut waiting: std::collections::BTreeMap<PathBuf, Instant> =
                std::collections::BTreeMap::new();
            for (pause, name) in changes {
                let next = now + ms(pause);
                while let Some(due) = debounce.due().filter(|due| *due <= next) {
                    let Some(WatchEvent::Changed(paths)) = debounce.take(due) else {
                        return Err(TestCaseError::fail("due but silent"));
                    };
                    for path in paths {
                        let noted = waiting.remove(&path).unwrap();
                        prop_assert!(due <= noted + PACE.at_most);
                    }
                    prop_assert!(waiting.is_empty());
                }
                now = next;
                let path = PathBuf::from(name.to_string());
                waiting.entry(path.clone()).or_insert(now);
                debounce.note(path, now);
            }
        }
    }
}
