//! Files that do not belong to a palace: files that are mined, imported, restored from or read as a
//! model.
//!
//! A path from outside may be a link to the files of a palace that this process has open. Opening
//! such a file is harmless, but closing it is not: the close drops every POSIX lock that this
//! process holds on the file, and with them SQLite's protection against other writers. Therefore:
//!
//! 1. The identity of the file (`stat`) is compared before it is opened.
//! 2. It is compared again after the open, because the path may have changed in between, and before
//!    the close, because a palace may have been opened in between. A descriptor that turns out to
//!    belong to a palace is never closed. It is leaked until the process ends.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::palace::{FileId, is_file_of_open_palace, is_held, refused};
use crate::{linkless, own};

/// An open foreign file, for reading.
#[derive(Debug)]
pub struct ForeignFile {
    /// Counted, so that leaking one count keeps the descriptor open until the process ends.
    file: Arc<File>,
    id: FileId,
}

/// How long to wait for a program to open a named pipe for writing.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);

/// Opens a file that does not belong to a palace. A file of a palace that this process has open is
/// refused with [`io::ErrorKind::PermissionDenied`], and its locks are kept. Pipes, devices and
/// sockets are refused with [`io::ErrorKind::InvalidInput`], because some are endless and some
/// block.
pub fn open(path: &Path) -> io::Result<ForeignFile> {
    let (file, metadata) = open_anything(path)?;
    if metadata.is_file() || metadata.is_dir() {
        return Ok(file);
    }
    Err(not_regular(&metadata))
}

/// Does the same for input that is read once from start to end. Pipes and `/dev/null` are accepted
/// too. A named pipe without a writer is an error after ten seconds.
pub fn open_stream(path: &Path) -> io::Result<ForeignFile> {
    let (file, metadata) = open_anything(path)?;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        wait_for_writer(&file.file)?;
        let flags = rustix::fs::fcntl_getfl(&*file.file)?;
        rustix::fs::fcntl_setfl(&*file.file, flags.difference(OFlags::NONBLOCK))?;
    } else if !kind.is_file() && !kind.is_dir() && !is_null_device(&metadata) {
        return Err(not_regular(&metadata));
    }
    Ok(file)
}

/// Opens the file at `path` without waiting. Otherwise the open of a named pipe would block until a
/// program opens it for writing. The flag has no effect on regular files.
#[expect(
    clippy::disallowed_methods,
    reason = "other code must use this function"
)]
fn open_anything(path: &Path) -> io::Result<(ForeignFile, Metadata)> {
    check(path)?;
    // Opening a device may have side effects.
    let before = fs::metadata(path)?;
    let kind = before.file_type();
    if (kind.is_char_device() && !is_null_device(&before))
        || kind.is_block_device()
        || kind.is_socket()
    {
        return Err(not_regular(&before));
    }
    let mut options = fs::OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = ForeignFile::of(options.open(path)?)?;
    // The path may lead to another file since the check. Dropping the file leaks the descriptor if
    // necessary.
    if is_held(file.id) {
        return Err(refused());
    }
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

fn is_null_device(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device()
        && fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev())
}

fn not_regular(metadata: &Metadata) -> io::Error {
    let kind = metadata.file_type();
    let what = if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {what}, not a regular file"),
    )
}

/// Waits until there is data, or until a program has written and closed the pipe.
fn wait_for_writer(file: &File) -> io::Result<()> {
    let until = Instant::now() + WRITER_PATIENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let patience = Timespec::try_from(left).unwrap_or_default();
        let mut polled = [PollFd::new(file, PollFlags::IN)];
        match poll(&mut polled, Some(&patience)) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!(
                        "no program writes into this pipe; waited {} s",
                        WRITER_PATIENCE.as_secs()
                    ),
                ));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

/// [`open`] for a real path, absolute and without links, as a walk returns it. If the path contains
/// a link in the meantime, it is refused. Does not wait for pipes.
pub fn open_real(path: &Path) -> io::Result<ForeignFile> {
    let root = Path::new("/");
    match path.strip_prefix(root) {
        Ok(inside) => open_below(root, inside),
        Err(_) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path is not absolute",
        )),
    }
}

/// [`open`] for a path below a folder. No link in it is followed, but the path of the folder itself
/// may contain links.
pub fn open_below(folder: &Path, inside: &Path) -> io::Result<ForeignFile> {
    check(&folder.join(inside))?;
    let file = ForeignFile::of(linkless::open(folder, inside)?)?;
    if is_held(file.id) {
        return Err(refused());
    }
    Ok(file)
}

/// Refuses a path to a file of an open palace, for files that a library opens itself. A path
/// without a file passes.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() && is_file_of_open_palace(path, &metadata) => {
            Err(refused())
        }
        _ => Ok(()),
    }
}

/// Reads a foreign file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a foreign file as text. Bytes that are not UTF-8 are an error.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Copies a foreign file to a new file. An existing target is an error.
pub fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let mut source = open(from)?;
    let mut target = own::create_new(to)?;
    let bytes = io::copy(&mut source, &mut target)?;
    target.set_permissions(source.metadata()?.permissions())?;
    Ok(bytes)
}

/// Creates or truncates a file that a user named for output.
#[expect(
    clippy::disallowed_methods,
    reason = "the path is not a file of an open palace"
)]
pub fn create(path: &Path) -> io::Result<File> {
    check(path)?;
    File::create(path)
}

impl ForeignFile {
    fn of(file: File) -> io::Result<Self> {
        let file = Arc::new(file);
        match file.metadata() {
            Ok(metadata) => Ok(Self {
                id: FileId::of(&metadata),
                file,
            }),
            Err(error) => {
                // Its identity is unknown, so it must not be closed.
                std::mem::forget(file);
                Err(error)
            }
        }
    }

    /// What the system reports about the open file.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Another handle on the same open file. Both share one position.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: Arc::new(self.file.try_clone()?),
            id: self.id,
        })
    }

    /// Reads exactly `buffer.len()` bytes at `offset`, without moving the position.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

impl Drop for ForeignFile {
    fn drop(&mut self) {
        if is_held(self.id) {
            std::mem::forget(Arc::clone(&self.file));
        }
    }
}

impl Read for ForeignFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.file).read(buffer)
    }
}

impl Read for &ForeignFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.file).read(buffer)
    }
}

impl Seek for ForeignFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        (&*self.file).seek(position)
    }
}

impl Seek for &ForeignFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        (&*self.file).seek(position)
    }
}
