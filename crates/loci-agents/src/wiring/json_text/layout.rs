//! Decides where an item is inserted in an object or list, and what is removed with it.

use std::ops::Range;

use super::super::splice::{Splice, before, from, line_start, newline, within};

/// Returns the indentation of the line of `at`, and whether only white space is before `at`.
pub(super) fn indent_of(text: &str, at: usize) -> (String, bool) {
    let line = within(text, &(line_start(text, at)..at));
    let rest = line.trim_start_matches([' ', '\t']);
    let indent = line.strip_suffix(rest).unwrap_or(line);
    let begins_file = line_start(text, at) == 0;
    (indent.to_owned(), rest.is_empty() && !begins_file)
}

/// Returns the splices that insert an item after the last of `children`. `item` renders it, with an
/// indentation if it gets lines of its own.
pub(super) fn insertion(
    text: &str,
    container: &Range<usize>,
    children: &[Range<usize>],
    one_line: bool,
    unit: &str,
    item: impl Fn(Option<&str>) -> String,
) -> Vec<Splice> {
    let end = newline(text);
    let Some(last) = children.last() else {
        return first(text, container, one_line, unit, item);
    };
    let (indent, own_line) = indent_of(text, last.start);
    let comma = comma_after(text, last.end);
    if one_line || !own_line {
        let item = item(None);
        return match comma {
            Some(comma) => vec![Splice::insert(comma + 1, format!(" {item},"))],
            None => vec![Splice::insert(last.end, format!(", {item}"))],
        };
    }
    let item = item(Some(&indent));
    match comma {
        Some(comma) => {
            let at = comment_end(text, comma + 1);
            vec![Splice::insert(at, format!("{end}{indent}{item},"))]
        }
        None => {
            let at = comment_end(text, last.end);
            let line = format!("{end}{indent}{item}");
            if at == last.end {
                vec![Splice::insert(at, format!(",{line}"))]
            } else {
                vec![Splice::insert(last.end, ","), Splice::insert(at, line)]
            }
        }
    }
}

/// Returns the first item of an object or list that contains only white space and comments.
fn first(
    text: &str,
    container: &Range<usize>,
    one_line: bool,
    unit: &str,
    item: impl Fn(Option<&str>) -> String,
) -> Vec<Splice> {
    let inside = container.start + 1..container.end.saturating_sub(1);
    if one_line {
        return vec![Splice::insert(inside.start, item(None))];
    }
    let end = newline(text);
    let (indent, _) = indent_of(text, container.start);
    let inner = format!("{indent}{unit}");
    let kept = within(text, &inside).trim_end().len();
    let rest = inside.start + kept..inside.end;
    let item = format!("{end}{inner}{}", item(Some(&inner)));
    if within(text, &rest).contains('\n') {
        vec![Splice::insert(rest.start, item)]
    } else {
        vec![Splice {
            range: rest,
            with: format!("{item}{end}{indent}"),
        }]
    }
}

/// Returns the splices that remove the child with this index. A child that was added by
/// [`insertion`] leaves no trace.
pub(super) fn removal(
    text: &str,
    container: &Range<usize>,
    children: &[Range<usize>],
    number: usize,
) -> Vec<Splice> {
    let Some(child) = children.get(number) else {
        return Vec::new();
    };
    if children.len() == 1 {
        return only(text, container, child);
    }
    let (_, own_line) = indent_of(text, child.start);
    let lead = lead(text, child);
    if let Some(comma) = comma_after(text, child.end) {
        let start = if own_line { lead } else { child.start };
        if !within(text, &(child.end..comma)).trim().is_empty() {
            return vec![
                Splice::remove(start..child.end),
                Splice::remove(comma..comma + 1),
            ];
        }
        // In one line the space after the comma is removed too, or the one before the last item.
        let last = number + 1 == children.len();
        let (start, end) = match (own_line, last) {
            (true, _) => (start, comma + 1),
            (false, true) => (lead, comma + 1),
            (false, false) => (start, blank_end(text, comma + 1)),
        };
        return vec![Splice::remove(start..end)];
    }
    let comma = number
        .checked_sub(1)
        .and_then(|previous| children.get(previous))
        .and_then(|previous| comma_after(text, previous.end));
    match comma {
        Some(comma) if comma + 1 == lead => vec![Splice::remove(comma..child.end)],
        Some(comma) => vec![
            Splice::remove(comma..comma + 1),
            Splice::remove(lead..child.end),
        ],
        None => vec![Splice::remove(lead..child.end)],
    }
}

fn only(text: &str, container: &Range<usize>, child: &Range<usize>) -> Vec<Splice> {
    let inside = container.start + 1..container.end.saturating_sub(1);
    let end = comma_after(text, child.end).map_or(child.end, |comma| comma + 1);
    let before = within(text, &(inside.start..child.start));
    let after = within(text, &(end..inside.end));
    if before.trim().is_empty() && after.trim().is_empty() {
        vec![Splice::remove(inside)]
    } else {
        vec![Splice::remove(lead(text, &(child.start..end))..end)]
    }
}

/// Returns where the white space before `item` begins, including the line end before it. The line
/// end is kept if it ends a comment, which would otherwise swallow the text that follows.
fn lead(text: &str, item: &Range<usize>) -> usize {
    let head = before(text, item.start).trim_end_matches([' ', '\t']);
    let Some(line) = head.strip_suffix('\n') else {
        return head.len();
    };
    let comment = within(text, &(line_start(text, line.len())..line.len())).contains("//");
    let follows = from(text, item.end).trim_start_matches([' ', '\t', ',']);
    if comment && !follows.is_empty() && !follows.starts_with(['\n', '\r']) {
        return item.start;
    }
    line.strip_suffix('\r').unwrap_or(line).len()
}

fn blank_end(text: &str, at: usize) -> usize {
    let rest = from(text, at);
    at + rest.len() - rest.trim_start_matches([' ', '\t']).len()
}

/// Returns the position of the comma after a value, if it comes before anything else.
fn comma_after(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = from(text, at);
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with(',') {
            return Some(at);
        } else if trimmed.starts_with("//") {
            at += trimmed.find('\n')?;
        } else if trimmed.starts_with("/*") {
            at += trimmed.find("*/")? + 2;
        } else {
            return None;
        }
    }
}

/// Returns the end of the comments after `at` in the same line, or `at`.
fn comment_end(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let next = blank_end(text, end);
        let rest = from(text, next);
        let line = rest.split('\n').next().unwrap_or_default();
        if rest.starts_with("//") {
            return next + line.trim_end_matches('\r').len();
        }
        match line.find("*/") {
            Some(close) if rest.starts_with("/*") => end = next + close + 2,
            _ => return end,
        }
    }
}
