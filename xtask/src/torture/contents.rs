//! The contents of a palace, and the comparison with the acknowledged writes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use serde_json::Value;

use super::home::Home;
use super::process::short;
use super::round::Drawers;
use super::texts;

/// All drawers of a palace.
#[derive(Default)]
pub(super) struct Contents {
    /// Ids of drawers that were not mined, in the order of the answer.
    pub(super) order: Vec<String>,
    pub(super) drawers: Drawers,
    /// Texts of mined drawers by source.
    pub(super) mined: BTreeMap<String, Vec<String>>,
}

impl Contents {
    /// Lists the drawers of the palace. A duplicate id is an error.
    pub(super) fn of(home: &Home) -> anyhow::Result<Self> {
        Self::from(&home.json(&["list", "--limit", "1000000"])?)
    }

    /// Reads an answer of `loci list` that was given while nobody wrote.
    pub(super) fn from(answer: &Value) -> anyhow::Result<Self> {
        let contents = Self::during_writes(answer)?;
        // Drawers that cannot be read are left out with a warning.
        let is_warned = answer["warnings"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        let listed = answer["drawers"].as_array().map_or(0, Vec::len);
        if !is_warned && answer["total"].as_u64() != Some(listed as u64) {
            let total = &answer["total"];
            bail!("an answer lists {listed} drawers without a warning, but its `total` is {total}");
        }
        Ok(contents)
    }

    /// Reads an answer of `loci list` that was given while others wrote. Its `total` may be from
    /// another moment than the page, so it is not checked.
    pub(super) fn during_writes(answer: &Value) -> anyhow::Result<Self> {
        let mut contents = Self::default();
        let mut ids = BTreeSet::new();
        let drawers = answer["drawers"].as_array().context("no drawers listed")?;
        for drawer in drawers {
            let id = drawer["id"].as_str().unwrap_or_default().to_owned();
            let text = drawer["text"].as_str().unwrap_or_default().to_owned();
            if !ids.insert(id.clone()) {
                bail!("drawer `{id}` is listed twice");
            }
            match drawer["metadata"]["source_file"].as_str() {
                Some(source) => contents
                    .mined
                    .entry(source.to_owned())
                    .or_default()
                    .push(text),
                None => {
                    contents.order.push(id.clone());
                    contents.drawers.insert(id, text);
                }
            }
        }
        Ok(contents)
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

    /// Checks that every acknowledged drawer is there, word for word, and that all other drawers
    /// are in `possible`.
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

    fn contents(drawers: &[(&str, &str)]) -> anyhow::Result<Contents> {
        let drawers: Vec<Value> = drawers
            .iter()
            .map(|(id, text)| json!({"id": id, "text": text, "metadata": {}}))
            .collect();
        Contents::from(&json!({"total": drawers.len(), "drawers": drawers, "warnings": []}))
    }

    #[test]
    fn a_lost_a_changed_and_an_unknown_drawer_are_found_and_a_possible_one_is_allowed() {
        let known = Drawers::from([("a".into(), "one".into())]);
        let possible = Drawers::from([("b".into(), "two".into())]);
        let check = |drawers| contents(drawers).unwrap().must_hold(&known, &possible);
        assert!(check(&[("a", "one")]).is_ok());
        assert!(check(&[("a", "one"), ("b", "two")]).is_ok());
        assert!(check(&[]).is_err());
        assert!(check(&[("a", "other")]).is_err());
        assert!(check(&[("a", "one"), ("b", "half")]).is_err());
        assert!(check(&[("a", "one"), ("c", "three")]).is_err());
    }

    #[test]
    fn an_id_that_comes_twice_is_an_error() {
        assert!(contents(&[("a", "one"), ("a", "one")]).is_err());
    }

    #[test]
    fn marks_are_found_in_what_was_mined() {
        let text = texts::document("f0", 3, 2, 5);
        let marks: Vec<&str> = texts::marks(&text).collect();
        assert_eq!(marks, ["mark-f0-3-0", "mark-f0-3-1"]);
    }
}
