//! One warning of each variant, for tests that look at all of them.

use super::Warning;
use crate::advice::Advice;
use crate::collection::Metric;
use crate::embedder::EmbedderIdentity;

impl Warning {
    /// One warning of each variant with sample data. For tests: front ends check their words for
    /// all warnings with it.
    #[doc(hidden)]
    pub fn samples() -> Vec<Self> {
        let text = |text: &str| text.to_owned();
        let embedder = |name: &str, dimension| EmbedderIdentity {
            name: name.to_owned(),
            dimension,
            digest: "0123456789abcdef0123".to_owned(),
        };
        let (table, model) = (embedder("static", 256), embedder("minilm", 384));
        vec![
            Self::OtherSpeaker,
            Self::BySource { skipped: 2 },
            Self::LongQuery { bytes_read: 4096 },
            Self::ManyWords {
                searched: 64,
                left_out: 3,
            },
            Self::BudgetCut {
                budget: 50,
                drawer: text("d1"),
                hits: 2,
            },
            Self::ConditionsUnread {
                conditions: vec![text("since:someday")],
            },
            Self::BudgetLeftOut {
                drawers: vec![text("d1"), text("d2")],
            },
            Self::TextCut {
                drawer: text("d1"),
                read: 40,
                characters: 90,
            },
            Self::DrawersLeftOut {
                budget: 50,
                drawers: vec![text("d1"), text("d2")],
            },
            Self::EmptyQuery,
            Self::StopWords,
            Self::Spelling {
                word: "Grafanna".into(),
                searched: "grafana".into(),
            },
            Self::CommonWords {
                limit: 1000,
                words: vec![text("house")],
            },
            Self::NotCompared {
                drawers: 3,
                model: text("minilm"),
            },
            Self::StandIn {
                drawers: 3,
                model: text("minilm"),
            },
            Self::ImportedStandIn {
                collection: text("drawers"),
                drawers: 3,
            },
            Self::WithoutVector {
                collection: text("drawers"),
                drawers: 3,
                other_embedder: 1,
                model: Some(text("minilm")),
            },
            Self::NoVectors {
                collection: text("drawers"),
                drawers: 3,
            },
            Self::max_distance(3, 0.7),
            Self::min_probability(4, 0.5),
            Self::EmbedderFailed {
                problem: text("the server did not answer"),
            },
            Self::NoEmbedder,
            Self::CompatibleEmbedder {
                pinned: model.clone(),
                used: table.clone(),
            },
            Self::EarlierTable {
                collection: text("drawers"),
            },
            Self::UnknownEmbedder {
                collection: text("drawers"),
                dimension: 3,
                embedder: table.clone(),
            },
            Self::ModelMissing {
                collection: text("drawers"),
                problem: text("`minilm` is not available"),
                stand_in: false,
                advice: Some(Advice::AddModel {
                    model: text("minilm"),
                    can_pull: true,
                }),
            },
            Self::FilterExcludesAll {
                collection: text("drawers"),
                drawers: 7,
            },
            Self::ConditionsExcludeEachOther {
                conditions: vec![(text("wing"), 2), (text("since"), 1)],
            },
            Self::UnknownPlace {
                kind: text("wing"),
                name: text("alise"),
                known: Some(vec![text("alice")]),
            },
            Self::DamagedRows {
                drawers: 1,
                names: vec![text("`d1`")],
            },
            Self::DamagedRelations {
                names: vec![text("fact `f1`")],
            },
            Self::DamagedRecords { records: 2 },
            Self::PurgePending,
            Self::IndexHeldBack {
                collection: text("drawers"),
                reason: text("it failed 3 times"),
            },
            Self::IndexSetAside {
                file: text("a.idx"),
                problem: text("its checksum differs"),
                moved_to: Some(text("a.idx.drift")),
            },
            Self::TruthWentBack { covered: 9, seq: 5 },
            Self::ReadOnly {
                path: "palace".into(),
                reason: text("it belongs to another user"),
            },
            Self::VectorDropped {
                drawers: 1,
                first: text("d1"),
            },
            Self::NoNearDuplicates { reembedding: true },
            Self::DuplicatesUnknown {
                problem: text("the palace is busy"),
            },
            Self::SettingsOutside {
                path: "project/.loci.toml".into(),
            },
            Self::Drift {
                path: "old/palace".into(),
                collection: text("notes"),
                problem: text("1 of 2 drawers have no vector"),
            },
            Self::NotMirrored {
                problem: text("1 text is cut"),
            },
            Self::Quarantine {
                problem: text("1 vector becomes unreachable"),
            },
            Self::BackupLeft {
                path: "backups/old".into(),
                problem: text("it was cut"),
            },
            Self::BackupDamaged { records: 1 },
            Self::BackupNotRecorded {
                problem: text("the palace is read-only"),
            },
            Self::BudgetTooSmall { budget: 1 },
            Self::InstructionsLeftOut { passages: 1 },
            Self::InstructionLike,
            Self::SourceMissing {
                collection: text("drawers"),
                drawer: text("d1"),
            },
            Self::FactEnded {
                statement: text("Alice lives in Lyon"),
                fact: text("f1"),
                ended: text("2026-01-01"),
            },
            Self::NoneHolds {
                facts: 2,
                as_of: Some(text("2026-01-01")),
                last: Some(text("Alice lives in Lyon until 2025-01-01")),
            },
            Self::NoSuchName {
                name: text("Alise"),
                near: vec![text("Alice")],
            },
            Self::NoSuchPredicate {
                predicate: text("lives"),
                near: vec![text("lives_in")],
            },
            Self::ConflictingFact {
                other: [text("Alice"), text("lives_in"), text("Lyon")],
            },
            Self::NothingEnded,
            Self::HopsLimited { limit: 10 },
            Self::RelationsNotKept,
            Self::SourceDamaged {
                path: "old/palace".into(),
                findings: vec![text("a page is unreadable")],
                more: 1,
            },
            Self::SourceChanged {
                path: "old/palace".into(),
            },
            Self::EmbedderContradicted {
                collection: text("notes"),
                problem: text("the model makes other vectors"),
            },
            Self::VectorsNotTaken {
                from: text("notes"),
                made_by: Some(model),
                into: text("drawers"),
                pinned: Some(table),
                model: Some(text("minilm")),
            },
            Self::VectorsIgnored {
                collection: text("drawers"),
                vectors: 2,
                dimension: 384,
            },
            Self::AnotherMetric {
                from: text("notes"),
                measured: Metric::L2,
                into: text("drawers"),
                measures: Metric::Cosine,
            },
            Self::ForgottenLeftOut {
                collection: text("notes"),
                records: 1,
            },
            Self::Differing {
                from: text("notes"),
                into: text("drawers"),
                drawers: 1,
                first: text("d1"),
            },
            Self::BlankQuery,
            Self::NoEffect {
                argument: text("mode"),
                reason: text("there is one way of searching"),
            },
            Self::OtherCollections {
                collection: text("drawers"),
                collections: vec![text("notes")],
            },
            Self::Empty {
                problem: text("no palace"),
            },
        ]
    }
}
