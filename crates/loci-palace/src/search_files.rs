//! The verb `search_files`: searches files and folders without remembering them.
//!
//! The text is stored in a separate palace in the user's cache, so that the next search of the same
//! paths reads only changed files. No other palace is changed. The verb that remembers is `mine`.

mod cache;

use std::path::{MAIN_SEPARATOR, PathBuf};
use std::sync::atomic::AtomicBool;

use loci_core::{Error, ErrorKind, Filter, KeyTest, Result};
use loci_mine::walk::{FollowLinks, Rules};
use loci_mine::{Meter, Options, Reading, TextOptions, Tree};
use loci_sqlite::BACKEND_NAME;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::cache::remove_all as remove_cached_files;
use crate::palace::{OpenOptions, Palace};
use crate::secrets::{Policy, secret_policy};
use crate::{mine, search, sync};

/// What to search, and where.
pub struct Request<'a> {
    /// The question.
    pub search: &'a search::Request,
    /// Files and folders.
    pub paths: &'a [PathBuf],
    /// Which links are followed.
    pub follow_links: FollowLinks,
    /// The embedder by name; without one, the configuration decides.
    pub embedder: Option<String>,
    /// Counts files and bytes while they are read.
    pub meter: &'a Meter,
    /// Stops the reading when it is set. The answer then covers only the files read so far.
    pub stop: &'a AtomicBool,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The answer of the search.
    #[serde(flatten)]
    pub search: search::Answer,
    /// The report about the files that were read.
    pub mined: mine::Answer,
}

/// Reads new and changed files below some paths, and searches them.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use loci_palace::{FollowLinks, Meter, search, search_files};
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("notes.md"), "The lamp is lit at dusk.\n")?;
/// let answer = search_files::search_files(&search_files::Request {
///     search: &search::Request::new("lamp"),
///     paths: &[folder.path().to_owned()],
///     follow_links: FollowLinks::Inside,
///     embedder: None,
///     meter: &Meter::default(),
///     stop: &AtomicBool::new(false),
/// })?;
/// assert_eq!(answer.search.hits[0].text, "The lamp is lit at dusk.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search_files(request: &Request<'_>) -> Result<Answer> {
    let entry = cache::Entry::of(&cache::Key {
        paths: request.paths,
        follow_links: request.follow_links,
        embedder: request.embedder.as_deref(),
    })?;
    if entry.is_blocked() {
        entry.discard()?;
    }
    match search_in(&entry, request) {
        // The cache can be deleted at any time: if it is unusable, it is discarded and filled
        // again, once.
        Err(error) if is_unusable(&error) => {
            entry.discard()?;
            search_in(&entry, request)
        }
        result => result,
    }
}

/// Whether an error says that the cached palace is damaged, gone, of a newer version, or filled by
/// another embedder.
fn is_unusable(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Conflict
    ) || matches!(error, Error::NewerFormat { .. })
}

fn search_in(entry: &cache::Entry, request: &Request<'_>) -> Result<Answer> {
    let options = OpenOptions {
        create: true,
        backend: Some(BACKEND_NAME.to_owned()),
        embedder: request.embedder.clone(),
        ..OpenOptions::default()
    };
    let place = entry.palace().into();
    let rules = Rules {
        follow_links: request.follow_links,
        ..Rules::default()
    };
    let text_options = TextOptions {
        keep_secrets: secret_policy(&place, &options)? == Policy::Keep,
        ..TextOptions::default()
    };
    let reading = Reading {
        rules,
        text_options,
        explicit: true,
        ..Reading::default()
    };
    let tree = Tree::new(request.paths, reading)?;
    let palace = Palace::open(place, &options)?;
    let collection = &request.search.collection;
    let mut mined = palace.mine(&mine::Request {
        collection,
        source: &tree,
        options: &Options::default(),
        meter: request.meter,
        stop: request.stop,
    })?;
    if !mined.stopped {
        // `mine` keeps the drawers of files that are gone, but this search must find only existing
        // files.
        let gone = palace.sync(&sync::Request {
            collection: collection.clone(),
            paths: request.paths.to_vec(),
            rules,
            apply: true,
            conversations: true,
            even_most: true,
        })?;
        mined.drawers.removed += gone.removed;
    }
    let search = match request.follow_links {
        FollowLinks::Everywhere => palace.search(&without_lost_links(request.search, &tree)?),
        FollowLinks::Never | FollowLinks::Inside => palace.search(request.search),
    }?;
    palace.close()?;
    Ok(Answer { search, mined })
}

/// The same search without files outside the paths that no link points to any more. `sync` checks
/// only files below the paths.
fn without_lost_links(request: &search::Request, tree: &Tree) -> Result<search::Request> {
    let outside = tree.linked_outside()?.into_iter();
    let roots = tree.roots().iter().filter_map(|root| root.to_str());
    let places = roots
        .map(mined_under)
        .chain(outside.map(|file| mined_under(&file)));
    let mut all = vec![Filter::Or(places.collect())];
    let mut request = request.clone();
    all.extend(request.selection.filter.take());
    request.selection.filter = Filter::all(all);
    Ok(request)
}

/// Drawers that were mined from this file, or from a file below this folder.
fn mined_under(path: &str) -> Filter {
    let mut folder = path.to_owned();
    if !folder.ends_with(MAIN_SEPARATOR) {
        folder.push(MAIN_SEPARATOR);
    }
    let mut any = Vec::new();
    for key in ["source_file", "export_file"] {
        any.push(Filter::eq(key, path));
        any.push(Filter::Key {
            key: key.into(),
            test: KeyTest::StartsWith(folder.clone()),
        });
    }
    Filter::Or(any)
}
