//! The default embedder: a table of token vectors in the binary. The vector of a text is the mean
//! of its tokens.
//!
//! The table was distilled from all-MiniLM-L6-v2 and has the same space. The mean of all rows is
//! stored separately: with it two static vectors compare best, without it a static query finds
//! stored MiniLM vectors. Nothing is read from disk, and the table is never copied.
//!
//! A build may come with another table than the one before, and so with another identity. The
//! vectors of [`earlier_tables`] are comparable with those of the present one and are mixed with
//! them: a palace keeps its vectors and its identity, and new vectors are stored under that
//! identity. Builds with either table can use the palace at the same time.

use std::sync::OnceLock;

use loci_core::byte_vector::round_to_bytes;
use loci_core::{Compatibility, Embedder, EmbedderIdentity, Result};

use crate::kernels;
use crate::minilm::MINILM_NAME;
use crate::table::Table;
use loci_text::{TokenId, Tokenizer};

/// Name of the static embedder in an [`EmbedderIdentity`].
pub const STATIC_NAME: &str = "static";

static BYTES: &[u8] = include_bytes!("../data/static-384.bin");

/// Digests of the built-in tables of earlier builds whose vectors are comparable with those of
/// [`BYTES`]. The vectors of a text by two of them have a cosine above .98; NOTICE has the figures.
const EARLIER_DIGESTS: [&str; 1] = [
    // The same rows in 8 bits per number.
    "c0e99103a72898412bfcef91983f2661661d54b0693cf5bb2ea07cb47a18270c",
];

/// The identities of the built-in tables of earlier builds whose vectors are comparable with those
/// of [`StaticEmbedder::builtin`].
pub fn earlier_tables() -> impl Iterator<Item = EmbedderIdentity> {
    EARLIER_DIGESTS.iter().map(|digest| EmbedderIdentity {
        name: STATIC_NAME.into(),
        dimension: StaticEmbedder::builtin().table.dimension(),
        digest: (*digest).to_owned(),
    })
}

/// Whether the built-in table of an earlier build made these vectors, and the present table can go
/// on with them.
pub fn is_earlier_table(identity: &EmbedderIdentity) -> bool {
    earlier_tables().any(|earlier| earlier == *identity)
}

/// Embeds text by averaging token vectors.
///
/// ```
/// use loci_core::Embedder;
/// use loci_embed::StaticEmbedder;
/// let embedder = StaticEmbedder::builtin();
/// let vectors = embedder.embed(&["a cat sat on the mat", "the kitten sits on a rug", "quarterly tax report"])?;
/// let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
/// assert!(cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]));
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StaticEmbedder {
    table: Table<'static>,
    mean: Vec<f32>,
}

/// Tokens that many others are compared with.
#[derive(Debug, Clone)]
pub struct ComparedTokens {
    tokens: Vec<TokenId>,
    /// The codes of their rows, one row after the other.
    unpacked: Vec<u8>,
    /// Their products with the last token.
    products: Vec<i32>,
}

impl StaticEmbedder {
    /// The table of this build.
    #[expect(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the table is a constant of the build, and a test reads it"
    )]
    pub fn builtin() -> &'static Self {
        static EMBEDDER: OnceLock<StaticEmbedder> = OnceLock::new();
        EMBEDDER
            .get_or_init(|| Self::new(Table::new(BYTES).expect("the table of this build is valid")))
    }

    /// An embedder over another table.
    pub fn new(table: Table<'static>) -> Self {
        Self {
            mean: table.mean().collect(),
            table,
        }
    }

    /// The table.
    pub fn table(&self) -> &Table<'static> {
        &self.table
    }

    /// Its identity, with the digest of the table.
    pub fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity {
            name: STATIC_NAME.into(),
            dimension: self.table.dimension(),
            digest: self.table.digest(),
        }
    }

    /// The tokens of a text, in order, without special tokens.
    pub fn tokens(&self, text: &str) -> Vec<TokenId> {
        Tokenizer::builtin().encode(text)
    }

    /// The vector of a text, of unit length; zero when the text has no tokens.
    pub fn embed_one(&self, text: &str) -> Vec<f32> {
        self.average(&self.tokens(text), true)
    }

    /// The query vector of a text for stored MiniLM vectors, without the mean of the table.
    pub fn embed_centred(&self, text: &str) -> Vec<f32> {
        self.average(&self.tokens(text), false)
    }

    /// The vector of a tokenised text.
    pub fn embed_tokens(&self, tokens: &[TokenId]) -> Vec<f32> {
        self.average(tokens, true)
    }

    /// The vector of one token, with unit length and without the mean; zero if the table has no
    /// such row.
    pub fn token_vector(&self, token: TokenId) -> Vec<f32> {
        let mut vector = vec![0.0; self.table.dimension()];
        kernels::add_scaled(
            &mut vector,
            self.table.row(token),
            self.table.inverse(token),
        );
        vector
    }

    /// The cosine of two token vectors, for MaxSim.
    pub fn token_similarity(&self, a: TokenId, b: TokenId) -> f32 {
        let dot = kernels::dot_codes(self.table.row(a), self.table.row(b));
        dot as f32 * self.table.inverse(a) * self.table.inverse(b)
    }

    /// Prepares tokens that many others are compared with.
    pub fn compared(&self, tokens: &[TokenId]) -> ComparedTokens {
        let rows = tokens.iter().map(|token| self.table.row(*token));
        let unpacked: Vec<u8> = rows.flat_map(kernels::unpack).collect();
        // A token without a row, or rows that are too long, are compared one by one.
        let is_whole = unpacked.len() == tokens.len() * 2 * self.table.row(0).len()
            && unpacked.len() <= tokens.len() * kernels::MOST_CODES;
        ComparedTokens {
            unpacked: if is_whole { unpacked } else { Vec::new() },
            products: vec![0; tokens.len()],
            tokens: tokens.to_vec(),
        }
    }

    /// [`Self::token_similarity`] of each prepared token and this one, which costs a fifth if there
    /// are several.
    pub fn token_similarities<'a>(
        &'a self,
        compared: &'a mut ComparedTokens,
        token: TokenId,
    ) -> impl Iterator<Item = f32> + 'a {
        let row = self.table.row(token);
        if compared.unpacked.is_empty() || row.is_empty() {
            for (product, other) in compared.products.iter_mut().zip(&compared.tokens) {
                *product = kernels::dot_codes(self.table.row(*other), row);
            }
        } else {
            kernels::dots(row, &compared.unpacked, &mut compared.products);
        }
        let inverse = self.table.inverse(token);
        let products = compared.tokens.iter().zip(&compared.products);
        products.map(move |(other, dot)| *dot as f32 * self.table.inverse(*other) * inverse)
    }

    /// The weight of a token in an average, between 0 and 1, by its rarity.
    pub fn token_weight(&self, token: TokenId) -> f32 {
        self.table.weight(token)
    }

    fn average(&self, tokens: &[TokenId], with_mean: bool) -> Vec<f32> {
        let mut sum = vec![0.0; self.table.dimension()];
        let mut total = 0.0;
        for &token in tokens {
            let weight = self.table.weight(token);
            if weight > 0.0 {
                kernels::add_scaled(
                    &mut sum,
                    self.table.row(token),
                    weight * self.table.scale(token),
                );
                total += weight;
            }
        }
        if with_mean {
            for (sum, mean) in sum.iter_mut().zip(&self.mean) {
                *sum += total * mean;
            }
        }
        kernels::normalise(&mut sum);
        sum
    }
}

impl Embedder for StaticEmbedder {
    fn identity(&self) -> EmbedderIdentity {
        self.identity()
    }

    /// The vectors to store. They are rounded, so that a backend can store a byte per number.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let rounded = |text: &&str| {
            let mut vector = self.embed_one(text);
            round_to_bytes(&mut vector);
            vector
        };
        Ok(texts.iter().map(rounded).collect())
    }

    fn compatibility(&self, other: &EmbedderIdentity) -> Compatibility {
        if self.identity() == *other || is_earlier_table(other) {
            Compatibility::Same
        } else if other.name == MINILM_NAME && other.dimension == self.table.dimension() {
            Compatibility::Compatible
        } else {
            Compatibility::Foreign
        }
    }

    fn embed_queries(&self, texts: &[&str], space: &EmbedderIdentity) -> Result<Vec<Vec<f32>>> {
        if space.name == MINILM_NAME {
            return Ok(texts.iter().map(|text| self.embed_centred(text)).collect());
        }
        Ok(texts.iter().map(|text| self.embed_one(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use loci_core::byte_vector::ByteCodes;

    use super::*;

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_table_of_this_build_is_whole_and_fits_the_vocabulary() {
        let table = StaticEmbedder::builtin().table();
        table.verify().unwrap();
        assert_eq!(
            (table.tokens(), table.dimension()),
            (Tokenizer::builtin().len(), 384)
        );
    }

    #[test]
    fn vectors_have_unit_length_or_are_zero() {
        let embedder = StaticEmbedder::builtin();
        for text in ["palace", "日本語", "!?", "the", "\u{1f600} émigré 42"] {
            for vector in [embedder.embed_one(text), embedder.embed_centred(text)] {
                assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5, "{text}");
            }
        }
        for text in ["", " \n", "\u{200b}"] {
            assert!(
                embedder.embed_one(text).iter().all(|&x| x == 0.0),
                "{text:?}"
            );
        }
    }

    #[test]
    fn token_similarity_is_the_cosine_of_token_vectors() {
        let embedder = StaticEmbedder::builtin();
        let tokens = embedder.tokens("doctor physician banana");
        assert_eq!(tokens.len(), 3);
        let [doctor, physician, banana] = [tokens[0], tokens[1], tokens[2]];
        let by_vectors = cosine(
            &embedder.token_vector(doctor),
            &embedder.token_vector(physician),
        );
        let similarity = embedder.token_similarity(doctor, physician);
        assert!((by_vectors - similarity).abs() < 1e-5);
        assert!(similarity > embedder.token_similarity(doctor, banana) + 0.2);
        assert!((embedder.token_similarity(banana, banana) - 1.0).abs() < 1e-5);
        assert!(embedder.token_similarity(banana, TokenId::MAX).abs() < f32::EPSILON);
    }

    #[test]
    fn similarities_of_several_tokens_are_those_of_each() {
        let embedder = StaticEmbedder::builtin();
        let mut asked = embedder.tokens("doctor physician banana");
        let others = embedder.tokens("The nurse eats 42 apples, café!");
        let compare = |asked: &[TokenId]| {
            let mut compared = embedder.compared(asked);
            for other in others.iter().copied().chain([TokenId::MAX]) {
                let found: Vec<f32> = embedder.token_similarities(&mut compared, other).collect();
                let expected: Vec<f32> = asked
                    .iter()
                    .map(|asked| embedder.token_similarity(*asked, other))
                    .collect();
                assert_eq!(found, expected, "{other}");
            }
        };
        compare(&asked);
        compare(&[]);
        asked.push(TokenId::MAX);
        compare(&asked);
    }

    #[test]
    fn an_earlier_built_in_table_is_the_same_space_and_an_unknown_one_is_foreign() {
        let embedder = StaticEmbedder::builtin();
        assert_eq!(
            embedder.compatibility(&embedder.identity()),
            Compatibility::Same
        );
        assert!(!is_earlier_table(&embedder.identity()));
        for earlier in earlier_tables() {
            assert_eq!(embedder.compatibility(&earlier), Compatibility::Same);
            let queries = embedder.embed_queries(&["palace"], &earlier).unwrap();
            assert_eq!(queries, [embedder.embed_one("palace")]);
            let unknown = [
                EmbedderIdentity {
                    digest: "0".repeat(64),
                    ..earlier.clone()
                },
                EmbedderIdentity {
                    dimension: 256,
                    ..earlier.clone()
                },
                EmbedderIdentity {
                    name: "other".into(),
                    ..earlier
                },
            ];
            for other in unknown {
                assert_eq!(embedder.compatibility(&other), Compatibility::Foreign);
            }
        }
    }

    #[test]
    fn stored_vectors_fit_into_a_byte_per_number_and_queries_are_not_rounded() {
        let embedder = StaticEmbedder::builtin();
        let texts = [
            "palace",
            "a cat sat on the mat",
            "日本語",
            "quarterly tax report",
            "",
        ];
        let stored = embedder.embed(&texts).unwrap();
        let queries = embedder
            .embed_queries(&texts, &embedder.identity())
            .unwrap();
        for ((text, stored), query) in texts.iter().zip(&stored).zip(&queries) {
            assert!(ByteCodes::exact(stored).is_some(), "{text}");
            assert_eq!(*query, embedder.embed_one(text));
            if !text.is_empty() {
                assert!(ByteCodes::exact(query).is_none(), "{text}");
                let norm = cosine(stored, stored).sqrt();
                assert!(cosine(stored, query) / norm > 0.9998, "{text}");
            }
        }
    }

    #[test]
    fn rare_words_weigh_more_than_common_ones() {
        let embedder = StaticEmbedder::builtin();
        let weight = |word| embedder.token_weight(embedder.tokens(word)[0]);
        assert!(weight("the") < weight("house") && weight("house") < weight("pottery"));
        assert!(weight(",") < 0.1 && weight("the") < 0.1);
    }
}
