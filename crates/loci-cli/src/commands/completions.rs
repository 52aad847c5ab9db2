//! `loci completions`: a script for a shell.

use clap::CommandFactory;
use serde_json::json;

use crate::args::{Arguments, CompletionsArguments};
use crate::failure::Result;
use crate::reply::Reply;

pub(crate) fn run(arguments: &CompletionsArguments) -> Result<Reply> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "loci",
        &mut script,
    );
    let script = String::from_utf8_lossy(&script).into_owned();
    let answer = json!({"shell": arguments.shell.to_string(), "script": script});
    Reply::new(&answer, script)
}
