//! recall: what both arms find, with all that a judge needs to know of it, and the drawers that were chosen: as of one
//! commit.

use std::collections::{HashMap, HashSet};

use loci_core::{
    Error, Evidence, Findings, Judge, MAX_DEPTH, Placed, Probe, ProbedTerm, RecallResult, Recalled,
    SourceEvidence,
};
use loci_index::QueryVector;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteCollection;
use super::lexical::Lexical;
use super::meta::changed_embedder;
use super::other;
use super::query::{Reading, excludes_all, with_view};
use super::read::Damaged;
use super::rowset::RowSet;
use crate::fault::Attempt;

/// Drawers of one source that are read at most for what the source holds as a whole, and of all sources.
const SOURCE_MEMBERS: usize = 2_000;
const MEMBERS: usize = 10_000;

pub(crate) fn recall(
    collection: &SqliteCollection,
    probe: &Probe<'_>,
    judge: &mut dyn Judge,
) -> loci_core::Result<RecallResult> {
    for (name, depth) in [("depth", probe.depth), ("near", probe.near)] {
        if depth == 0 || depth > MAX_DEPTH {
            return Err(Error::invalid(
                name,
                format!("{depth}; must be 1 to {MAX_DEPTH}"),
            ));
        }
    }
    for (at, vector) in probe.vectors.iter().enumerate() {
        loci_core::validate_vector(&format!("query vector {at}"), &vector.vector)?;
    }
    let (mut result, warnings) = with_view(collection, "searching", |reading, damaged| {
        let db = &reading.db.sql;
        let set = collection
            .evaluator(reading.db, reading.row)
            .selection(probe.selection)?;
        let mut result = RecallResult::default();
        result
            .warnings
            .extend(excludes_all(reading.row, set.as_ref()));
        let mut findings = Search {
            reading,
            set: set.as_ref(),
            probe,
        }
        .run(&mut result, damaged)?;
        let shortlist = judge.shortlist(&findings);
        compare(reading, probe, &mut findings.evidence, &shortlist)?;
        let narrowed = judge.narrow(&findings);
        read_tokens(db, &mut findings.evidence, &narrowed)?;
        for record in judge.choose(&findings) {
            result.drawers.extend(fetch(db, record, damaged)?);
        }
        Ok(result)
    })?;
    result.warnings.extend(warnings);
    Ok(result)
}

/// Reads the tokens of these drawers and of their neighbours.
fn read_tokens(db: &Connection, evidence: &mut [Evidence], narrowed: &[usize]) -> Attempt<()> {
    let mut wanted: Vec<usize> = narrowed.to_vec();
    for found in narrowed.iter().filter_map(|at| evidence.get(*at)) {
        wanted.extend(found.before.iter().chain(&found.after));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let mut statement = db.prepare_cached("SELECT tokens FROM passages WHERE row = ?1")?;
    for at in wanted {
        let Some(found) = evidence.get_mut(at) else {
            continue;
        };
        let mut rows = statement.query([found.record as i64])?;
        if let Some(columns) = rows.next()? {
            let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
            let (tokens, _) = bytes.as_chunks::<2>();
            found.tokens = tokens
                .iter()
                .map(|token| u16::from_le_bytes(*token))
                .collect();
        }
    }
    Ok(())
}

/// Distances of shortlisted drawers that the semantic arm did not name.
fn compare(
    reading: &Reading<'_>,
    probe: &Probe<'_>,
    evidence: &mut [Evidence],
    shortlist: &[usize],
) -> Attempt<()> {
    for (space, vector) in probe.vectors.iter().enumerate() {
        let query = QueryVector::new(reading.row.metric, &vector.vector);
        let mut statement = reading.db.sql.prepare_cached(match &vector.space {
            None => "SELECT vector FROM vectors WHERE row = ?1 AND ?2 IS NULL",
            Some(_) => other::ONE_SQL,
        })?;
        let identity = vector.space.as_ref().map(other::to_json).transpose()?;
        for at in shortlist {
            let Some(found) = evidence
                .get_mut(*at)
                .filter(|found| found.distance.is_none())
            else {
                continue;
            };
            let mut rows = statement.query(params![found.record as i64, identity])?;
            if let Some(columns) = rows.next()? {
                let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
                found.distance = query
                    .distance_to_bytes(bytes)
                    .filter(|distance| !distance.is_nan());
                found.space = space;
            }
        }
    }
    Ok(())
}

fn fetch(db: &Connection, record: u64, damaged: &mut Damaged) -> Attempt<Option<Recalled>> {
    let Some(drawer) = damaged.fetch(db, record)? else {
        return Ok(None);
    };
    let (created_at, updated_at) = db
        .prepare_cached("SELECT created_at, updated_at FROM drawers WHERE row = ?1")?
        .query_row([record as i64], |row| {
            let moment =
                |at| Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_i64().unwrap_or_default());
            Ok((moment(0)?, moment(1)?))
        })?;
    Ok(Some(Recalled {
        record,
        id: drawer.id,
        document: drawer.text,
        metadata: drawer.metadata,
        created_at,
        updated_at,
    }))
}

struct Search<'a> {
    reading: &'a Reading<'a>,
    set: Option<&'a RowSet>,
    probe: &'a Probe<'a>,
}

impl Search<'_> {
    fn run(&self, result: &mut RecallResult, damaged: &mut Damaged) -> Attempt<Findings> {
        let (db, row, probe) = (self.reading.db, self.reading.row, self.probe);
        let lexical = Lexical::new(
            db,
            row,
            probe.query,
            self.set,
            probe.depth.div_ceil(2),
            &mut result.warnings,
        )?;
        let mut board = Board::new(&db.sql, row.id, self.set, &lexical);
        for (at, (record, score)) in lexical.best(&db.sql, probe.depth)?.into_iter().enumerate() {
            let placed = Placed {
                rank: at + 1,
                value: score,
            };
            if let Some(evidence) = board.admit(record)? {
                evidence.lexical = Some(placed);
            }
        }
        let mut compared = 0;
        for (space, vector) in probe.vectors.iter().enumerate() {
            if vector.pinned != row.embedder {
                return Err(changed_embedder(row, vector.pinned.as_ref()).into());
            }
            let nearest = match &vector.space {
                None => {
                    row.check_dimension(vector.vector.len())?;
                    self.reading
                        .nearest(&vector.vector, probe.near, self.set, damaged)?
                }
                Some(identity) => {
                    compared += other::count(&db.sql, row.id, Some(identity))?.1;
                    other::nearest(
                        &db.sql,
                        row,
                        identity,
                        &vector.vector,
                        probe.near,
                        self.set,
                        damaged,
                    )?
                }
            };
            for (at, (distance, record)) in nearest.into_iter().enumerate() {
                let placed = Placed {
                    rank: at + 1,
                    value: distance,
                };
                if let Some(evidence) = board.admit(record)?
                    && evidence.semantic.is_none()
                {
                    evidence.semantic = Some(placed);
                    evidence.distance = Some(distance);
                    evidence.space = space;
                }
            }
        }
        let (others, _) = other::count(&db.sql, row.id, None)?;
        board.add_context(probe.context)?;
        if probe.dates {
            board.find_dated()?;
        }
        let Board {
            evidence, sources, ..
        } = board;
        Ok(Findings {
            only_stop_words: lexical.only_stop_words,
            drawers: lexical.drawers,
            mean_length: lexical.mean_length(),
            in_scope: self.set.map_or(row.drawers, |set| set.len(row.drawers)),
            not_compared: others.saturating_sub(compared),
            stand_ins: compared,
            without_vector: row.drawers.saturating_sub(row.vectors + others),
            terms: lexical.terms,
            evidence,
            sources,
        })
    }
}

/// Collects evidence, each row once.
struct Board<'a> {
    db: &'a Connection,
    collection: i64,
    set: Option<&'a RowSet>,
    lexical: &'a Lexical<'a>,
    places: HashMap<u64, usize>,
    evidence: Vec<Evidence>,
    sources: Vec<SourceEvidence>,
}

/// A passage as the index of sources holds it.
struct Member {
    record: u64,
    length: u32,
    authored_at: i64,
    label: Vec<usize>,
}

impl<'a> Board<'a> {
    fn new(
        db: &'a Connection,
        collection: i64,
        set: Option<&'a RowSet>,
        lexical: &'a Lexical<'a>,
    ) -> Self {
        Self {
            db,
            collection,
            set,
            lexical,
            places: HashMap::new(),
            evidence: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// A row that an arm found; nothing if it has no passage.
    fn admit(&mut self, record: u64) -> Attempt<Option<&mut Evidence>> {
        let at = match self.places.get(&record) {
            Some(at) => *at,
            None => {
                let Some((member, source)) = self.read(record)? else {
                    return Ok(None);
                };
                self.push(member, source, true)
            }
        };
        Ok(self.evidence.get_mut(at))
    }

    fn read(&self, record: u64) -> Attempt<Option<(Member, Option<u64>)>> {
        let mut statement = self.db.prepare_cached(
            "SELECT row, terms, authored_at, label, source FROM passages WHERE row = ?1 AND collection = ?2",
        )?;
        let mut rows = statement.query(params![record as i64, self.collection])?;
        let Some(columns) = rows.next()? else {
            return Ok(None);
        };
        let source = columns.get_ref(4)?.as_i64().unwrap_or_default();
        Ok(Some((
            self.member(columns)?,
            (source != 0).then_some(source as u64),
        )))
    }

    fn member(&self, columns: &Row<'_>) -> Attempt<Member> {
        let label = columns.get_ref(3)?.as_str().unwrap_or_default();
        let named = |(at, term): (usize, &ProbedTerm)| {
            label.split(' ').any(|name| name == term.term).then_some(at)
        };
        Ok(Member {
            record: columns.get::<_, i64>(0)? as u64,
            // What is derived is read as it is: a damaged passage costs rank, not the answer.
            length: columns
                .get_ref(1)?
                .as_i64()
                .unwrap_or_default()
                .clamp(0, i64::from(u32::MAX)) as u32,
            authored_at: columns.get_ref(2)?.as_i64().unwrap_or_default(),
            label: if label.is_empty() {
                Vec::new()
            } else {
                let terms = self.lexical.terms.iter();
                terms.enumerate().filter_map(named).collect()
            },
        })
    }

    fn push(&mut self, member: Member, source: Option<u64>, admitted: bool) -> usize {
        let at = self.evidence.len();
        self.places.insert(member.record, at);
        self.evidence.push(Evidence {
            record: member.record,
            admitted,
            terms: self.lexical.of(member.record).collect(),
            label: member.label,
            length: member.length,
            source,
            authored_at: member.authored_at,
            ..Evidence::default()
        });
        at
    }

    /// Adds the neighbours of what was found, and what each source holds as a whole. Sources of the best drawers come
    /// first; when [`MEMBERS`] drawers were read, the rest is left without.
    fn add_context(&mut self, context: usize) -> Attempt<()> {
        let mut order: Vec<usize> = (0..self.evidence.len()).collect();
        order.sort_by_key(|at| {
            self.evidence.get(*at).and_then(|found| {
                let ranks = [found.lexical, found.semantic];
                ranks.iter().flatten().map(|placed| placed.rank).min()
            })
        });
        let mut read = 0;
        let mut seen = HashSet::new();
        for at in order {
            let source = self.evidence.get(at).and_then(|found| found.source);
            let Some(source) = source.filter(|source| seen.insert(*source)) else {
                continue;
            };
            if read >= MEMBERS {
                break;
            }
            let members = self.members(source)?;
            read += members.len();
            self.sources.push(self.sum(source, &members));
            self.add_neighbours(source, members, context);
        }
        Ok(())
    }

    /// Passages of a source in order.
    fn members(&self, source: u64) -> Attempt<Vec<Member>> {
        let mut statement = self.db.prepare_cached(MEMBERS_SQL)?;
        let mut rows = statement.query(params![source as i64, SOURCE_MEMBERS as i64])?;
        let mut members = Vec::new();
        while let Some(columns) = rows.next()? {
            members.push(self.member(columns)?);
        }
        Ok(members)
    }

    fn sum(&self, source: u64, members: &[Member]) -> SourceEvidence {
        let mut counts = vec![0_u32; self.lexical.terms.len()];
        for member in members {
            for (term, count) in self.lexical.of(member.record) {
                if let Some(sum) = counts.get_mut(term) {
                    *sum += count;
                }
            }
        }
        SourceEvidence {
            source,
            drawers: members.len() as u64,
            length: members.iter().map(|member| u64::from(member.length)).sum(),
            terms: counts
                .into_iter()
                .enumerate()
                .filter(|(_, count)| *count > 0)
                .collect(),
        }
    }

    /// Tells dates of content from days of adding.
    fn find_dated(&mut self) -> Attempt<()> {
        let mut statement = self
            .db
            .prepare_cached("SELECT created_at FROM drawers WHERE row = ?1")?;
        for found in self.evidence.iter_mut().filter(|found| found.admitted) {
            let created: Option<i64> = statement
                .query_row([found.record as i64], |columns| {
                    Ok(columns.get_ref(0)?.as_i64().unwrap_or_default())
                })
                .optional()?;
            found.dated = created != Some(found.authored_at);
        }
        Ok(())
    }

    /// Neighbours of found drawers may be chosen, too; and each drawer that may be chosen gets its own
    /// neighbours for context.
    fn add_neighbours(&mut self, source: u64, members: Vec<Member>, context: usize) {
        let found = |board: &Self, member: &Member| board.places.contains_key(&member.record);
        let hits: Vec<bool> = members.iter().map(|member| found(self, member)).collect();
        let near = |at: usize, reach: usize| {
            let first = at.saturating_sub(reach);
            hits.iter()
                .skip(first)
                .take(at - first + reach + 1)
                .any(|hit| *hit)
        };
        let wanted: Vec<(bool, bool)> = (0..members.len())
            .map(|at| (near(at, context), near(at, 2 * context)))
            .collect();
        let mut places = Vec::with_capacity(members.len());
        for (member, (choosable, needed)) in members.into_iter().zip(wanted) {
            let place = match self.places.get(&member.record) {
                Some(at) => Some(*at),
                None if needed => {
                    let admitted =
                        choosable && self.set.is_none_or(|set| set.contains(member.record));
                    Some(self.push(member, Some(source), admitted))
                }
                None => None,
            };
            places.push(place);
        }
        for (at, place) in places.iter().enumerate() {
            let Some(evidence) = place.and_then(|place| self.evidence.get_mut(place)) else {
                continue;
            };
            if !evidence.admitted {
                continue;
            }
            let beside = |place: Option<usize>| places.get(place?).copied().flatten();
            evidence.before = (1..=context)
                .filter_map(|step| beside(at.checked_sub(step)))
                .collect();
            evidence.after = (1..=context)
                .filter_map(|step| beside(at.checked_add(step)))
                .collect();
        }
    }
}

/// Entirely from the index, in order.
pub(crate) const MEMBERS_SQL: &str =
    "SELECT row, terms, authored_at, label FROM passages INDEXED BY passages_source
     WHERE source = ?1 AND source <> 0 ORDER BY line, row LIMIT ?2";
