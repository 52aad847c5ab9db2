//! The features of a candidate: what the ranking knows about a drawer and a question.
//!
//! [`DEFINITIONS`] lists them with the knots of their curves. `cargo xtask fit` learns the value of
//! each curve at its knots ([`crate::curves`]), and [`crate::model`] adds the curves up.

use crate::score::Part;

/// One feature of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Feature {
    /// BM25 of the passage, as a share of what the question can attain.
    Words,
    /// The same with the words of its neighbours, which count less.
    WordsAround,
    /// Share of the question's words that the passage contains, weighted by rarity.
    Coverage,
    /// The passage contains all words of the question that any drawer contains.
    Complete,
    /// [`Feature::Words`] in relation to the best candidate.
    WordsLead,
    /// The largest share of the question's words within twelve words of the text.
    Close,
    /// Share of the neighbouring words of the question that are neighbours in the text.
    Pairs,
    /// Share of the question's words that the text contains in the same form, not only in the same
    /// stem.
    Exact,
    /// BM25 of the whole source, as a share of what the question can attain.
    Source,
    /// [`Feature::Source`] in relation to the best candidate.
    SourceLead,
    /// The cosine of the vectors.
    Cosine,
    /// The cosine minus that of the nearest candidate.
    CosineLead,
    /// MaxSim of the passage's own tokens.
    OwnTokens,
    /// MaxSim of the passage's tokens and those of its neighbours, which count less.
    Tokens,
    /// [`Feature::Tokens`] in relation to the best candidate.
    TokensLead,
    /// The question names the speaker.
    Named,
    /// The user said it.
    User,
    /// The user said it, and the question is about "I" or "we".
    UserAsksOfSelf,
    /// The assistant said it, and the question is about "you" or an earlier chat.
    AssistantIsAsked,
    /// The date is near to one that the question names.
    Date,
    /// It was written after the day of the question: the logarithm of 1 and the days.
    Future,
    /// The logarithm of 1 and the number of its terms.
    Length,
    /// The number of questions in the text. A question seldom answers another one.
    Asks,
}

/// Number of features.
pub const FEATURES: usize = 23;

/// The shape that a curve must have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// More of the feature never hurts. The curve rises by at least this much in all, evenly: in a
    /// small palace, and in a large one.
    Rises(f32, f32),
    /// More of the feature never helps.
    Falls,
    /// The data decides.
    Free,
}

/// The definition of a feature.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The feature.
    pub feature: Feature,
    /// The part of the score that it belongs to.
    pub part: Part,
    /// The values at which its curve may bend, ascending. Beyond the ends the curve is flat.
    pub knots: &'static [f32],
    /// The shape of its curve.
    pub shape: Shape,
}

const SHARE: &[f32] = &[0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0];
const COARSE_SHARE: &[f32] = &[0.0, 0.15, 0.3, 0.5, 0.75, 1.0];
const LEAD: &[f32] = &[0.0, 0.5, 0.7, 0.85, 1.0];
const SIMILARITY: &[f32] = &[0.2, 0.4, 0.6, 0.8, 1.0];
const FLAG: &[f32] = &[0.0, 1.0];

/// All features, in the order of [`Feature`].
///
/// The least slopes hold where the data of the fit says little: a match of words, of the source
/// or of the meaning must count in every palace, also in one that is unlike the chats and
/// documents of the fit.
pub const DEFINITIONS: [Definition; FEATURES] = [
    define(Feature::Words, Part::Words, SHARE, Shape::Rises(0.0, 2.0)),
    define(
        Feature::WordsAround,
        Part::Words,
        SHARE,
        Shape::Rises(0.6, 0.3),
    ),
    define(
        Feature::Coverage,
        Part::Words,
        COARSE_SHARE,
        Shape::Rises(0.0, 0.5),
    ),
    define(Feature::Complete, Part::Words, FLAG, Shape::Rises(0.8, 0.5)),
    define(
        Feature::WordsLead,
        Part::Words,
        LEAD,
        Shape::Rises(0.6, 0.6),
    ),
    define(
        Feature::Close,
        Part::Words,
        COARSE_SHARE,
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::Pairs,
        Part::Words,
        &[0.0, 0.15, 0.4, 1.0],
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::Exact,
        Part::Words,
        COARSE_SHARE,
        Shape::Rises(0.0, 0.0),
    ),
    define(Feature::Source, Part::Source, SHARE, Shape::Rises(0.5, 0.5)),
    define(
        Feature::SourceLead,
        Part::Source,
        LEAD,
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::Cosine,
        Part::Meaning,
        &[0.2, 0.35, 0.5, 0.65, 0.8],
        Shape::Rises(1.0, 1.0),
    ),
    define(
        Feature::CosineLead,
        Part::Meaning,
        &[-0.4, -0.25, -0.15, -0.05, 0.0],
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::OwnTokens,
        Part::Tokens,
        SIMILARITY,
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::Tokens,
        Part::Tokens,
        SIMILARITY,
        Shape::Rises(0.5, 0.5),
    ),
    define(
        Feature::TokensLead,
        Part::Tokens,
        &[0.5, 0.7, 0.85, 1.0],
        Shape::Rises(0.0, 0.0),
    ),
    define(Feature::Named, Part::Speaker, FLAG, Shape::Rises(3.5, 3.5)),
    define(Feature::User, Part::Speaker, FLAG, Shape::Free),
    define(
        Feature::UserAsksOfSelf,
        Part::Speaker,
        FLAG,
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::AssistantIsAsked,
        Part::Speaker,
        FLAG,
        Shape::Rises(0.0, 0.0),
    ),
    define(
        Feature::Date,
        Part::Date,
        &[0.0, 0.5, 1.0, 6.0],
        Shape::Rises(18.0, 18.0),
    ),
    define(Feature::Future, Part::Date, &[0.0, 2.0, 5.0], Shape::Falls),
    define(
        Feature::Length,
        Part::Length,
        &[1.0, 3.0, 4.0, 5.0, 6.0],
        Shape::Free,
    ),
    define(Feature::Asks, Part::Length, &[0.0, 1.0, 2.0], Shape::Falls),
];

const fn define(feature: Feature, part: Part, knots: &'static [f32], shape: Shape) -> Definition {
    Definition {
        feature,
        part,
        knots,
        shape,
    }
}

/// The features of one candidate. A feature that is not known yet is 0, and its curve is then at
/// its lowest or first value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Features([f32; FEATURES]);

impl Default for Features {
    fn default() -> Self {
        let mut features = Self([0.0; FEATURES]);
        features.set(Feature::CosineLead, -1.0);
        features
    }
}

impl From<[f32; FEATURES]> for Features {
    fn from(values: [f32; FEATURES]) -> Self {
        Self(values)
    }
}

impl Features {
    /// The value of a feature.
    pub fn get(&self, feature: Feature) -> f32 {
        self.0.get(feature as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, feature: Feature, value: f32) {
        if let Some(slot) = self.0.get_mut(feature as usize) {
            *slot = value;
        }
    }

    /// All values, in the order of [`DEFINITIONS`].
    pub fn values(&self) -> &[f32; FEATURES] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_in_the_order_of_the_features_and_their_knots_ascend() {
        for (at, definition) in DEFINITIONS.iter().enumerate() {
            assert_eq!(definition.feature as usize, at);
            assert!(
                definition.knots.is_sorted_by(|a, b| a < b),
                "{definition:?}"
            );
        }
    }
}
