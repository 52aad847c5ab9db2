//! The real binary, run as people and programs run it: output, exit codes, files left on disk.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the helpers of tests are tests"
)]

mod add;
mod backup;
mod backups;
mod chroma_directories;
mod chroma_permissions;
mod chroma_repair;
mod clients;
mod configuration;
mod connect;
mod controls;
mod conversations;
mod creation;
mod damaged;
mod demo;
mod diagnosed;
mod doctor_everything;
mod documents;
mod environments;
mod facts;
mod forget;
mod forget_everywhere;
mod forget_many;
mod hooks;
mod import_lines;
mod imported_wings;
mod input;
mod json_shapes;
mod keeping;
mod limits;
mod links_outside;
mod locations;
mod locked;
mod lost;
mod lost_records;
mod masking;
mod mcp;
mod mcp_mempalace;
mod mine;
mod models;
mod modes;
mod odd_input;
mod old_palaces;
mod outputs;
mod owners;
mod people;
mod processes;
mod progress;
mod query;
mod read_only;
mod reading_only;
mod reads;
mod reembed;
mod salvaged;
mod search;
mod search_in;
mod showing;
mod sources;
mod support;
mod sync;
mod terminal;
mod time;
mod titles;
mod transactions;
mod transfer;
mod truth;
mod update;
mod users;
mod watch;
mod why_not;
mod wings;
