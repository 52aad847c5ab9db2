//! What a palace answers, and the comparison with what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use serde_json::Value;

use super::home::Home;
use super::process::short;
use super::round::Drawers;
use super::texts;

/// All drawers of a palace.
#[derive(Default)]
pub(super) struct Seen {
    /// Drawers that were not mined, in the order of the answer.
    pub(super) order: Vec<String>,
    pub(super) drawers: Drawers,
    /// Texts of mined drawers by source.
    pub(super) mined: BTreeMap<String, Vec<String>>,
}

impl Seen {
    /// Asks the palace. An id that comes twice is an error.
    pub(super) fn of(home: &Home) -> anyhow::Result<Self> {
        Self::from(&home.json(&["list", "--limit", "1000000"])?)
    }

    /// An answer of a palace to which nobody writes.
    pub(super) fn from(answer: &Value) -> anyhow::Result<Self> {
        let seen = Self::beside_writers(answer)?;
        // Drawers that cannot be read are left out with a warning.
        let is_warned = answer["warnings"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        let listed = answer["drawers"].as_array().map_or(0, Vec::len);
        if !is_warned && answer["total"].as_u64() != Some(listed as u64) {
            let total = &answer["total"];
            bail!("an answer lists {listed} drawers, warns of nothing, and says `total` {total}");
        }
        Ok(seen)
    }

    /// An answer beside writers: `total` may be of another moment than the page.
    pub(super) fn beside_writers(answer: &Value) -> anyhow::Result<Self> {
        let mut seen = Self::default();
        let mut ids = BTreeSet::new();
        let drawers = answer["drawers"].as_array().context("no drawers listed")?;
        for drawer in drawers {
            let id = drawer["id"].as_str().unwrap_or_default().to_owned();
            let text = drawer["text"].as_str().unwrap_or_default().to_owned();
            if !ids.insert(id.clone()) {
                bail!("drawer `{id}` is listed twice");
            }
            match drawer["metadata"]["source_file"].as_str() {
                Some(source) => seen.mined.entry(source.to_owned()).or_default().push(text),
                None => {
                    seen.order.push(id.clone());
                    seen.drawers.insert(id, text);
                }
            }
        }
        Ok(seen)
    }

    /// Marks in the drawers of a source, sorted.
    pub(super) fn marks(&self, source: &str) -> Vec<String> {
        let texts = self
            .mined
            .get(source)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut marks: Vec<String> = texts
            .iter()
            .flat_map(|text| texts::marks(text).map(str::to_owned))
            .collect();
        marks.sort();
        marks
    }

    /// Every acknowledged drawer must be there, word for word; what is there besides must be in
    /// `possible`.
    pub(super) fn must_hold(
        &self,
        acknowledged: &Drawers,
        possible: &Drawers,
    ) -> anyhow::Result<()> {
        let lost: Vec<&str> = acknowledged
            .keys()
            .filter(|id| !self.drawers.contains_key(*id))
            .map(String::as_str)
            .collect();
        if let Some(first) = lost.first() {
            let (lost, all) = (lost.len(), acknowledged.len());
            bail!("{lost} of {all} acknowledged drawers are lost, `{first}` first");
        }
        for (id, text) in &self.drawers {
            match acknowledged.get(id).or_else(|| possible.get(id)) {
                None => bail!(
                    "drawer `{id}` is there, but nobody wrote it: {}",
                    short(text)
                ),
                Some(expected) if expected != text && possible.get(id) != Some(text) => {
                    bail!(
                        "drawer `{id}` has another text than was written: {}",
                        short(text)
                    )
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(drawers: &[(&str, &str)]) -> anyhow::Result<Seen> {
        let drawers: Vec<Value> = drawers
            .iter()
            .map(|(id, text)| json!({"id": id, "text": text, "metadata": {}}))
            .collect();
        Seen::from(&json!({"total": drawers.len(), "drawers": drawers, "warnings": []}))
    }

    #[test]
    fn a_lost_a_changed_and_an_unknown_drawer_are_found_and_a_possible_one_is_allowed() {
        let known = Drawers::from([("a".into(), "one".into())]);
        let possible = Drawers::from([("b".into(), "two".into())]);
        let check = |drawers| seen(drawers).unwrap().must_hold(&known, &possible);
        assert!(check(&[("a", "one")]).is_ok());
        assert!(check(&[("a", "one"), ("b", "two")]).is_ok());
        assert!(check(&[]).is_err());
        assert!(check(&[("a", "other")]).is_err());
        assert!(check(&[("a", "one"), ("b", "half")]).is_err());
        assert!(check(&[("a", "one"), ("c", "three")]).is_err());
    }

    #[test]
    fn an_id_that_comes_twice_is_an_error() {
        assert!(seen(&[("a", "one"), ("a", "one")]).is_err());
    }

    #[test]
    fn marks_are_found_in_what_was_mined() {
        let text = texts::document("f0", 3, 2, 5);
        let marks: Vec<&str> = texts::marks(&text).collect();
        assert_eq!(marks, ["mark-f0-3-0", "mark-f0-3-1"]);
    }
}
