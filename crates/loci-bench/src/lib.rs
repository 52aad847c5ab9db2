//! Measures search quality: runs retrieval data sets through real palaces.
//!
//! [`run()`] reads a data set, writes every conversation into a palace on disk as any program
//! would, asks its questions with [`loci_palace::Palace::search`], and compares the answers with
//! the evidence in the data set. It never ranks anything itself, and never bypasses the palace.
//! [`metric`] contains the measures, [`Report`] the results.
//!
//! ```no_run
//! use loci_bench::{Options, run};
//! let report = run("locomo10.json".as_ref(), &Options::default(), &mut |_| {})?;
//! println!("{}", report.to_text());
//! # Ok::<(), loci_palace::Error>(())
//! ```
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

mod ask;
mod baseline;
mod clock;
mod collect;
mod dataset;
mod details;
mod difference;
mod distractors;
mod figures;
mod hooks;
pub mod interval;
pub mod metric;
mod report;
mod run;
mod sample;
mod store;
mod text;
mod together;
mod wake_up;

pub use collect::{Examined, Example, collect};
pub use dataset::{Half, Kind};
pub use difference::{Difference, Differences};
pub use figures::{AtAll, AtTop, Brief, Figures, Intervals};
pub use hooks::{
    AskedKind, AskedPair, Compared, Considered, HookOptions, HookReport, HookRow, LaterFigures,
    PalaceSize, Shares, SizeFigures, measure,
};
pub use report::{BaselineFigures, Category, Cost, HalfFigures, Percentiles, Report};
pub use run::{Options, Progress, run};
pub use wake_up::{WakeUpFigures, WakeUpReport, WakeUpRow, measure_wake_up};
