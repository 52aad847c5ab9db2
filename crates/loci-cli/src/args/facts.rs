//! Commands about facts.

use clap::{Args, Subcommand};
use loci_palace::MAX_RESULTS;

use super::SecretArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum FactsCommand {
    /// Add a fact: subject, predicate, object, and when it holds
    #[command(after_help = ADD)]
    Add(AddFactArguments),
    /// Show what holds, now or as of a date
    #[command(after_help = QUERY)]
    Query(QueryFactsArguments),
    /// End a fact: it no longer holds, and stays
    #[command(after_help = INVALIDATE)]
    Invalidate(InvalidateFactArguments),
    /// End a fact and put another in its place, in one step
    #[command(after_help = SUPERSEDE)]
    Supersede(SupersedeFactArguments),
    /// Show facts in the order in which they began to hold, ended ones too
    #[command(after_help = TIMELINE)]
    Timeline(TimelineArguments),
    /// Show facts that contradict each other: another object at the same time
    #[command(after_help = CONFLICTS)]
    Conflicts(ConflictsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddFactArguments {
    /// Who or what it is about
    pub(crate) subject: String,
    /// What is said of it
    pub(crate) predicate: String,
    /// Whom or what it relates to
    pub(crate) object: String,
    /// Since when it holds: a year, month, day, moment, or words such as `yesterday`
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Until when it holds, that date excluded
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArguments,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

/// Where a fact comes from and how sure it is.
#[derive(Debug, Args)]
pub(crate) struct OriginArguments {
    /// How sure it is, 0 to 1
    #[arg(long, value_name = "N")]
    pub(crate) confidence: Option<f64>,
    /// The drawer it was taken from; forgetting that drawer removes the fact
    #[arg(long, value_name = "DRAWER_ID")]
    pub(crate) source: Option<String>,
    /// Collection of that drawer
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct QueryFactsArguments {
    /// Whom or what they are about, as subject or object; letter case does not count
    pub(crate) entity: Option<String>,
    /// Only with this subject
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Only with this predicate
    #[arg(long, value_name = "NAME")]
    pub(crate) predicate: Option<String>,
    /// Only with this object
    #[arg(long, value_name = "NAME")]
    pub(crate) object: Option<String>,
    /// What held then; a year, month or day means its end [default: now]
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<String>,
    /// Also what has ended or not begun
    #[arg(long, conflicts_with = "as_of")]
    pub(crate) ended: bool,
    #[command(flatten)]
    pub(crate) page: FactPageArguments,
}

/// Which part of an answer is shown.
#[derive(Debug, Args)]
pub(crate) struct FactPageArguments {
    /// Facts at most, 1 to 10000
    #[arg(long, value_name = "N", default_value = "100",
          value_parser = clap::value_parser!(u16).range(1..=MAX_RESULTS as i64))]
    pub(crate) limit: u16,
    /// Leave out so many first
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) offset: usize,
}

#[derive(Debug, Args)]
pub(crate) struct InvalidateFactArguments {
    /// Who or what it is about; letter case does not count
    pub(crate) subject: String,
    /// What is said of it
    pub(crate) predicate: String,
    /// Whom or what it relates to; without it, all that holds of subject and predicate
    pub(crate) object: Option<String>,
    /// When it ended; it does not hold on that date [default: now]
    #[arg(long, value_name = "DATE")]
    pub(crate) ended: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SupersedeFactArguments {
    /// Who or what it is about; letter case does not count
    pub(crate) subject: String,
    /// What is said of it
    pub(crate) predicate: String,
    /// The object that no longer holds
    pub(crate) old: String,
    /// The object that holds instead
    pub(crate) new: String,
    /// From when on [default: now]
    #[arg(long, value_name = "DATE")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArguments,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TimelineArguments {
    /// Whom or what they are about, as subject or object; all facts without it
    pub(crate) entity: Option<String>,
    #[command(flatten)]
    pub(crate) page: FactPageArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ConflictsArguments {
    /// Subject or object of a conflict; all conflicts without it
    pub(crate) entity: Option<String>,
}

pub(crate) const FACTS: &str = "\
Examples:
  loci facts add Alice 'lives in' Lyon --from 2024-05
  loci facts query alice
  loci facts query alice --as-of 2025
  loci facts supersede Alice 'lives in' Lyon Paris --at 2026-01-01
  loci facts timeline alice

A fact holds from its first date until before its last. Nothing is overwritten: what no longer holds is ended, and stays.";

const ADD: &str = "\
Examples:
  loci facts add Alice 'lives in' Lyon --from 2024-05
  loci facts add 'the api' uses 'port 8080' --source 01-notes --confidence 0.9
  loci facts add Alice visited Rome --from 2023-07-01 --to 2023-07-15

A fact that is there already stays as it is. One that contradicts others is added, and they are named. A source that is not there
is told, and the fact names it all the same.";

const QUERY: &str = "\
Examples:
  loci facts query alice
  loci facts query alice --as-of 2025-06
  loci facts query --predicate 'lives in' --json
  loci facts query alice --ended

Ends with 1 if nothing is found; stderr says which name is not there, or that what matches has ended.";

const INVALIDATE: &str = "\
Examples:
  loci facts invalidate Alice 'lives in' Lyon
  loci facts invalidate Alice 'lives in' --ended 2026-01-01
  loci facts invalidate Alice 'lives in' --ended yesterday

Ends with 1 if nothing that matches holds.";

const SUPERSEDE: &str = "\
Examples:
  loci facts supersede Alice 'lives in' Lyon Paris
  loci facts supersede Alice 'lives in' Lyon Paris --at 2026-01-01

Both happen or nothing does. If the old fact does not hold any more, it fails and names what holds.";

const TIMELINE: &str = "\
Examples:
  loci facts timeline
  loci facts timeline alice --json

Facts whose beginning is unknown come last.";

const CONFLICTS: &str = "\
Examples:
  loci facts conflicts
  loci facts conflicts alice --json

Ends with 1 if there are none.";
