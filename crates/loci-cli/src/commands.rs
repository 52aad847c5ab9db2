//! The commands, one module each. A command reads its input, calls [`loci_palace::Palace`] and
//! returns a [`Reply`]. It prints nothing itself.

mod add;
mod backup;
mod bench;
mod completions;
mod connect;
mod demo;
mod diary;
mod doctor;
mod export;
mod facts;
mod forget;
mod get;
pub(crate) mod hook;
mod import;
mod init;
mod last_search;
mod links;
mod list;
mod mcp;
mod mine;
mod mining;
mod model;
mod open;
mod pin;
mod quarantine;
mod query;
mod reembed;
mod repair;
mod runs;
mod search;
mod status;
mod sync;
mod update;
mod verify;
mod wake_up;
mod watch;
mod why_not;
mod wings;

pub(crate) use self::search::Fields;
use crate::args::{BenchCommand, Command};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

/// Runs a command.
pub(crate) fn run(command: &Command, session: &Session<'_>) -> Result<Reply> {
    match command {
        Command::Init(arguments) => init::run(arguments, session),
        Command::Add(arguments) => add::run(arguments, session),
        Command::Mine(arguments) => mine::run(arguments, session),
        Command::Watch(arguments) => watch::run(arguments, session),
        Command::Sync(arguments) => sync::run(arguments, session),
        Command::Runs(arguments) => runs::run(arguments, session),
        Command::Undo(arguments) => runs::undo(arguments, session),
        Command::Wings(arguments) => wings::run(arguments, session),
        Command::Get(arguments) => get::run(arguments, session),
        Command::List(arguments) => list::run(arguments, session),
        Command::Update(arguments) => update::run(arguments, session),
        Command::Pin(arguments) => pin::run(arguments, session),
        Command::Forget(arguments) => forget::run(arguments, session),
        Command::Search(arguments) => search::run(arguments, session),
        Command::Open(arguments) => open::run(arguments, session),
        Command::WhyNot(arguments) => why_not::run(arguments, session),
        Command::Query(arguments) => query::run(arguments, session),
        Command::Status => status::run(session),
        Command::Verify(arguments) => verify::run(arguments, session),
        Command::Repair(arguments) => repair::run(arguments, session),
        Command::Export(arguments) => export::run(arguments, session),
        Command::Import(arguments) => import::run(arguments, session),
        Command::Doctor(arguments) => doctor::run(arguments, session),
        Command::Quarantine(arguments) => quarantine::run(arguments, session),
        Command::Mcp(arguments) => mcp::run(arguments, session),
        Command::Connect(arguments) => connect::run(arguments, session),
        Command::Disconnect(arguments) => connect::disconnect(arguments, session),
        Command::Hook(arguments) => hook::run(arguments, session),
        Command::Facts(command) => facts::run(command, session),
        Command::Diary(command) => diary::run(command, session),
        Command::WakeUp(arguments) => wake_up::run(arguments, session),
        Command::Links(command) => links::run(command, session),
        Command::Backup(arguments) => backup::run(arguments, session),
        Command::Restore(arguments) => backup::restore(arguments, session),
        Command::Reembed(arguments) => reembed::run(arguments, session),
        Command::Model(command) => model::run(command, session),
        Command::Bench(BenchCommand::Retrieval(arguments)) => bench::retrieval(arguments, session),
        Command::Bench(BenchCommand::Hooks(arguments)) => bench::hooks(arguments, session),
        Command::Bench(BenchCommand::WakeUp(arguments)) => bench::wake_up(arguments, session),
        Command::Demo => demo::run(session),
        Command::Completions(arguments) => completions::run(arguments),
    }
}
