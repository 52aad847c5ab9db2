//! Chapter 18: projects and their wings. Applies to backends whose collections return `projects`.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{
    Batch, Collection, DrawerRef, IncomingProject, Link, LinkEnd, Metadata, MetadataPatch,
    MinedGroup, Moved, PalaceRef, Project, ProjectRecord, Projects, TakenWing, WingRequest,
};
use serde_json::{Value, json};

use crate::Fixture;
use crate::scene::{DRAWERS, drawer, open, plain};

/// A new collection; `None` if the backend stores no projects.
fn fresh(fixture: &dyn Fixture) -> Option<(PalaceRef, Arc<dyn Collection>)> {
    let palace = fixture.fresh_palace();
    let collection = open(fixture, &palace, DRAWERS, &plain()).unwrap();
    collection.projects()?;
    Some((palace, collection))
}

fn of(collection: &Arc<dyn Collection>) -> &dyn Projects {
    collection.projects().unwrap()
}

/// A repository `api` in `/src/OWNER/api`.
fn repository(owner: &str) -> Project {
    Project {
        name: "api".into(),
        owner: Some(owner.into()),
        remote: Some(format!("example.org/{owner}/api")),
        path: format!("/src/{owner}/api"),
        is_repository: true,
        ..Project::default()
    }
}

/// The same without a remote.
fn local(owner: &str, first_commit: Option<&str>) -> Project {
    Project {
        remote: None,
        first_commit: first_commit.map(str::to_owned),
        ..repository(owner)
    }
}

fn folder(path: &str) -> Project {
    let mut parts = path.rsplit('/');
    Project {
        name: parts.next().unwrap().into(),
        owner: parts.next().map(str::to_owned),
        path: path.into(),
        ..Project::default()
    }
}

fn claimed(collection: &Arc<dyn Collection>, project: &Project) -> String {
    of(collection).claim_wing(project).unwrap().wing
}

fn looked_up(collection: &Arc<dyn Collection>, project: &Project) -> String {
    of(collection).wing_of(project).unwrap().wing
}

fn recorded(collection: &Arc<dyn Collection>) -> usize {
    of(collection).projects().unwrap().len()
}

fn add(collection: &Arc<dyn Collection>, id: &str, metadata: &Value) {
    collection.add(&drawer(id, id, metadata)).unwrap();
}

pub fn s18_1_looking_up_a_wing_records_nothing(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    let claim = of(&drawers).wing_of(&repository("acme")).unwrap();
    assert_eq!((claim.wing.as_str(), claim.is_new), ("api", true));
    assert!(claim.instead_of.is_none() && !claim.is_complete);
    assert_eq!(recorded(&drawers), 0);
}

pub fn s18_2_a_claim_records_the_project_once(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    let first = of(&drawers).claim_wing(&repository("acme")).unwrap();
    assert!(first.is_new);
    let again = of(&drawers).claim_wing(&repository("acme")).unwrap();
    assert!(!again.is_new && again.is_complete);
    let records = of(&drawers).projects().unwrap();
    let expected = ProjectRecord {
        wing: "api".into(),
        name: "api".into(),
        remote: Some("example.org/acme/api".into()),
        first_commit: None,
        path: "/src/acme/api".into(),
        since: records[0].since,
    };
    assert_eq!(records, [expected]);
}

pub fn s18_3_another_project_of_the_name_gets_a_wing_of_its_own(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    assert_eq!(claimed(&drawers, &repository("acme")), "api");
    assert_eq!(looked_up(&drawers, &repository("other")), "other/api");
    let second = of(&drawers).claim_wing(&repository("other")).unwrap();
    assert_eq!(second.wing, "other/api");
    let taken = TakenWing {
        wing: "api".into(),
        holder: Some("example.org/acme/api".into()),
    };
    assert_eq!(second.instead_of, Some(taken));
    let elsewhere = |host: &str| Project {
        remote: Some(format!("{host}/other/api")),
        path: format!("/{host}/api"),
        ..repository("other")
    };
    assert_eq!(claimed(&drawers, &elsewhere("one")), "other/api-2");
    assert_eq!(claimed(&drawers, &elsewhere("two")), "other/api-3");
    assert_eq!(claimed(&drawers, &folder("/home/me/api")), "me/api");
    assert_eq!(claimed(&drawers, &repository("acme")), "api");
}

pub fn s18_4_folders_with_one_remote_are_one_project(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    claimed(&drawers, &repository("acme"));
    let clone = Project {
        name: "copy".into(),
        path: "/tmp/copy".into(),
        ..repository("acme")
    };
    assert_eq!(looked_up(&drawers, &clone), "api");
    assert_eq!(claimed(&drawers, &clone), "api");
    assert_eq!(recorded(&drawers), 2);
    // The folder is known, even if only its name is left.
    assert_eq!(looked_up(&drawers, &folder("/tmp/copy")), "api");
    let worktree = Project {
        folders: vec!["/tmp/tree".into()],
        ..repository("acme")
    };
    assert_eq!(claimed(&drawers, &worktree), "api");
    assert_eq!(recorded(&drawers), 2);
}

pub fn s18_5_forks_are_two_projects(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    for (owner, wing) in [("acme", "api"), ("fork", "fork/api")] {
        let project = Project {
            first_commit: Some("c0ffee".into()),
            ..repository(owner)
        };
        assert_eq!(claimed(&drawers, &project), wing);
    }
}

pub fn s18_6_a_folder_is_the_recorded_project_unless_that_is_contradicted(fixture: &dyn Fixture) {
    let at = |owner: &str, commit: Option<&str>| Project {
        remote: Some(format!("example.org/{owner}/api")),
        ..local("me", commit)
    };
    for (before, now, wing) in [
        // It got its first remote; the remote moved; the folder was not a repository.
        (local("me", Some("c1")), at("acme", Some("c1")), "api"),
        (at("acme", Some("c1")), at("moved", Some("c1")), "api"),
        (folder("/src/me/api"), at("acme", Some("c1")), "api"),
        (local("me", None), at("acme", Some("c1")), "api"),
        (at("acme", Some("c1")), local("me", Some("c1")), "api"),
        (at("acme", Some("c1")), folder("/src/me/api"), "api"),
        // Another repository is there now.
        (at("acme", Some("c1")), at("other", Some("c2")), "me/api"),
        (at("acme", None), at("other", None), "me/api"),
        (local("me", Some("c1")), at("other", Some("c2")), "me/api"),
        (local("me", Some("c1")), local("me", Some("c2")), "me/api"),
        // Nobody checked whether it is another one.
        (local("me", Some("c1")), at("other", None), "me/api"),
        (at("acme", Some("c1")), local("me", None), "me/api"),
    ] {
        let Some((_, drawers)) = fresh(fixture) else {
            return;
        };
        assert_eq!(claimed(&drawers, &before), "api");
        let mined = json!({"wing": "api", "source_file": "/src/me/api/a.md"});
        add(&drawers, "a", &mined);
        let claim = of(&drawers).claim_wing(&now).unwrap();
        assert_eq!(claim.wing, wing, "{before:?}, then {now:?}");
        assert_eq!(claim.recorded_commit, before.first_commit);
        // The claim is found again, and a new remote is recorded.
        assert_eq!(looked_up(&drawers, &now), wing);
        let elsewhere = Project {
            path: "/elsewhere/api".into(),
            ..now.clone()
        };
        if now.remote.is_some() {
            assert_eq!(looked_up(&drawers, &elsewhere), wing, "{now:?}");
        }
    }
}

pub fn s18_7_without_remotes_one_first_commit_is_one_project(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    assert_eq!(claimed(&drawers, &local("a", Some("c1"))), "api");
    assert_eq!(claimed(&drawers, &local("b", Some("c1"))), "api");
    assert_eq!(claimed(&drawers, &local("c", Some("c2"))), "c/api");
    let clone = Project {
        folders: vec!["/src/c/api".into()],
        ..local("d", None)
    };
    assert_eq!(looked_up(&drawers, &clone), "c/api");
}

pub fn s18_8_a_wing_with_mined_drawers_is_for_the_folder_they_are_of(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    add(&drawers, "hand", &json!({"wing": "api"}));
    assert_eq!(looked_up(&drawers, &repository("acme")), "api");
    let mined = |file: &str| json!({"wing": "api", "source_file": file});
    add(&drawers, "a", &mined("/src/acme/api/a.md"));
    add(&drawers, "b", &mined("/src/other/api/b.md"));
    let talk = json!({"wing": "api", "source_file": "/talks/1", "folder": "/src/third/api/sub"});
    add(&drawers, "c", &talk);
    for owner in ["acme", "other", "third"] {
        assert_eq!(claimed(&drawers, &repository(owner)), "api", "{owner}");
    }
    for owner in ["fourth", "oth"] {
        let wing = format!("{owner}/api");
        assert_eq!(claimed(&drawers, &repository(owner)), wing);
    }
    add(
        &drawers,
        "d",
        &json!({"wing": "web", "source_file": "/other/web/x"}),
    );
    let claim = of(&drawers).wing_of(&folder("/src/web")).unwrap();
    assert_eq!(claim.wing, "src/web");
    assert_eq!(claim.instead_of.unwrap().holder, None);
}

pub fn s18_9_a_project_inside_another_keeps_its_drawers_to_itself(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    let inner = Project {
        path: "/src/acme/api/vendor/api".into(),
        ..repository("vendor")
    };
    assert_eq!(claimed(&drawers, &inner), "api");
    let file = "/src/acme/api/vendor/api/a.md";
    add(&drawers, "a", &json!({"wing": "api", "source_file": file}));
    let talk = json!({"wing": "api", "source_file": "/talks/1", "folder": inner.path});
    add(&drawers, "b", &talk);
    assert_eq!(claimed(&drawers, &repository("acme")), "acme/api");
}

pub fn s18_10_a_folder_that_is_gone_is_the_repository_recorded_above_it(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    claimed(&drawers, &repository("acme"));
    claimed(&drawers, &folder("/notes/plain"));
    let gone = |path: &str, above: &[&str]| Project {
        above: above.iter().map(|path| (*path).to_owned()).collect(),
        ..folder(path)
    };
    let below = gone(
        "/src/acme/api/tree",
        &["/src/acme/api", "/src/acme", "/src"],
    );
    assert_eq!(claimed(&drawers, &below), "api");
    assert_eq!(recorded(&drawers), 2, "nothing new is known of it");
    let plain = gone("/notes/plain/tree", &["/notes/plain", "/notes"]);
    assert_eq!(claimed(&drawers, &plain), "tree");
    assert_eq!(claimed(&drawers, &gone("/old/api", &["/old"])), "old/api");
}

pub fn s18_11_claims_of_several_threads_never_share_a_wing(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    let claim = |owner: usize| claimed(&drawers, &repository(&format!("o{}", owner / 2)));
    let wings: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || claim(at))).collect();
        threads
            .into_iter()
            .map(|each| each.join().unwrap())
            .collect()
    });
    let distinct: BTreeSet<&String> = wings.iter().collect();
    assert_eq!(distinct.len(), 4, "{wings:?}");
    assert!(wings.chunks(2).all(|pair| pair[0] == pair[1]), "{wings:?}");
    assert_eq!(recorded(&drawers), 4);
}

pub fn s18_12_projects_that_share_a_wing_can_leave_it(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    for owner in ["acme", "other"] {
        let file = format!("/src/{owner}/api/a.md");
        add(
            &drawers,
            owner,
            &json!({"wing": "api", "source_file": file}),
        );
        claimed(&drawers, &repository(owner));
    }
    let namesake = Project {
        remote: Some("elsewhere/other/api".into()),
        path: "/elsewhere/api".into(),
        ..repository("other")
    };
    let (keeps, leaves) = (repository("acme"), repository("other"));
    let claims = [
        (&keeps, None),
        (&leaves, Some("api")),
        (&namesake, Some("api")),
    ]
    .map(|(project, from)| WingRequest { project, from });
    let before = of(&drawers).projects().unwrap();
    let seen = of(&drawers).claim_wings(&claims, false).unwrap();
    assert_eq!(of(&drawers).projects().unwrap(), before);
    let done = of(&drawers).claim_wings(&claims, true).unwrap();
    assert_eq!(done, seen);
    let wings: Vec<&str> = done.iter().map(|claim| claim.wing.as_str()).collect();
    assert_eq!(wings, ["api", "other/api", "other/api-2"]);
    assert_eq!(looked_up(&drawers, &leaves), "other/api");
    assert_eq!(recorded(&drawers), 3);
    let again = of(&drawers).claim_wings(&claims, true).unwrap();
    assert_eq!(again[1].wing, "other/api");
}

pub fn s18_13_moving_a_group_changes_the_wing_and_nothing_else(fixture: &dyn Fixture) {
    let Some((palace, drawers)) = fresh(fixture) else {
        return;
    };
    let file = |name: &str| json!({"wing": "api", "source_file": name, "start_line": 1});
    add(&drawers, "a", &file("/x/a"));
    add(&drawers, "b", &file("/x/b"));
    let talk = |folder: &str| json!({"wing": "api", "source_file": "/t", "folder": folder});
    add(&drawers, "c", &talk("/x"));
    add(&drawers, "d", &talk("/y"));
    add(&drawers, "e", &json!({"wing": "api"}));
    let group = |source: &str, folder: Option<&str>| MinedGroup {
        source: source.into(),
        folder: folder.map(str::to_owned),
        drawers: 1,
    };
    let groups = of(&drawers).mined_groups("api").unwrap();
    let expected = [
        group("/t", Some("/x")),
        group("/t", Some("/y")),
        group("/x/a", None),
        group("/x/b", None),
    ];
    assert_eq!(groups, expected);
    for at in [0, 2] {
        let planned = of(&drawers).plan_move(&groups[at], "api", "x/api").unwrap();
        let moved = of(&drawers)
            .move_group(&groups[at], "api", "x/api")
            .unwrap();
        let one = Moved {
            moved: 1,
            ..Moved::default()
        };
        assert_eq!((planned, moved), (one, one));
        let again = of(&drawers)
            .move_group(&groups[at], "api", "x/api")
            .unwrap();
        assert_eq!(again, Moved::default());
    }
    let there = crate::scene::matching(&json!({"wing": "x/api"}));
    assert_eq!(crate::scene::ids(&*drawers, there), ["a", "c"]);
    let here = crate::scene::matching(&json!({"wing": "api"}));
    assert_eq!(crate::scene::ids(&*drawers, here), ["b", "d", "e"]);
    // The other wing has the same text at the same location. A drawer that is referred to, or has
    // more metadata, stays; a plain copy is removed.
    let there = json!({"wing": "x/api", "source_file": "/x/b", "start_line": 1});
    drawers.add(&drawer("b2", "b", &there)).unwrap();
    let left = Moved {
        left: 1,
        ..Moved::default()
    };
    let removed = Moved {
        removed: 1,
        ..Moved::default()
    };
    let tag = |value: Option<&str>| {
        let patch = MetadataPatch([("own".to_owned(), value.map(Into::into))].into());
        let batch = Batch::new(["b"]).metadatas([patch]);
        drawers.update(&batch).unwrap();
    };
    let both = || {
        let planned = of(&drawers).plan_move(&groups[3], "api", "x/api").unwrap();
        let moved = of(&drawers).move_group(&groups[3], "api", "x/api").unwrap();
        assert_eq!(planned, moved);
        moved
    };
    tag(Some("note"));
    assert_eq!(both(), left);
    tag(None);
    if let Some(relations) = fixture.backend().relations(&palace).unwrap() {
        let end = |id: &str| {
            LinkEnd::Drawer(DrawerRef {
                collection: DRAWERS.into(),
                id: id.into(),
            })
        };
        let link = Link {
            from: end("e"),
            to: end("b"),
            label: String::new(),
            metadata: Metadata::default(),
        };
        relations.add_links(std::slice::from_ref(&link)).unwrap();
        assert_eq!(both(), left);
        assert_eq!(relations.links(None, 9, 0).unwrap().len(), 1);
        relations.remove_links(&[link]).unwrap();
    }
    assert_eq!(both(), removed);
    assert_eq!(both(), Moved::default());
    let there = crate::scene::matching(&json!({"wing": "x/api"}));
    assert_eq!(crate::scene::ids(&*drawers, there), ["a", "c", "b2"]);
    let here = crate::scene::matching(&json!({"wing": "api"}));
    assert_eq!(crate::scene::ids(&*drawers, here), ["d", "e"]);
}

pub fn s18_14_records_of_another_palace_keep_their_wings_unless_known(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    claimed(&drawers, &repository("acme"));
    let record = |wing: &str, owner: &str, path: &str| ProjectRecord {
        wing: wing.into(),
        name: "api".into(),
        remote: Some(format!("example.org/{owner}/api")),
        first_commit: None,
        path: path.into(),
        since: 7,
    };
    let records = [
        record("else", "acme", "/src/acme/api"),
        record("else", "acme", "/clone/api"),
        record("mine", "other", "/other/api"),
    ];
    assert_eq!(of(&drawers).adopt_projects(&records).unwrap(), 2);
    assert_eq!(of(&drawers).adopt_projects(&records).unwrap(), 0);
    assert_eq!(looked_up(&drawers, &repository("acme")), "api");
    assert_eq!(looked_up(&drawers, &folder("/clone/api")), "api");
    assert_eq!(looked_up(&drawers, &repository("other")), "mine");
    let kept = of(&drawers).projects().unwrap();
    assert_eq!(kept.last(), Some(&records[2]));
    let with_user = record("x", "me:not-a-secret@host", "/x");
    assert!(of(&drawers).adopt_projects(&[with_user]).is_err());
    assert!(
        of(&drawers)
            .adopt_projects(&[record("", "x", "/x")])
            .is_err()
    );
    assert_eq!(recorded(&drawers), 3);
}

pub fn s18_15_collections_keep_their_projects_apart(fixture: &dyn Fixture) {
    let Some((palace, drawers)) = fresh(fixture) else {
        return;
    };
    claimed(&drawers, &repository("acme"));
    let other = open(fixture, &palace, "other", &plain()).unwrap();
    assert_eq!(claimed(&other, &repository("other")), "api");
    fixture
        .backend()
        .delete_collection(&palace, "other")
        .unwrap();
    let again = open(fixture, &palace, "other", &plain()).unwrap();
    assert_eq!((recorded(&again), recorded(&drawers)), (0, 1));
}

pub fn s18_16_projects_survive_the_instance_and_are_seen_by_others(fixture: &dyn Fixture) {
    let Some((palace, here)) = fresh(fixture).filter(|_| fixture.persistent()) else {
        return;
    };
    let other = fixture.reopen();
    let there = other
        .get_collection(&palace, DRAWERS, false, &plain())
        .unwrap();
    claimed(&here, &repository("acme"));
    assert_eq!(claimed(&there, &repository("other")), "other/api");
    drop(here);
    fixture.backend().close().unwrap();
    assert_eq!(looked_up(&there, &repository("acme")), "api");
}

pub fn s18_17_projects_of_an_import_get_wings_that_no_other_project_has(fixture: &dyn Fixture) {
    let Some((_, drawers)) = fresh(fixture) else {
        return;
    };
    let incoming = |wing: &str, owner: &str, path: &str| IncomingProject {
        record: ProjectRecord {
            wing: wing.into(),
            name: "api".into(),
            remote: Some(format!("example.org/{owner}/api")),
            first_commit: None,
            path: path.into(),
            since: 7,
        },
        owner: Some(owner.into()),
    };
    let wings = |incoming: &[IncomingProject]| -> Vec<String> {
        let placed = of(&drawers).place_projects(incoming).unwrap();
        placed.into_iter().map(|placed| placed.wing).collect()
    };
    // This palace is empty, so they keep their wings, including one that they share.
    let first = [
        incoming("shared", "one", "/one/api"),
        incoming("shared", "two", "/two/api"),
    ];
    assert_eq!(wings(&first), ["shared", "shared"]);
    claimed(&drawers, &repository("acme"));
    let others = [
        incoming("api", "other", "/other/api"),
        incoming("api", "other", "/clone/api"),
        incoming("else", "acme", "/src/acme/api"),
        incoming("shared", "two", "/two/api"),
        incoming("shared", "third", "/third/api"),
        incoming("free", "fourth", "/fourth/api"),
    ];
    let expected = [
        "other/api",
        "other/api",
        "api",
        "shared",
        "third/api",
        "free",
    ];
    assert_eq!(wings(&others), expected);
    let again = of(&drawers).place_projects(&others).unwrap();
    let holders: Vec<Option<&str>> = again
        .iter()
        .map(|placed| placed.holder.as_deref())
        .collect();
    let acme = Some("example.org/acme/api");
    let one = Some("example.org/one/api");
    assert_eq!(holders, [acme, acme, None, None, one, None]);
    assert!(again.iter().all(|placed| !placed.is_new));
    assert_eq!(wings(&others), expected);
    // Projects that keep their wing are placed before those that get a new one.
    let mut late = [
        incoming("free", "fifth", "/fifth/web"),
        incoming("web", "sixth", "/sixth/web"),
    ];
    for incoming in &mut late {
        incoming.record.name = "web".into();
    }
    assert_eq!(wings(&late), ["fifth/web", "web"]);
    // Drawers of others count even if no project is recorded for them.
    add(
        &drawers,
        "a",
        &json!({"wing": "old", "source_file": "/elsewhere/a"}),
    );
    assert_eq!(
        wings(&[incoming("old", "seventh", "/seventh/api")]),
        ["seventh/api"]
    );
    let before = recorded(&drawers);
    let refused = [
        incoming("good", "eighth", "/eighth/api"),
        incoming("", "x", "/x"),
    ];
    assert!(of(&drawers).place_projects(&refused).is_err());
    assert_eq!(recorded(&drawers), before);
}
