//! Lost rows of `embeddings`, with intact metadata, texts, labels and queue.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::super::scene::Scene;

/// Deletes the rows of the first collection that match a condition.
fn delete(scene: &Scene, condition: &str) {
    let segment = scene.metadata_segment();
    let sql = format!("DELETE FROM embeddings WHERE segment_id = '{segment}' AND {condition}");
    let database = scene.sql();
    assert!(database.execute(&sql, []).unwrap() > 0, "{condition}");
    database.close().unwrap();
}

/// A tenth of the rows, all adjacent.
pub fn together(scene: &Scene) {
    delete(scene, "id BETWEEN 350 AND 460");
}

/// The same, including a record that has neither text nor metadata.
pub fn around_a_bare_one(scene: &Scene) {
    delete(scene, "id BETWEEN 300 AND 430");
}

pub fn scattered(scene: &Scene) {
    delete(scene, "(id * 7919) % 10 = 3");
}

pub fn first(scene: &Scene) {
    delete(scene, "id <= 100");
}

pub fn last(scene: &Scene) {
    delete(scene, "id > (SELECT max(id) FROM embeddings) - 250");
}

/// The rows that the queue created.
pub fn queued(scene: &Scene) {
    let topic = scene.topic();
    delete(
        scene,
        &format!(
            "embedding_id IN (SELECT id FROM embeddings_queue WHERE topic = '{topic}' AND operation = 0)"
        ),
    );
}

/// The page of a tree to damage.
enum Page {
    Table,
    Index,
}

/// Numbers of leaf pages of the table, or of the index over its ids.
fn leaves(scene: &Scene, page: &Page) -> Vec<u32> {
    let file = loci_salvage::DatabaseFile::open(&scene.database(), None).unwrap();
    let schema = file.schema();
    let kind = match page {
        Page::Table => "table",
        Page::Index => "index",
    };
    let root = schema
        .iter()
        .find(|entry| entry.kind == kind && entry.table_name == "embeddings")
        .unwrap()
        .root_page;
    let mut pages = Vec::new();
    match page {
        Page::Table => {
            file.for_each_record(&mut |record| {
                if record.root == root {
                    pages.push(record.page);
                }
            });
        }
        Page::Index => {
            file.for_each_index_record(&mut |record| {
                if record.root == root && Some(record.page) != root {
                    pages.push(record.page);
                }
            });
        }
    }
    pages.dedup();
    pages
}

fn strike(scene: &Scene, page: &Page, noise: bool) {
    let pages = leaves(scene, page);
    let number = pages[pages.len() / 3];
    let mut bytes = vec![0; 4096];
    if noise {
        fastrand::Rng::with_seed(11).fill(&mut bytes);
    }
    let file = File::options().write(true).open(scene.database()).unwrap();
    file.write_all_at(&bytes, u64::from(number - 1) * 4096)
        .unwrap();
}

/// A page of the table. The index over its ids still has them.
pub fn page_zero(scene: &Scene) {
    strike(scene, &Page::Table, false);
}

pub fn page_noise(scene: &Scene) {
    strike(scene, &Page::Table, true);
}

pub fn index_page_zero(scene: &Scene) {
    strike(scene, &Page::Index, false);
}

/// The whole index and a page of the table. Only labels and order are left.
pub fn page_and_index_noise(scene: &Scene) {
    let pages = leaves(scene, &Page::Index);
    strike(scene, &Page::Table, true);
    let mut bytes = vec![0; 4096];
    fastrand::Rng::with_seed(12).fill(&mut bytes);
    let file = File::options().write(true).open(scene.database()).unwrap();
    for number in pages {
        file.write_all_at(&bytes, u64::from(number - 1) * 4096)
            .unwrap();
    }
}
