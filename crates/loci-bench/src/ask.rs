//! Asks a question twice: for turns, and for sessions.

use jiff::civil::Date;
use loci_palace::search::{Hit, Request};
use loci_palace::{Palace, Result};

use crate::baseline::Ranking;
use crate::clock;
use crate::dataset::{Half, Question};
use crate::metric::{DEPTH, Judged};

/// The results of both searches.
pub(crate) struct Asked {
    /// Hits of the search for turns, best first.
    pub(crate) turns: Vec<Hit>,
    /// Sources of the search by source, best first.
    pub(crate) sessions: Vec<String>,
    /// CPU time of the search for turns.
    pub(crate) cpu_ms: f64,
    /// CPU time of the search by source.
    pub(crate) session_cpu_ms: f64,
    /// Number of tokens of the texts of the search for turns.
    pub(crate) tokens: usize,
}

/// The outcome of a question, for the report.
pub(crate) struct Outcome {
    pub(crate) category: String,
    pub(crate) half: Half,
    pub(crate) unanswerable: bool,
    /// `None` without evidence.
    pub(crate) turn: Option<Judged>,
    /// `None` without evidence.
    pub(crate) session: Option<Judged>,
    /// Only for LoCoMo.
    pub(crate) mempalace: Option<Judged>,
    pub(crate) cpu_ms: f64,
    pub(crate) session_cpu_ms: f64,
    pub(crate) tokens: usize,
    /// The outcome of the baseline, if it was asked.
    pub(crate) baseline: Option<BaselineOutcome>,
}

/// The outcome of a question by the baseline.
pub(crate) struct BaselineOutcome {
    /// `None` without evidence.
    pub(crate) turn: Option<Judged>,
    /// `None` without evidence.
    pub(crate) session: Option<Judged>,
    /// CPU time of its search.
    pub(crate) cpu_ms: f64,
}

/// Asks a palace.
pub(crate) fn ask(palace: &Palace, question: &str, today: Option<Date>) -> Result<Asked> {
    let mut request = Request::new(question);
    request.k = DEPTH;
    request.today = today.unwrap_or(request.today);
    let (found, cpu_ms) = clock::timed(|| palace.search(&request));
    let answer = found?;
    request.by_source = true;
    let (found, session_cpu_ms) = clock::timed(|| palace.search(&request));
    let source = |hit: Hit| hit.source.value().cloned();
    let sessions = found?.hits.into_iter().filter_map(source).collect();
    Ok(Asked {
        turns: answer.hits,
        sessions,
        cpu_ms,
        session_cpu_ms,
        tokens: answer.tokens,
    })
}

/// Compares the results with the evidence.
pub(crate) fn judge(question: &Question, half: Half, asked: &Asked) -> Outcome {
    let turns: Vec<&str> = asked.turns.iter().map(|hit| hit.id.as_str()).collect();
    let sessions: Vec<&str> = asked.sessions.iter().map(String::as_str).collect();
    Outcome {
        category: question.category.clone(),
        half,
        unanswerable: question.unanswerable,
        turn: with_evidence(&question.turns, &turns),
        session: with_evidence(&question.sessions, &sessions),
        mempalace: question
            .mempalace
            .as_ref()
            .map(|evidence| Judged::new(evidence, &sessions)),
        cpu_ms: asked.cpu_ms,
        session_cpu_ms: asked.session_cpu_ms,
        tokens: asked.tokens,
        baseline: None,
    }
}

/// Compares the ranking of the baseline with the evidence.
pub(crate) fn judge_baseline(
    question: &Question,
    ranking: &Ranking,
    cpu_ms: f64,
) -> BaselineOutcome {
    BaselineOutcome {
        turn: with_evidence(&question.turns, &ranking.turns),
        session: with_evidence(&question.sessions, &ranking.sessions),
        cpu_ms,
    }
}

fn with_evidence<R: AsRef<str>>(evidence: &[String], ranking: &[R]) -> Option<Judged> {
    (!evidence.is_empty()).then(|| Judged::new(evidence, ranking))
}
