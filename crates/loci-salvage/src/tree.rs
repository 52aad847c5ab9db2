//! Assigns pages to trees, from the interior pages that are still readable. Trees in the schema
//! come first. Other pages belong to the topmost interior page that can be found. A page that two
//! trees of equal rank claim belongs to none.

use crate::btree::{BtreePage, Kind};
use crate::freelist::Freelist;
use crate::pages::Pages;
use crate::schema::{self, SchemaEntry};
use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Root(u32),
    Contested,
}

/// The trees of a file.
#[derive(Debug, Default)]
pub(crate) struct Forest {
    pub(crate) schema: Vec<SchemaEntry>,
    kinds: HashMap<u32, Kind>,
    /// Page 1 and the root pages in the schema.
    listed: HashSet<u32>,
    /// Pages that an interior page names, whatever they look like.
    named: HashSet<u32>,
    /// Interior pages without a child of their own kind.
    barren: HashSet<u32>,
    owners: HashMap<u32, Owner>,
}

impl Forest {
    pub(crate) fn grow(pages: &Pages, freelist: &Freelist) -> Self {
        let mut forest = Self::default();
        forest.classify(pages, freelist);
        let inner = forest.link(pages);

        forest.listed.insert(1);
        forest.claim(pages, 1);
        let mut leaves: Vec<u32> = forest.owners.keys().copied().collect();
        leaves.sort_unstable();
        forest.schema = schema::read(pages, leaves.into_iter());

        let roots: Vec<u32> = forest
            .schema
            .iter()
            .filter_map(|entry| entry.root_page)
            .collect();
        forest.listed.extend(&roots);
        for root in roots {
            forest.claim(pages, root);
        }
        let mut tops: Vec<u32> = forest
            .interior()
            .filter(|page| !inner.contains(page) && !forest.barren.contains(page))
            .collect();
        tops.sort_unstable();
        for top in tops {
            forest.claim(pages, top);
        }
        forest
    }

    /// The root of the tree that contains `page`.
    pub(crate) fn root_of(&self, page: u32) -> Option<u32> {
        match self.owners.get(&page) {
            Some(Owner::Root(root)) if *root != page || self.listed.contains(root) => Some(*root),
            _ => None,
        }
    }

    /// Whether a readable page expects content on this page.
    pub(crate) fn expects(&self, page: u32) -> bool {
        self.named.contains(&page) || self.listed.contains(&page)
    }

    pub(crate) fn is_barren(&self, page: u32) -> bool {
        self.barren.contains(&page)
    }

    fn classify(&mut self, pages: &Pages, freelist: &Freelist) {
        for number in pages.numbers() {
            let free = freelist.proven && freelist.pages.contains(&number);
            if free || pages.is_bookkeeping(number) {
                continue;
            }
            let Ok(bytes) = pages.read(number) else {
                continue;
            };
            if let Some(page) = BtreePage::parse(number, &bytes) {
                self.kinds.insert(number, page.kind);
            }
        }
    }

    /// Records the children of interior pages. Returns the pages that have a parent of their own
    /// kind.
    fn link(&mut self, pages: &Pages) -> HashSet<u32> {
        let mut inner = HashSet::new();
        let interior: Vec<u32> = self.interior().collect();
        for number in interior {
            let mut fertile = false;
            for child in children(pages, number) {
                if pages.has(child) {
                    self.named.insert(child);
                }
                if self.is_child(number, child) {
                    inner.insert(child);
                    fertile = true;
                }
            }
            if !fertile {
                self.barren.insert(number);
            }
        }
        inner
    }

    fn interior(&self) -> impl Iterator<Item = u32> + '_ {
        self.kinds
            .iter()
            .filter(|(_, kind)| kind.is_interior())
            .map(|(&page, _)| page)
    }

    fn is_child(&self, parent: u32, child: u32) -> bool {
        let sort = |page| self.kinds.get(&page).map(|kind| kind.is_table());
        child > 1 && child != parent && sort(child).is_some() && sort(parent) == sort(child)
    }

    /// Assigns every page that can be reached from `root` to it. Each page is entered at most
    /// twice, once to be owned and once to be contested, so cycles end.
    fn claim(&mut self, pages: &Pages, root: u32) {
        if !self.kinds.contains_key(&root) {
            return;
        }
        let mut open = vec![root];
        while let Some(page) = open.pop() {
            let owner = match self.owners.get(&page) {
                None => Owner::Root(root),
                Some(Owner::Root(other)) if *other != root && self.equals(*other, root) => {
                    Owner::Contested
                }
                Some(_) => continue,
            };
            self.owners.insert(page, owner);
            if self.kinds.get(&page).is_some_and(|kind| kind.is_interior()) {
                open.extend(
                    children(pages, page).into_iter().filter(|&child| {
                        self.is_child(page, child) && !self.listed.contains(&child)
                    }),
                );
            }
        }
    }

    fn equals(&self, root: u32, other: u32) -> bool {
        self.listed.contains(&root) == self.listed.contains(&other)
    }
}

fn children(pages: &Pages, number: u32) -> Vec<u32> {
    let Ok(bytes) = pages.read(number) else {
        return Vec::new();
    };
    BtreePage::parse(number, &bytes)
        .map(|page| page.children().collect())
        .unwrap_or_default()
}
