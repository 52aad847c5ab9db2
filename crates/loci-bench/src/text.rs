//! A report as a table for people, within 80 columns.

use std::fmt::Write as _;

use crate::dataset::Kind;
use crate::figures::{AtAll, AtTop, Figures};
use crate::report::{HalfFigures, Report};

/// What MemPalace 3.11 publishes for LoCoMo, sessions, ten deep, by its own measure.
const MEMPALACE_PUBLISHED: f64 = 0.889;

impl Report {
    /// The report as text, within 80 columns.
    pub fn to_text(&self) -> String {
        let mut page = Page::default();
        page.line(&format!(
            "{} ({}): {} questions, {} palaces, {} drawers, embedder {}",
            self.format.name(),
            self.dataset,
            self.questions,
            self.cost.palaces,
            self.cost.drawers,
            self.embedder
        ));
        page.blank();
        page.levels("", &self.session, &self.turn);
        page.blank();
        page.line("95 % intervals          any@5        any@10         all@5        all@10");
        page.intervals("session", &self.session);
        page.intervals("turn", &self.turn);
        page.line("                   fraction@5   fraction@10");
        page.fraction_intervals("session", &self.session);
        page.fraction_intervals("turn", &self.turn);
        page.blank();
        page.halves(self);
        page.blank();
        page.categories(self);
        page.blank();
        page.costs(self);
        page.blank();
        page.definitions(self.format);
        for warning in &self.warnings {
            page.wrapped("warning: ", warning);
        }
        page.0
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn blank(&mut self) {
        self.0.push('\n');
    }

    fn line(&mut self, text: &str) {
        self.wrapped("", text);
    }

    /// A text over as many lines as it needs, the later ones indented.
    fn wrapped(&mut self, label: &str, text: &str) {
        let mut line = label.to_owned();
        if label.len() + text.chars().count() <= WIDTH {
            self.0.push_str(label);
            self.0.push_str(text);
            self.0.push('\n');
            return;
        }
        let mut empty = true;
        for word in text.split(' ') {
            if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
                self.0.push_str(&line);
                self.0.push('\n');
                line = "  ".into();
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        self.0.push_str(&line);
        self.0.push('\n');
    }

    fn levels(&mut self, _title: &str, session: &Figures, turn: &Figures) {
        self.line(&format!(
            "           {:<34} {}",
            format!("session ({} questions)", session.questions),
            format_args!("turn ({} questions)", turn.questions)
        ));
        self.line("               @1     @3     @5    @10             @1     @3     @5    @10");
        let rows: [(&str, fn(&Figures) -> AtAll); 4] = [
            ("any", |figures| figures.any),
            ("fraction", |figures| figures.fraction),
            ("all", |figures| figures.all),
            ("ndcg", |figures| figures.ndcg),
        ];
        for (name, of) in rows {
            let (left, right) = (row(of(session), session), row(of(turn), turn));
            self.line(&format!("{name:<9} {left}       {right}"));
        }
        self.line(&format!(
            "{:<9} {:>28}       {:>28}",
            "mrr",
            cell(session.mrr, session.questions),
            cell(turn.mrr, turn.questions)
        ));
    }

    fn intervals(&mut self, name: &str, figures: &Figures) {
        let of = figures.interval_95;
        let cells = [of.any.five, of.any.ten, of.all.five, of.all.ten].map(span);
        self.line(&format!("  {name:<12} {}", cells.join(" ")));
    }

    fn fraction_intervals(&mut self, name: &str, figures: &Figures) {
        let of = figures.interval_95.fraction;
        let cells = [of.five, of.ten].map(span);
        self.line(&format!("  {name:<12} {}", cells.join(" ")));
    }

    fn halves(&mut self, report: &Report) {
        self.line("half           session            turn               MemPalace's measure");
        self.line("             @5     @10         @5     @10          @5     @10   (fraction)");
        let whole = HalfFigures {
            session: report.session,
            turn: report.turn,
            mempalace_locomo: report.mempalace_locomo,
            ..HalfFigures::default()
        };
        let halves = [
            ("tuning", &report.tuning),
            ("reporting", &report.reporting),
            ("both", &whole),
        ];
        for (name, half) in halves {
            self.line(&format!(
                "{name:<10} {}    {}    {}",
                pair(top(half.session.fraction), half.session.questions),
                pair(top(half.turn.fraction), half.turn.questions),
                half.mempalace_locomo
                    .map_or_else(|| pair(AtTop::default(), 0), |of| pair(of, 1)),
            ));
        }
        if report.format == Kind::LoCoMo {
            self.line(&format!(
                "{:<53}{MEMPALACE_PUBLISHED:>7.3}",
                "MemPalace's own, as published, all questions"
            ));
        }
        self.wrapped("halves: ", report.split);
        for (name, half) in [("tuning", &report.tuning), ("reporting", &report.reporting)] {
            if !half.conversations.is_empty() {
                self.wrapped(&format!("{name}: "), &half.conversations.join(", "));
            }
        }
    }

    fn categories(&mut self, report: &Report) {
        self.line("category                      count    session          turn  (fraction)");
        self.line("                                       @5     @10       @5     @10");
        for (name, category) in &report.by_category {
            let name = match (report.format, name.as_str()) {
                (Kind::LoCoMo, "1") => "1 multi-hop",
                (Kind::LoCoMo, "2") => "2 temporal",
                (Kind::LoCoMo, "3") => "3 open-domain",
                (Kind::LoCoMo, "4") => "4 single-hop",
                (Kind::LoCoMo, "5") => "5 adversarial (not above)",
                (_, name) => name,
            };
            self.line(&format!(
                "{name:<28} {:>6}  {} {}",
                category.count,
                pair(category.session.fraction, category.session.questions),
                pair(category.turn.fraction, category.turn.questions)
            ));
        }
    }

    fn costs(&mut self, report: &Report) {
        let cost = &report.cost;
        self.line(&format!(
            "CPU of a search: p50 {:.2} ms, p95 {:.2} ms; by source: p50 {:.2} ms, p95 {:.2} ms",
            report.cpu_ms.p50,
            report.cpu_ms.p95,
            cost.session_cpu_ms.p50,
            cost.session_cpu_ms.p95
        ));
        self.line(&format!(
            "CPU of a write: {:.3} ms per drawer; on disk: {} bytes; answers: {:.0} tokens",
            cost.ingest_cpu_ms_per_drawer, cost.bytes_on_disk, cost.tokens_per_query
        ));
    }

    fn definitions(&mut self, kind: Kind) {
        self.line("any       share of questions with some evidence among the first k");
        self.line("fraction  mean share of the evidence among the first k");
        self.line("all       share of questions with all evidence among the first k");
        self.line("ndcg      binary gain over the ideal of min(k, evidence) items");
        self.line("mrr       mean of 1 / place of the first evidence within ten, else 0");
        self.line("any, all: Wilson intervals; fraction: normal, from the sample variance");
        match kind {
            Kind::LoCoMo => {
                self.line("Left out above: questions without evidence, and category 5.");
                self.line("MemPalace's measure: fraction of sessions, all questions, none = 1.");
            }
            Kind::LongMemEval => {
                self.line("Left out: questions without evidence, and abstentions.");
            }
        }
    }
}

/// Columns of a terminal.
const WIDTH: usize = 80;

fn top(all: AtAll) -> AtTop {
    AtTop {
        five: all.five,
        ten: all.ten,
    }
}

/// A dash stands for what was not measured.
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
    let mut text = String::new();
    let _ = write!(text, "{low:.3}..{high:.3}");
    format!("{text:>13}")
}
