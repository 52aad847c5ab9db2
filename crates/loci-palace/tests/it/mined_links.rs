//! Links and tags that mined files contain.

use loci_palace::{
    Detail, ErrorKind, Filter, KeyTest, Link, LinkEnd, MetaValue, MineOptions, Palace, Selection,
    links,
};
use serde_json::json;

use super::mined::{DRAWERS, Scene, mine, section, undo_of};
use super::support::{Row, contents};

fn id_in(palace: &Palace, file: &str, word: &str) -> String {
    let rows = contents(palace, DRAWERS);
    let is_it = |row: &Row| {
        let source = row
            .meta
            .get("source_file")
            .and_then(serde_json::Value::as_str);
        source.is_some_and(|source| source.ends_with(file))
            && row.text.as_deref().is_some_and(|text| text.contains(word))
    };
    let found = rows.iter().find(|(_, row)| is_it(row));
    found
        .unwrap_or_else(|| panic!("{file} has no drawer with {word}"))
        .0
        .clone()
}

fn place(id: &str) -> LinkEnd {
    LinkEnd::drawer(DRAWERS, id)
}

fn links_at(palace: &Palace, end: Option<LinkEnd>) -> Vec<Link> {
    let request = links::list::Request {
        place: end.map(Into::into),
        limit: 100,
        offset: 0,
    };
    let answer = palace.list_links(&request).unwrap();
    answer.links.into_iter().map(|of| of.link).collect()
}

/// The ends of all links of mined files, by the file and a word.
fn pairs(palace: &Palace) -> Vec<(String, String)> {
    let rows = contents(palace, DRAWERS);
    let name = |end: &LinkEnd| {
        let LinkEnd::Drawer(drawer) = end else {
            panic!("{end:?}")
        };
        let meta = &rows[&drawer.id].meta;
        let file = meta["source_file"].as_str().unwrap();
        let file = file.rsplit('/').next().unwrap();
        format!("{file}:{}", meta["start_line"])
    };
    let links = links_at(palace, None);
    links
        .iter()
        .map(|link| (name(&link.from), name(&link.to)))
        .collect()
}

fn pair(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

#[test]
fn wikilinks_and_relative_links_lead_to_the_first_drawer_or_to_that_of_the_heading() {
    let scene = Scene::new();
    scene.write(
        "a.md",
        "Start with [[Guide]] and [[Guide#Set up|how to]] and [that](sub/Other%20one.md#the-end).",
    );
    scene.write(
        "sub/Guide.md",
        format!("{}{}", section("Aims", 1), section("Set up", 2)),
    );
    scene.write(
        "sub/Other one.md",
        format!("{}{}", section("Begin", 3), section("The end", 4)),
    );
    let palace = scene.open();
    scene.mine(&palace);
    let from = id_in(&palace, "a.md", "Start");
    let found = links_at(&palace, Some(place(&from)));
    let guide = id_in(&palace, "Guide.md", "# Aims");
    let set_up = id_in(&palace, "Guide.md", "# Set up");
    let end = id_in(&palace, "Other one.md", "# The end");
    let to: Vec<LinkEnd> = found.iter().map(|link| link.to.clone()).collect();
    assert_eq!(to, [place(&guide), place(&set_up), place(&end)]);
    for link in &found {
        assert_eq!(
            (&link.from, link.label.as_str()),
            (&place(&from), "links to")
        );
        assert_eq!(link.metadata.get("mined"), Some(&MetaValue::Bool(true)));
    }
    assert_eq!(links_at(&palace, Some(place(&set_up))), [found[1].clone()]);
    let walk = palace
        .follow_links(&links::follow::Request {
            place: place(&end).into(),
            max_hops: 2,
            limit: 0,
        })
        .unwrap();
    let reached: Vec<&LinkEnd> = walk.reached.iter().map(|place| &place.end).collect();
    assert_eq!(reached[..2], [&place(&end), &place(&from)]);
    assert_eq!(reached.len(), 4);
}

#[test]
fn a_link_is_resolved_when_its_target_is_mined_and_goes_with_either_file() {
    let scene = Scene::new();
    scene.write("a.md", "See [[later]].");
    let palace = scene.open();
    scene.mine(&palace);
    assert_eq!(pairs(&palace), []);
    scene.write("later.md", "Here at last.");
    scene.mine(&palace);
    assert_eq!(pairs(&palace), [pair("a.md:1", "later.md:1")]);
    // Mining again adds nothing.
    mine(
        &palace,
        &scene.tree(),
        &MineOptions {
            force: true,
            ..MineOptions::default()
        },
    );
    assert_eq!(pairs(&palace), [pair("a.md:1", "later.md:1")]);
    // The target gets another text, and so another drawer.
    scene.write("later.md", "\nQuite another text, on another line.");
    scene.mine(&palace);
    assert_eq!(pairs(&palace), [pair("a.md:1", "later.md:2")]);
    scene.write("a.md", "See nothing.");
    let run = scene.mine(&palace).run.unwrap();
    assert_eq!(pairs(&palace), []);
    palace.undo(&undo_of(DRAWERS, run)).unwrap();
    assert_eq!(pairs(&palace), [pair("a.md:1", "later.md:2")]);
    let target = id_in(&palace, "later.md", "another");
    let selection = Selection::ids([target.as_str()]);
    palace
        .forget(&loci_palace::forget::Request::in_collection(
            DRAWERS, selection,
        ))
        .unwrap();
    assert_eq!(pairs(&palace), []);
}

#[test]
fn links_of_files_that_move_lead_on() {
    let scene = Scene::new();
    scene.write("one/a.md", "See [b](b.md) and [[b]].");
    scene.write("one/b.md", "The second.");
    let palace = scene.open();
    scene.mine(&palace);
    assert_eq!(pairs(&palace), [pair("a.md:1", "b.md:1")]);
    scene.rename("one/a.md", "two/a.md");
    scene.rename("one/b.md", "two/b.md");
    let report = scene.mine(&palace);
    assert_eq!(report.files.renamed, 2, "{report:?}");
    assert_eq!(pairs(&palace), [pair("a.md:1", "b.md:1")]);
}

#[test]
fn links_that_people_added_stay_and_mined_ones_can_only_be_removed_in_the_file() {
    let scene = Scene::new();
    scene.write("a.md", "See [[b]].");
    scene.write("b.md", "The second.");
    let palace = scene.open();
    scene.mine(&palace);
    let (a, b) = (
        place(&id_in(&palace, "a.md", "See")),
        place(&id_in(&palace, "b.md", "second")),
    );
    let request = |label: &str| links::Request {
        from: a.clone().into(),
        to: b.clone().into(),
        label: label.into(),
        detail: Detail::Full,
    };
    let refused = palace.remove_link(&request("links to")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
    palace.add_link(&request("explains")).unwrap();
    let labels = |palace: &Palace| -> Vec<String> {
        links_at(palace, Some(a.clone()))
            .into_iter()
            .map(|link| link.label)
            .collect()
    };
    assert_eq!(labels(&palace), ["explains", "links to"]);
    // A page goes over from stored links to those of files.
    for (offset, label) in [(0, "explains"), (1, "links to")] {
        let request = links::list::Request {
            place: Some(a.clone().into()),
            limit: 1,
            offset,
        };
        let page = palace.list_links(&request).unwrap();
        let found: Vec<&str> = page.links.iter().map(|of| of.link.label.as_str()).collect();
        assert_eq!(found, [label]);
    }
    mine(
        &palace,
        &scene.tree(),
        &MineOptions {
            force: true,
            ..MineOptions::default()
        },
    );
    assert_eq!(labels(&palace), ["explains", "links to"]);
    palace.remove_link(&request("explains")).unwrap();
    assert_eq!(labels(&palace), ["links to"]);
}

#[test]
fn a_wikilink_means_the_nearest_note_of_its_own_wing() {
    let scene = Scene::new();
    scene.write("x/.loci.toml", "wing = \"x\"\n");
    scene.write("x/a.md", "See [[note]] and [[deep/note]].");
    scene.write("x/note.md", "Beside it.");
    scene.write("x/far/deep/note.md", "Far away.");
    scene.write("y/.loci.toml", "wing = \"y\"\n");
    scene.write("y/b.md", "See [[a]] and [[note]].");
    scene.write("y/sub/note.md", "Of the other.");
    let palace = scene.open();
    scene.mine(&palace);
    let ends = |file: &str| -> Vec<LinkEnd> {
        let from = place(&id_in(&palace, file, "See"));
        let found = links_at(&palace, Some(from.clone()));
        found
            .into_iter()
            .filter(|link| link.from == from)
            .map(|link| link.to)
            .collect()
    };
    let note = |word: &str| place(&id_in(&palace, "note.md", word));
    assert_eq!(ends("x/a.md"), [note("Beside"), note("Far away")]);
    assert_eq!(ends("y/b.md"), [note("other")]);
}

#[test]
fn tags_are_a_list_that_filters_can_use_and_front_matter_gives_them_to_the_whole_file() {
    let scene = Scene::new();
    scene.write(
        "a.md",
        format!(
            "---\ntags: Garden, \"#Roses\"\n---\n{}{}\n\nAn #urgent/now word.\n",
            section("One", 1),
            section("Two", 2)
        ),
    );
    scene.write("b.md", "Nothing #123 #fff here.");
    let palace = scene.open();
    scene.mine(&palace);
    let tagged = |tag: &str| {
        let collection = palace.collection(DRAWERS, false).unwrap();
        let filter = Filter::Key {
            key: "tags".into(),
            test: KeyTest::Contains(tag.into()),
        };
        let get = loci_palace::Get::new(Selection::matching(filter));
        collection.get(&get).unwrap().ids.len()
    };
    assert_eq!(
        (tagged("garden"), tagged("roses"), tagged("urgent/now")),
        (2, 2, 1)
    );
    let two = &contents(&palace, DRAWERS)[&id_in(&palace, "a.md", "# Two")];
    assert_eq!(two.meta["tags"], json!(["garden", "roses", "urgent/now"]));
    // Tags go when they are removed, and somebody else's stay on files without any.
    let b = id_in(&palace, "b.md", "Nothing");
    let patch = loci_palace::MetadataPatch::from_json(&json!({"tags": ["mine"]})).unwrap();
    let collection = palace.collection(DRAWERS, false).unwrap();
    collection
        .update(&loci_palace::Batch::new([b]).metadatas([patch]))
        .unwrap();
    scene.write(
        "a.md",
        format!("{}{}", section("One", 1), section("Two", 2)),
    );
    mine(
        &palace,
        &scene.tree(),
        &MineOptions {
            force: true,
            ..MineOptions::default()
        },
    );
    assert_eq!(
        (tagged("garden"), tagged("urgent/now"), tagged("mine")),
        (0, 0, 1)
    );
}

#[test]
fn the_title_of_a_file_is_known_for_drawers_that_are_not_below_it() {
    let scene = Scene::new();
    scene.write(
        "a.md",
        format!(
            "Before the title. {}\n\n# The book\n\n{}",
            "Words. ".repeat(300),
            section("One", 1).replace("# ", "## ")
        ),
    );
    scene.write(
        "b.html",
        format!(
            "<title>The page</title><p>Words</p><h1>One</h1><p>{}</p>",
            "More words. ".repeat(20)
        ),
    );
    let palace = scene.open();
    scene.mine(&palace);
    let rows = contents(&palace, DRAWERS);
    for row in rows.values() {
        let heading = row
            .meta
            .get("heading")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        let title = row.meta.get("title").and_then(serde_json::Value::as_str);
        let file = row.meta["source_file"].as_str().unwrap();
        let wanted = if file.ends_with("a.md") {
            "The book"
        } else {
            "The page"
        };
        let is_below = heading.split(" > ").any(|step| step == wanted);
        assert_eq!(title, (!is_below).then_some(wanted), "{heading}");
    }
    assert!(rows.len() >= 3);
}
