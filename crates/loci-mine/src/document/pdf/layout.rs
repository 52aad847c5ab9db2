//! Builds lines and paragraphs from text with positions on a page.
//!
//! Drawing order is kept, because it is nearly always the reading order.

use super::matrix::Matrix;

/// A gap this wide along the line, relative to the text size, is a space.
const SPACE: f64 = 0.18;
/// A step this high across the line is a new line.
const LINE: f64 = 0.4;
/// A step this high is a new paragraph.
const PARAGRAPH: f64 = 1.65;

#[derive(Debug, Default)]
pub(super) struct Layout {
    text: String,
    last: Option<Last>,
}

/// The end of the last text.
#[derive(Debug, Clone, Copy)]
struct Last {
    direction: (f64, f64),
    along: f64,
    across: f64,
    size: f64,
}

impl Layout {
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Starts a new paragraph.
    pub(super) fn paragraph(&mut self) {
        self.last = None;
    }

    /// Adds text of `size` that starts at `place` and has this `width` in the same plane.
    pub(super) fn show(&mut self, piece: &str, place: &Matrix, size: f64, width: f64) {
        let (stretch, height) = place.scale();
        let size = (size * height).abs();
        let direction = place.direction();
        let along = place.x * direction.0 + place.y * direction.1;
        let across = place.y * direction.0 - place.x * direction.1;
        // Glyphs without a known character must not count as the last position. Otherwise a bullet
        // would hide the start of a line.
        if piece.is_empty() {
            return;
        }
        let separator = self.separator(direction, along, across, size);
        let doubled = separator == " " && (piece.starts_with(' ') || self.text.ends_with(' '));
        if !doubled {
            if separator.starts_with('\n') {
                self.end_line();
            }
            self.text.push_str(separator);
        }
        self.text
            .extend(piece.chars().filter(|character| !character.is_control()));
        self.last = Some(Last {
            direction,
            along: along + width * stretch,
            across,
            size,
        });
    }

    fn separator(&self, direction: (f64, f64), along: f64, across: f64, size: f64) -> &'static str {
        if self.text.is_empty() {
            return "";
        }
        let Some(last) = self.last else {
            return "\n\n";
        };
        let size = size.max(last.size);
        let turned = direction.0 * last.direction.0 + direction.1 * last.direction.1 < 0.9;
        let step = last.across - across;
        if turned || step > size * PARAGRAPH || step < -size * PARAGRAPH {
            "\n\n"
        } else if step.abs() > size * LINE || along < last.along - size * 3.0 {
            "\n"
        } else if along - last.along > size * SPACE {
            " "
        } else {
            ""
        }
    }

    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
    }

    pub(super) fn finish(mut self) -> String {
        self.end_line();
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }
}
