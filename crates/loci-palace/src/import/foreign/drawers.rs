//! Imports the records of one foreign collection, from reading to proof.

use loci_core::{DrawerRef, Error, Result, Warning};
use loci_foreign::{ForeignCollection, ForeignRecord, ReadSummary};

use super::intake::Intake;
use super::report::{Answer, ImportProgress, ImportedCollection, Phase};
use super::target::Target;
use super::{ForeignImport, stream};

/// The import of one collection.
pub(super) struct Drawers<'a> {
    import: &'a ForeignImport<'a>,
    at: usize,
    report: &'a mut Answer,
}

impl<'a> Drawers<'a> {
    pub(super) fn new(import: &'a ForeignImport<'a>, at: usize, report: &'a mut Answer) -> Self {
        Self { import, at, report }
    }

    pub(super) fn run(mut self, progress: &mut dyn FnMut(ImportProgress<'_>)) -> Result<()> {
        let Some(from) = self.import.source.collections().get(self.at) else {
            return Ok(());
        };
        let mut intake = None;
        let (read, failed) = {
            let report = &mut *self.report;
            let (import, at) = (self.import, self.at);
            stream(
                |take| {
                    let batch = import.options.batch();
                    import.source.for_each_record(at, batch, take)
                },
                |records| {
                    let intake = match &mut intake {
                        Some(intake) => intake,
                        none => none.insert(open(import, at, from, &records)?),
                    };
                    for record in records {
                        intake.take(record, report)?;
                    }
                    progress(ImportProgress {
                        phase: Phase::Records,
                        collection: &from.name,
                        done: intake.report.records,
                        total: from.records,
                    });
                    Ok(())
                },
            )
        };
        if let Some(error) = failed {
            return Err(error);
        }
        let mut intake = match intake {
            Some(intake) => intake,
            // A collection without records is created too.
            None => open(self.import, self.at, from, &[])?,
        };
        intake.flush(self.report)?;
        let summary = self.summary(from, read);
        self.finish(from, intake, summary, progress)
    }

    /// The result of the read. A collection that could not be read completely is reported as a
    /// loss.
    fn summary(&mut self, from: &ForeignCollection, read: Result<ReadSummary>) -> ReadSummary {
        read.unwrap_or_else(|error: Error| {
            self.report.lose(
                &from.name,
                None,
                format!("the rest of the collection could not be read: {error}"),
            );
            ReadSummary::default()
        })
    }

    fn finish(
        &mut self,
        from: &ForeignCollection,
        intake: Intake<'_>,
        summary: ReadSummary,
        progress: &mut dyn FnMut(ImportProgress<'_>),
    ) -> Result<()> {
        let Intake {
            mut report,
            proof,
            target,
            forgotten,
            ..
        } = intake;
        let drawer = |id| DrawerRef {
            collection: report.target.clone(),
            id,
        };
        let forgotten = forgotten.into_iter().map(drawer);
        self.import.forgotten.borrow_mut().extend(forgotten);
        report.failed += summary.lost.len() as u64;
        report.records += summary.lost.len() as u64;
        for lost in summary.lost {
            self.report.lose(&from.name, lost.id, lost.reason);
        }
        // These records were imported and counted.
        for partial in summary.partial {
            self.report.lose(&from.name, partial.id, partial.reason);
        }
        for (field, times) in summary.unmapped {
            self.report.leave_out(field, times);
        }
        report.digest_source = proof.source_digest();
        if let (Some(collection), false) = (&target.plain, self.import.options.dry_run) {
            proof.compare(collection.as_ref(), &mut report, &mut |done, total| {
                progress(ImportProgress {
                    phase: Phase::Proof,
                    collection: &from.name,
                    done,
                    total,
                });
            })?;
        }
        self.say(&report, target.warnings);
        self.report.collections.push(report);
        Ok(())
    }

    fn say(&mut self, collection: &ImportedCollection, warnings: Vec<Warning>) {
        for warning in warnings {
            // Warnings about texts without a vector are irrelevant if there are none.
            let idle = collection.stand_in + collection.without_vector == 0;
            if !matches!(warning, Warning::ModelMissing { .. }) || !idle {
                self.report.warn(warning);
            }
        }
        if collection.stand_in > 0 {
            self.report.warn(Warning::ImportedStandIn {
                collection: collection.target.clone(),
                drawers: collection.stand_in,
            });
        }
        if collection.without_vector > 0 {
            self.report.warn(Warning::WithoutVector {
                collection: collection.target.clone(),
                drawers: collection.without_vector,
                other_embedder: 0,
                model: None,
            });
        }
        if collection.forgotten > 0 {
            self.report.warn(Warning::ForgottenLeftOut {
                collection: collection.name.clone(),
                records: collection.forgotten,
            });
        }
        if collection.differing > 0 {
            self.report.warn(Warning::Differing {
                from: collection.name.clone(),
                into: collection.target.clone(),
                drawers: collection.differing,
                first: collection
                    .differing_ids
                    .first()
                    .cloned()
                    .unwrap_or_default(),
            });
        }
    }
}

/// Opens or creates the target collection. If the source does not record the length of its vectors,
/// the first records decide.
fn open<'a>(
    import: &'a ForeignImport<'a>,
    at: usize,
    from: &ForeignCollection,
    first: &[ForeignRecord],
) -> Result<Intake<'a>> {
    let name = import.target_name(at);
    let seen = first
        .iter()
        .find_map(|record| record.vector.as_ref().map(Vec::len));
    let target = Target::find(
        import.palace,
        &name,
        (import.source.kind(), from),
        from.dimension.or(seen),
        import.options.dry_run,
    )?;
    let report = ImportedCollection {
        name: from.name.clone(),
        target: name,
        ..ImportedCollection::default()
    };
    Ok(Intake::new(import.palace, import.options, target, report))
}
