//! `loci wake-up`: what an agent should know when a session begins.

use loci_palace::Error;

use crate::args::WakeUpArguments;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &WakeUpArguments, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
