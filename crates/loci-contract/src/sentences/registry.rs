//! Chapter 13: backends by name, and which one serves a palace.

use std::sync::Arc;

use loci_core::{Backend, BackendChoice, DEFAULT_BACKEND, Error, PalaceRef, Registry};

use crate::Fixture;
use crate::memory::MemoryBackend;
use crate::scene::{DRAWERS, open, plain};

/// The fixture's backend and three others.
fn registry(fixture: &dyn Fixture) -> Registry {
    let mut registry = Registry::new();
    for name in ["gamma", "alpha", "beta"] {
        registry.register(Arc::new(MemoryBackend::named(name)));
    }
    registry.register(fixture.backend());
    registry
}

fn resolved(fixture: &dyn Fixture, choice: BackendChoice<'_>) -> loci_core::Result<&'static str> {
    let palace = fixture.fresh_palace();
    let found = registry(fixture).resolve(choice, &palace)?;
    Ok(found.name())
}

pub fn s13_1_a_registered_backend_is_found_by_its_name(fixture: &dyn Fixture) {
    let backend = fixture.backend();
    let found = registry(fixture).get(backend.name()).unwrap();
    assert!(Arc::ptr_eq(&found, &backend));
}

pub fn s13_2_an_unknown_name_is_an_error_that_lists_the_known_ones(fixture: &dyn Fixture) {
    match registry(fixture).get("nowhere") {
        Err(Error::UnknownBackend { name, known }) => {
            assert_eq!(name, "nowhere");
            assert!(known.is_sorted());
            assert_eq!(known.len(), 4);
            assert!(known.iter().any(|name| name == fixture.backend().name()));
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("`nowhere` was found"),
    }
}

pub fn s13_3_the_explicit_name_beats_the_config_and_that_the_environment(fixture: &dyn Fixture) {
    let mut choice = BackendChoice {
        explicit: Some("alpha"),
        config: Some("beta"),
        environment: Some("gamma"),
    };
    assert_eq!(resolved(fixture, choice).unwrap(), "alpha");
    choice.explicit = None;
    assert_eq!(resolved(fixture, choice).unwrap(), "beta");
    choice.config = None;
    assert_eq!(resolved(fixture, choice).unwrap(), "gamma");
}

pub fn s13_4_an_unknown_name_is_never_skipped(fixture: &dyn Fixture) {
    for choice in [
        BackendChoice {
            explicit: Some("nowhere"),
            config: Some("alpha"),
            environment: Some("alpha"),
        },
        BackendChoice {
            explicit: None,
            config: Some("nowhere"),
            environment: Some("alpha"),
        },
        BackendChoice {
            explicit: None,
            config: None,
            environment: Some("nowhere"),
        },
    ] {
        let found = resolved(fixture, choice);
        assert!(
            matches!(found, Err(Error::UnknownBackend { .. })),
            "{found:?}"
        );
    }
}

pub fn s13_5_registering_a_name_again_replaces_it(fixture: &dyn Fixture) {
    let mut registry = registry(fixture);
    let newer: Arc<dyn Backend> = Arc::new(MemoryBackend::named("beta"));
    registry.register(Arc::clone(&newer));
    assert!(Arc::ptr_eq(&registry.get("beta").unwrap(), &newer));
    assert_eq!(registry.names().len(), 4);
}

pub fn s13_6_what_is_on_disk_decides_when_nothing_is_named(fixture: &dyn Fixture) {
    if !fixture.persistent() {
        return;
    }
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let found = registry(fixture)
        .resolve(BackendChoice::default(), &palace)
        .unwrap();
    assert_eq!(found.name(), fixture.backend().name());
}

pub fn s13_7_a_name_beats_what_is_on_disk(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let choice = BackendChoice {
        environment: Some("alpha"),
        ..BackendChoice::default()
    };
    let found = registry(fixture).resolve(choice, &palace).unwrap();
    assert_eq!(found.name(), "alpha");
}

pub fn s13_8_the_default_serves_when_nothing_else_decides(fixture: &dyn Fixture) {
    let palace = fixture.fresh_palace();
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryBackend::named(DEFAULT_BACKEND)));
    registry.register(Arc::new(MemoryBackend::named("alpha")));
    let found = registry.resolve(BackendChoice::default(), &palace).unwrap();
    assert_eq!(found.name(), DEFAULT_BACKEND);
}

pub fn s13_9_a_url_is_served_by_the_backend_of_its_scheme_unless_one_is_named(
    fixture: &dyn Fixture,
) {
    let palace = PalaceRef::from("Memory://shared");
    let mut registry = Registry::new();
    registry.register(Arc::new(MemoryBackend::new()));
    registry.register(fixture.backend());
    let mut choice = BackendChoice {
        explicit: None,
        config: Some("nowhere"),
        environment: Some("nowhere"),
    };
    let found = registry.resolve(choice, &palace).unwrap();
    assert_eq!(found.name(), "memory");
    choice.explicit = Some(fixture.backend().name());
    let found = registry.resolve(choice, &palace).unwrap();
    assert_eq!(found.name(), fixture.backend().name());
}

pub fn s13_10_a_url_of_an_unknown_scheme_is_an_error_that_shows_no_password(fixture: &dyn Fixture) {
    let url = "nowhere://user:not-a-secret@host.example/palace?password=not-a-secret";
    let refused = registry(fixture).resolve(BackendChoice::default(), &PalaceRef::from(url));
    let Err(error) = refused else {
        panic!("a URL of an unknown scheme was served");
    };
    let all = format!("{error} {error:?}");
    assert!(all.contains("nowhere"), "{all}");
    assert!(!all.contains("secret"), "{all}");
}
