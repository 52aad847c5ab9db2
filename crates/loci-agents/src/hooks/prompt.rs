//! A prompt brings back what was said about it before, or nothing. Too little is better than noise: only what clearly bears on
//! the prompt is told, once per session, under a budget of tokens.

use loci_palace::{
    Answer as Findings, DEFAULT_COLLECTION, ErrorKind, Fence, Hit, Request, Result, count_tokens,
    date_of, instruction_like,
};

use super::answer::Answer;
use super::excerpt::excerpt;
use super::input::Input;
use super::notes::Outcome;
use super::run::Call;
use super::session::{Session, Told};

/// Tokens of all that is told unless the configuration says otherwise, and of one passage.
const TOKENS: usize = 400;
const PASSAGE_TOKENS: usize = 160;
/// Passages that are looked at, and that are told.
const HITS: usize = 8;
const TOLD: usize = 3;
/// Bytes of a prompt that are searched for: what somebody pastes is not what they ask.
const QUERY_BYTES: usize = 600;
/// Words that say something, without which a prompt asks for nothing.
const WORDS: usize = 2;
/// How likely it must be that memory holds it.
const PROBABILITY: f32 = 0.5;
/// Share of the best score that the others must have.
const NEAR_BEST: f32 = 0.7;

/// Words of prompts that ask for nothing by themselves.
const FILLERS: &str = " about again alright also anything because been carry change changes check code continue could does doing \
    done fine from further give going good great have help here into just keep know like look looks make more next nice okay only \
    please proceed really right should show some something still sure tell thank thanks that them then there these they thing \
    things think this those update want well were what when where which will with work works would write yeah your ";

pub(super) fn run(call: &Call, input: &Input) -> Result<(Answer, Outcome)> {
    let nothing = |note: &str| Ok((Answer::Nothing, Outcome::done(note)));
    let budget = call.config.prompt_tokens.unwrap_or(TOKENS);
    if budget == 0 {
        return nothing("switched off by `prompt_tokens`");
    }
    let Some(prompt) = input.text("prompt") else {
        return nothing("there was no prompt");
    };
    let prompt = prompt.trim();
    let query = prompt
        .get(..prompt.floor_char_boundary(QUERY_BYTES))
        .unwrap_or(prompt);
    let words = content_words(query);
    if prompt.starts_with(['/', '!', '#']) || asked(&words) < WORDS {
        return nothing("the prompt asks for nothing");
    }
    let Some(palace) = call.existing()? else {
        return nothing("there is no palace yet");
    };
    let Some(wing) = call.wing(input) else {
        return nothing("the project is not known");
    };
    let selection = match call.selection(&palace, &wing, input) {
        Err(error) if error.kind() == ErrorKind::NotFound => return nothing("nothing is kept yet"),
        other => other?,
    };
    let request = Request {
        k: HITS,
        selection,
        ..Request::new(query)
    };
    let found = palace.search(DEFAULT_COLLECTION, &request)?.answer;
    let session = Session::of(&call.shelf(), call.harness, input.session());
    let hits = relevant(&found, &words, &session.told());
    let Some((text, told)) = compose(&wing, &hits, &words, budget) else {
        return nothing("nothing in memory bears on the prompt");
    };
    if !session.tell(&told, None) {
        return nothing("what was told could not be noted");
    }
    let note = format!("told {} passage(s)", told.len());
    Ok((Answer::Context(text), Outcome::done(note)))
}

/// Words of a prompt that say something, in lower case, each once.
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
    words
}

/// How many words were asked for. Scripts without spaces write several as one.
fn asked(words: &[String]) -> usize {
    let one_of_many = |word: &&String| !word.is_ascii() && word.chars().count() >= 6;
    words.len() + words.iter().filter(one_of_many).count()
}

/// Whether a word of the question, as the search found it, is one that says something.
fn says_something(found: &str, words: &[String]) -> bool {
    let found = found.to_lowercase();
    words
        .iter()
        .any(|word| *word == found || !found.is_ascii() && word.contains(&found))
}

/// The hits that are worth telling.
fn relevant<'a>(found: &'a Findings, words: &[String], told: &Told) -> Vec<&'a Hit> {
    let verdict = found.verdict;
    if !verdict.likely || verdict.probability.is_some_and(|p| p < PROBABILITY) {
        return Vec::new();
    }
    let best = found.hits.first().map_or(0.0, |hit| hit.score);
    found
        .hits
        .iter()
        .filter(|hit| hit.score >= NEAR_BEST * best)
        .filter(|hit| {
            let held = hit.matched_words.iter();
            held.filter(|word| says_something(word, words)).count() >= WORDS
        })
        .filter(|hit| {
            !told.has_drawer(&hit.id) && !hit.also_in.iter().any(|id| told.has_drawer(id))
        })
        .take(TOLD)
        .collect()
}

/// The text for the model and the ids in it; nothing if not even one passage fits the budget.
fn compose(
    wing: &str,
    hits: &[&Hit],
    words: &[String],
    budget: usize,
) -> Option<(String, Vec<String>)> {
    let fence = Fence::new();
    let mut text = format!(
        "From Loci's memory of `{wing}`, possibly related to the prompt. {}",
        fence.meaning()
    );
    let mut tokens = count_tokens(&text);
    let mut told = Vec::new();
    for hit in hits {
        let empty = count_tokens(&fence.around(&about(hit, true, true), ""));
        let room = budget.saturating_sub(tokens + empty).min(PASSAGE_TOKENS);
        let (passage, cut) = excerpt(&hit.text, words, room);
        if passage.trim().is_empty() {
            break;
        }
        let flagged = !instruction_like(&passage).is_empty();
        let fenced = fence.around(&about(hit, cut || hit.cut, flagged), &passage);
        let cost = count_tokens(&fenced);
        if tokens + cost > budget {
            break;
        }
        tokens += cost;
        text.push('\n');
        text.push_str(&fenced);
        told.push(hit.id.clone());
        told.extend(hit.also_in.iter().cloned());
    }
    (!told.is_empty()).then_some((text, told))
}

fn about(hit: &Hit, cut: bool, flagged: bool) -> String {
    let day = date_of(hit.authored_at);
    let day = day.get(..10).unwrap_or_default();
    let mut about = format!("drawer {}, {day}", hit.id);
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

    #[test]
    fn only_words_that_say_something_count() {
        assert!(content_words("ok, please continue with that").is_empty());
        assert_eq!(
            content_words("Why is the lamp dark? The LAMP!"),
            ["lamp", "dark"]
        );
        assert_eq!(
            content_words("fix E42 in retry_policy"),
            ["e42", "retry_policy"]
        );
        assert!(asked(&content_words("灯塔的灯为什么不亮了")) >= WORDS);
        assert!(content_words("好").is_empty());
    }
}
