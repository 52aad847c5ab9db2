//! Links that mined files contain: Markdown links between files, and wikilinks.
//!
//! They are not stored as links. A drawer keeps the targets of its links in its metadata, as they are
//! written, and they are resolved whenever links are read. So a link is right after its file changed,
//! after its target was mined, renamed or removed, after an undo and after an import, and links that
//! people and agents added are never touched.

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::{
    Collection, Filter, Get, Include, KeyTest, Link, LinkEnd, MetaValue, Metadata, Result,
    Selection,
};
use loci_mine::references::{LinkTarget, target_name};
use loci_mine::{FILE, LINK_NAMES, LINKS_TO};

use crate::palace::Palace;

/// The label of these links.
pub const LABEL: &str = "links to";
/// The most drawers that may link to a file, and the most drawers of a file that are looked at.
const MOST_LINKING: usize = 10_000;
const MOST_OF_FILE: usize = 2_000;
/// Drawers that are read at once.
const PAGE: usize = 1_000;
/// A folder stands for one of these files, and a target may leave out its extension.
const FOLDER_FILES: [&str; 4] = ["README.md", "readme.md", "index.md", "Index.md"];
const EXTENSIONS: [&str; 3] = ["md", "markdown", "mdx"];

/// Resolves the links of mined files. Everything that is looked up is kept for the request.
pub(super) struct MinedLinks<'a> {
    palace: &'a Palace,
    collections: HashMap<String, Option<MinedFiles>>,
}

/// The files of one collection.
struct MinedFiles {
    collection: Arc<dyn Collection>,
    /// All mined files by their name without folder and extension; read when a wikilink needs it.
    by_name: Option<HashMap<String, Vec<MinedFile>>>,
    /// The drawers of files that were looked up.
    drawers: HashMap<String, Vec<Place>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct MinedFile {
    path: String,
    wing: String,
}

/// A drawer of a file.
struct Place {
    id: String,
    line: i64,
    heading: String,
}

impl<'a> MinedLinks<'a> {
    pub(super) fn of(palace: &'a Palace) -> Self {
        Self {
            palace,
            collections: HashMap::new(),
        }
    }

    /// The links of files that start or end at a place. Only drawers have any.
    pub(super) fn at(&mut self, end: &LinkEnd) -> Result<Vec<Link>> {
        let LinkEnd::Drawer(drawer) = end else {
            return Ok(Vec::new());
        };
        let Some(files) = self.files(&drawer.collection)? else {
            return Ok(Vec::new());
        };
        let found = metadatas(
            files.collection.as_ref(),
            Selection::ids([drawer.id.as_str()]),
            1,
        )?;
        let Some((id, metadata)) = found.into_iter().next() else {
            return Ok(Vec::new());
        };
        let mut links = files.from(&id, &metadata)?;
        for link in files.to(&id, &metadata)? {
            if !links.contains(&link) {
                links.push(link);
            }
        }
        Ok(links)
    }

    /// All links of files, in the order of their drawers, after the first `offset`.
    pub(super) fn all(&mut self, limit: usize, mut offset: usize) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        for collection in self.palace.scope(None)? {
            let Some(files) = self.files(collection.name())? else {
                continue;
            };
            let mut from = 0;
            while links.len() < limit {
                let get = Get {
                    limit: Some(PAGE),
                    offset: from,
                    ..metadata_of(Selection::all())
                };
                let page = collection.get(&get)?;
                from += page.ids.len();
                let is_last = page.ids.len() < PAGE;
                for (id, metadata) in page.ids.iter().zip(&page.metadatas) {
                    for link in files.from(id, metadata)? {
                        if offset > 0 {
                            offset -= 1;
                        } else if links.len() < limit {
                            links.push(link);
                        }
                    }
                }
                if is_last {
                    break;
                }
            }
        }
        Ok(links)
    }

    fn files(&mut self, collection: &str) -> Result<Option<&mut MinedFiles>> {
        if !self.collections.contains_key(collection) {
            let files = self.palace.kept(collection)?.map(|collection| MinedFiles {
                collection,
                by_name: None,
                drawers: HashMap::new(),
            });
            self.collections.insert(collection.to_owned(), files);
        }
        Ok(self
            .collections
            .get_mut(collection)
            .and_then(Option::as_mut))
    }
}

impl MinedFiles {
    /// The links that start at a drawer.
    fn from(&mut self, id: &str, metadata: &Metadata) -> Result<Vec<Link>> {
        let mut links: Vec<Link> = Vec::new();
        for target in targets(metadata) {
            let Some(to) = self.resolve(metadata, target)?.filter(|to| to != id) else {
                continue;
            };
            let link = self.link(id, &to, target);
            if !links.iter().any(|other| other.to == link.to) {
                links.push(link);
            }
        }
        Ok(links)
    }

    /// The links that end at a drawer.
    fn to(&mut self, id: &str, metadata: &Metadata) -> Result<Vec<Link>> {
        let Some(source) = metadata.get_str("source_file") else {
            return Ok(Vec::new());
        };
        let names = names_of(source);
        let named = names.iter().map(|name| Filter::Key {
            key: LINK_NAMES.to_owned(),
            test: KeyTest::Contains(MetaValue::Str(name.clone())),
        });
        let linking = metadatas(
            self.collection.as_ref(),
            Selection::matching(Filter::Or(named.collect())),
            MOST_LINKING,
        )?;
        let mut links = Vec::new();
        for (from, metadata) in linking {
            for target in targets(&metadata) {
                let is_named = |name: &String| names.contains(name);
                if from != id
                    && LinkTarget::parse(target).names().iter().any(is_named)
                    && self.resolve(&metadata, target)?.as_deref() == Some(id)
                {
                    links.push(self.link(&from, id, target));
                    break;
                }
            }
        }
        Ok(links)
    }

    fn link(&self, from: &str, to: &str, target: &str) -> Link {
        let name = self.collection.name();
        let mut metadata = Metadata::default();
        metadata.0.insert("mined".to_owned(), MetaValue::Bool(true));
        metadata
            .0
            .insert("target".to_owned(), MetaValue::Str(target.to_owned()));
        Link {
            from: LinkEnd::drawer(name, from),
            to: LinkEnd::drawer(name, to),
            label: LABEL.to_owned(),
            metadata,
        }
    }

    /// The drawer that a target means, in the file of a drawer with this metadata.
    fn resolve(&mut self, metadata: &Metadata, target: &str) -> Result<Option<String>> {
        let Some(source) = metadata.get_str("source_file") else {
            return Ok(None);
        };
        match LinkTarget::parse(target) {
            LinkTarget::Path { path, part } => {
                let Some(path) = joined(source, &path) else {
                    return Ok(None);
                };
                for candidate in candidates(&path) {
                    if let Some(id) = self.place(&candidate, &part)? {
                        return Ok(Some(id));
                    }
                }
                Ok(None)
            }
            LinkTarget::Note { name, part } => match self.note(source, &name)? {
                Some(path) => self.place(&path, &part),
                None => Ok(None),
            },
        }
    }

    /// The file that a wikilink means: of the same wing, and of those the nearest.
    fn note(&mut self, source: &str, name: &str) -> Result<Option<String>> {
        let by_name = self.names()?;
        let wing = by_name
            .get(&target_name(source))
            .and_then(|files| files.iter().find(|file| file.path == source))
            .map(|file| file.wing.clone());
        let end = format!("/{}", name.trim_start_matches(['/', '.']).to_lowercase());
        let is_named = |file: &&MinedFile| {
            let path = file.path.to_lowercase();
            let stem = path
                .rsplit_once('.')
                .map_or(path.as_str(), |(stem, _)| stem);
            Some(&file.wing) == wing.as_ref() && (stem.ends_with(&end) || path.ends_with(&end))
        };
        let names = LinkTarget::parse(&format!("[[{name}]]")).names();
        let nearest = names
            .iter()
            .filter_map(|name| by_name.get(name))
            .flatten()
            .filter(is_named)
            .max_by_key(|file| {
                let is_note = EXTENSIONS
                    .iter()
                    .any(|extension| file.path.ends_with(extension));
                let shared = shared_folders(&file.path, source);
                let depth = file.path.matches('/').count();
                let order = std::cmp::Reverse((depth, file.path.clone()));
                (is_note, shared, order)
            });
        Ok(nearest.map(|file| file.path.clone()))
    }

    /// All mined files by name.
    fn names(&mut self) -> Result<&HashMap<String, Vec<MinedFile>>> {
        if self.by_name.is_none() {
            let mut names: HashMap<String, Vec<MinedFile>> = HashMap::new();
            if let Some(ledger) = self.collection.ledger() {
                ledger.each_source(&mut |record| {
                    if record.section == 0 && record.kind == FILE {
                        names
                            .entry(target_name(&record.name))
                            .or_default()
                            .push(MinedFile {
                                path: record.name,
                                wing: record.wing,
                            });
                    }
                    Ok(())
                })?;
            }
            self.by_name = Some(names);
        }
        Ok(self.by_name.get_or_insert_default())
    }

    /// The drawer of a file with this heading, else its first drawer.
    fn place(&mut self, path: &str, part: &str) -> Result<Option<String>> {
        let wanted = folded(part);
        let places = self.drawers(path)?;
        let Some(first) = places.first() else {
            return Ok(None);
        };
        let first = first.id.clone();
        if wanted.is_empty() {
            return Ok(Some(first));
        }
        let below = places.iter().find(|place| {
            let steps = place.heading.split(" > ");
            steps.map(folded).any(|step| step == wanted)
        });
        if let Some(place) = below {
            return Ok(Some(place.id.clone()));
        }
        // Several short sections share a drawer, whose heading is the one above all of them.
        let found = self.collection.get(&Get {
            limit: Some(MOST_OF_FILE),
            include: Include {
                documents: true,
                ..Include::NONE
            },
            ..Get::new(Selection::matching(Filter::eq("source_file", path)))
        })?;
        let holder = found.ids.iter().zip(&found.documents).find(|(_, text)| {
            let mut lines = text.lines();
            lines.any(|line| line.starts_with('#') && folded(line) == wanted)
        });
        Ok(Some(holder.map_or(first, |(id, _)| id.clone())))
    }

    /// The drawers of a file, by line.
    fn drawers(&mut self, path: &str) -> Result<&[Place]> {
        if !self.drawers.contains_key(path) {
            let selection = Selection::matching(Filter::eq("source_file", path));
            let found = metadatas(self.collection.as_ref(), selection, MOST_OF_FILE)?;
            let mut places: Vec<Place> = found
                .into_iter()
                .map(|(id, metadata)| Place {
                    id,
                    line: match metadata.get("start_line") {
                        Some(MetaValue::Int(line)) => *line,
                        _ => i64::MAX,
                    },
                    heading: metadata.get_str("heading").unwrap_or_default().to_owned(),
                })
                .collect();
            places.sort_by(|one, other| (one.line, &one.id).cmp(&(other.line, &other.id)));
            self.drawers.insert(path.to_owned(), places);
        }
        Ok(self.drawers.get(path).map_or(&[], Vec::as_slice))
    }
}

fn metadata_of(selection: Selection) -> Get {
    Get {
        include: Include {
            metadatas: true,
            ..Include::NONE
        },
        ..Get::new(selection)
    }
}

/// The ids and metadata of at most `most` drawers.
fn metadatas(
    collection: &dyn Collection,
    selection: Selection,
    most: usize,
) -> Result<Vec<(String, Metadata)>> {
    let found = collection.get(&Get {
        limit: Some(most),
        ..metadata_of(selection)
    })?;
    Ok(found.ids.into_iter().zip(found.metadatas).collect())
}

fn targets(metadata: &Metadata) -> impl Iterator<Item = &str> {
    let items = match metadata.get(LINKS_TO) {
        Some(MetaValue::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|item| match item {
        MetaValue::Str(target) => Some(target.as_str()),
        _ => None,
    })
}

/// The names under which links may mean a file. A folder stands for its README or its index.
fn names_of(source: &str) -> Vec<String> {
    let mut names = vec![target_name(source)];
    if FOLDER_FILES.iter().any(|file| source.ends_with(file)) {
        let folder = source.rsplit('/').nth(1).unwrap_or_default();
        names.extend([folder.to_lowercase(), target_name(folder)]);
    }
    names.retain(|name| !name.is_empty());
    names.dedup();
    names
}

/// The path of a target relative to the folder of `source`. `None` if it leads above the root.
fn joined(source: &str, target: &str) -> Option<String> {
    let (folder, _) = source.rsplit_once('/')?;
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().filter(|part| !part.is_empty())?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The files that a path may mean.
fn candidates(path: &str) -> Vec<String> {
    let mut found = vec![path.to_owned()];
    found.extend(EXTENSIONS.map(|extension| format!("{path}.{extension}")));
    if let Some(stem) = path.strip_suffix(".html") {
        found.push(format!("{stem}.md"));
    }
    found.extend(FOLDER_FILES.map(|file| format!("{path}/{file}")));
    found
}

/// How many folders from the root on two paths share.
fn shared_folders(one: &str, other: &str) -> usize {
    let parts = one.split('/').zip(other.split('/'));
    parts.take_while(|(one, other)| one == other).count()
}

/// A heading as it is compared: its letters and digits, in lower case.
fn folded(heading: &str) -> String {
    heading
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_relative_to_the_folder_of_the_file() {
        let from = |target: &str| joined("/notes/a/b.md", target);
        assert_eq!(from("c.md").as_deref(), Some("/notes/a/c.md"));
        assert_eq!(from("../c/./d.md").as_deref(), Some("/notes/c/d.md"));
        assert_eq!(from("..").as_deref(), Some("/notes"));
        assert_eq!(from("../../../../etc"), None);
        assert_eq!(folded("## Set up: Step 1"), folded("set-up-step-1"));
    }
}
