//! `loci facts`: what holds, and when.

use loci_palace::Error;

use crate::args::FactsCommand;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &FactsCommand, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
