//! When drawers were added, for those that another program kept before they came here.

use loci_core::{PalaceRef, Result};

use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::store::Head;

impl SqliteBackend {
    /// Says when drawers were added, by id in milliseconds since 1970. Draws no number: neither text nor metadata change.
    pub fn date(
        &self,
        palace: &PalaceRef,
        collection: &str,
        added: &[(String, i64)],
    ) -> Result<()> {
        self.store(palace, false)?.write("dating drawers", |db| {
            let head = Head::read(&db.sql)?;
            let collection = CollectionRow::require(&db.sql, &head, collection)?.id;
            // A drawer without a date of its own is searched by when it was added.
            let mut passages = db.sql.prepare_cached(
                "UPDATE passages SET authored_at = ?3
                 FROM (SELECT row, created_at FROM drawers WHERE collection = ?1 AND id = ?2) AS d
                 WHERE passages.row = d.row AND passages.authored_at = d.created_at",
            )?;
            let mut drawers = db.sql.prepare_cached(
                "UPDATE drawers SET created_at = ?3, updated_at = ?3
                 WHERE collection = ?1 AND id = ?2 AND created_at <> ?3",
            )?;
            for (id, moment) in added {
                passages.execute((collection, id, moment))?;
                drawers.execute((collection, id, moment))?;
            }
            Ok(())
        })
    }
}
