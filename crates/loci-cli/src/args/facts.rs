//! Commands about facts.

use clap::{Args, Subcommand};
use loci_palace::MAX_RESULTS;

use super::SecretArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum FactsCommand {
    /// Add a fact: subject, predicate, object, and when it is valid
    #[command(after_help = ADD)]
    Add(AddFactArguments),
    /// List all facts that are valid now
    #[command(after_help = LIST)]
    List(ListFactsArguments),
    /// Show the facts that are valid now, or on a date
    #[command(after_help = QUERY)]
    Query(QueryFactsArguments),
    /// End a fact; it stays recorded as ended
    #[command(after_help = INVALIDATE)]
    Invalidate(InvalidateFactArguments),
    /// End a fact and add the one that replaces it, in one step
    #[command(after_help = SUPERSEDE)]
    Supersede(SupersedeFactArguments),
    /// Show facts in the order in which they began, ended ones too
    #[command(after_help = TIMELINE)]
    Timeline(TimelineArguments),
    /// Show facts that contradict each other: different objects at the same time
    #[command(after_help = CONFLICTS)]
    Conflicts(ConflictsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddFactArguments {
    /// Who or what the fact is about
    pub(crate) subject: String,
    /// The relation, such as `lives in`
    pub(crate) predicate: String,
    /// Who or what the subject is related to
    pub(crate) object: String,
    /// First date on which it is valid: a year, month, day, moment, or words such as `yesterday`
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Date from which it is not valid any more
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArguments,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

/// Source and confidence of a fact.
#[derive(Debug, Args)]
pub(crate) struct OriginArguments {
    /// Confidence, 0 to 1
    #[arg(long, value_name = "N")]
    pub(crate) confidence: Option<f64>,
    /// The drawer that the fact comes from; forgetting that drawer removes the fact
    #[arg(long, value_name = "DRAWER_ID")]
    pub(crate) source: Option<String>,
    /// Collection of that drawer
    #[arg(long, value_name = "NAME", default_value = loci_palace::DEFAULT_COLLECTION)]
    pub(crate) collection: String,
}

#[derive(Debug, Args)]
pub(crate) struct QueryFactsArguments {
    /// Subject or object of the facts; case is ignored
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
    /// Facts that were valid on this date; a year, month or day means its end [default: now]
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<String>,
    /// Also facts that have ended or not begun
    #[arg(long, conflicts_with = "as_of")]
    pub(crate) ended: bool,
    #[command(flatten)]
    pub(crate) page: FactPageArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ListFactsArguments {
    /// Also facts that have ended or not begun
    #[arg(long)]
    pub(crate) all: bool,
    /// Only with this subject; case is ignored
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Only with this predicate
    #[arg(long, value_name = "NAME")]
    pub(crate) predicate: Option<String>,
    /// Only with this object
    #[arg(long, value_name = "NAME")]
    pub(crate) object: Option<String>,
    #[command(flatten)]
    pub(crate) page: FactPageArguments,
}

/// The part of an answer that is shown.
#[derive(Debug, Args)]
pub(crate) struct FactPageArguments {
    /// Maximum number of facts, 1 to 10000
    #[arg(long, value_name = "N", default_value = "100",
          value_parser = clap::value_parser!(u16).range(1..=MAX_RESULTS as i64))]
    pub(crate) limit: u16,
    /// Skip the first N
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) offset: usize,
}

#[derive(Debug, Args)]
pub(crate) struct InvalidateFactArguments {
    /// Who or what the fact is about; case is ignored
    pub(crate) subject: String,
    /// The relation, such as `lives in`
    pub(crate) predicate: String,
    /// Who or what the subject is related to [default: end all valid facts of subject and
    /// predicate]
    pub(crate) object: Option<String>,
    /// Date from which it is not valid any more [default: now]
    #[arg(long, value_name = "DATE")]
    pub(crate) ended: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SupersedeFactArguments {
    /// Who or what the fact is about; case is ignored
    pub(crate) subject: String,
    /// The relation, such as `lives in`
    pub(crate) predicate: String,
    /// The object of the fact to end
    pub(crate) old: String,
    /// The object of the new fact
    pub(crate) new: String,
    /// Date of the change [default: now]
    #[arg(long, value_name = "DATE")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) origin: OriginArguments,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TimelineArguments {
    /// Subject or object of the facts [default: all facts]
    pub(crate) entity: Option<String>,
    #[command(flatten)]
    pub(crate) page: FactPageArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ConflictsArguments {
    /// Subject or object of the facts in conflict [default: all conflicts]
    pub(crate) entity: Option<String>,
}

pub(crate) const FACTS: &str = "\
Examples:
  loci facts add Alice 'lives in' Lyon --from 2024-05
  loci facts query alice
  loci facts query alice --as-of 2025
  loci facts supersede Alice 'lives in' Lyon Paris --at 2026-01-01
  loci facts timeline alice

A fact is valid from its first date, and up to but not including its last. Facts are never
overwritten: an ended fact stays recorded.";

const ADD: &str = "\
Examples:
  loci facts add Alice 'lives in' Lyon --from 2024-05
  loci facts add 'the api' uses 'port 8080' --source 01-notes --confidence 0.9
  loci facts add Alice visited Rome --from 2023-07-01 --to 2023-07-15

A fact that exists already is not changed. A fact that contradicts others is added, and the
answer names them. If the source drawer does not exist, the fact is added with that source, and a
warning says so.";

const QUERY: &str = "\
Examples:
  loci facts query alice
  loci facts query alice --as-of 2025-06
  loci facts query --predicate 'lives in' --json
  loci facts query alice --ended

Exits with 1 if nothing is found; stderr says which name is unknown, or that the matching facts
have ended.";

const LIST: &str = "\
Examples:
  loci facts list
  loci facts list --predicate 'lives in' --limit 20
  loci facts list --all --json

Lists facts in the order added. Exits with 1 if there are none.";

const INVALIDATE: &str = "\
Examples:
  loci facts invalidate Alice 'lives in' Lyon
  loci facts invalidate Alice 'lives in' --ended 2026-01-01
  loci facts invalidate Alice 'lives in' --ended yesterday

Exits with 1 if no valid fact matches.";

const SUPERSEDE: &str = "\
Examples:
  loci facts supersede Alice 'lives in' Lyon Paris
  loci facts supersede Alice 'lives in' Lyon Paris --at 2026-01-01

Either both changes are made or none. If the old fact is not valid, the command fails and names
the facts that are.";

const TIMELINE: &str = "\
Examples:
  loci facts timeline
  loci facts timeline alice --json

Facts without a first date come last.";

const CONFLICTS: &str = "\
Examples:
  loci facts conflicts
  loci facts conflicts alice --json

Exits with 1 if there are none.";
