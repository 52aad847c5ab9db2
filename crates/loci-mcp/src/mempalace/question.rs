//! Extracts the question from a text in which an agent put its instructions first. The question is
//! at the end, and only it is searched for.

/// Shorter questions are used unchanged.
const SURELY_SHORT: usize = 200;
/// Maximum number of characters of an extracted question.
const MOST: usize = 250;
/// Shorter texts are not a question.
const LEAST: usize = 10;

/// A question, and how it was extracted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question<'a> {
    /// The text to search for.
    pub(super) text: &'a str,
    /// How it was extracted; absent if the text is unchanged.
    pub(super) method: Option<&'static str>,
}

/// The question in a text.
pub(super) fn asked(given: &str) -> Question<'_> {
    let given = if given.trim().is_empty() {
        given
    } else {
        given.trim()
    };
    if given.chars().count() <= SURELY_SHORT {
        return Question {
            text: given,
            method: None,
        };
    }
    let asks = |line: &&str| line.trim_end_matches(['"', '\'']).ends_with(['?', '？']);
    let long_enough = |line: &&str| line.chars().count() >= LEAST;
    let lines = || given.lines().rev().map(str::trim);
    let (text, method) = match (
        lines().find(|line| asks(line) && long_enough(line)),
        lines().find(long_enough),
    ) {
        (Some(line), _) => (last_sentence(line), "question_extraction"),
        (None, Some(line)) => (last_sentence(line), "tail_sentence"),
        (None, None) => (end_of(given), "tail_truncation"),
    };
    Question {
        text,
        method: Some(method),
    }
}

/// The last sentence of a line that is too long.
fn last_sentence(line: &str) -> &str {
    if line.chars().count() <= MOST {
        return line;
    }
    let fits = |sentence: &&str| (LEAST..=MOST).contains(&sentence.chars().count());
    line.split_inclusive(['.', '!', '?', '。', '！', '？'])
        .rev()
        .map(str::trim)
        .find(fits)
        .unwrap_or_else(|| end_of(line))
}

/// The last characters.
fn end_of(text: &str) -> &str {
    let begin = text.char_indices().rev().nth(MOST - 1);
    begin
        .and_then(|(begin, _)| text.get(begin..))
        .unwrap_or(text)
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_questions_stay() {
        assert_eq!(asked(" where? ").text, "where?");
        assert_eq!(asked(" ").text, " ");
        assert_eq!(asked("where?").method, None);
    }

    #[test]
    fn the_question_behind_a_prompt_is_found() {
        let prompt = "You are an assistant. ".repeat(20);
        let given = format!("{prompt}\nWhere is the kettle?\n");
        let question = asked(&given);
        assert_eq!(question.text, "Where is the kettle?");
        assert_eq!(question.method, Some("question_extraction"));
        let given = format!("{prompt}Where is the kettle?");
        assert_eq!(asked(&given).text, "Where is the kettle?");
    }

    #[test]
    fn without_a_question_the_last_line_counts() {
        let given = format!("{}\nthe kettle of spring\nok", "Do this. ".repeat(40));
        assert_eq!(asked(&given).text, "the kettle of spring");
        assert_eq!(asked(&given).method, Some("tail_sentence"));
    }

    #[test]
    fn whatever_is_given_no_more_than_the_bound_is_searched_for() {
        for given in ["ä".repeat(1000), "x\n".repeat(500), ". ".repeat(400)] {
            let question = asked(&given);
            assert!(question.text.chars().count() <= MOST, "{given:.20}");
            assert!(question.method.is_some());
        }
    }
}
