//! stub
use crate::finding::Finding;
use loci_core::{Metric, Result};
use std::path::Path;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorState {
    Good,
    NotFinite,
    NormOff,
    LengthBad,
    Cut,
}
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) label: u64,
    pub(crate) deleted: bool,
    pub(crate) vector: VectorState,
}
#[derive(Debug)]
pub(crate) struct Segment {}
impl Segment {
    pub(crate) fn open(_d: &Path, _m: Metric, _n: Option<usize>) -> Result<Option<Segment>> {
        Ok(None)
    }
    pub(crate) fn is_header_sound(&self) -> bool {
        true
    }
    pub(crate) fn dimension(&self) -> usize {
        0
    }
    pub(crate) fn elements(&self) -> &[Element] {
        &[]
    }
    pub(crate) fn count(&self) -> usize {
        0
    }
    pub(crate) fn findings(&self) -> &[Finding] {
        &[]
    }
    pub(crate) fn vector(&self, _index: usize) -> Result<Option<Vec<f32>>> {
        Ok(None)
    }
    pub(crate) fn unchanged(&self) -> bool {
        true
    }
}
