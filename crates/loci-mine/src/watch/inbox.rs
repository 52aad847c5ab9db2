//! The queue between the system's thread and ours. Each path is kept once, so a file that is
//! written all the time takes no space. The number of paths is bounded.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, Event, EventKind, ModifyKind, RenameMode};

use super::MAX_PATHS;

/// Changes that the system reported.
#[derive(Debug, Default)]
pub(super) struct ReportedChanges {
    /// Paths that appeared, disappeared or were renamed, in order.
    pub(super) shaped: Vec<PathBuf>,
    /// Paths whose content or attributes changed.
    pub(super) edited: BTreeSet<PathBuf>,
    /// The reason that events were lost.
    pub(super) lost: Option<String>,
    /// Whether no more folders can be watched.
    pub(super) full: bool,
}

impl ReportedChanges {
    fn is_empty(&self) -> bool {
        self.shaped.is_empty() && self.edited.is_empty() && self.lost.is_none() && !self.full
    }

    fn put(&mut self, event: notify::Result<Event>) {
        let event = match event {
            Ok(event) => event,
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                self.full = true;
                return;
            }
            Err(error) => return self.mark_lost(format!("the system's watch failed: {error}")),
        };
        if event.need_rescan() {
            return self.mark_lost("the system lost events".to_owned());
        }
        match event.kind {
            // Reading is not a change. A rename event with both ends repeats the events of each
            // end.
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                self.edited.extend(event.paths);
            }
            EventKind::Access(_) => {}
            EventKind::Modify(ModifyKind::Name(RenameMode::Both))
                if cfg!(any(target_os = "linux", target_os = "android")) => {}
            EventKind::Modify(
                ModifyKind::Data(_) | ModifyKind::Metadata(_) | ModifyKind::Any | ModifyKind::Other,
            ) => self.edited.extend(event.paths),
            EventKind::Modify(ModifyKind::Name(_))
            | EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Any
            | EventKind::Other => {
                for path in event.paths {
                    if self.shaped.last() != Some(&path) {
                        self.shaped.push(path);
                    }
                }
            }
        }
        if self.shaped.len() > 2 * MAX_PATHS || self.edited.len() > MAX_PATHS {
            self.mark_lost("more changed at once than could be read".to_owned());
        }
    }

    fn mark_lost(&mut self, why: String) {
        self.shaped.clear();
        self.edited.clear();
        self.lost.get_or_insert(why);
    }
}

/// The queue of changes.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    changes: Mutex<ReportedChanges>,
    arrived: Condvar,
}

impl Inbox {
    /// Called from the system's thread. It never waits for ours.
    pub(super) fn put(&self, event: notify::Result<Event>) {
        let mut changes = self.lock();
        changes.put(event);
        if !changes.is_empty() {
            self.arrived.notify_one();
        }
    }

    /// Returns all changes, after waiting for some at most this long.
    pub(super) fn take(&self, wait: Duration) -> ReportedChanges {
        let (mut changes, _) = self
            .arrived
            .wait_timeout_while(self.lock(), wait, |changes| changes.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *changes)
    }

    fn lock(&self) -> MutexGuard<'_, ReportedChanges> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, DataChange, Flag};

    fn event(kind: EventKind, path: &str) -> Event {
        Event::new(kind).add_path(path.into())
    }

    fn edit(path: &str) -> Event {
        event(EventKind::Modify(ModifyKind::Data(DataChange::Any)), path)
    }

    #[test]
    fn reading_a_file_is_no_news() {
        let inbox = Inbox::default();
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        inbox.put(Ok(event(open, "a")));
        assert!(inbox.take(Duration::ZERO).is_empty());
    }

    #[test]
    fn a_file_written_all_the_time_takes_no_room() {
        let inbox = Inbox::default();
        for _ in 0..100_000 {
            inbox.put(Ok(edit("a")));
            inbox.put(Ok(edit("b")));
        }
        let changes = inbox.take(Duration::ZERO);
        assert_eq!(changes.edited.len(), 2);
        assert!(changes.lost.is_none());
    }

    #[test]
    fn too_much_news_is_a_loss_and_not_a_heap() {
        for shaped in [true, false] {
            let inbox = Inbox::default();
            for number in 0..50_000 {
                let path = number.to_string();
                inbox.put(Ok(if shaped {
                    event(EventKind::Create(CreateKind::File), &path)
                } else {
                    edit(&path)
                }));
            }
            let changes = inbox.take(Duration::ZERO);
            assert!(changes.lost.is_some());
            assert!(changes.shaped.len() + changes.edited.len() <= 3 * MAX_PATHS);
        }
    }

    #[test]
    fn an_overflow_of_the_system_is_a_loss() {
        let inbox = Inbox::default();
        inbox.put(Ok(edit("a")));
        inbox.put(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        let changes = inbox.take(Duration::ZERO);
        assert_eq!(changes.lost.as_deref(), Some("the system lost events"));
    }
}
