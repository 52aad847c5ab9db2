//! English words that carry no information about the topic of a text.

/// Folded, and sorted for binary search. Contractions are listed without an apostrophe, except
/// those that are also words (`ill`, `well`, `id`). With an apostrophe, the walker reduces them to
/// their first word.
#[rustfmt::skip]
const STOP_WORDS: [&str; 169] = [
    "a", "about", "above", "after", "again", "against", "aint", "all", "also", "am", "an", "and", "any",
    "are", "arent", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but",
    "by", "can", "cannot", "cant", "could", "couldnt", "did", "didnt", "do", "does", "doesnt", "doing",
    "dont", "down", "during", "each", "ever", "few", "for", "from", "further", "had", "hadnt", "has", "hasnt",
    "have", "havent", "having", "he", "her", "here", "heres", "hers", "herself", "hes", "him", "himself",
    "his", "how", "hows", "i", "if", "im", "in", "into", "is", "isnt", "it", "its", "itself", "ive", "just",
    "lets", "me", "might", "more", "most", "must", "mustnt", "my", "myself", "no", "nor", "not", "now", "of",
    "off", "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own", "same",
    "shall", "she", "shes", "should", "shouldnt", "so", "some", "such", "than", "that", "thats", "the",
    "their", "theirs", "them", "themselves", "then", "there", "theres", "these", "they", "theyll", "theyre",
    "theyve", "this", "those", "through", "to", "too", "under", "until", "up", "us", "very", "was", "wasnt",
    "we", "were", "werent", "what", "whats", "when", "where", "wheres", "which", "while", "who", "whom",
    "whos", "whose", "why", "will", "with", "wont", "would", "wouldnt", "you", "youll", "your", "youre",
    "yours", "yourself", "yourselves", "youve",
];

/// Whether a folded word is a stop word.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_so_that_binary_search_finds_every_word() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
    }

    #[test]
    fn words_with_a_meaning_of_their_own_are_not_stop_words() {
        for word in [
            "may",
            "don",
            "ill",
            "well",
            "id",
            "d",
            "palace",
            "yesterday",
        ] {
            assert!(!is_stop_word(word), "{word}");
        }
    }
}
