//! One damage of a file: which file, where and how.

use std::fmt::{Display, Formatter};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The size of a page of the database.
const PAGE: u64 = 8_192;

/// The role of a file in a palace.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Area {
    Database,
    /// The newest commits.
    Log,
    Settings,
    /// Files that can be rebuilt.
    Derived,
}

#[derive(Clone, Copy)]
enum DamageKind {
    FlipBits(u32),
    OverwritePages(u32),
    ZeroPages(u32),
    Truncate,
}

pub(super) struct Damage {
    pub(super) area: Area,
    file: String,
    way: DamageKind,
    /// The first damaged byte.
    pub(super) at: u64,
    pub(super) is_truncation: bool,
}

impl Area {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Log => "log",
            Self::Settings => "settings",
            Self::Derived => "derived files",
        }
    }
}

impl Damage {
    /// Damages a random file of the palace.
    pub(super) fn random(random: &mut fastrand::Rng, palace: &Path) -> anyhow::Result<Self> {
        let files = [
            ("palace.sqlite3", Area::Database, 8),
            ("palace.sqlite3-wal", Area::Log, 4),
            ("palace.sqlite3-shm", Area::Derived, 2),
            ("index", Area::Derived, 4),
            ("palace.lock", Area::Derived, 1),
            ("index.lock", Area::Derived, 1),
            ("restore.lock", Area::Derived, 1),
            ("palace.toml", Area::Settings, 1),
        ];
        let all: u32 = files.iter().map(|(_, _, weight)| weight).sum();
        let mut ticket = random.u32(..all);
        let (name, area, _) = files
            .into_iter()
            .find(|(_, _, weight)| {
                let found = ticket < *weight;
                ticket = ticket.saturating_sub(*weight);
                found
            })
            .context("no file is chosen")?;
        let path = match name {
            "index" => index_file(palace).unwrap_or_else(|| palace.join("palace.sqlite3-shm")),
            _ => palace.join(name),
        };
        let way = match random.u32(..4) {
            0 => DamageKind::FlipBits(1 + random.u32(..4)),
            1 => DamageKind::OverwritePages(1 + random.u32(..20)),
            2 => DamageKind::ZeroPages(1 + random.u32(..4)),
            _ => DamageKind::Truncate,
        };
        let at = apply(random, &path, way)?;
        Ok(Self {
            area,
            file: path.strip_prefix(palace)?.display().to_string(),
            way,
            at,
            is_truncation: matches!(way, DamageKind::Truncate),
        })
    }
}

fn index_file(palace: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(palace.join("index")).ok()?;
    entries.flatten().map(|entry| entry.path()).next()
}

/// Damages the file, and returns the offset of the first damaged byte.
fn apply(random: &mut fastrand::Rng, path: &Path, way: DamageKind) -> anyhow::Result<u64> {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let length = file.metadata()?.len();
    if length == 0 {
        // An empty file gets arbitrary bytes.
        let bytes: Vec<u8> = (0..random.usize(1..9_000)).map(|_| random.u8(..)).collect();
        file.write_all_at(&bytes, 0)?;
        return Ok(0);
    }
    let pages = length.div_ceil(PAGE);
    let mut first = length;
    match way {
        DamageKind::FlipBits(count) => {
            for _ in 0..count {
                let at = random.u64(..length);
                let mut byte = [0];
                file.read_exact_at(&mut byte, at)?;
                file.write_all_at(&[byte[0] ^ (1 << random.u32(..8))], at)?;
                first = first.min(at);
            }
        }
        DamageKind::OverwritePages(count) | DamageKind::ZeroPages(count) => {
            for _ in 0..count {
                let at = random.u64(..pages) * PAGE;
                let size = PAGE.min(length - at) as usize;
                let zero = matches!(way, DamageKind::ZeroPages(_));
                let bytes: Vec<u8> = (0..size)
                    .map(|_| if zero { 0 } else { random.u8(..) })
                    .collect();
                file.write_all_at(&bytes, at)?;
                first = first.min(at);
            }
        }
        DamageKind::Truncate => {
            first = random.u64(..length);
            file.set_len(first)?;
        }
    }
    Ok(first)
}

impl Display for Damage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (file, at) = (&self.file, self.at);
        match self.way {
            DamageKind::FlipBits(count) => {
                write!(f, "{count} bit(s) flipped in `{file}`, first at {at}")
            }
            DamageKind::OverwritePages(count) => {
                write!(f, "{count} page(s) of `{file}` overwritten, first at {at}")
            }
            DamageKind::ZeroPages(count) => {
                write!(f, "{count} page(s) of `{file}` zeroed, first at {at}")
            }
            DamageKind::Truncate => write!(f, "`{file}` truncated to {at} bytes"),
        }
    }
}
