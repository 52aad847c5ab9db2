//! Files conversations, one drawer per exchange. A transcript that grew is read from its last
//! section. An export gives one source per conversation, identified by its id, so that the same
//! conversation in a later export is the same source.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Cursor, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use loci_core::{Error, MetaValue, Metadata, Piece, Result, SourceHash, TextPlace};
use loci_secrets::Setting;
use serde::{Deserialize, Serialize};

use super::sections::{self, hash_range, survey};
use super::stat::Opened;
use super::{
    CONVERSATION, EXPORT, Reading, TextOptions, Tree, WHOLE_BYTES, base, own_keys, set, set_lines,
};
use crate::intake::{Intake, first_half, hash_of, without_lines};
use crate::place::{self, Located, Placement};
use crate::source::{Before, Item, Read, Section};
use crate::walk::reason;
use loci_transcripts::{self as transcripts, Conversation, Event, Format, Reader};

/// A section of a long transcript is filed after this many bytes of text.
const SECTION_BYTES: usize = 512 << 10;

/// The position of a section of a transcript, and the mark to resume from its start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Mark {
    /// `None` means the start of the file.
    from: Option<transcripts::Mark>,
    end: u64,
    conversation: Conversation,
}

/// The state of an exported conversation when it was filed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Exported {
    file: String,
    pieces: usize,
    /// The time of its last message.
    until: String,
}

impl Exported {
    /// Whether the filed state is later than this one. An older export removes nothing.
    fn is_older_than(&self, filed: &str) -> bool {
        serde_json::from_str::<Self>(filed).is_ok_and(|filed| {
            filed.file != self.file
                && (filed.until.as_str(), filed.pieces) > (self.until.as_str(), self.pieces)
        })
    }
}

impl Mark {
    fn start(&self) -> u64 {
        self.from.as_ref().map_or(0, |mark| mark.offset)
    }
}

pub(super) fn read(
    tree: &Tree,
    text_options: TextOptions,
    item: &Item,
    format: Format,
    mut opened: Opened,
    intake: &mut Intake<'_>,
) -> Result<Read> {
    let fail = |error| Error::io("cannot read", Path::new(&item.name), error);
    if let Some(reason) = count_outside(tree, format, Path::new(&item.name), intake) {
        return Ok(Read::Skipped(reason.into()));
    }
    let before = intake.before(&item.name)?;
    let marks = sections::known(&before, intake.recipe(), |mark: &Mark| {
        (mark.start(), mark.end)
    });
    let ranges: Vec<_> = marks
        .iter()
        .map(|(mark, hash)| (mark.start(), mark.end, *hash))
        .collect();
    let survey = survey(&mut opened, &ranges).map_err(fail)?;
    intake.bytes(opened.stat.size);
    let miner = ConversationMiner {
        bytes: survey.whole,
        tree,
        text_options,
        item,
        format,
        whole: with_companions(tree, format, Path::new(&item.name), survey.whole),
    };
    if format.is_export() {
        return miner.read_export(&before, opened, intake);
    }
    // The wing and room are known only when the conversation names its folder.
    if let Some(head) = before.head() {
        let place = intake.place(
            &before,
            Placement {
                wing: head.wing.clone(),
                room: head.room.clone(),
            },
        );
        if intake.is_current(&before, &miner.whole, &place) {
            intake.touch(&before);
            return Ok(Read::Unchanged);
        }
    } else if intake.moved(&miner.whole, &|old| {
        super::is_same_kind_gone(old, &item.name)
    })? {
        return Ok(Read::Moved);
    }
    if opened.stat.size <= WHOLE_BYTES {
        return miner.read_whole(&before, opened, intake);
    }
    // The last section may have grown.
    let kept = survey.same.min(marks.len().saturating_sub(1));
    let kept = if moves(intake, &before) || intake.reads_all() {
        0
    } else {
        kept
    };
    let from = marks
        .get(kept)
        .map(|(mark, _)| mark.clone())
        .filter(|_| kept > 0);
    miner.read_sections(&before, from, kept as u32, opened, intake)
}

/// Counts companion files of a conversation that lie outside the allowed roots. Returns a reason to
/// skip the conversation if it is incomplete without them, because filing it would remove messages
/// that were filed earlier.
fn count_outside(
    tree: &Tree,
    format: Format,
    path: &Path,
    intake: &mut Intake<'_>,
) -> Option<&'static str> {
    let places = transcripts::companion_places(format, path);
    let is_outside = |place: &PathBuf| !tree.reading.allowed.contains(place);
    let outside: Vec<PathBuf> = places.into_iter().filter(is_outside).collect();
    if outside.is_empty() {
        return None;
    }
    // A day of Slack is complete without the names of its users, because it contains their ids.
    if format != Format::Slack {
        return Some(reason::PARTS_NOT_ALLOWED);
    }
    let mut counted = tree.outside.lock().unwrap_or_else(PoisonError::into_inner);
    for file in outside {
        if counted.insert(file) {
            intake.skipped_beside(reason::NOT_ALLOWED);
        }
    }
    None
}

/// Whether drawers must move to another place, so that no section can be kept.
fn moves(intake: &Intake<'_>, before: &Before) -> bool {
    before.head().is_some_and(|head| {
        let here = Placement {
            wing: head.wing.clone(),
            room: head.room.clone(),
        };
        intake.place(before, here.clone()) != here
    })
}

/// Extends the hash by the companion files, so that a change of any file changes the hash.
fn with_companions(tree: &Tree, format: Format, path: &Path, whole: SourceHash) -> SourceHash {
    let allowed = &tree.reading.allowed;
    let companions = transcripts::companions_within(format, path, allowed);
    if companions.is_empty() {
        return whole;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&whole);
    for companion in companions {
        hasher.update(companion.as_os_str().as_encoded_bytes());
        if let Ok(opened) = Opened::open(&companion, allowed) {
            hasher.update(&opened.stat.size.to_le_bytes());
            hasher.update(&opened.stat.modified_ns.to_le_bytes());
        }
    }
    first_half(&hasher.finalize())
}

fn section_of(name: &str, place: &Placement, hash: SourceHash) -> Section {
    Section {
        name: name.to_owned(),
        kind: CONVERSATION,
        place: place.clone(),
        hash,
        grows: true,
        drops: own_keys(),
        ..Section::default()
    }
}

struct ConversationMiner<'a> {
    tree: &'a Tree,
    text_options: TextOptions,
    item: &'a Item,
    format: Format,
    whole: SourceHash,
    /// The hash of the main file's bytes.
    bytes: SourceHash,
}

impl ConversationMiner<'_> {
    fn path(&self) -> &Path {
        Path::new(&self.item.name)
    }

    fn reader<R: BufRead>(&self, input: R, from: Option<&transcripts::Mark>) -> Reader<R> {
        let start = transcripts::Mark::default();
        let allowed = &self.tree.reading.allowed;
        let from = from.unwrap_or(&start);
        Reader::resume_within(self.format, input, self.path(), from, allowed)
    }

    fn fail(&self, error: impl std::fmt::Display) -> Error {
        Error::invalid(format!("`{}`", self.item.name), error.to_string())
    }

    /// Returns the place of a conversation: as requested, or else that of its project.
    fn locate(&self, conversation: &Conversation) -> Located {
        let Reading { chosen, folder, .. } = &self.tree.reading;
        let held_in = conversation.folder.as_deref().or(folder.as_deref());
        let mut located = place::locate_conversation_within(held_in, &self.tree.reading.allowed);
        if let Some(wing) = &chosen.wing {
            located.place.wing.clone_from(wing);
            located.project = None;
        }
        if let Some(room) = &chosen.room {
            located.place.room.clone_from(room);
        }
        located
    }

    fn read_whole(
        &self,
        before: &Before,
        mut opened: Opened,
        intake: &mut Intake<'_>,
    ) -> Result<Read> {
        let fail = |error| Error::io("cannot read", self.path(), error);
        opened.file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let mut bytes = Vec::new();
        (&mut opened.file)
            .take(opened.stat.size)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        if hash_of(&bytes) != self.bytes {
            return Err(self.fail("changed while it was being read; the next run tries again"));
        }
        let mut reader = self.reader(Cursor::new(bytes), None);
        let mut found = Vec::new();
        while let Some(event) = reader.next().map_err(|error| self.fail(error))? {
            if let Event::Piece(piece) = event {
                found.push(piece);
            }
        }
        self.count(reader.tally(), intake)?;
        // Titles often come after the first messages.
        let conversation = reader.conversation().clone();
        let place = intake.settle(before, self.locate(&conversation))?;
        let pieces = self.pieces(&self.item.name, &place, &conversation, found, intake)?;
        let section = Section {
            pieces: Some(pieces),
            ..section_of(&self.item.name, &place, self.whole)
        };
        if before.rows().len() > 1 {
            intake.whole_again(before, &section)?;
        } else {
            intake.whole(before, section);
        }
        Ok(Read::Filed)
    }

    fn read_sections(
        &self,
        before: &Before,
        from: Option<Mark>,
        mut number: u32,
        mut opened: Opened,
        intake: &mut Intake<'_>,
    ) -> Result<Read> {
        let fail = |error| Error::io("cannot read", self.path(), error);
        // A second handle with its own position. If the path is another file by then, the hashes do
        // not match, and the next run reads it.
        let mut again = self
            .tree
            .reading
            .allowed
            .open_real(self.path())
            .map_err(fail)?;
        let mut mark = from.unwrap_or_default();
        opened
            .file
            .seek(SeekFrom::Start(mark.start()))
            .map_err(fail)?;
        let left = opened.stat.size - mark.start().min(opened.stat.size);
        let size = opened.stat.size;
        let input = BufReader::with_capacity(1 << 20, opened.file.take(left));
        let mut reader = self.reader(input, mark.from.as_ref());
        let mut begun: Option<(Before, Section)> = None;
        let (mut found, mut bytes) = (Vec::new(), 0_usize);
        loop {
            if intake.is_stopped() {
                return Ok(Read::Skipped(
                    "stopped in the middle; the next run continues".into(),
                ));
            }
            let event = reader.next().map_err(|error| self.fail(error))?;
            let rest = match event {
                Some(Event::Conversation(_)) => continue,
                Some(Event::Piece(piece)) => {
                    bytes += piece.text.len();
                    found.push(piece);
                    continue;
                }
                Some(Event::Rest(_)) if bytes < SECTION_BYTES => continue,
                Some(Event::Rest(rest)) => Some(*rest),
                None => None,
            };
            mark.conversation = reader.conversation().clone();
            if begun.is_none() {
                let place = intake.settle(before, self.locate(&mark.conversation))?;
                let head = section_of(&self.item.name, &place, self.whole);
                begun = Some((intake.begin(before, &head)?, head));
            }
            let Some((begun, head)) = &begun else {
                continue;
            };
            number += 1;
            mark.end = rest.as_ref().map_or(size, |rest| rest.offset);
            let pieces = self.pieces(
                &self.item.name,
                &head.place,
                &mark.conversation,
                std::mem::take(&mut found),
                intake,
            )?;
            bytes = 0;
            let section = Section {
                number,
                mark: serde_json::to_string(&self.kept(&mark)).unwrap_or_default(),
                pieces: Some(pieces),
                ..section_of(
                    &self.item.name,
                    &head.place,
                    hash_range(&mut again, mark.start(), mark.end).map_err(fail)?,
                )
            };
            intake.section(begun, section)?;
            match rest {
                Some(rest) => mark.from = Some(rest),
                None => break,
            }
        }
        self.count(reader.tally(), intake)?;
        sections::require_same(self.path(), size, &self.bytes)?;
        if let Some((begun, head)) = &begun {
            intake.finish(begun, head, number)?;
        }
        Ok(Read::Filed)
    }

    /// Returns the mark as the ledger stores it. Titles are text of the conversation, so their
    /// secrets are masked.
    fn kept(&self, mark: &Mark) -> Mark {
        let mut mark = mark.clone();
        if self.text_options.keep_secrets {
            return mark;
        }
        let Some(title) = &mut mark.conversation.title else {
            return mark;
        };
        let masked = loci_secrets::mask(title, Setting::Plain).text;
        if let Cow::Owned(masked) = masked {
            // The shortened title in `from` may hold part of a secret that the masking does not
            // recognise.
            if let Some(from) = &mut mark.from {
                from.conversation.title = Some(masked.clone());
            }
            *title = masked;
        }
        mark
    }

    /// Reads an export, in which each conversation is a source of its own.
    fn read_export(
        &self,
        before: &Before,
        mut opened: Opened,
        intake: &mut Intake<'_>,
    ) -> Result<Read> {
        let fail = |error| Error::io("cannot read", self.path(), error);
        let place = intake.settle(before, self.tree.locate(self.item)?)?;
        if intake.is_current(before, &self.whole, &place) {
            intake.touch(before);
            return Ok(Read::Unchanged);
        }
        opened.file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let input = BufReader::with_capacity(1 << 20, (&mut opened.file).take(opened.stat.size));
        let mut reader = self.reader(input, None);
        let mut open: Option<(Conversation, Vec<transcripts::Piece>)> = None;
        let mut met = HashMap::new();
        loop {
            if intake.is_stopped() {
                return Ok(Read::Skipped(
                    "stopped in the middle; the next run continues".into(),
                ));
            }
            match reader.next().map_err(|error| self.fail(error))? {
                Some(Event::Conversation(next)) => {
                    if let Some((conversation, found)) = open.replace((next, Vec::new())) {
                        self.file_exported(&conversation, found, &mut met, intake)?;
                    }
                }
                Some(Event::Piece(piece)) => {
                    open.get_or_insert_default().1.push(piece);
                }
                Some(Event::Rest(_)) => {}
                None => break,
            }
        }
        if let Some((conversation, found)) = open {
            self.file_exported(&conversation, found, &mut met, intake)?;
        }
        self.count(reader.tally(), intake)?;
        // The export is complete when all its conversations are.
        if !intake.flush() {
            if intake.is_stale() {
                return Err(self.fail("another process is filing its conversations"));
            }
            return Ok(Read::Filed);
        }
        let section = Section {
            name: self.item.name.clone(),
            kind: EXPORT,
            place,
            hash: self.whole,
            ..Section::default()
        };
        intake.whole(before, section);
        Ok(Read::Filed)
    }

    fn file_exported(
        &self,
        conversation: &Conversation,
        found: Vec<transcripts::Piece>,
        met: &mut HashMap<String, u32>,
        intake: &mut Intake<'_>,
    ) -> Result<()> {
        if found.is_empty() {
            return Ok(());
        }
        let id = if conversation.id.is_empty() {
            self.item.name.as_str()
        } else {
            conversation.id.as_str()
        };
        let mut name = format!("{}:{id}", self.format.name());
        let count = met.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(name, "#{count}");
        }
        let until = found
            .iter()
            .filter_map(|piece| piece.ended_at.as_ref().or(piece.authored_at.as_ref()))
            .max()
            .cloned()
            .unwrap_or_default();
        let mark = Exported {
            file: self.item.name.clone(),
            pieces: found.len(),
            until,
        };
        let before = intake.before(&name)?;
        if before
            .head()
            .is_some_and(|head| mark.is_older_than(&head.mark))
        {
            return Ok(());
        }
        let place = intake.settle(&before, self.locate(conversation))?;
        let mut hasher = blake3::Hasher::new();
        for piece in &found {
            hasher.update(&(piece.text.len() as u64).to_le_bytes());
            hasher.update(piece.text.as_bytes());
        }
        let hash = first_half(&hasher.finalize());
        if intake.is_current(&before, &hash, &place) {
            return Ok(());
        }
        let mut pieces = self.pieces(&name, &place, conversation, found, intake)?;
        for piece in &mut pieces {
            set(&mut piece.metadata, "export_file", self.item.name.as_str());
        }
        let section = Section {
            pieces: Some(pieces),
            mark: serde_json::to_string(&mark).unwrap_or_default(),
            ..section_of(&name, &place, hash)
        };
        intake.whole(&before, section);
        Ok(())
    }

    /// Rejects a read in which messages were lost.
    fn count(&self, tally: &transcripts::Tally, intake: &mut Intake<'_>) -> Result<()> {
        let skipped: u64 = tally.skipped.values().sum();
        if tally.messages != tally.filed + skipped {
            return Err(self.fail(format!(
                "{} messages were read, but {} filed and {skipped} skipped: nothing of it is taken as complete",
                tally.messages, tally.filed
            )));
        }
        intake.messages(tally.messages, tally.filed, &tally.skipped);
        Ok(())
    }

    fn pieces(
        &self,
        name: &str,
        place: &Placement,
        conversation: &Conversation,
        found: Vec<transcripts::Piece>,
        intake: &mut Intake<'_>,
    ) -> Result<Vec<Piece>> {
        let mut common = base(name, place);
        set(&mut common, "agent", self.format.name());
        if !conversation.id.is_empty() {
            set(&mut common, "conversation", conversation.id.as_str());
        }
        for (key, value) in [
            ("heading", &conversation.title),
            ("folder", &conversation.folder),
            ("branch", &conversation.branch),
        ] {
            if let Some(value) = value.as_ref().filter(|value| !value.trim().is_empty()) {
                let value = intake.masking(value, Setting::Plain, self.text_options.keep_secrets);
                set(&mut common, key, value.as_ref());
            }
        }
        let held = intake.held_texts(name)?;
        let mut pieces = Vec::with_capacity(found.len());
        for piece in found {
            let place = TextPlace::Exchange {
                source: name,
                number: piece.exchange,
            };
            let text = self.clean(&piece.text, place, &held, intake)?;
            if text.trim().is_empty() {
                continue;
            }
            pieces.push(Piece {
                metadata: metadata(&common, &piece),
                text,
                part: piece.part,
            });
        }
        Ok(pieces)
    }

    /// Masks secrets and removes forgotten lines. A text that is in a drawer stays whole.
    fn clean(
        &self,
        text: &str,
        place: TextPlace<'_>,
        held: &HashSet<SourceHash>,
        intake: &mut Intake<'_>,
    ) -> Result<String> {
        let masked = intake.masking(text, Setting::Plain, self.text_options.keep_secrets);
        let (given, text) = (text, masked.as_ref());
        let holes = intake.forgotten_in_any_form(given, text, Setting::Plain, place)?;
        if holes.is_empty() || held.contains(&hash_of(text.as_bytes())) {
            return Ok(text.to_owned());
        }
        let left = without_lines(text, 1, &holes);
        let lines: u32 = left.iter().map(|(start, end, _)| end - start + 1).sum();
        intake.left_out(text.lines().count() as u64 - u64::from(lines));
        let left: Vec<&str> = left.iter().map(|(_, _, text)| text.as_str()).collect();
        Ok(left.join("\n"))
    }
}

fn metadata(common: &Metadata, piece: &transcripts::Piece) -> Metadata {
    let mut metadata = common.clone();
    set_lines(&mut metadata, piece.start_line, piece.end_line);
    set(&mut metadata, "exchange", i64::from(piece.exchange));
    set(&mut metadata, "part", i64::from(piece.part));
    for (key, value) in [
        ("authored_at", &piece.authored_at),
        ("ended_at", &piece.ended_at),
        ("model", &piece.model),
    ] {
        if let Some(value) = value {
            set(&mut metadata, key, value.as_str());
        }
    }
    for (key, values) in [("speakers", &piece.speakers), ("tools", &piece.tools)] {
        if !values.is_empty() {
            let list = values.iter().cloned().map(MetaValue::Str).collect();
            set(&mut metadata, key, MetaValue::List(list));
        }
    }
    metadata
}
