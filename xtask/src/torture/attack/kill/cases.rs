//! The commands that are killed, one case each.

mod files;
mod relations;
mod upkeep;
mod writes;

use super::world::KillRound;

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) weight: u32,
    /// Runs the command and kills it, for some commands several times until it completes.
    pub(super) run: fn(&mut KillRound<'_, '_>) -> anyhow::Result<()>,
}

pub(super) const CASES: &[Case] = &[
    case("add", 8, writes::add),
    case("add --durability full", 8, writes::add_full),
    case("update", 6, writes::update),
    case("forget", 6, writes::forget),
    case("import jsonl", 4, writes::import),
    case("diary write", 4, writes::diary),
    case("search", 3, writes::search),
    case("mcp", 3, writes::server),
    case("mcp --durability full", 3, writes::server_full),
    case("init", 3, writes::init),
    case("facts add", 3, relations::add_fact),
    case("facts supersede", 3, relations::supersede_fact),
    case("links add", 3, relations::add_link),
    case("mine", 6, files::mine),
    case("mine of a file over 4 MiB", 1, files::mine_big),
    case("mine of a growing transcript", 4, files::mine_talk),
    case("hook Stop", 3, files::hook),
    case("watch", 1, files::watch),
    case("sync --apply", 4, files::sync),
    case("undo", 4, files::undo),
    case("export", 3, upkeep::export),
    case("backup", 4, upkeep::backup),
    case("restore --replace", 5, upkeep::restore),
    case("verify --deep", 3, upkeep::verify),
    case("repair", 3, upkeep::repair),
    case("reembed", 3, upkeep::reembed),
    case("import chroma", 2, upkeep::import_chroma),
];

const fn case(
    name: &'static str,
    weight: u32,
    run: fn(&mut KillRound<'_, '_>) -> anyhow::Result<()>,
) -> Case {
    Case { name, weight, run }
}
