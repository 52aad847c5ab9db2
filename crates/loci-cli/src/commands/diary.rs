//! `loci diary`: an agent's own notes.

use loci_palace::Error;

use crate::args::DiaryCommand;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &DiaryCommand, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
