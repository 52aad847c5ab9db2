//! Reads one source of conversations as events.

use super::compose::{Composer, Finished};
use super::error::Error;
use super::event::{Conversation, Event};
use super::feed::Feed;
use super::format::Format;
use super::mark::{Mark, State};
use super::record_tally::Tally;
use super::sink::{ParseEvent, ParseSink};
use super::utterance::{Point, Utterance};
use loci_files::allowed::{AllowedRoots, EVERYTHING};
use std::collections::VecDeque;
use std::io::BufRead;
use std::path::Path;

/// Reads a file of conversations as a stream of events.
///
/// A conversation is announced before its first piece, and again after a resume. In a file that may
/// grow, the last exchange follows the last [`Event::Rest`], so that a later read from that mark
/// returns it again with its new messages.
///
/// ```
/// use loci_transcripts::{Event, Format, Reader};
/// let text = "User: is it late?\nAssistant: It is noon.\n";
/// let mut reader = Reader::new(Format::Plain, text.as_bytes(), "talk.txt".as_ref());
/// let mut pieces = Vec::new();
/// while let Some(event) = reader.next()? {
///     if let Event::Piece(piece) = event {
///         pieces.push(piece.text);
///     }
/// }
/// assert_eq!(pieces, ["User:\nis it late?\n\nAssistant:\nIt is noon."]);
/// # Ok::<(), loci_transcripts::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R: BufRead> {
    feed: Feed<R>,
    sink: ParseSink,
    /// The state of the format before the record that is in the sink.
    before: State,
    composer: Composer,
    queue: VecDeque<(Event, u32)>,
    /// The number of messages in the queue.
    queued: u64,
    /// The conversation of the current pieces, if the file holds several.
    current: Option<Conversation>,
    announced: bool,
    /// The fallback id for a conversation that has none.
    name: String,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Reading,
    /// The feed has ended. The remaining pieces are returned, then the error.
    Ending(Option<Error>),
    Ended,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the start. `path` provides names and the location of companion files. Databases,
    /// and conversations whose messages are files, are read from `path`, not from `input`.
    pub fn new(format: Format, input: R, path: &Path) -> Self {
        Self::resume(format, input, path, &Mark::default())
    }

    /// Resumes from a mark. `input` must be at `mark.offset`.
    pub fn resume(format: Format, input: R, path: &Path, mark: &Mark) -> Self {
        Self::resume_within(format, input, path, mark, &EVERYTHING)
    }

    /// Like [`Reader::resume`], but reads only allowed files besides `input`.
    pub fn resume_within(
        format: Format,
        input: R,
        path: &Path,
        mark: &Mark,
        allowed: &AllowedRoots,
    ) -> Self {
        Self {
            feed: Feed::new(format, input, path, mark, allowed),
            sink: ParseSink {
                conversation: mark.conversation.clone(),
                state: mark.state.clone(),
                ..ParseSink::default()
            },
            before: mark.state.clone(),
            composer: Composer::resume(mark.exchange, mark.part),
            queue: VecDeque::new(),
            queued: 0,
            current: None,
            announced: false,
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            stage: Stage::Reading,
        }
    }

    /// Returns the next event, or `None` at the end. Memory is bounded by the longest message, or
    /// in an export by the longest conversation. No event follows an error.
    #[expect(
        clippy::should_implement_trait,
        reason = "it can fail, and events are not items of equal kind"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some((event, messages)) = self.queue.pop_front() {
                self.queued -= u64::from(messages);
                self.sink.record_tally.file(messages);
                self.settle();
                return Ok(Some(event));
            }
            if let Some(step) = self.sink.steps.pop_front() {
                self.take(step);
                continue;
            }
            match &mut self.stage {
                Stage::Reading => {
                    if self.before != self.sink.state {
                        self.before.clone_from(&self.sink.state);
                    }
                    match self.feed.advance(&mut self.sink) {
                        Ok(true) => {}
                        Ok(false) => self.stage = Stage::Ending(None),
                        Err(error) => self.stage = Stage::Ending(Some(error)),
                    }
                }
                Stage::Ending(error) => {
                    if self.composer.has_words() {
                        let mut out = Vec::new();
                        self.composer.finish_conversation(&mut out);
                        self.enqueue(out);
                        continue;
                    }
                    let error = error.take();
                    self.stage = Stage::Ended;
                    self.settle();
                    if let Some(error) = error {
                        return Err(error);
                    }
                }
                Stage::Ended => {
                    self.settle();
                    return Ok(None);
                }
            }
        }
    }

    /// The count so far. It is consistent after every event, and complete at the end.
    pub fn tally(&self) -> &Tally {
        self.sink.record_tally.tally()
    }

    /// The facts known about the conversation so far. A title may come later than the first piece.
    pub fn conversation(&self) -> &Conversation {
        self.current.as_ref().unwrap_or(&self.sink.conversation)
    }

    fn take(&mut self, step: ParseEvent) {
        let mut out = Vec::new();
        match step {
            ParseEvent::Utterance(utterance) => {
                self.sink.waiting -= 1;
                self.add(&utterance);
            }
            ParseEvent::Conversation(conversation) => {
                // A resumed reader is already inside the conversation that is announced again.
                if self.conversation().id != conversation.id {
                    self.composer.finish_conversation(&mut out);
                    self.enqueue(out);
                    self.announced = false;
                }
                self.current = Some(conversation);
            }
            ParseEvent::Over(place) => {
                self.composer.finish_conversation(&mut out);
                self.enqueue(out);
                self.announced = false;
                if let Some(point) = place.to {
                    self.current = Some(Conversation::default());
                    self.rest(point, &self.sink.state.clone());
                }
            }
        }
    }

    fn add(&mut self, utterance: &Utterance) {
        let mut out = Vec::new();
        if utterance.prompt && self.composer.has_words() {
            self.composer.finish(&mut out);
            self.enqueue(std::mem::take(&mut out));
            if let Some(point) = utterance.place.from {
                self.rest(point, &self.before.clone());
            }
        }
        self.composer.add(utterance, &mut out);
        self.enqueue(std::mem::take(&mut out));
        if self.composer.is_long()
            && let Some(point) = utterance.place.to
        {
            self.composer.rest(&mut out);
            self.enqueue(out);
            self.rest(point, &self.sink.state.clone());
        }
    }

    fn enqueue(&mut self, pieces: Vec<Finished>) {
        for Finished {
            piece, messages, ..
        } in pieces
        {
            if !self.announced {
                self.announced = true;
                if self.current.is_none() && self.sink.conversation.id.is_empty() {
                    self.sink.conversation.id.clone_from(&self.name);
                }
                let conversation = self.conversation().clone();
                self.queue.push_back((Event::Conversation(conversation), 0));
            }
            self.queued += u64::from(messages);
            self.queue.push_back((Event::Piece(piece), messages));
        }
    }

    fn rest(&mut self, point: Point, state: &State) {
        let mut mark = Mark::new(point, self.conversation(), state);
        (mark.exchange, mark.part) = self.composer.position();
        self.queue.push_back((Event::Rest(Box::new(mark)), 0));
    }

    fn settle(&mut self) {
        let waiting = self.composer.waiting() + self.queued + self.feed.held() + self.sink.waiting;
        self.sink.record_tally.settle(waiting);
    }
}
