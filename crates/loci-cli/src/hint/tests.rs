use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use loci_palace::why_not::Remedy;

use super::*;

/// The codes of all warnings. Programs depend on them: codes are added deliberately, and never
/// changed or removed.
const CODES: [&str; 67] = [
    "another_metric",
    "backup_damaged",
    "backup_left",
    "backup_not_recorded",
    "blank_query",
    "budget_cut",
    "budget_left_out",
    "budget_too_small",
    "by_source",
    "common_words",
    "compatible_embedder",
    "conditions_exclude_each_other",
    "conditions_unread",
    "conflict",
    "damaged",
    "damaged_relation",
    "damaged_row",
    "differing",
    "drawers_left_out",
    "drift",
    "duplicates_unknown",
    "earlier_table",
    "embedder_contradicted",
    "embedder_failed",
    "empty",
    "empty_query",
    "fact_ended",
    "filter_excludes_all",
    "forgotten",
    "hops_limited",
    "index_held_back",
    "index_set_aside",
    "instruction_like",
    "long_query",
    "max_distance",
    "min_probability",
    "model_missing",
    "no_effect",
    "no_embedder",
    "no_near_duplicates",
    "no_such_name",
    "no_such_predicate",
    "no_vectors",
    "none_holds",
    "not_compared",
    "not_mirrored",
    "nothing_ended",
    "other_collections",
    "other_speaker",
    "purge_pending",
    "quarantine",
    "read_only",
    "relations_not_kept",
    "settings_outside",
    "source_changed",
    "source_damaged",
    "source_missing",
    "spelling",
    "stand_in",
    "stop_words",
    "text_cut",
    "truth_went_back",
    "unknown_embedder",
    "unknown_place",
    "vector_dropped",
    "vectors_not_taken",
    "without_vector",
];

#[test]
fn the_codes_of_warnings_are_these() {
    let codes: BTreeSet<&str> = Warning::VARIANTS.iter().map(|(_, code)| *code).collect();
    assert_eq!(codes, BTreeSet::from(CODES));
}

/// One error of each variant.
fn errors() -> Vec<Error> {
    let text = |text: &str| text.to_owned();
    let waited = Duration::from_secs(1);
    let path = || "palace".into();
    vec![
        Error::PalaceNotFound { path: path() },
        Error::PalaceGone { path: path() },
        Error::CollectionNotInitialized {
            collection: text("notes"),
        },
        Error::BackendClosed {
            backend: text("sqlite"),
        },
        Error::UnsupportedFilter {
            operator: text("$near"),
            place: text("`where`"),
        },
        Error::UnsupportedCapability {
            capability: text("writing"),
            reason: text("it is only read"),
        }
        .advise(Advice::Import { path: None }),
        Error::DimensionMismatch {
            collection: text("notes"),
            expected: 3,
            got: 2,
        },
        Error::EmbedderMismatch {
            collection: text("notes"),
            pinned: text("minilm"),
            given: text("static"),
        },
        Error::BackendMismatch {
            path: path(),
            found: text("chroma"),
            asked: text("sqlite"),
        },
        Error::UnknownBackend {
            name: text("mysql"),
            known: vec![text("sqlite")],
        },
        Error::Conflict { what: text("x") },
        Error::Busy {
            what: text("writing"),
            waited,
        },
        Error::Locked {
            lock: text("`index.lock`"),
            holder: text("process 7"),
            waited,
        },
        Error::Corrupt {
            what: text("a row"),
            path: path(),
            detail: text("its checksum differs"),
        },
        Error::NewerFormat {
            path: path(),
            found: 9,
            supported: 1,
        },
        Error::invalid("k", "is too large"),
        Error::io("cannot read", "palace", io::ErrorKind::NotFound.into()),
        Error::ReadOnly {
            path: path(),
            reason: text("it belongs to another user"),
        },
        Error::Full { path: path() },
        Error::Internal {
            doing: text("writing"),
            detail: text("x"),
        },
    ]
}

fn names_a_command(words: &str) -> bool {
    words.contains("`loci ") || words.contains("--")
}

#[test]
fn no_message_of_a_library_names_a_command_or_a_flag() {
    for warning in Warning::samples() {
        let message = warning.message();
        assert!(!names_a_command(&message), "{message}");
    }
    for error in errors() {
        for words in [Some(error.to_string()), error.help()]
            .into_iter()
            .flatten()
        {
            assert!(!names_a_command(&words), "{words}");
        }
    }
}

#[test]
fn a_warning_that_a_command_helps_with_has_a_hint_that_names_it() {
    let mut hinted = BTreeSet::new();
    for warning in Warning::samples() {
        if let Some(hint) = of_warning(&warning, &None) {
            assert!(names_a_command(&hint), "{hint}");
            hinted.insert(warning.variant());
        }
    }
    let expected = BTreeSet::from([
        "BackupDamaged",
        "BudgetCut",
        "CompatibleEmbedder",
        "DamagedRecords",
        "DamagedRelations",
        "DamagedRows",
        "Differing",
        "DrawersLeftOut",
        "Drift",
        "EarlierTable",
        "Empty",
        "ForgottenLeftOut",
        "ImportedStandIn",
        "IndexHeldBack",
        "MinProbability",
        "ModelMissing",
        "NotCompared",
        "NothingEnded",
        "OtherCollections",
        "SourceDamaged",
        "StandIn",
        "TextCut",
        "UnknownEmbedder",
        "VectorsNotTaken",
        "WithoutVector",
    ]);
    assert_eq!(hinted, expected);
}

#[test]
fn a_hint_names_the_model_the_collection_and_the_path() {
    let said = |advice: Advice| words(&advice).unwrap();
    let model = Some("minilm".to_owned());
    assert!(
        said(Advice::Reembed {
            model: model.clone()
        })
        .contains("`loci reembed --model minilm`")
    );
    let kept = said(Advice::KeepVectors { model });
    assert!(kept.contains("`--collection NAME`"), "{kept}");
    assert!(kept.contains("`loci reembed --model minilm`"), "{kept}");
    let add = said(Advice::AddModel {
        model: "minilm".into(),
        can_pull: true,
    });
    assert!(add.contains("`loci model add PATH`"), "{add}");
    assert!(add.contains("`loci model pull minilm`"), "{add}");
    let drift = said(Advice::DiagnoseAndImport {
        path: "/old palace".into(),
    });
    assert!(drift.contains("`loci doctor '/old palace'`"), "{drift}");
    assert!(drift.contains("`loci import '/old palace'`"), "{drift}");
    let upgrade = |collection: &str| {
        said(Advice::UpgradeVectors {
            collection: collection.into(),
        })
    };
    assert!(upgrade("drawers").contains("`loci reembed --model static`"));
    let named = upgrade("old notes");
    assert!(
        named.contains("`loci reembed --model static --collection 'old notes'`"),
        "{named}"
    );
    let then = said(Advice::AddModelThenReembed {
        collection: "notes".into(),
    });
    assert!(then.contains("--model minilm --collection notes"), "{then}");
}

#[test]
fn an_id_that_is_not_one_plain_word_stands_in_no_command() {
    let id = "x`; rm -rf ~".to_owned();
    let hint = words(&Advice::ReadDrawer { id }).unwrap();
    assert_eq!(hint, "`loci get` shows all of it");
    let hint = words(&Advice::ReadDrawer { id: "d1".into() }).unwrap();
    assert_eq!(hint, "`loci get d1` shows all of it");
}

#[test]
fn each_warning_of_an_answer_has_its_hint_beside_its_message() {
    let warnings = Warning::samples();
    let direct = serde_json::to_string(&warnings).unwrap();
    let through = serde_json::json!({"warnings": warnings}).to_string();
    let direct: serde_json::Value =
        serde_json::from_str(&with_hints(direct, &warnings, &None)).unwrap();
    let through: serde_json::Value =
        serde_json::from_str(&with_hints(through, &warnings, &None)).unwrap();
    assert_eq!(direct, through["warnings"]);
    for (object, warning) in direct.as_array().unwrap().iter().zip(&warnings) {
        assert_eq!(object["code"], warning.code());
        assert_eq!(object["message"], warning.message());
        assert_eq!(
            object.get("hint").and_then(|hint| hint.as_str()),
            of_warning(warning, &None).as_deref()
        );
    }
}

fn conditions() -> Vec<Condition> {
    vec![
        Condition::Wing,
        Condition::Room,
        Condition::Source,
        Condition::Key { key: "n".into() },
        Condition::Metadata,
        Condition::Text,
        Condition::Since,
        Condition::Before,
        Condition::Period,
        Condition::Ids,
    ]
}

#[test]
fn what_why_not_advises_names_flags_of_the_command_line() {
    for (remedy, named) in [
        (
            Remedy::DropCondition {
                condition: Condition::Wing,
            },
            "`--wing`",
        ),
        (Remedy::MoreHits { k: 7 }, "`-k 7`"),
        (Remedy::AllowDistance, "`--max-distance`"),
        (Remedy::AllowSameSource, "`--by-source`"),
        (Remedy::RaiseBudget, "`--budget`"),
        (Remedy::AllowImprobable, "--min-probability 0"),
        (Remedy::ReadDrawer, "`loci get d1`"),
        (Remedy::EmbedIt, "`loci reembed"),
        (Remedy::SourceFitsLess, "`--source`"),
    ] {
        let words = Flags.remedy(&remedy, "d1");
        assert!(words.contains(named), "{words}");
    }
    let hostile = Flags.remedy(&Remedy::ReadDrawer, "x`; rm -rf ~");
    assert_eq!(hostile, "read it with `loci get`");
    let named: BTreeSet<String> = conditions().iter().map(|of| Flags.condition(of)).collect();
    assert_eq!(named.len(), conditions().len(), "{named:?}");
}

#[test]
fn what_repairs_a_finding_is_a_command_that_a_shell_can_run() {
    let path: &std::path::Path = "/old palace".as_ref();
    let words = [
        of_fix(&Fix::repair(path)),
        of_fix(&Fix::import(path)),
        of_fix(&Fix::PutBackUpInPlace {
            file: "tunnels.json".into(),
        }),
    ];
    assert_eq!(
        words,
        [
            "loci repair --chroma '/old palace'",
            "loci import '/old palace'",
            "put a backup of `tunnels.json` in its place",
        ]
    );
}

#[test]
fn what_to_do_about_wiring_is_a_command() {
    let agent = "cursor";
    let words = [
        of_wiring(&WiringAdvice::Connect { agent, hooks: true }),
        of_wiring(&WiringAdvice::Connect {
            agent,
            hooks: false,
        }),
        of_wiring(&WiringAdvice::ConnectAgain { agent, hooks: true }),
        of_wiring(&WiringAdvice::AddHooks { agent }),
        of_wiring(&WiringAdvice::ReplaceMempalace { agent }),
    ];
    let commands = [
        "`loci connect cursor --hooks`",
        "`loci connect cursor`",
        "`loci connect cursor --hooks`",
        "`loci connect cursor --hooks`",
        "`loci connect cursor --replace-mempalace`",
    ];
    for (words, command) in words.iter().zip(commands) {
        assert!(words.contains(command), "{words}");
    }
}
