//! Formats a report as text, within 80 columns.

use crate::dataset::Kind;
use crate::difference::Difference;
use crate::figures::{AtAll, AtTop, Figures};
use crate::report::{BaselineFigures, HalfFigures, Percentiles, Report};

/// Columns of a terminal.
const WIDTH: usize = 80;
/// The figure that MemPalace publishes for LoCoMo: sessions, first ten, by its own measure.
const MEMPALACE_PUBLISHED: f64 = 0.889;

const LEVELS: &str = "              @1     @3     @5    @10             @1     @3     @5    @10";
const INTERVALS: &str = "95 % intervals        @5           @10";
const BASELINE: &str = "                     Loci  baseline  difference  95 %, paired bootstrap";
const HALVES: &str = "\
fraction          session            turn
               @5     @10      @5     @10";
const LOCOMO_HALVES: &str = "\
fraction          session            turn       MemPalace's measure, sessions
               @5     @10      @5     @10      @5     @10";
const CATEGORIES: &str = "\
fraction                               session            turn
by category                count    @5     @10      @5     @10";
const MEASURES: &str = "\
any       share of questions with some evidence among the first k
fraction  mean share of the evidence that is among the first k
all       share of questions with all evidence among the first k
ndcg      binary gain of the first k over that of min(k, evidence) on top
mrr       mean of 1 / place of the first evidence within ten, 0 without
intervals any, all: Wilson; fraction: normal, from the sample variance";
const LOCOMO: &str = "\
left out  questions without evidence; category 5, which asks the wrong person
MemPalace's measure: fraction of sessions, all questions, no evidence is 1";
const LONGMEMEVAL: &str = "left out  questions without evidence; abstentions";

impl Report {
    /// The report as text, within 80 columns.
    pub fn to_text(&self) -> String {
        let mut page = Page::default();
        page.wrapped(&format!(
            "{} ({}): {} questions, {} palaces, {} drawers, embedder {}",
            self.format.name(),
            self.dataset,
            self.questions,
            self.cost.palaces,
            self.cost.drawers,
            self.embedder
        ));
        page.levels(&self.session, &self.turn);
        page.intervals(&self.session, &self.turn);
        if let Some(baseline) = &self.baseline {
            page.baseline(self, baseline);
        }
        page.halves(self);
        page.categories(self);
        page.costs(self);
        page.line("");
        page.line(MEASURES);
        page.line(match self.format {
            Kind::LoCoMo => LOCOMO,
            Kind::LongMemEval => LONGMEMEVAL,
        });
        for warning in &self.warnings {
            page.wrapped(&format!("warning: {warning}"));
        }
        page.0
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    /// A text wrapped over several lines, the later ones indented.
    fn wrapped(&mut self, text: &str) {
        let mut line = String::new();
        for word in text.split(' ') {
            let length = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && length > WIDTH {
                self.line(&line);
                line = " ".into();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    fn levels(&mut self, session: &Figures, turn: &Figures) {
        self.line("");
        let count = |level, figures: &Figures| format!("{level}, {} questions", figures.questions);
        let (left, right) = (count("session", session), count("turn", turn));
        self.line(&format!("         {left:>28}       {right:>28}"));
        self.line(LEVELS);
        for (name, left, right) in [
            ("any", session.any, turn.any),
            ("fraction", session.fraction, turn.fraction),
            ("all", session.all, turn.all),
            ("ndcg", session.ndcg, turn.ndcg),
        ] {
            let (left, right) = (row(left, session), row(right, turn));
            self.line(&format!("{name:<9}{left}       {right}"));
        }
        let (left, right) = (
            cell(session.mrr, session.questions),
            cell(turn.mrr, turn.questions),
        );
        self.line(&format!("mrr      {left:>28}       {right:>28}"));
    }

    fn intervals(&mut self, session: &Figures, turn: &Figures) {
        self.line("");
        self.line(INTERVALS);
        for (level, figures) in [("session", session), ("turn", turn)] {
            let of = figures.interval_95;
            for (name, at) in [("any", of.any), ("fraction", of.fraction), ("all", of.all)] {
                let (five, ten) = (span(at.five), span(at.ten));
                self.line(&format!("{level:<8}{name:<9} {five} {ten}"));
            }
        }
    }

    fn baseline(&mut self, report: &Report, baseline: &BaselineFigures) {
        self.line("");
        self.wrapped(&format!("baseline: {}", baseline.name));
        self.line(BASELINE);
        let levels = [
            (
                "session",
                (&report.session, &baseline.session),
                &baseline.session_difference,
            ),
            (
                "turn",
                (&report.turn, &baseline.turn),
                &baseline.turn_difference,
            ),
        ];
        for (level, (ours, theirs), of) in levels {
            for (name, ours, theirs, difference) in [
                ("any@1", ours.any.one, theirs.any.one, of.any_1),
                ("any@5", ours.any.five, theirs.any.five, of.any_5),
                ("any@10", ours.any.ten, theirs.any.ten, of.any_10),
                ("all@5", ours.all.five, theirs.all.five, of.all_5),
                ("all@10", ours.all.ten, theirs.all.ten, of.all_10),
            ] {
                let Difference { mean, low, high } = difference;
                self.line(&format!(
                    "{level:<8}{name:<9}{ours:>8.4}{theirs:>10.4}{mean:>+12.4}  {low:+.3}..{high:+.3}"
                ));
            }
        }
        let Percentiles { p50, p95 } = baseline.cpu_ms;
        self.line(&format!("CPU ms of its search: p50 {p50:.2}, p95 {p95:.2}"));
    }

    fn halves(&mut self, report: &Report) {
        self.line("");
        self.line(match report.format {
            Kind::LoCoMo => LOCOMO_HALVES,
            Kind::LongMemEval => HALVES,
        });
        let whole = HalfFigures {
            session: report.session,
            turn: report.turn,
            mempalace_locomo: report.mempalace_locomo,
            ..HalfFigures::default()
        };
        for (name, half) in [
            ("tuning", &report.tuning),
            ("reporting", &report.reporting),
            ("both", &whole),
        ] {
            let session = pair(top(half.session.fraction), half.session.questions);
            let turn = pair(top(half.turn.fraction), half.turn.questions);
            let mempalace = half.mempalace_locomo.map(|of| pair(of, 1));
            let mempalace = mempalace.unwrap_or_default();
            self.line(&format!("{name:<10}{session} {turn} {mempalace}"));
        }
        if report.format == Kind::LoCoMo {
            let published = "MemPalace itself, as published";
            self.line(&format!("{published:<51}{MEMPALACE_PUBLISHED:>7.3}"));
        }
        self.wrapped(&format!("halves: {}", report.split));
        for (name, half) in [("tuning", &report.tuning), ("reporting", &report.reporting)] {
            if !half.conversations.is_empty() {
                self.wrapped(&format!("{name}: {}", half.conversations.join(", ")));
            }
        }
    }

    fn categories(&mut self, report: &Report) {
        self.line("");
        self.line(CATEGORIES);
        for (name, category) in &report.by_category {
            let name = match (report.format, name.as_str()) {
                (Kind::LoCoMo, "1") => "1 multi-hop",
                (Kind::LoCoMo, "2") => "2 temporal",
                (Kind::LoCoMo, "3") => "3 open-domain",
                (Kind::LoCoMo, "4") => "4 single-hop",
                (Kind::LoCoMo, "5") => "5 wrong person",
                (_, name) => name,
            };
            let name: String = name.chars().take(WIDTH / 2).collect();
            let session = pair(category.session.fraction, category.session.questions);
            let turn = pair(category.turn.fraction, category.turn.questions);
            let count = category.count;
            self.line(&format!("{name:<26}{count:>6} {session} {turn}"));
        }
    }

    fn costs(&mut self, report: &Report) {
        let cost = &report.cost;
        let both = |of: Percentiles| format!("p50 {:.2}, p95 {:.2}", of.p50, of.p95);
        let (turns, sources) = (both(report.cpu_ms), both(cost.session_cpu_ms));
        self.line("");
        self.line(&format!(
            "CPU ms of a search: {turns}; by source: {sources}"
        ));
        self.line(&format!(
            "CPU ms of a write: {:.3} per drawer; tokens of an answer: {:.0}",
            cost.ingest_cpu_ms_per_drawer, cost.tokens_per_query
        ));
        self.line(&format!(
            "bytes on disk: {}; drawers without a date: {}",
            cost.bytes_on_disk, cost.undated_drawers
        ));
    }
}

fn top(all: AtAll) -> AtTop {
    AtTop {
        five: all.five,
        ten: all.ten,
    }
}

/// A figure, or a dash if it was not measured.
fn cell(value: f64, questions: usize) -> String {
    match questions {
        0 => format!("{:>7}", "-"),
        _ => format!("{value:>7.4}"),
    }
}

fn row(all: AtAll, figures: &Figures) -> String {
    [all.one, all.three, all.five, all.ten]
        .map(|value| cell(value, figures.questions))
        .concat()
}

fn pair(of: AtTop, questions: usize) -> String {
    format!("{} {}", cell(of.five, questions), cell(of.ten, questions))
}

fn span((low, high): (f64, f64)) -> String {
    format!("{low:.3}..{high:.3}")
}
