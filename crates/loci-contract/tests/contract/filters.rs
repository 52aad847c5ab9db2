//! The reference backend selects exactly what `matches` accepts, for any filter.

use loci_contract::arbitrary;
use loci_contract::memory::MemoryBackend;
use loci_core::{
    Backend, Batch, CollectionOptions, DocumentFilter, Filter, Get, Metadata, PalaceRef, Selection,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn get_returns_exactly_what_the_filter_matches(
        drawers in prop::collection::vec((arbitrary::metadata(), arbitrary::document()), 0..12),
        filter in arbitrary::filter(),
        document_filter in prop::option::of(arbitrary::document_filter()),
    ) {
        let filter = Filter::parse(&filter).unwrap();
        let document_filter = document_filter.map(|json| DocumentFilter::parse(&json).unwrap());
        let metadatas: Vec<Metadata> =
            drawers.iter().map(|(json, _)| Metadata::from_json(json).unwrap()).collect();
        let mut batch = Batch::new((0..drawers.len()).map(|n| n.to_string()));
        batch = batch.metadatas(metadatas.clone());
        batch.documents = Some(drawers.iter().map(|(_, document)| document.clone()).collect());

        let backend = MemoryBackend::new();
        let palace = PalaceRef::local("palace");
        let options = CollectionOptions::default();
        let collection = backend.create_collection(&palace, "drawers", &options).unwrap();
        collection.add(&batch).unwrap();
        let selection = Selection {
            ids: None,
            filter: Some(filter.clone()),
            document: document_filter.clone(),
            ..Selection::default()
        };
        let found = collection.get(&Get::new(selection)).unwrap().ids;

        let expected: Vec<String> = drawers
            .iter()
            .zip(&metadatas)
            .enumerate()
            .filter(|(_, ((_, document), metadata))| {
                filter.matches(metadata, document.as_deref())
                    && document_filter.as_ref().is_none_or(|test| test.matches(document.as_deref()))
            })
            .map(|(at, _)| at.to_string())
            .collect();
        prop_assert_eq!(found, expected);
    }
}
