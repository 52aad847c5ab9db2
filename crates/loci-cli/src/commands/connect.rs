//! `loci connect` and `loci disconnect`: agents wired to the palace.

use loci_palace::Error;

use crate::args::{ConnectArguments, DisconnectArguments};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &ConnectArguments, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}

pub(crate) fn disconnect(_: &DisconnectArguments, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
