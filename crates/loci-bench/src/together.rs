//! Merges the conversations of a data set into one palace.
//!
//! LongMemEval gives every question a history of its own, and many histories share sessions. Here
//! sessions with the same turns become one source, whatever their names are, and the evidence of
//! every question refers to that source.

use std::collections::HashMap;

use loci_palace::MetaValue;
use xxhash_rust::xxh3::Xxh3;

use crate::dataset::{Case, Drawer};

/// The sources of the palace so far.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    /// The name of a source by the digest of its turns.
    by_content: HashMap<u128, String>,
    /// How many sources wanted a name.
    names: HashMap<String, usize>,
}

impl Merger {
    /// Takes the drawers out of a case and returns those that the palace does not have yet. The
    /// evidence of the case's questions is renamed to the sources of the palace.
    pub(crate) fn merge(&mut self, case: &mut Case) -> Vec<Drawer> {
        let mut sources: HashMap<String, String> = HashMap::new();
        let mut turns: HashMap<String, String> = HashMap::new();
        let mut new = Vec::new();
        let mut rest = std::mem::take(&mut case.drawers).into_iter().peekable();
        while let Some(first) = rest.next() {
            let name = source_of(&first);
            let mut session = vec![first];
            while let Some(next) = rest.next_if(|next| source_of(next) == name) {
                session.push(next);
            }
            let digest = digest(&session);
            let known = self.by_content.get(&digest).cloned();
            let is_new = known.is_none();
            let source = known.unwrap_or_else(|| {
                let source = self.free_name(&name, &case.id);
                self.by_content.insert(digest, source.clone());
                source
            });
            for (mut drawer, place) in session.into_iter().zip(1_i64..) {
                let id = format!("{source}:{place}");
                turns.insert(std::mem::replace(&mut drawer.id, id.clone()), id);
                if is_new {
                    let mut put = |key: &str, value| drawer.metadata.0.insert(key.into(), value);
                    put("source_file", MetaValue::Str(source.clone()));
                    put("start_line", MetaValue::Int(place));
                    new.push(drawer);
                }
            }
            sources.insert(name, source);
        }
        for question in &mut case.questions {
            rename(&mut question.turns, &turns);
            rename(&mut question.sessions, &sources);
            if let Some(evidence) = &mut question.mempalace {
                rename(evidence, &sources);
            }
        }
        new
    }

    /// A name that no other source has: the session's own if possible.
    fn free_name(&mut self, name: &str, case: &str) -> String {
        let wanted = self.names.entry(name.to_owned()).or_default();
        *wanted += 1;
        match *wanted {
            1 => name.to_owned(),
            others => format!("{case}/{name}#{others}"),
        }
    }
}

fn source_of(drawer: &Drawer) -> String {
    let source = drawer.metadata.get_str("source_file");
    source.unwrap_or_default().to_owned()
}

/// The digest of the turns of a session: who said what, in order. Dates are left out, because
/// LongMemEval gives copies of a session different ones.
fn digest(session: &[Drawer]) -> u128 {
    let mut digest = Xxh3::new();
    for drawer in session {
        let role = drawer.metadata.get_str("role").unwrap_or_default();
        for part in [role, &drawer.text] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
    }
    digest.digest128()
}

/// Replaces names by those of the palace, each once. A name that no drawer has stays: it cannot be
/// found, and counts as missed.
fn rename(names: &mut Vec<String>, by_name: &HashMap<String, String>) {
    let mut renamed: Vec<String> = Vec::with_capacity(names.len());
    for name in names.drain(..) {
        let name = by_name.get(&name).cloned().unwrap_or(name);
        if !renamed.contains(&name) {
            renamed.push(name);
        }
    }
    *names = renamed;
}

#[cfg(test)]
mod tests {
    use loci_palace::Metadata;

    use super::*;
    use crate::dataset::{Half, Question};

    fn drawer(session: &str, place: usize, text: &str) -> Drawer {
        let mut metadata = Metadata::default();
        let source = MetaValue::Str(session.to_owned());
        metadata.0.insert("source_file".into(), source);
        Drawer {
            id: format!("{session}:{place}"),
            text: text.to_owned(),
            metadata,
        }
    }

    /// A case of sessions with their turns, and a question whose evidence is the last turn.
    fn case(id: &str, sessions: &[(&str, &[&str])]) -> Case {
        let mut drawers = Vec::new();
        for (session, turns) in sessions {
            let turns = turns.iter().zip(1..);
            drawers.extend(turns.map(|(text, place)| drawer(session, place, text)));
        }
        let last = drawers.last().map(|last: &Drawer| last.id.clone());
        let session = sessions.last().map(|(name, _)| (*name).to_owned());
        Case {
            id: id.to_owned(),
            half: Half::Tuning,
            drawers,
            today: None,
            questions: vec![Question {
                id: id.to_owned(),
                category: String::new(),
                text: "?".into(),
                turns: last.into_iter().collect(),
                sessions: session.into_iter().collect(),
                mempalace: None,
                unanswerable: false,
            }],
        }
    }

    #[test]
    fn copies_of_a_session_under_two_names_are_one_source() {
        let mut merger = Merger::default();
        let mut first = case("q1", &[("a", &["hello", "hi"]), ("b", &["bye"])]);
        assert_eq!(merger.merge(&mut first).len(), 3);
        let mut second = case("q2", &[("c", &["new"]), ("copy", &["hello", "hi"])]);
        let new = merger.merge(&mut second);
        assert_eq!(new.len(), 1);
        assert_eq!(second.questions[0].sessions, ["a"]);
        assert_eq!(second.questions[0].turns, ["a:2"]);
    }

    #[test]
    fn different_sessions_of_one_name_stay_apart() {
        let mut merger = Merger::default();
        let mut first = case("q1", &[("a", &["hello"])]);
        let mut second = case("q2", &[("a", &["other"])]);
        assert_eq!(merger.merge(&mut first)[0].id, "a:1");
        let new = merger.merge(&mut second);
        assert_eq!(new[0].id, "q2/a#2:1");
        assert_eq!(new[0].metadata.get_str("source_file"), Some("q2/a#2"));
        assert_eq!(second.questions[0].sessions, ["q2/a#2"]);
    }

    #[test]
    fn a_session_that_a_history_contains_twice_is_stored_once() {
        let mut merger = Merger::default();
        let mut twice = case(
            "q",
            &[("a", &["x", "y"]), ("b", &["z"]), ("a", &["x", "y"])],
        );
        // LongMemEval's turns are numbered on in the second copy.
        for (drawer, place) in twice.drawers.iter_mut().skip(3).zip(3..) {
            drawer.id = format!("a:{place}");
        }
        twice.questions[0].turns = vec!["a:2".into(), "a:4".into()];
        assert_eq!(merger.merge(&mut twice).len(), 3);
        assert_eq!(twice.questions[0].turns, ["a:2"]);
    }
}
