//! `loci hook`: what an agent's hook asks for.

use loci_palace::Error;

use crate::args::HookArguments;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &HookArguments, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
