//! A prompt brings back what was said about it before, or nothing. Too little is better than noise:
//! only what holds most of the words that say something is told, once per session, under a budget
//! of tokens.

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

/// Tokens of all that is told unless the configuration says otherwise, and of one passage.
const TOKENS: usize = 400;
const PASSAGE_TOKENS: usize = 160;
/// Passages that are told.
const TOLD: usize = 3;
/// Bytes of a prompt that are searched for: what somebody pastes is not what they ask.
const QUERY_BYTES: usize = 600;
/// Words that say something, without which a prompt asks for nothing, and after which more say no
/// more.
const LEAST_WORDS: usize = 2;
const MOST_WORDS: usize = 10;
/// Words by which drawers are looked for. A word that stands in most drawers costs 4 ms per 100,000
/// of them.
const SEARCHED_WORDS: usize = 5;
/// Share of the best score that the others must have.
const NEAR_BEST: f64 = 0.6;

/// Words of prompts that ask for nothing by themselves.
const FILLERS: &str = " about again alright also anything because been carry change changes check code continue could does doing \
    done fine from further give going good great have help here into just keep know like look looks make more next nice okay only \
    please proceed really right should show some something still sure tell thank thanks that them then there these they thing \
    things think this those update want well were what when where which will with work works would write yeah your ";

pub(super) fn run(call: &Call, input: &Input) -> Result<(HookOutput, Outcome)> {
    let nothing = |note: &str| Ok((HookOutput::Nothing, Outcome::done(note)));
    // Cursor's hook may only let a prompt pass.
    if call.harness == Harness::Cursor {
        return nothing("the harness takes no answer");
    }
    let budget = call.config.prompt_tokens.unwrap_or(TOKENS);
    if budget == 0 {
        return nothing("switched off by `prompt_tokens`");
    }
    let Some(prompt) = input.text("prompt").map(str::trim) else {
        return nothing("there was no prompt");
    };
    let words = content_words(beginning(prompt, QUERY_BYTES));
    if prompt.starts_with(['/', '!', '#']) || asked(&words) < LEAST_WORDS {
        return nothing("the prompt asks for nothing");
    }
    let Some(palace) = call.existing()? else {
        return nothing("there is no palace yet");
    };
    let Some(wing) = call.wing(&palace, input)? else {
        return nothing("the harness names no folder");
    };
    let query = most_telling(words.clone(), SEARCHED_WORDS).join(" ");
    let hits = recall(call, &palace, input, &wing, &query)?;
    let session = Session::of(&call.shelf(), call.harness, input.session());
    let hits = relevant(&hits, &words, &session.remembered());
    let Some((text, remembered)) = compose(&wing, &hits, &words, budget) else {
        return nothing("nothing in memory bears on the prompt");
    };
    if !session.tell(&remembered, None) {
        return nothing("what was remembered could not be noted");
    }
    let note = format!("told {} passage(s)", remembered.len());
    Ok((HookOutput::Context(text), Outcome::done(note)))
}

/// Words of a prompt that say something, in lower case, each once. Of many, names and long words
/// are kept.
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
    most_telling(words, MOST_WORDS)
}

/// Names first, then long words; all of them if there are few.
fn most_telling(mut words: Vec<String>, most: usize) -> Vec<String> {
    if words.len() > most {
        words.sort_by_key(|word| {
            let is_name = word.contains('_') || word.bytes().any(|byte| byte.is_ascii_digit());
            std::cmp::Reverse((is_name, word.chars().count()))
        });
        words.truncate(most);
    }
    words
}

/// How many words were asked for. Scripts without spaces write several as one.
fn asked(words: &[String]) -> usize {
    words.len() + words.iter().filter(|word| is_phrase(word)).count()
}

fn is_phrase(word: &str) -> bool {
    !word.is_ascii() && word.chars().count() >= 6
}

/// How many of the words a text holds, each in some form.
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
        // Endings differ: lamp and lamps, save and saved.
        let long = word.is_ascii() && word.len() > 5;
        let stem = beginning(word, if long { word.len() - 2 } else { word.len() });
        there.contains(word.as_str())
            || there
                .iter()
                .any(|there| there.starts_with(stem) && there.len() <= word.len() + 3)
    };
    words.iter().filter(holds).count()
}

/// Whether a text holds half of the pairs of letters of a phrase.
fn shares_half(text: &str, phrase: &str) -> bool {
    let letters: Vec<char> = phrase.chars().collect();
    let pairs: Vec<String> = letters
        .windows(2)
        .map(|pair| pair.iter().collect())
        .collect();
    let there = pairs.iter().filter(|pair| text.contains(pair.as_str()));
    2 * there.count() >= pairs.len()
}

/// Words that a drawer must hold of so many: two thirds, of many at least half.
fn needed(words: usize) -> usize {
    let share = if words <= 6 {
        (2 * words).div_ceil(3)
    } else {
        words.div_ceil(2)
    };
    share.max(LEAST_WORDS.min(words))
}

/// The hits that are worth telling: those that hold the words, and not much less fitting than the
/// best of them.
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
    worth.truncate(TOLD);
    worth
}

/// The text for the model and the ids in it; nothing if not even one passage fits the budget.
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
        assert!(asked(&words("灯塔的灯为什么不亮了")) >= LEAST_WORDS);
        assert!(words("好").is_empty());
        let many: Vec<String> = (0..50).map(|n| format!("word{n}")).collect();
        assert_eq!(words(&many.join(" ")).len(), MOST_WORDS);
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
