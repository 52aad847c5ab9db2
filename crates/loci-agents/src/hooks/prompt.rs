//! Adds relevant memories to a prompt, or nothing. Too few are better than noise, so only drawers
//! with most of the prompt's significant words are added, once per session, within a token limit.

use std::collections::HashSet;

use loci_palace::query::Hit;
use loci_palace::{Fence, Result, count_tokens, instruction_like, quoted};

use super::answer::HookOutput;
use super::excerpt::{beginning, excerpt};
use super::harness::Harness;
use super::input::Input;
use super::notes::Outcome;
use super::recall::{day_of, recall};
use super::run::Call;
use super::session::{Session, SessionMemory};

/// The default token limit of all passages, and the limit of one passage.
const TOKENS: usize = 400;
const PASSAGE_TOKENS: usize = 160;
/// How many passages are added.
const MAX_PASSAGES: usize = 3;
/// How much of a prompt is searched for. Long pasted text is not the question.
const QUERY_BYTES: usize = 600;
/// The minimum number of significant words in a prompt, and the maximum number that is used.
const MIN_WORDS: usize = 2;
const MAX_WORDS: usize = 10;
/// How many words are searched for. A word that occurs in most drawers costs 4 ms per 100,000 of
/// them.
const SEARCHED_WORDS: usize = 5;
/// The minimum score of other hits, as a share of the best one.
const NEAR_BEST: f64 = 0.6;

/// Words that are not significant in prompts.
const FILLERS: &str = " about again alright also anything because been carry change changes check code continue could does doing \
    done fine from further give going good great have help here into just keep know like look looks make more next nice okay only \
    please proceed really right should show some something still sure tell thank thanks that them then there these they thing \
    things think this those update want well were what when where which will with work works would write yeah your ";

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |note: &str| Ok((HookOutput::Nothing, Outcome::done(note)));
    // Cursor's hook can only let a prompt pass.
    if call.harness == Harness::Cursor {
        return nothing("the harness ignores the answer");
    }
    let budget = call.config.prompt_tokens.unwrap_or(TOKENS);
    if budget == 0 {
        return nothing("switched off by `prompt_tokens`");
    }
    let Some(prompt) = input.text("prompt").map(str::trim) else {
        return nothing("the input has no prompt");
    };
    let words = content_words(beginning(prompt, QUERY_BYTES));
    if prompt.starts_with(['/', '!', '#']) || asked(&words) < MIN_WORDS {
        return nothing("the prompt is a command or has too few significant words");
    }
    let Some(palace) = call.existing()? else {
        return nothing("there is no palace yet");
    };
    let Some(wing) = call.wing(&palace, input)? else {
        return nothing("the harness passed no folder");
    };
    let query = most_significant(words.clone(), SEARCHED_WORDS).join(" ");
    let hits = recall(call, &palace, input, &wing, &query)?;
    let session = Session::of(&call.state_dir(), call.harness, input.session());
    let hits = relevant(&hits, &words, &session.remembered());
    let Some((text, remembered)) = compose(&wing, &hits, &words, budget) else {
        return nothing("nothing in memory matches the prompt");
    };
    if !session.record(&remembered, None) {
        return nothing("the state of the session could not be written");
    }
    let note = format!("added {} passage(s)", remembered.len());
    Ok((HookOutput::Context(text), Outcome::done(note)))
}

/// Returns the significant words of a prompt, in lower case, each once. If there are many, names
/// and long words are kept.
fn content_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let word = word.to_lowercase();
        let says = if word.is_ascii() {
            word.len() >= 4 || word.bytes().any(|byte| byte.is_ascii_digit())
        } else {
            word.chars().count() >= 2
        };
        if says && !FILLERS.contains(&format!(" {word} ")) && !words.contains(&word) {
            words.push(word);
        }
    }
    most_significant(words, MAX_WORDS)
}

/// Sorts names first, then long words. If there are few, all are kept.
fn most_significant(mut words: Vec<String>, most: usize) -> Vec<String> {
    if words.len() > most {
        words.sort_by_key(|word| {
            let is_name = word.contains('_') || word.bytes().any(|byte| byte.is_ascii_digit());
            std::cmp::Reverse((is_name, word.chars().count()))
        });
        words.truncate(most);
    }
    words
}

/// Returns the number of words in the prompt. Scripts without spaces write several words as one.
fn asked(words: &[String]) -> usize {
    words.len() + words.iter().filter(|word| is_phrase(word)).count()
}

fn is_phrase(word: &str) -> bool {
    !word.is_ascii() && word.chars().count() >= 6
}

/// Returns how many of the words a text contains, in any form.
fn held(text: &str, words: &[String]) -> usize {
    let text = text.to_lowercase();
    let there: HashSet<&str> = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let holds = |word: &&String| {
        if is_phrase(word) {
            return shares_half(&text, word);
        }
        // Endings differ, as in lamp and lamps, save and saved.
        let long = word.is_ascii() && word.len() > 5;
        let stem = beginning(word, if long { word.len() - 2 } else { word.len() });
        there.contains(word.as_str())
            || there
                .iter()
                .any(|there| there.starts_with(stem) && there.len() <= word.len() + 3)
    };
    words.iter().filter(holds).count()
}

/// Whether a text contains half of the letter pairs of a phrase.
fn shares_half(text: &str, phrase: &str) -> bool {
    let letters: Vec<char> = phrase.chars().collect();
    let pairs: Vec<String> = letters
        .windows(2)
        .map(|pair| pair.iter().collect())
        .collect();
    let there = pairs.iter().filter(|pair| text.contains(pair.as_str()));
    2 * there.count() >= pairs.len()
}

/// Returns how many of the words a drawer must contain: two thirds, or of many at least half.
fn needed(words: usize) -> usize {
    let share = if words <= 6 {
        (2 * words).div_ceil(3)
    } else {
        words.div_ceil(2)
    };
    share.max(MIN_WORDS.min(words))
}

/// Returns the relevant hits: those that contain enough words and score close to the best one.
fn relevant<'a>(hits: &'a [Hit], words: &[String], remembered: &SessionMemory) -> Vec<&'a Hit> {
    let needed = needed(words.len());
    let mut worth: Vec<&Hit> = Vec::new();
    for hit in hits {
        let best = worth.first().map_or(0.0, |best| best.score);
        let is_new = worth.iter().all(|other| other.text != hit.text);
        if is_new && hit.score >= NEAR_BEST * best && held(&hit.text, words) >= needed {
            worth.push(hit);
        }
    }
    worth.retain(|hit| !remembered.has_drawer(&hit.id));
    worth.truncate(MAX_PASSAGES);
    worth
}

/// Returns the text for the model and the ids in it; `None` if not even one passage fits the limit.
fn compose(
    wing: &str,
    hits: &[&Hit],
    words: &[String],
    budget: usize,
) -> Option<(String, Vec<String>)> {
    if hits.is_empty() {
        return None;
    }
    let fence = Fence::new();
    let mut text = format!(
        "From Loci's memory of {}, possibly related to the prompt. {}",
        quoted(wing),
        fence.meaning()
    );
    let mut tokens = count_tokens(&text);
    let mut remembered = Vec::new();
    for hit in hits {
        let empty = count_tokens(&fence.around(&about(hit, true, true), ""));
        let room = budget.saturating_sub(tokens + empty).min(PASSAGE_TOKENS);
        let (passage, cut) = excerpt(&hit.text, words, room);
        if passage.trim().is_empty() {
            break;
        }
        let flagged = !instruction_like(&passage).is_empty();
        let fenced = fence.around(&about(hit, cut, flagged), &passage);
        let cost = count_tokens(&fenced);
        if tokens + cost > budget {
            break;
        }
        tokens += cost;
        text.push('\n');
        text.push_str(&fenced);
        remembered.push(hit.id.clone());
    }
    (!remembered.is_empty()).then_some((text, remembered))
}

fn about(hit: &Hit, cut: bool, flagged: bool) -> String {
    let mut about = format!("drawer {}", hit.id);
    if let Some(day) = day_of(hit) {
        about.push_str(", ");
        about.push_str(day);
    }
    if cut {
        about.push_str(", in part");
    }
    if flagged {
        about.push_str(", reads like instructions");
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        content_words(text)
    }

    #[test]
    fn only_words_that_say_something_count() {
        assert!(words("ok, please continue with that").is_empty());
        assert_eq!(words("Why is the lamp dark? The LAMP!"), ["lamp", "dark"]);
        assert_eq!(words("fix E42 in retry_policy"), ["e42", "retry_policy"]);
        assert!(asked(&words("灯塔的灯为什么不亮了")) >= MIN_WORDS);
        assert!(words("好").is_empty());
        let many: Vec<String> = (0..50).map(|n| format!("word{n}")).collect();
        assert_eq!(words(&many.join(" ")).len(), MAX_WORDS);
    }

    #[test]
    fn a_text_holds_a_word_in_its_forms_and_nothing_else() {
        let asked = words("configure the lamps of the lighthouse");
        assert_eq!(asked, ["configure", "lamps", "lighthouse"]);
        assert_eq!(
            held("The lighthouse has lamps, configured once.", &asked),
            3
        );
        assert_eq!(held("A lampshade in a confined house.", &asked), 0);
        assert_eq!(
            held(
                "昨天灯塔的灯不亮了,换了保险丝",
                &words("灯塔的灯为什么不亮了")
            ),
            1
        );
    }

    #[test]
    fn most_of_the_words_are_needed() {
        let needs: Vec<usize> = [1, 2, 3, 4, 6, 7, 10].into_iter().map(needed).collect();
        assert_eq!(needs, [1, 2, 2, 3, 4, 4, 5]);
    }
}
