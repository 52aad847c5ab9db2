//! The tools that are used less often. Their schemas may use more tokens and are more detailed.

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
