//! Masks secrets in everything that is written through a palace, by any front end.
//!
//! [`Palace`] hands out collections and relations only inside [`MaskingCollection`] and
//! [`MaskingRelations`], so a new front end cannot leave the masking out. The calls of [`Palace`]
//! that derive an id from a text, compare it or repeat it in their answer mask it first, with the
//! functions of this module; the wrapper then finds nothing more. `backup`, `restore`, `repair`
//! and `salvage` copy bytes below this layer and mask nothing.

mod collection;
mod ledger;
mod relations;

use std::borrow::Cow;
use std::collections::BTreeMap;

use loci_core::{
    Batch, Error, Fact, Link, MetaValue, Metadata, MetadataPatch, PalaceRef, Result, display_value,
};
pub use loci_secrets::{Policy, Tally, describe as describe_masked};

pub(crate) use self::collection::MaskingCollection;
pub(crate) use self::relations::MaskingRelations;
use crate::config::Config;
use crate::facts::Selector;
use crate::palace::{OpenOptions, Palace};

/// Keys that are not masked: drawers are found, filtered and linked by wing and room.
const KEYS: [&str; 2] = ["wing", "room"];

impl Palace {
    /// How secrets in written text are treated. Only the owner chooses, with `--keep-secrets` or
    /// with `secrets` in `palace.toml` or `config.toml`.
    pub fn secrets(&self) -> Policy {
        self.policy
    }

    /// A text as this palace would write it, for callers that cut it or derive an id from it.
    pub fn masked<'a>(&self, text: &'a str, tally: &mut Tally) -> Cow<'a, str> {
        mask_text(self.policy, text, tally)
    }

    /// A fact as this palace would write it, for callers that derive its id or look for equal
    /// facts.
    pub fn masked_fact(&self, mut fact: Fact, tally: &mut Tally) -> Fact {
        mask_fact(self.policy, &mut fact, tally);
        fact
    }
}

/// The policy of a palace, without opening it.
pub fn secret_policy(palace: &PalaceRef, options: &OpenOptions) -> Result<Policy> {
    if options.keep_secrets {
        return Ok(Policy::Keep);
    }
    policy_of(&Config::of_palace(palace)?, &Config::of_user()?)
}

/// The policy in the configuration. The palace's own file overrides the user's.
pub(crate) fn policy_of(of_palace: &Config, of_user: &Config) -> Result<Policy> {
    match of_palace.secrets.as_ref().or(of_user.secrets.as_ref()) {
        None => Ok(Policy::default()),
        Some(name) => Policy::parse(name).ok_or_else(|| {
            Error::invalid(
                "secrets",
                format!("{} is not one of mask, keep", display_value(name)),
            )
        }),
    }
}

/// The text as it is written.
pub(crate) fn mask_text<'a>(policy: Policy, text: &'a str, tally: &mut Tally) -> Cow<'a, str> {
    if policy == Policy::Keep {
        return Cow::Borrowed(text);
    }
    let masked = loci_secrets::mask(text, loci_secrets::Setting::Plain);
    for (kind, count) in masked.found {
        *tally.entry(kind.to_owned()).or_default() += u64::from(count);
    }
    masked.text
}

/// Shorter texts contain no secret.
const SHORTEST_SECRET: usize = 16;

/// Masks keys that contain a secret themselves.
fn mask_keys<T>(policy: Policy, values: &mut BTreeMap<String, T>, tally: &mut Tally) {
    let long = values.keys().filter(|key| key.len() >= SHORTEST_SECRET);
    let long: Vec<String> = long.cloned().collect();
    for key in long {
        let Cow::Owned(masked) = mask_text(policy, &key, tally) else {
            continue;
        };
        if let Some(value) = values.remove(&key) {
            // Two keys may become the same text; both values are kept.
            let mut free = masked.clone();
            let mut number = 2;
            while values.contains_key(&free) {
                free = format!("{masked} {number}");
                number += 1;
            }
            values.insert(free, value);
        }
    }
}

/// Masks keys and string values of metadata; the key of each value is its context.
pub(crate) fn mask_metadata(policy: Policy, metadata: &mut Metadata, tally: &mut Tally) {
    mask_keys(policy, &mut metadata.0, tally);
    for (key, value) in &mut metadata.0 {
        mask_value(policy, key, value, tally);
    }
}

/// [`mask_metadata`] for a mined drawer. The names of its source are kept, because the ledger uses
/// them.
pub(crate) fn mask_mined(policy: Policy, metadata: &mut Metadata, tally: &mut Tally) {
    let is_name = |key: &str| matches!(key, "source_file" | "export_file");
    mask_keys(policy, &mut metadata.0, tally);
    for (key, value) in metadata.0.iter_mut().filter(|(key, _)| !is_name(key)) {
        mask_value(policy, key, value, tally);
    }
}

pub(crate) fn mask_patch(policy: Policy, patch: &mut MetadataPatch, tally: &mut Tally) {
    mask_keys(policy, &mut patch.0, tally);
    for (key, value) in &mut patch.0 {
        if let Some(value) = value {
            mask_value(policy, key, value, tally);
        }
    }
}

fn mask_value(policy: Policy, key: &str, value: &mut MetaValue, tally: &mut Tally) {
    match value {
        MetaValue::Str(text) if !KEYS.contains(&key) => policy.apply_to_value(key, text, tally),
        MetaValue::List(items) => {
            for item in items {
                mask_value(policy, key, item, tally);
            }
        }
        MetaValue::Str(_) | MetaValue::Bool(_) | MetaValue::Int(_) | MetaValue::Float(_) => {}
    }
}

/// Masks subject, predicate, object and metadata of a fact. A predicate such as `password` is the
/// name of its object, as the left side of an assignment is.
pub(crate) fn mask_fact(policy: Policy, fact: &mut Fact, tally: &mut Tally) {
    let Fact {
        subject,
        predicate,
        object,
        metadata,
        ..
    } = fact;
    policy.apply_to_value(predicate, object, tally);
    policy.apply(subject, tally);
    policy.apply(predicate, tally);
    mask_metadata(policy, metadata, tally);
}

/// Masks the names by which facts are selected, so that they match the stored facts.
pub(crate) fn mask_selector(policy: Policy, selector: &Selector) -> Selector {
    let mut selector = selector.clone();
    let mut ignored = Tally::new();
    if let Some(object) = &mut selector.object {
        let name = selector.predicate.as_deref().unwrap_or_default();
        policy.apply_to_value(name, object, &mut ignored);
    }
    let names = [
        &mut selector.entity,
        &mut selector.subject,
        &mut selector.predicate,
    ];
    for name in names.into_iter().flatten() {
        policy.apply(name, &mut ignored);
    }
    selector
}

/// Masks label and metadata of a link.
pub(crate) fn mask_link(policy: Policy, link: &mut Link, tally: &mut Tally) {
    policy.apply(&mut link.label, tally);
    mask_metadata(policy, &mut link.metadata, tally);
}

/// The batch as it is written. Vectors are not changed.
pub(crate) fn mask_batch(policy: Policy, batch: &Batch) -> (Cow<'_, Batch>, Tally) {
    let mut tally = Tally::new();
    let mut clean = Cow::Borrowed(batch);
    if policy == Policy::Keep {
        return (clean, tally);
    }
    for (at, document) in batch.documents.iter().flatten().enumerate() {
        let Some(text) = document else { continue };
        if let Cow::Owned(text) = mask_text(policy, text, &mut tally)
            && let Some(document) = clean
                .to_mut()
                .documents
                .as_mut()
                .and_then(|documents| documents.get_mut(at))
        {
            *document = Some(text);
            // They were computed from the text with its secret.
            clean.to_mut().embedded = None;
        }
    }
    for (at, patch) in batch.metadatas.iter().flatten().enumerate() {
        let mut masked = patch.clone();
        mask_patch(policy, &mut masked, &mut tally);
        if masked != *patch
            && let Some(patch) = clean
                .to_mut()
                .metadatas
                .as_mut()
                .and_then(|patches| patches.get_mut(at))
        {
            *patch = masked;
        }
    }
    (clean, tally)
}

/// Adds the counts of one report to another.
pub fn merge(into: &mut Tally, from: &Tally) {
    for (kind, count) in from {
        *into.entry(kind.clone()).or_default() += count;
    }
}
