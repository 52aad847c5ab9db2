//! Decides whether a whole file is noise.

use super::line::Counts;
use super::{Noise, NoiseMap, drawing};
use crate::document::{Format, Language};

/// A file is noise if this share of its bytes is, in percent, and hardly a word is left.
const MOST: usize = 90;
/// A file of minified code also has comments, such as licenses.
const MOST_MINIFIED: usize = 70;
/// More words than these are worth a drawer.
const WORDS: usize = 40;

impl NoiseMap {
    /// Returns the kind of noise that a whole file is.
    pub fn verdict(&self, text: &str, format: &Format) -> Option<Noise> {
        if matches!(format, Format::Code(Language::Other("xml"))) && drawing::is_drawing(text) {
            return Some(Noise::Drawing);
        }
        let mut sizes = [0_usize; Noise::ALL.len()];
        for (size, kind) in sizes.iter_mut().zip(Noise::ALL) {
            let spans = self.spans.iter().filter(|span| span.kind == kind);
            *size = spans.map(|span| span.bytes.len()).sum();
        }
        let noise: usize = sizes.iter().sum();
        if noise == 0 {
            return None;
        }
        let (kind, size) = Noise::ALL
            .into_iter()
            .zip(sizes)
            .max_by_key(|(_, size)| *size)?;
        let all = text.trim().len().max(1);
        let is_prose = matches!(
            format,
            Format::Markdown
                | Format::Rst
                | Format::Html
                | Format::Svg
                | Format::Notebook
                | Format::Pdf
                | Format::Docx
        );
        if kind == Noise::Minified && !is_prose && size * 100 >= all * MOST_MINIFIED {
            return Some(kind);
        }
        let most = if is_prose { 0 } else { WORDS };
        (noise * 100 >= all * MOST && self.words_left(text) <= most).then_some(kind)
    }

    /// The number of words outside the spans.
    fn words_left(&self, text: &str) -> usize {
        let mut words = 0;
        let mut end = 0;
        for span in &self.spans {
            words += Counts::of(text.get(end..span.bytes.start).unwrap_or_default()).words;
            end = span.bytes.end;
        }
        words + Counts::of(text.get(end..).unwrap_or_default()).words
    }
}
