//! `loci links`: what belongs together.

use loci_palace::Error;

use crate::args::LinksCommand;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &LinksCommand, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
