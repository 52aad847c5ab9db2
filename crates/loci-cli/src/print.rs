//! The only module that writes to stdout and stderr: answers to stdout, everything else to stderr.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::Duration;

use clap::error::ErrorKind as ClapErrorKind;
use indicatif::{ProgressBar, ProgressStyle};
use loci_palace::{Warning, is_unprintable, printable_json, single_line};
use serde_json::json;
use tracing_subscriber::EnvFilter;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::failure::{Exit, Failure};
use crate::hint::{self, Offered};
use crate::reply::Reply;

/// How long work may take before a spinner appears.
const PATIENCE: Duration = Duration::from_millis(400);
/// The pause between two pictures of a spinner.
const TICK: Duration = Duration::from_millis(120);

/// How answers are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    json: bool,
    stdout: Reader,
    stderr: Reader,
}

/// Who reads a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Program,
    /// A person without colour, by choice or because the terminal has none.
    Person,
    PersonWithColor,
}

impl Reader {
    fn of(stream: &impl IsTerminal) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        match (stream.is_terminal(), plain) {
            (false, _) => Self::Program,
            (true, true) => Self::Person,
            (true, false) => Self::PersonWithColor,
        }
    }
}

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            stdout: Reader::of(&io::stdout()),
            stderr: Reader::of(&io::stderr()),
        }
    }

    /// Shows an answer. A reader that closed the pipe is not an error.
    pub(crate) fn reply(self, reply: &Reply, offered: &Offered) -> Exit {
        if !self.json {
            for note in reply.note_lines(offered) {
                to_stderr(&self.for_stderr(&note));
            }
        }
        let body = if self.json {
            printable_json(reply.hinted_json(offered))
        } else {
            reply.text.clone()
        };
        match to_stdout(&body) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.failure(&loci_palace::Error::io("cannot write to", "stdout", error).into())
            }
            _ => reply.exit,
        }
    }

    /// Shows why a command failed. Nothing is written to stdout.
    pub(crate) fn failure(self, failure: &Failure) -> Exit {
        self.failure_after(failure, &None, None)
    }

    /// The same for a command that created a palace before it failed.
    pub(crate) fn failure_after(
        self,
        failure: &Failure,
        offered: &Offered,
        created_palace: Option<&str>,
    ) -> Exit {
        if failure.is_broken_pipe() {
            return Exit::Done;
        }
        let (message, help) = (failure.message(), failure.help(offered));
        if self.json {
            let mut object =
                error_object(failure.kind(), failure.code(), &message, help.as_deref());
            if let Some(path) = created_palace {
                object = with_key(&object, "created_palace", path);
            }
            to_stderr(&object);
        } else {
            let (label, message) = (
                self.painted_error("error:", "31"),
                self.for_stderr(&message),
            );
            to_stderr(&format!("{label} {message}"));
            if let Some(help) = help {
                let (label, help) = (self.painted_error("help:", "36"), self.for_stderr(&help));
                to_stderr(&format!("{label} {help}"));
            }
        }
        failure.exit()
    }

    /// Prints a line to stderr immediately, while the command runs.
    pub(crate) fn note(self, words: &str) {
        to_stderr(&self.for_stderr(words));
    }

    /// The same, but not if a program reads the answer.
    pub(crate) fn note_for_people(self, words: &str) {
        if !self.json {
            self.note(words);
        }
    }

    /// Prints a line for people before a command acts. Programs find the same in the answer.
    pub(crate) fn warn(self, warnings: &[Warning], offered: &Offered) {
        if !self.json {
            let lines = |warning| hint::lines(warning, offered);
            for line in warnings.iter().flat_map(lines) {
                to_stderr(&self.for_stderr(&line));
            }
        }
    }

    /// Stored text, which may come from anybody. On a terminal, control characters are escaped.
    pub(crate) fn stored(self, text: &str) -> String {
        if self.stdout == Reader::Program {
            return text.to_owned();
        }
        harmless(text)
    }

    /// A stored name or other short text, as one line for every reader.
    #[expect(
        clippy::unused_self,
        reason = "stored text is shown only by the printer, whether or not it needs its settings"
    )]
    pub(crate) fn name(self, name: &str) -> String {
        single_line(name)
    }

    /// The same for stderr, whose messages may contain stored text.
    fn for_stderr(self, text: &str) -> String {
        if self.stderr == Reader::Program {
            return text.to_owned();
        }
        harmless(text)
    }

    /// One line of stored text, cut to a length that fits a line.
    pub(crate) fn stored_line(self, text: &str, width: usize) -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.width() <= width {
            return self.stored(&line);
        }
        let mut room = width.saturating_sub(1);
        let cut: String = line
            .chars()
            .take_while(|c| {
                let left = room.checked_sub(c.width().unwrap_or_default());
                room = left.unwrap_or_default();
                left.is_some()
            })
            .collect();
        format!("{}…", self.stored(cut.trim_end()))
    }

    /// A name, bold on a terminal.
    pub(crate) fn strong(self, text: &str) -> String {
        let text = self.name(text);
        if self.stdout == Reader::PersonWithColor {
            format!("\x1b[1m{text}\x1b[0m")
        } else {
            text
        }
    }

    /// Less important text, dim on a terminal.
    pub(crate) fn dim(self, text: &str) -> String {
        self.colored(text, "2")
    }

    /// A word that something is wrong, red on a terminal.
    pub(crate) fn alert(self, text: &str) -> String {
        self.colored(text, "1;31")
    }

    fn colored(self, text: &str, color: &str) -> String {
        if self.stdout == Reader::PersonWithColor {
            format!("\x1b[{color}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Whether a program reads the answer as JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// The columns of the terminal; those of `COLUMNS` or 80 if stdout is none.
    #[expect(
        clippy::unused_self,
        reason = "only the printer knows where answers are shown"
    )]
    pub(crate) fn columns(self) -> usize {
        let typed = || std::env::var("COLUMNS").ok()?.parse::<usize>().ok();
        let columns = match terminal_size::terminal_size_of(io::stdout()) {
            Some((terminal_size::Width(columns), _)) => Some(usize::from(columns)),
            None => typed(),
        };
        columns
            .filter(|columns| *columns > 0)
            .unwrap_or(80)
            .clamp(20, 500)
    }

    /// A word of the question in a text, highlighted on a terminal.
    pub(crate) fn matched(self, text: &str) -> String {
        let text = self.stored(text);
        if self.stdout == Reader::PersonWithColor {
            format!("\x1b[1;33m{text}\x1b[0m")
        } else {
            text
        }
    }

    /// A source with its line, never cut. On a terminal it is bold, and an absolute path can be
    /// clicked.
    pub(crate) fn path(self, source: &str, line: Option<i64>) -> String {
        let shown = match line {
            Some(line) => format!("{}:{line}", self.name(source)),
            None => self.name(source),
        };
        let shown = self.strong(&shown);
        if self.stdout == Reader::PersonWithColor && source.starts_with('/') {
            let address = address_of(source);
            return format!("\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\");
        }
        shown
    }

    /// The title of a conversation, in quotation marks.
    pub(crate) fn title(self, title: &str) -> String {
        format!("\"{}\"", self.stored_line(title, 72))
    }

    fn painted_error(self, label: &str, color: &str) -> String {
        if self.stderr == Reader::PersonWithColor {
            format!("\x1b[1;{color}m{label}\x1b[0m")
        } else {
            label.to_owned()
        }
    }

    /// A progress bar over bytes. It is hidden unless stderr is a terminal and a person reads the
    /// answer.
    pub(crate) fn progress(self, bytes: Option<u64>) -> ProgressBar {
        if self.json || self.stderr == Reader::Program {
            return ProgressBar::hidden();
        }
        let (bar, template) = match bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "{bar:30} {bytes}/{total_bytes} {msg}",
            ),
            None => (ProgressBar::new_spinner(), "{spinner} {bytes} {msg}"),
        };
        match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    /// A progress bar over steps, hidden under the same condition.
    pub(crate) fn steps(self) -> ProgressBar {
        let bar = self.progress(Some(0));
        match ProgressStyle::with_template("{bar:30} {pos}/{len} {eta}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    /// A spinner with a message, hidden under the same condition.
    pub(crate) fn spinner(self) -> ProgressBar {
        let bar = self.progress(None);
        match ProgressStyle::with_template("{spinner} {msg}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    /// A spinner that appears if the work takes long, hidden under the same condition. Dropping it
    /// removes it from the terminal, so drop it before anything else is printed.
    pub(crate) fn working(self, message: impl Into<String>) -> Working {
        if self.json || self.stderr == Reader::Program {
            return Working(None);
        }
        let message = single_line(&message.into());
        let (stop, stopped) = mpsc::channel::<()>();
        let shown = move || {
            if stopped.recv_timeout(patience()) != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            let spinner = self.spinner();
            spinner.set_message(message);
            spinner.enable_steady_tick(TICK);
            // The sender is dropped when the work is done.
            let _ = stopped.recv();
            spinner.finish_and_clear();
        };
        // Without a thread, the work goes on without a spinner.
        let thread = std::thread::Builder::new().spawn(shown).ok();
        Working(thread.map(|thread| (stop, thread)))
    }

    /// Whether stdout is something else than a terminal, such as a file.
    pub(crate) fn is_redirected(self) -> bool {
        self.stdout == Reader::Program
    }

    /// One line of an answer that is printed while the command runs: a JSON object for programs,
    /// text for people.
    pub(crate) fn line(self, json: &serde_json::Value, words: &str) {
        let line = if self.json {
            printable_json(json.to_string())
        } else {
            self.stored(words)
        };
        // A closed stdout cannot be reported anywhere.
        let _ = to_stdout(&line);
    }

    /// Whether a person at a terminal can answer a question.
    pub(crate) fn can_ask(self) -> bool {
        !self.json && io::stdin().is_terminal() && self.stderr != Reader::Program
    }

    /// Asks a yes-or-no question on the terminal. Returns `None` if there is no terminal.
    pub(crate) fn confirm(self, question: &str) -> Option<bool> {
        if !self.can_ask() {
            return None;
        }
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// The address of a file, for a link on a terminal.
fn address_of(path: &str) -> String {
    let mut address = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

/// How long work may take before a spinner appears. In a debug build, tests set it in milliseconds.
fn patience() -> Duration {
    #[cfg(debug_assertions)]
    if let Ok(set) = std::env::var("LOCI_TEST_PATIENCE") {
        return set.parse().map_or(PATIENCE, Duration::from_millis);
    }
    PATIENCE
}

/// Work whose spinner is on the terminal, or will be.
pub(crate) struct Working(Option<(mpsc::Sender<()>, std::thread::JoinHandle<()>)>);

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

/// Text in which control characters, and characters that change the direction of a line, are
/// escaped.
fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) && c != '\n' && c != '\t' {
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Stdout for a command that writes its answer itself, because the answer may not fit in memory.
pub(crate) fn stdout() -> io::BufWriter<io::StdoutLock<'static>> {
    io::BufWriter::with_capacity(64 << 10, io::stdout().lock())
}

/// Prints a message of clap. Help and version are answers, everything else is a usage error.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    if matches!(
        error.kind(),
        ClapErrorKind::DisplayHelp | ClapErrorKind::DisplayVersion
    ) {
        let _ = error.print();
        return Exit::Done;
    }
    let asked_for_json = std::env::args_os()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json");
    if asked_for_json {
        let text = error.render().to_string();
        let (message, help) = text.split_once("\n\n").unwrap_or((&text, ""));
        let message = message.trim().trim_start_matches("error: ");
        let help = (!help.trim().is_empty()).then(|| help.trim());
        to_stderr(&error_object("usage", "usage", message, help));
    } else {
        let _ = error.print();
    }
    Exit::Usage
}

/// Sends logs to stderr at the level of `LOCI_LOG`, else warnings. With `json`, nothing is logged
/// unless `LOCI_LOG` is set, so that stderr contains only the error object.
pub(crate) fn start_logs(json: bool) {
    // rmcp logs a warning for every invalid request, although the client receives an error.
    let default = if json { "off" } else { "warn,rmcp=error" };
    let filter = EnvFilter::try_from_env("LOCI_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .without_time()
        .with_ansi(false)
        .try_init();
}

fn error_object(kind: &str, code: &str, message: &str, help: Option<&str>) -> String {
    let error = json!({"kind": kind, "code": code, "message": message, "help": help});
    printable_json(json!({ "error": error }).to_string())
}

/// Appends a key with a string value to a JSON object. The order of the other keys is kept.
pub(crate) fn with_key(object: &str, key: &str, text: &str) -> String {
    let addition = format!("{}:{}", json!(key), json!(text));
    match object.trim_end().strip_suffix('}') {
        Some(rest) if rest.trim_end().ends_with('{') => format!("{rest}{addition}}}"),
        Some(rest) => format!("{rest},{addition}}}"),
        None => object.to_owned(),
    }
}

fn to_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if !text.is_empty() {
        stdout.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            stdout.write_all(b"\n")?;
        }
    }
    stdout.flush()
}

/// Writes a line to stderr. A failure is ignored, because it cannot be reported anywhere.
fn to_stderr(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
