//! The requests that only a worker with a whole `Palace` serves, and the embedders of the tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loci_palace::{
    Collection, CollectionInfo, CollectionOptions, Compatibility, Embedder, EmbedderIdentity,
    Error, Fact, Filter, ForgetOutcome, Link, LinkEnd, Metadata, Meter, MineOptions, Palace,
    PalaceState, Period, Reading, RepairOptions, RepairReport, Restored, Result, Selection, Tree,
    VerifyReport, backup, forget, mine, restore, search, status, undo, verify,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use crate::operations::{Access, Op, Rng, Row, messages};

impl Access for Palace {
    fn collection(&self, name: &str, create: bool) -> Result<Arc<dyn Collection>> {
        self.collection(name, create)
    }

    fn collections(&self) -> Result<Vec<CollectionInfo>> {
        self.collections()
    }

    fn delete_collection(&self, name: &str) -> Result<()> {
        self.delete_collection(name)
    }

    fn state(&self) -> Result<PalaceState> {
        Ok(self.status(&status::Request::default())?.state)
    }

    fn forget(&self, collection: &str, selection: &Selection) -> Result<ForgetOutcome> {
        let request = forget::Request::in_collection(collection, selection.clone());
        let answer = self.forget(&request)?;
        Ok(ForgetOutcome {
            forgotten: answer.forgotten,
            facts: answer.facts,
            links: answer.links,
            purge_pending: answer.purge_pending,
            pending_reason: answer.pending_reason,
            removed_files: answer.removed_files,
        })
    }

    fn verify(&self, deep: bool) -> Result<VerifyReport> {
        self.verify(&verify::Request { deep })
    }

    fn repair(&self, options: RepairOptions) -> Result<RepairReport> {
        self.repair(&options)
    }

    fn backup(&self, target: &Path) -> Result<u64> {
        let target = target.to_owned();
        Ok(self.backup(&backup::Request { target })?.bytes)
    }

    fn restore(&self, backup: &Path, replace: bool) -> Result<Restored> {
        let backup = backup.to_owned();
        let answer = self.restore(&restore::Request { backup, replace })?;
        Ok(Restored {
            drawers: answer.restored,
            set_aside: answer.set_aside,
        })
    }

    fn close(&self) -> Result<()> {
        self.close()
    }
}

/// A line that the parent sends to a serving worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    Words {
        collection: String,
        query: String,
        k: usize,
    },
    /// A change whose texts get their vectors from the palace's embedder.
    Embed {
        collection: String,
        #[serde(flatten)]
        op: Op,
    },
    Search {
        collection: String,
        query: String,
        k: usize,
        #[serde(default)]
        filter: Option<Value>,
        #[serde(default)]
        since: Option<i64>,
        #[serde(default)]
        before: Option<i64>,
    },
    Counts {
        collection: String,
        ids: Vec<String>,
    },
    Reembed {
        collection: String,
        embedder: String,
    },
    /// Reads what is new below some folders.
    Mine {
        collection: String,
        roots: Vec<PathBuf>,
    },
    /// Takes back what a run did.
    Undo { collection: String, run: u64 },
    /// A request that every backend can serve.
    #[serde(untagged)]
    Store(crate::operations::Request),
}

impl Request {
    pub fn run(&self, palace: &Palace) -> Result<Value> {
        match self {
            Self::Store(request) => request.run(palace),
            Self::Words {
                collection,
                query,
                k,
            } => {
                let drawers = palace.collection(collection, false)?;
                let found = loci_palace::search_words(&*drawers, query, *k, &Selection::all())?;
                Ok(json!({
                    "ids": found.hits.iter().map(|hit| &hit.id).collect::<Vec<_>>(),
                    "warnings": messages(&found.warnings),
                }))
            }
            Self::Embed { collection, op } => {
                let (memory, _) = palace.memory(collection, true)?;
                op.run(palace, memory.collection.as_ref())
            }
            Self::Search {
                collection,
                query,
                k,
                filter,
                since,
                before,
            } => {
                let mut request = search::Request::new(query.clone());
                request.collection.clone_from(collection);
                request.k = *k;
                if let Some(filter) = filter {
                    request.selection = Selection::matching(Filter::parse(filter)?);
                }
                if since.is_some() || before.is_some() {
                    request.selection.period = Some(Period {
                        since: *since,
                        before: *before,
                    });
                }
                let found = palace.search(&request)?;
                Ok(told(&found))
            }
            Self::Counts { collection, ids } => Ok(json!(
                palace.collection(collection, false)?.access_counts(ids)?
            )),
            Self::Reembed {
                collection,
                embedder,
            } => {
                let embedder = embedder_named(palace, embedder)?;
                let request = loci_palace::reembed::Request {
                    collection,
                    embedder: embedder.as_ref(),
                };
                Ok(reembedded(&palace.reembed(&request, &mut |_| ())?))
            }
            Self::Mine { collection, roots } => {
                let report = palace.mine(&mine::Request {
                    collection,
                    source: &Tree::new(roots, Reading::default())?,
                    options: &MineOptions::default(),
                    meter: &Meter::default(),
                    stop: &AtomicBool::new(false),
                })?;
                Ok(json!(report))
            }
            Self::Undo { collection, run } => {
                let collection = collection.clone();
                Ok(json!(palace.undo(&undo::Request {
                    collection,
                    run: *run
                })?))
            }
        }
    }
}

/// The facts that a worker adds in one call.
pub fn facts_of(round: u64) -> Vec<Fact> {
    ["knows", "likes", "is"]
        .map(|predicate| Fact {
            subject: format!("person {round}"),
            predicate: predicate.into(),
            object: "somebody".into(),
            confidence: Some(0.5),
            ..Fact::default()
        })
        .into()
}

/// The link that a worker adds after them.
pub fn link_of(round: u64) -> Link {
    Link {
        from: LinkEnd::drawer("drawers", round.to_string()),
        to: LinkEnd::room("people", "somebody"),
        label: "about".into(),
        metadata: Metadata::default(),
    }
}

fn details(hit: &search::Hit) -> &search::HitDetails {
    hit.details.as_ref().expect("a full answer")
}

/// What a search answered, as far as tests look at it.
pub fn told(answer: &search::Answer) -> Value {
    let hits: Vec<Value> = answer
        .hits
        .iter()
        .map(|hit| {
            json!({
                "id": hit.id,
                "text": hit.text,
                "distance": details(hit).distance,
                "score": hit.score,
                "words": details(hit).matched_words,
                "lexical_rank": details(hit).lexical_rank,
                "semantic_rank": details(hit).semantic_rank,
                "also_in": hit.also_in,
            })
        })
        .collect();
    json!({"hits": hits, "in_scope": answer.in_scope, "warnings": messages(&answer.warnings)})
}

pub fn reembedded(done: &loci_palace::reembed::Answer) -> Value {
    json!({"drawers": done.drawers, "made": done.made, "resumed": done.resumed})
}

/// An embedder of our own: a vector that depends on every byte of the text, and on who made it.
#[derive(Debug, Clone)]
pub struct Fake(pub EmbedderIdentity);

impl Fake {
    pub fn new(name: &str, dimension: usize) -> Self {
        Self(EmbedderIdentity {
            name: name.into(),
            dimension,
            digest: "forged".into(),
        })
    }

    /// Takes the place of the real model.
    pub fn minilm() -> Self {
        Self::new("minilm", 384)
    }

    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut seed = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.0.name.bytes().chain(text.bytes()) {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Rng(seed).vector(self.0.dimension)
    }
}

impl Embedder for Fake {
    fn identity(&self) -> EmbedderIdentity {
        self.0.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    fn compatibility(&self, other: &EmbedderIdentity) -> Compatibility {
        if self.0 == *other {
            Compatibility::Same
        } else {
            Compatibility::Foreign
        }
    }
}

/// `static`, or a forged one: `minilm`, or a name and a dimension as in `fake-8`.
pub fn embedder_named(palace: &Palace, name: &str) -> Result<Arc<dyn Embedder>> {
    match name.split_once('-') {
        Some((fake, dimension)) => Ok(Arc::new(Fake::new(
            fake,
            dimension.parse().unwrap_or_default(),
        ))),
        None if name == "minilm" => Ok(Arc::new(Fake::minilm())),
        None => palace
            .embedder(name)?
            .ok_or_else(|| Error::invalid("embedder", "none")),
    }
}

/// A collection whose texts this embedder embeds.
pub fn embedding(
    palace: &Palace,
    name: &str,
    embedder: impl Embedder + 'static,
) -> Result<Arc<dyn Collection>> {
    let options = CollectionOptions {
        metric: None,
        embedder: Some(Arc::new(embedder)),
    };
    palace.collection_with(name, true, &options)
}
