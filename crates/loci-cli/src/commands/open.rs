//! `loci open`: a hit of the last search in the user's editor.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use loci_palace::last_search::{self, Place};
use loci_palace::{Error, MetaValue, get, path_text, quoted};
use serde_json::json;

use crate::args::OpenArguments;
use crate::failure::{Failure, Result};
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &OpenArguments, session: &Session<'_>) -> Result<Reply> {
    let place = place_of(&arguments.hit, session)?;
    let Some(path) = &place.path else {
        let id = &place.id;
        return Err(Failure::usage(
            format!("{} is not from a file", quoted(id)),
            format!("`loci get {id}` shows it"),
        ));
    };
    let file = Path::new(path);
    if !file.is_file() {
        let problem = format!(
            "the file does not exist; `loci get {}` shows the stored text",
            place.id
        );
        return Err(Error::invalid(format!("`{}`", path_text(file)), problem).into());
    }
    let shown = match place.line {
        Some(line) => session.printer.path(path, Some(line)),
        None => session.printer.path(path, None),
    };
    let answer = json!({"id": place.id, "path": path, "line": place.line});
    if arguments.print {
        return Reply::new(&answer, format!("{shown}\n"));
    }
    let (program, flags) = editor()?;
    let mut command = Command::new(&program);
    command
        .args(flags)
        .args(arguments_of(&program, file, place.line));
    let status = command
        .status()
        .map_err(|error| Error::io("cannot start the editor", &program, error))?;
    if !status.success() {
        let problem = format!("the editor ended with {status}");
        return Err(
            Error::invalid(format!("`{}`", path_text(Path::new(&program))), problem).into(),
        );
    }
    Reply::new(&answer, String::new())
}

/// The place of a hit of the last search, or of a drawer.
fn place_of(hit: &str, session: &Session<'_>) -> Result<Place> {
    let number = hit.parse::<usize>().ok().filter(|_| hit.len() <= 4);
    if let Some(number) = number {
        let places = last_search::read();
        let count = places.len();
        let place = number
            .checked_sub(1)
            .and_then(|at| places.into_iter().nth(at));
        return place.ok_or_else(|| match count {
            0 => Failure::usage(
                "there is no last search",
                "search first: `loci search QUESTION`",
            ),
            count => Failure::usage(
                format!("the last search has no hit {number}"),
                format!("name a hit from 1 to {count}"),
            ),
        });
    }
    let palace = session.existing()?;
    let id = palace.complete_id(None, hit)?;
    let answer = palace.get(&get::Request {
        ids: vec![id.clone()],
        ..get::Request::default()
    })?;
    let Some(drawer) = answer.drawers.into_iter().next() else {
        return Err(Error::invalid(
            format!("id {}", quoted(&id)),
            "no drawer has it; `loci search` and `loci list` show ids",
        )
        .into());
    };
    let line = match drawer.start_line {
        Some(MetaValue::Int(line)) => Some(line),
        _ => None,
    };
    Ok(Place {
        id: drawer.id,
        path: drawer.source,
        line,
    })
}

/// The editor and the flags that its variable has.
fn editor() -> Result<(OsString, Vec<OsString>)> {
    let named = ["VISUAL", "EDITOR"]
        .iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty());
    let Some(named) = named else {
        return Err(Failure::usage(
            "no editor is set",
            "set EDITOR, for example `export EDITOR=vim`, or use `--print`",
        ));
    };
    // The path of a program with a space in its name is the whole value.
    if PathBuf::from(&named).is_file() {
        return Ok((named, Vec::new()));
    }
    let text = named.to_string_lossy().into_owned();
    let mut words = text.split_whitespace().map(OsString::from);
    let program = words.next().unwrap_or(named);
    Ok((program, words.collect()))
}

/// The arguments with which an editor opens a file at a line.
fn arguments_of(program: &OsString, file: &Path, line: Option<i64>) -> Vec<OsString> {
    let path = file.as_os_str().to_owned();
    let Some(line) = line else {
        return vec![path];
    };
    let mut at_line = path.clone();
    at_line.push(format!(":{line}"));
    let name = Path::new(program).file_stem();
    let name = name.map(|name| name.to_string_lossy().to_lowercase());
    match name.as_deref().unwrap_or_default() {
        "vi" | "vim" | "nvim" | "gvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient"
        | "micro" | "kak" | "joe" | "jed" | "mg" | "ne" | "less" | "gedit" => {
            vec![format!("+{line}").into(), path]
        }
        "code" | "code-insiders" | "codium" | "vscodium" | "cursor" | "windsurf" => {
            vec!["--goto".into(), at_line]
        }
        "hx" | "helix" | "zed" | "zeditor" | "subl" => vec![at_line],
        "kate" | "idea" | "pycharm" | "rustrover" => {
            vec!["--line".into(), line.to_string().into(), path]
        }
        _ => vec![path],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_gets_the_line_in_its_own_form() {
        let of = |program: &str, line| {
            let found = arguments_of(&program.into(), Path::new("/a b.md"), line);
            let words = found.iter().map(|word| word.to_string_lossy().into_owned());
            words.collect::<Vec<_>>()
        };
        assert_eq!(of("/usr/bin/nvim", Some(859)), ["+859", "/a b.md"]);
        assert_eq!(of("code", Some(859)), ["--goto", "/a b.md:859"]);
        assert_eq!(of("hx", Some(859)), ["/a b.md:859"]);
        assert_eq!(of("notepad", Some(859)), ["/a b.md"]);
        assert_eq!(of("vim", None), ["/a b.md"]);
    }
}
