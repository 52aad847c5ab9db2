//! Composes the text of a wake-up. Pieces are taken in the order of their importance while they
//! fit, and printed section by section.

use loci_core::Warning;
use loci_recall::count_tokens;

use super::Answer;
use crate::fence::Fence;

/// Below this budget the sentence about the fence is left out; the mark is enough.
const SMALL: usize = 120;
/// Minimum number of tokens of a text that is cut to fit.
const LEAST_CUT: usize = 4;

/// The section of a piece, in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Identity,
    Pinned,
    Important,
    Decisions,
    Rules,
    Tasks,
    People,
    Sessions,
    Facts,
    Diary,
    Notes,
}

impl Section {
    fn heading(self) -> &'static str {
        match self {
            Self::Identity => "About the owner of this memory:",
            Self::Pinned => "Pinned:",
            Self::Important => "Important:",
            Self::Decisions => "Decisions:",
            Self::Rules => "Rules and preferences:",
            Self::Tasks => "Open tasks:",
            Self::People => "People:",
            Self::Sessions => "Last sessions:",
            Self::Facts => "Current facts:",
            Self::Diary => "Last diary entries:",
            Self::Notes => "Notes:",
        }
    }
}

/// One piece of text.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) section: Section,
    /// The drawer it comes from.
    pub(super) id: Option<String>,
    pub(super) text: String,
}

/// The text of the first pieces, as many as fit.
pub(super) fn compose(pieces: &[Piece], budget: usize) -> Answer {
    if pieces.is_empty() {
        return Answer::default();
    }
    let frame = Frame::new(budget);
    let room = budget.saturating_sub(count_tokens(&frame.around("")));
    let mut chosen = choose(pieces, room);
    loop {
        if chosen.is_empty() {
            return Answer {
                warnings: vec![Warning::BudgetTooSmall { budget }],
                ..Answer::default()
            };
        }
        let text = frame.around(&render(&chosen));
        let tokens = count_tokens(&text);
        if tokens <= budget {
            return Answer {
                text,
                tokens,
                drawers: ids(&chosen),
                warnings: Vec::new(),
            };
        }
        chosen.pop();
    }
}

fn choose(pieces: &[Piece], room: usize) -> Vec<Piece> {
    let mut left = room;
    let mut chosen: Vec<Piece> = Vec::new();
    for piece in pieces {
        let heading = cost_of_heading(&chosen, piece.section);
        let cost = count_tokens(&piece.text) + heading;
        if cost <= left {
            left -= cost;
            chosen.push(piece.clone());
        } else if chosen.is_empty() && left >= heading + LEAST_CUT {
            let text = cut_to(&piece.text, left - heading);
            left = 0;
            chosen.extend((!text.is_empty()).then(|| Piece {
                text,
                ..piece.clone()
            }));
        }
    }
    chosen
}

fn cost_of_heading(chosen: &[Piece], section: Section) -> usize {
    if chosen.iter().any(|piece| piece.section == section) {
        0
    } else {
        count_tokens(section.heading())
    }
}

/// The pieces by section, each under its heading.
fn render(chosen: &[Piece]) -> String {
    let mut ordered: Vec<&Piece> = chosen.iter().collect();
    ordered.sort_by_key(|piece| piece.section);
    let mut lines: Vec<&str> = Vec::new();
    let mut last = None;
    for piece in ordered {
        if last != Some(piece.section) {
            lines.push(piece.section.heading());
            last = Some(piece.section);
        }
        lines.push(&piece.text);
    }
    lines.join("\n")
}

fn ids(chosen: &[Piece]) -> Vec<String> {
    let mut ordered: Vec<&Piece> = chosen.iter().collect();
    ordered.sort_by_key(|piece| piece.section);
    ordered
        .into_iter()
        .filter_map(|piece| piece.id.clone())
        .collect()
}

/// The text around the pieces.
struct Frame {
    fence: Fence,
    small: bool,
}

impl Frame {
    fn new(budget: usize) -> Self {
        Self {
            fence: Fence::new(),
            small: budget < SMALL,
        }
    }

    fn around(&self, text: &str) -> String {
        if self.small {
            return self.fence.around("quoted data", text);
        }
        let fenced = self.fence.around("memory", text);
        format!("From memory. {}\n{fenced}", self.fence.meaning())
    }
}

/// The beginning of a text with at most this many tokens, cut between words.
pub(super) fn cut_to(text: &str, tokens: usize) -> String {
    if count_tokens(text) <= tokens {
        return text.to_owned();
    }
    let ends: Vec<usize> = text
        .char_indices()
        .filter(|(_, character)| character.is_whitespace())
        .map(|(at, _)| at)
        .collect();
    // The ellipsis is a token too.
    let fits = |end: &usize| {
        let start = text.get(..*end).unwrap_or_default();
        count_tokens(start) < tokens
    };
    let fitting = ends.partition_point(fits);
    let end = fitting.checked_sub(1).and_then(|at| ends.get(at));
    match end.and_then(|end| text.get(..*end)).map(str::trim_end) {
        Some(start) if !start.is_empty() => format!("{start} …"),
        _ => String::new(),
    }
}
