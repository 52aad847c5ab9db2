//! stub
pub(crate) struct LabelMap {
    pub(crate) pairs: Vec<(String, u64)>,
    pub(crate) disputed: u64,
    pub(crate) max_seq_id: Option<u64>,
    pub(crate) damage: Option<String>,
}
pub(crate) fn read(_bytes: &[u8]) -> LabelMap {
    LabelMap {
        pairs: vec![],
        disputed: 0,
        max_seq_id: None,
        damage: None,
    }
}
