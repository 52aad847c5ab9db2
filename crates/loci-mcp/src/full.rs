//! The rest: what people reach for less often. These schemas may cost more tokens, so they say more.

mod links;
mod maintenance;
mod mine;
mod recall;

use crate::tool::Tool;

/// The tools besides the core ones.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        recall::WAKE_UP,
        recall::DUPLICATES,
        recall::WHY_NOT,
        links::TOOL,
        mine::MINE,
        mine::RUNS,
        maintenance::VERIFY,
    ]
}
