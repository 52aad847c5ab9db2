//! Receives the sections of a source, and knows the ledger's rows of it. Small sources are
//! collected into one transaction; the sections of large ones are filed one by one.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use loci_core::{
    Error, Filed, LEFTOVERS, Result, SourceChange, SourceHash, SourceRecord, Stat, TextPlace,
};
use loci_secrets::Setting;

use crate::outbox::{Outbox, Shared, file};
use crate::place::{Located, Placement};
use crate::source::{Before, Item, Section};

/// Returns the first half of the BLAKE3 hash, as used everywhere in the ledger.
pub fn hash_of(bytes: &[u8]) -> SourceHash {
    first_half(&blake3::hash(bytes))
}

pub(crate) fn first_half(hash: &blake3::Hash) -> SourceHash {
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// Receives the sections of one item.
pub struct Intake<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) out: &'a mut Outbox,
    pub(crate) item: &'a Item,
    /// Whether another process filed the item first, so that the state from the start of the run is
    /// outdated.
    pub(crate) is_retry: bool,
    /// Whether another process filed a section while this one was being read.
    pub(crate) stale: bool,
    /// The stat of the item when it was read.
    pub(crate) stat: Stat,
    /// The recipe by which this item is read and split.
    pub(crate) recipe: String,
}

impl Intake<'_> {
    /// Returns the ledger's rows of a source.
    pub fn before(&self, name: &str) -> Result<Before> {
        if !self.is_retry && !self.shared.known.contains(name) {
            return Ok(Before::default());
        }
        self.filed(name)
    }

    /// The recipe by which this item is read and split.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// Sets a recipe for this item that differs from the run's.
    pub fn set_recipe(&mut self, recipe: String) {
        self.recipe = recipe;
    }

    /// Sets the stat of the item at the time of reading, which is newer than the one from the
    /// listing.
    pub fn set_stat(&mut self, stat: Stat) {
        self.stat = stat;
    }

    /// Whether another process filed a part of this item first.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Whether the run was asked to stop. A long read should then return.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Returns the wing and room of a source. An existing source keeps its place unless the run was
    /// asked to move it.
    pub fn place(&self, before: &Before, new: Placement) -> Placement {
        let Some(head) = before.head() else {
            return new;
        };
        let chosen = &self.shared.options.chosen;
        Placement {
            wing: chosen.wing.clone().unwrap_or_else(|| head.wing.clone()),
            room: chosen.room.clone().unwrap_or_else(|| head.room.clone()),
        }
    }

    /// Returns the wing and room of a source. A new source goes to the wing of its project, which
    /// is claimed if necessary.
    pub fn settle(&mut self, before: &Before, located: Located) -> Result<Placement> {
        let mut place = located.place;
        if before.head().is_none()
            && let (Some(projects), Some(found)) = (self.shared.projects, &located.project)
        {
            let dry_run = self.shared.options.dry_run;
            let (wing, distinct) = self.shared.wings.of(projects, found, dry_run)?;
            place.wing = wing;
            self.out.report.wings.extend(distinct);
        }
        Ok(self.place(before, place))
    }

    /// Whether everything is filed again, whatever the ledger says.
    pub fn reads_all(&self) -> bool {
        self.shared.reads_all && !self.is_retry
    }

    /// Whether a source is already filed with this content, at this place.
    pub fn is_current(&self, before: &Before, hash: &SourceHash, place: &Placement) -> bool {
        !self.reads_all()
            && before.is(hash, &self.recipe)
            && before
                .head()
                .is_some_and(|head| head.wing == place.wing && head.room == place.room)
    }

    /// Records a new stat of an unchanged source.
    pub fn touch(&mut self, before: &Before) {
        if let Some(head) = before.head() {
            self.out.touch(SourceRecord {
                stat: self.stat,
                ..head.clone()
            });
        }
    }

    /// Gives the item the drawers of a source that had the same bytes and is `gone`.
    pub fn moved(&mut self, hash: &SourceHash, gone: &dyn Fn(&str) -> bool) -> Result<bool> {
        let shared = self.shared;
        if shared.known.knows_nothing() || shared.known.contains(&self.item.name) {
            return Ok(false);
        }
        for record in shared.ledger.sources_with_hash(shared.machine, hash)? {
            if !record.complete || record.recipe != self.recipe || !gone(&record.name) {
                continue;
            }
            let to = SourceRecord {
                name: self.item.name.clone(),
                machine: shared.machine.clone(),
                root: self.item.root.clone(),
                stat: self.stat,
                ..SourceRecord::default()
            };
            let renamed = shared.options.dry_run
                || shared
                    .ledger
                    .rename(shared.run.ensure()?, &record.name, &to)?;
            if renamed {
                shared.known.see(&record.name);
                self.out.report.files.renamed += 1;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether anything was forgotten that must not come back.
    pub fn has_forgotten(&self) -> Result<bool> {
        if self.shared.options.allow_again {
            return Ok(false);
        }
        // Another process may have forgotten something since the run began.
        Ok(self.shared.has_forgotten || (self.is_retry && self.shared.ledger.has_forgotten()?))
    }

    /// Whether the complete text was forgotten, from any source.
    pub fn is_forgotten(&mut self, text: &str) -> Result<bool> {
        if !self.has_forgotten()? {
            return Ok(false);
        }
        let lines = text.lines().count().max(1) as u32;
        Ok(self.forgotten(text, TextPlace::Unknown)? == [(1, lines)])
    }

    /// Masks the secrets of a text and counts them. If secrets are kept, the text stays as it is.
    pub(crate) fn masking<'t>(
        &mut self,
        text: &'t str,
        setting: Setting,
        keep_secrets: bool,
    ) -> Cow<'t, str> {
        if keep_secrets {
            return Cow::Borrowed(text);
        }
        let masked = loci_secrets::mask(text, setting);
        self.masked(&masked.found);
        masked.text
    }

    /// Returns the lines of a text that were forgotten, either with its secrets or with their
    /// masks. `filed` is the text as it would be filed; both forms have the same lines.
    pub(crate) fn forgotten_in_any_form(
        &mut self,
        given: &str,
        filed: &str,
        setting: Setting,
        place: TextPlace<'_>,
    ) -> Result<Vec<(u32, u32)>> {
        let mut lines = self.forgotten(filed, place)?;
        let looked = self.shared.options.allow_again || self.has_forgotten()?;
        if !looked {
            return Ok(lines);
        }
        if given != filed {
            lines.extend(self.forgotten(given, place)?);
        } else if let Cow::Owned(masked) = loci_secrets::mask(given, setting).text {
            lines.extend(self.forgotten(&masked, place)?);
        }
        lines.sort_unstable();
        lines.dedup();
        Ok(lines)
    }

    /// Returns the lines that were forgotten and must not come back.
    pub fn forgotten(&mut self, text: &str, place: TextPlace<'_>) -> Result<Vec<(u32, u32)>> {
        if self.shared.options.allow_again {
            if self.shared.has_forgotten && !self.shared.options.dry_run {
                self.shared.ledger.allow_again(text, place)?;
            }
            return Ok(Vec::new());
        }
        if !self.has_forgotten()? {
            return Ok(Vec::new());
        }
        self.shared.ledger.forgotten_lines(text, place)
    }

    /// Returns the hashes of the texts in the drawers of a source, if anything was forgotten. A
    /// text that is in a drawer was not forgotten, even if it shares lines with a forgotten one.
    pub fn held_texts(&self, name: &str) -> Result<HashSet<SourceHash>> {
        if !self.has_forgotten()? {
            return Ok(HashSet::new());
        }
        Ok(self
            .shared
            .ledger
            .hashes_of(self.shared.machine, name)?
            .into_iter()
            .collect())
    }

    /// Counts lines that were left out because they were forgotten.
    pub fn left_out(&mut self, lines: u64) {
        self.out.report.forgotten_lines += lines;
    }

    /// Counts lines that were left out because they have nothing to read.
    pub fn left_out_noise(&mut self, lines: u64) {
        self.out.report.noise_lines += lines;
    }

    /// Counts a companion file of the item that was not read.
    pub fn skipped_beside(&mut self, reason: &str) {
        self.out.report.skip(reason);
    }

    /// Counts secrets that were masked.
    pub fn masked(&mut self, found: &BTreeMap<&'static str, u32>) {
        for (kind, count) in found {
            *self
                .out
                .report
                .masked
                .entry((*kind).to_owned())
                .or_default() += u64::from(*count);
        }
    }

    /// Counts messages of a conversation: all of them, those in drawers, and those left out by
    /// reason.
    pub fn messages(&mut self, read: u64, filed: u64, skipped: &BTreeMap<String, u64>) {
        let messages = &mut self.out.report.messages;
        messages.read += read;
        messages.filed += filed;
        for (reason, count) in skipped {
            *messages.skipped.entry(reason.clone()).or_default() += count;
        }
    }

    /// Counts bytes that were read.
    pub fn bytes(&mut self, bytes: u64) {
        self.out.report.bytes += bytes;
        self.shared.meter.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the current rows of a source.
    fn filed(&self, name: &str) -> Result<Before> {
        let shared = self.shared;
        shared.ledger.source(shared.machine, name).map(Before::new)
    }

    fn record(&self, section: &Section, before: &Before) -> SourceRecord {
        SourceRecord {
            name: section.name.clone(),
            section: section.number,
            machine: self.shared.machine.clone(),
            kind: section.kind.to_owned(),
            root: self.item.root.clone(),
            wing: section.place.wing.clone(),
            room: section.place.room.clone(),
            stat: self.stat,
            hash: section.hash,
            recipe: self.recipe.clone(),
            mark: section.mark.clone(),
            complete: true,
            revision: before.section(section.number).map_or(0, |row| row.revision),
        }
    }

    /// Takes a source of one section. It is filed together with others before the run ends.
    pub fn whole(&mut self, before: &Before, section: Section) {
        let record = self.record(&section, before);
        let change = SourceChange {
            record,
            pieces: section.pieces,
            grows: section.grows,
            moves: self.shared.options.moves(),
            drops: section.drops,
            ..SourceChange::default()
        };
        self.out.push(self.item.clone(), change);
    }

    /// Takes a source of one section that had several. Drawers whose text still exists are kept,
    /// and the others are removed.
    pub fn whole_again(&mut self, before: &Before, section: &Section) -> Result<()> {
        let begun = self.begin(before, section)?;
        let record = SourceRecord {
            complete: false,
            ..self.record(section, &begun)
        };
        self.now(&SourceChange {
            record,
            pieces: section.pieces.clone(),
            grows: section.grows,
            moves: self.shared.options.moves(),
            drops: section.drops.clone(),
            ..SourceChange::default()
        })?;
        let filed = if self.shared.options.dry_run {
            begun
        } else {
            self.filed(&section.name)?
        };
        for row in filed.rows().iter().filter(|row| row.section > 0) {
            self.remove_all(row)?;
        }
        self.now(&SourceChange {
            record: self.record(section, &filed),
            ..SourceChange::default()
        })
    }

    /// Files everything collected so far. Returns `false` if a source of this item could not be
    /// filed; the item is then incomplete.
    pub fn flush(&mut self) -> bool {
        let failed = self.out.report.files.failed;
        self.out.flush(self.shared);
        let before = self.out.again.len();
        self.out.again.retain(|again| again.name != self.item.name);
        if self.out.again.len() < before {
            self.out.report.files.read += 1;
            self.stale = true;
        }
        !self.stale && self.out.report.files.failed == failed
    }

    /// Begins a source of several sections. Until [`Intake::finish`] it counts as incomplete.
    pub fn begin(&mut self, before: &Before, section: &Section) -> Result<Before> {
        let record = SourceRecord {
            complete: false,
            ..self.record(section, before)
        };
        self.now(&SourceChange {
            record,
            ..SourceChange::default()
        })?;
        if self.shared.options.dry_run {
            return Ok(before.clone());
        }
        self.filed(&section.name)
    }

    /// Files one section of a large source. Text that moved to another section keeps its drawer.
    pub fn section(&mut self, before: &Before, section: Section) -> Result<()> {
        let record = self.record(&section, before);
        self.now(&SourceChange {
            record,
            pieces: section.pieces,
            grows: section.grows,
            moves: self.shared.options.moves(),
            defers: true,
            drops: section.drops,
            removed: false,
        })
    }

    /// Ends a source of several sections: removes drawers that no section holds, then marks the
    /// source complete.
    pub fn finish(&mut self, before: &Before, section: &Section, sections: u32) -> Result<()> {
        let surplus = before
            .rows()
            .iter()
            .filter(|row| row.section > sections && row.section != LEFTOVERS)
            .cloned();
        let leftovers = SourceRecord {
            section: LEFTOVERS,
            ..self.record(section, before)
        };
        for record in surplus.chain([leftovers]) {
            self.remove_all(&record)?;
        }
        let record = self.record(section, before);
        self.now(&SourceChange {
            record,
            pieces: Some(Vec::new()),
            ..SourceChange::default()
        })
    }

    /// Removes a source with its drawers and its rows, so that it counts as never read.
    pub fn remove(&mut self, before: &Before) -> Result<()> {
        for row in before.rows().iter().rev() {
            self.remove_all(row)?;
        }
        Ok(())
    }

    /// Removes a row and its drawers, in batches.
    fn remove_all(&mut self, record: &SourceRecord) -> Result<()> {
        loop {
            let gone = self.out.report.drawers.removed;
            self.now(&SourceChange {
                record: record.clone(),
                removed: true,
                ..SourceChange::default()
            })?;
            if self.out.report.drawers.removed - gone < 2_000 {
                return Ok(());
            }
        }
    }

    fn now(&mut self, change: &SourceChange) -> Result<()> {
        for filed in file(self.shared, std::slice::from_ref(change))? {
            match filed {
                Filed::Done(counts) => self.out.count(self.shared, counts),
                Filed::Stale => {
                    self.stale = true;
                    return Err(Error::Busy {
                        what: format!(
                            "filing `{}`: another process is filing it",
                            change.record.name
                        ),
                        waited: Duration::ZERO,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Removes forgotten lines from a piece and shrinks its span. Returns the remaining pieces.
pub(crate) fn without_lines(
    text: &str,
    first_line: u32,
    holes: &[(u32, u32)],
) -> Vec<(u32, u32, String)> {
    let mut left: Vec<(u32, u32, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let number = first_line + at as u32;
        if holes
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&number))
        {
            open = false;
            continue;
        }
        match left.last_mut().filter(|_| open) {
            Some((_, end, text)) => {
                *end = number;
                text.push_str(line);
            }
            None => left.push((number, number, line.to_owned())),
        }
        open = true;
    }
    for (_, _, text) in &mut left {
        let length = text.strip_suffix('\n').map_or(text.len(), str::len);
        text.truncate(length);
        let length = text.strip_suffix('\r').map_or(text.len(), str::len);
        text.truncate(length);
    }
    left.retain(|(_, _, text)| !text.trim().is_empty());
    left
}
