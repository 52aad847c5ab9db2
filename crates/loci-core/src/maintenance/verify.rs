//! What a verification found.

use serde::Serialize;

/// Findings of one kind that are listed one by one.
const LISTED: usize = 100;

/// Something that does not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `missing`, `ghost`, `stale`, `damaged`, `count`, `orphan`, `postings`, `passages`, `labels`,
    /// `index`, `log`, `schema` (a table, index, view or trigger that is no part of a palace) or
    /// `database`.
    pub kind: &'static str,
    /// The collection, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The drawer, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The evidence.
    pub detail: String,
}

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// What does not agree, at most a hundred of each kind.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
    pub more: u64,
    /// Drawers looked at.
    pub drawers: u64,
    /// Whether rows, postings and codes were recomputed.
    pub deep: bool,
}

impl VerifyReport {
    /// Whether everything agrees.
    pub fn ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding, or counts it where its kind has enough.
    pub fn push(
        &mut self,
        kind: &'static str,
        collection: Option<&str>,
        id: Option<String>,
        detail: impl Into<String>,
    ) {
        if self
            .findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .count()
            < LISTED
        {
            self.findings.push(Finding {
                kind,
                collection: collection.map(str::to_owned),
                id,
                detail: detail.into(),
            });
        } else {
            self.more += 1;
        }
    }
}
