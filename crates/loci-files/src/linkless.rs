//! Opens a file without following links. Neither the file nor a folder in its path may be a link.
//!
//! A walk finds files by their real paths. Between the walk and the open, a file or a folder can be
//! replaced by a link to anywhere. The kernel refuses links while it resolves the path, so there is
//! no race between a check and the open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path};

use rustix::fs::OFlags;

use crate::palace::FileId;

/// The open does not wait for a pipe; the caller detects that it is not a regular file.
const FLAGS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Opens `inside`, a relative path, below `folder`. Links in the path of `folder` itself are
/// followed.
pub(crate) fn open(folder: &Path, inside: &Path) -> io::Result<File> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if inside.as_os_str().is_empty() || !inside.components().all(is_plain) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path does not lie below its folder",
        ));
    }
    match by_kernel(folder, inside) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => by_comparison(folder, inside),
        Err(rustix::io::Errno::LOOP) => Err(refused()),
        Err(error) => Err(error.into()),
    }
}

/// One system call that refuses links. `None` if the system or a sandbox does not support it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn by_kernel(folder: &Path, inside: &Path) -> rustix::io::Result<Option<File>> {
    use rustix::fs::{CWD, Mode, ResolveFlags, openat, openat2};
    use rustix::io::Errno;

    let path = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let folder = openat(CWD, folder, path, Mode::empty())?;
    match openat2(
        &folder,
        inside,
        OFlags::RDONLY.union(FLAGS),
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(Errno::NOSYS | Errno::PERM) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn by_kernel(_: &Path, _: &Path) -> rustix::io::Result<Option<File>> {
    Ok(None)
}

/// The system does not follow the last component. For the folders in the path, the opened file is
/// compared with the file that the real path names afterwards.
#[expect(
    clippy::disallowed_methods,
    reason = "the caller compares the file with those of palaces"
)]
fn by_comparison(folder: &Path, inside: &Path) -> io::Result<File> {
    let path = folder.join(inside);
    let flags = FLAGS.bits().cast_signed();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&path);
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(refused());
        }
        opened => opened?,
    };
    let real = fs::canonicalize(folder)?.join(inside);
    let is_same = fs::canonicalize(&path)? == real
        && FileId::of(&fs::symlink_metadata(&real)?) == FileId::of(&file.metadata()?);
    if is_same { Ok(file) } else { Err(refused()) }
}

fn refused() -> io::Error {
    io::Error::other("its path leads through a link")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    fn read(opened: io::Result<File>) -> io::Result<String> {
        let mut text = String::new();
        opened?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn no_component_below_the_folder_may_be_a_link() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("folder/sub")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        crate::own::write(&at("folder/sub/a"), "inside").unwrap();
        crate::own::write(&at("outside/a"), "outside").unwrap();
        symlink(at("outside/a"), at("folder/link")).unwrap();
        symlink(at("outside"), at("folder/way")).unwrap();
        symlink(at("folder"), at("name")).unwrap();
        let ways: [fn(&Path, &Path) -> io::Result<File>; 2] = [open, by_comparison];
        for way in ways {
            for folder in ["folder", "name"] {
                let open = |inside: &str| read(way(&at(folder), Path::new(inside)));
                assert_eq!(open("sub/a").unwrap(), "inside");
                assert!(open("link").is_err(), "a link to a file");
                assert!(open("way/a").is_err(), "a link to a folder");
                assert!(open("missing").is_err());
            }
        }
        assert!(open(&at("folder"), Path::new("../outside/a")).is_err());
        assert!(open(&at("folder"), Path::new("/etc/passwd")).is_err());
    }
}
