//! Which memories a prompt gets, where they are from, and how people see what was added.

use serde_json::json;

use super::{Scene, exchange, make_project};
use crate::mine::put;
use crate::support::lines;

/// Drawers of an ordinary project: files that contain the words of everyday prompts, and a
/// conversation with a decision.
fn project() -> Scene {
    let scene = Scene::new();
    let folder = scene.project();
    let readme = "# Gateway\n\nFix typos in this README with a pull request, then commit and push.\n\n\
        ## Build\n\nRename `config.example` to `config`, set the variable `PORT` and run `make`.\n\n\
        ## Docker\n\nThe Docker image is built by CI from the file `Dockerfile`.\n";
    std::fs::write(folder.join("README.md"), readme).unwrap();
    scene.dir.run(&["mine", folder.to_str().unwrap()]).ok();
    let decided = exchange(
        &folder,
        3,
        "Decision: we cap the backoff at 10 s. Marta Lindqvist from operations asked for it.",
        "Done, the cap is 10 s.",
    );
    let talk = put(&scene.dir, "talks/decided.jsonl", decided);
    scene.dir.run(&["mine", talk.to_str().unwrap()]).ok();
    scene
}

#[test]
fn everyday_prompts_get_nothing_even_if_files_contain_their_words() {
    let scene = project();
    for prompt in [
        "fix the typo in README",
        "rename variable x to y",
        "please commit this and push",
        "Why is my Docker image so large?",
        "run the tests again",
        "что значит эта ошибка?",
    ] {
        assert_eq!(scene.prompt("s", prompt), None, "{prompt}");
    }
}

#[test]
fn a_name_and_a_question_of_short_words_bring_back_what_was_said() {
    let scene = project();
    for (session, prompt) in ["Who is Marta?", "why do we cap at 10 s?"]
        .into_iter()
        .enumerate()
    {
        let told = scene.prompt(&session.to_string(), prompt);
        let told = told.unwrap_or_else(|| panic!("nothing for {prompt}"));
        assert!(told.contains("cap the backoff at 10 s"), "{told}");
        assert!(
            told.contains("session `Decision: we cap the backoff at 10 s` of 2026-02-01"),
            "{told}"
        );
    }
}

#[test]
fn a_passage_names_its_file_and_line_and_is_the_part_that_matches() {
    let scene = Scene::new();
    let filler = "Nothing of note happened on this day at the harbour.\n".repeat(30);
    let text = format!("{filler}The keeper replaced the Fresnel lens in March.\n{filler}");
    let path = scene.project().join("log.md");
    std::fs::write(&path, text).unwrap();
    scene.dir.run(&["mine", path.to_str().unwrap()]).ok();
    scene.configure("prompt_tokens = 250");
    let told = scene.prompt("s", "Who replaced the Fresnel lens?").unwrap();
    assert!(told.contains("replaced the Fresnel lens"), "{told}");
    let header = told.lines().find(|line| line.contains("log.md:")).unwrap();
    let line = header.split("log.md:").nth(1).unwrap();
    let line: usize = line.split(',').next().unwrap().parse().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let first = told.lines().skip_while(|line| *line != header).nth(1);
    let first = first.unwrap().trim_start_matches('…');
    let shown = text.lines().nth(line - 1).unwrap();
    assert!(shown.starts_with(first), "{header}: `{first}`, `{shown}`");
}

#[test]
fn another_project_is_told_of_only_if_the_match_is_strong_and_by_name() {
    let scene = Scene::new();
    let ship = scene.project().with_file_name("ship");
    make_project(&ship);
    let talk = exchange(
        &ship,
        7,
        "Which Fresnel lens did we order from Chance Brothers?",
        "A second order Fresnel lens of Chance Brothers.",
    );
    let talk = put(&scene.dir, "talks/ship.jsonl", talk);
    scene.dir.run(&["mine", talk.to_str().unwrap()]).ok();
    let strong = "Which Fresnel lens did we order from Chance Brothers?";
    let told = scene.prompt("s", strong).unwrap();
    assert!(told.contains("from another project, `ship`"), "{told}");
    assert_eq!(scene.prompt("s", "the second lens is dirty"), None);
    let tried = scene
        .dir
        .json(0, &["hook", "try", strong, "--wing", "lighthouse"]);
    assert_eq!(tried["considered"][0]["wing"], "ship", "{tried}");
    assert_eq!(tried["considered"][0]["added"], true, "{tried}");
}

#[test]
fn trying_a_prompt_shows_what_is_added_and_why_and_counts_for_no_session() {
    let scene = project();
    let wing = "lighthouse";
    let tried = scene
        .dir
        .json(0, &["hook", "try", "Who is Marta?", "--wing", wing]);
    let added = tried["added"].as_str().unwrap();
    assert!(added.contains("Marta Lindqvist"), "{tried}");
    let best = &tried["considered"][0];
    assert_eq!(best["matched_words"], json!(["Marta"]), "{tried}");
    assert!(best["relevance"].as_f64() >= best["needed"].as_f64());
    let nothing = scene.dir.json(
        1,
        &["hook", "try", "fix the typo in README", "--wing", wing],
    );
    assert!(nothing["added"].is_null(), "{nothing}");
    assert_eq!(nothing["considered"][0]["added"], false, "{nothing}");
    let refused = scene.dir.error(64, &["hook", "try"]);
    assert!(refused["message"].as_str().unwrap().contains("prompt"));
    let log = scene.dir.path("home/.local/state/loci/hooks/log.jsonl");
    assert!(!log.exists());
    assert!(scene.prompt("", "Who is Marta?").is_some());
}

#[test]
fn the_log_lists_what_was_added_to_which_prompt_and_is_private() {
    let scene = project();
    assert_eq!(scene.dir.json(1, &["hook", "log"])["entries"], json!([]));
    scene.prompt("first", "Who is Marta?").unwrap();
    scene.prompt("second", "why do we cap at 10 s?").unwrap();
    assert_eq!(scene.prompt("third", "please commit this and push"), None);
    let log = scene.dir.json(0, &["hook", "log"]);
    let entries = log["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2, "{log}");
    assert_eq!(entries[0]["prompt"], "why do we cap at 10 s?", "{log}");
    assert_eq!(entries[1]["session"], "first", "{log}");
    let id = entries[1]["drawers"][0]["id"].as_str().unwrap();
    scene.dir.run(&["get", id]).ok();
    let one = scene.dir.json(0, &["hook", "log", "--limit", "1"]);
    assert_eq!(one["entries"].as_array().unwrap().len(), 1, "{one}");
    let path = scene.dir.path("home/.local/state/loci/hooks/log.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        !text.contains("Lindqvist"),
        "the log has no text of drawers"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn the_log_stays_small_and_a_damaged_line_hides_no_other() {
    let scene = project();
    let path = scene.dir.path("home/.local/state/loci/hooks/log.jsonl");
    scene.prompt("first", "Who is Marta?").unwrap();
    let line = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, line.repeat(2_000) + "{\"torn\": ").unwrap();
    scene.prompt("second", "why do we cap at 10 s?").unwrap();
    assert!(path.metadata().unwrap().len() < 256 << 10);
    let log = scene.dir.json(0, &["hook", "log", "--limit", "3"]);
    assert_eq!(log["entries"][0]["session"], "second", "{log}");
    assert_eq!(log["entries"][1]["session"], "first", "{log}");
}

#[test]
fn forgetting_a_drawer_deletes_the_log_and_says_so() {
    let scene = project();
    scene.prompt("first", "Who is Marta?").unwrap();
    let log = scene.dir.json(0, &["hook", "log"]);
    let id = log["entries"][0]["drawers"][0]["id"].as_str().unwrap();
    let forgot = scene.dir.json(0, &["forget", id]);
    let removed = forgot["removed_files"].to_string();
    assert!(removed.contains("hooks/log.jsonl"), "{forgot}");
    assert_eq!(scene.dir.json(1, &["hook", "log"])["entries"], json!([]));
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_log_is_not_followed() {
    let scene = project();
    let target = scene.dir.write("target", "keep");
    let folder = scene.dir.path("home/.local/state/loci/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&target, folder.join("log.jsonl")).unwrap();
    assert!(scene.prompt("s", "Who is Marta?").is_some());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "keep");
}

#[test]
fn an_invalid_prompt_to_try_is_refused_aloud() {
    let scene = project();
    let ran = scene
        .dir
        .run(&["hook", "try", "Who is Marta?", "--no-such-option"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(ran.stderr.contains("no-such-option"), "{ran:?}");
}

#[test]
fn a_secret_in_a_prompt_is_masked_in_the_log() {
    let scene = project();
    let secret = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1cD");
    let prompt =
        format!("Why did Marta Lindqvist from operations cap the backoff? GITHUB_TOKEN={secret}");
    scene.prompt("s", &prompt).unwrap();
    let log = scene.dir.path("home/.local/state/loci/hooks/log.jsonl");
    let text = std::fs::read_to_string(log).unwrap();
    assert!(
        text.contains("Why did Marta") && !text.contains(&secret),
        "{text}"
    );
}

/// In a palace with thousands of drawers of another project, nothing of this one was relevant
/// enough, because a drawer needs more in a large palace.
#[test]
fn drawers_of_another_project_do_not_hide_those_of_this_one() {
    let scene = Scene::new();
    let team = "# Team\n\nPriya Nair is on leave until September, and Tom covers the mobile app.\n";
    std::fs::write(scene.project().join("team.md"), team).unwrap();
    let folder = scene.project();
    scene.dir.run(&["mine", folder.to_str().unwrap()]).ok();
    let records = (0..6_000).map(|n| {
        let text = format!("Minutes {n}: somebody fills in the form of room {n} for the leave.");
        json!({"id": format!("m{n}"), "document": text, "metadata": {"wing": "elsewhere"}})
    });
    let file = scene.dir.write("in.jsonl", lines(records));
    scene
        .dir
        .run(&["import", "jsonl", file.to_str().unwrap()])
        .ok();
    let added = scene.prompt("s", "who fills in for Priya while she is on leave?");
    assert!(added.is_some_and(|added| added.contains("Tom covers")));
}

/// The words of a session's title are searched with each of its exchanges, so a question with them
/// got exchanges about lunch.
#[test]
fn words_of_a_title_do_not_make_an_exchange_relevant() {
    let scene = Scene::new();
    let folder = scene.project();
    let title = json!({"type": "summary", "summary": "Gull migration plan", "leafUuid": "x"});
    let about = exchange(
        &folder,
        1,
        "What are the steps of the gull migration?",
        "First the nests are counted, then the rings are read.",
    );
    let lunch = exchange(&folder, 3, "What is for lunch?", "I cannot know that.");
    let talk = put(
        &scene.dir,
        "talks/gulls.jsonl",
        format!("{title}\n{about}{lunch}"),
    );
    scene.dir.run(&["mine", talk.to_str().unwrap()]).ok();
    let added = scene
        .prompt("s", "what were the steps of the gull migration?")
        .unwrap();
    assert!(added.contains("nests are counted"), "{added}");
    assert!(!added.contains("lunch"), "{added}");
}

/// The table of the embedder is English, so words such as "der" counted as rare.
#[test]
fn function_words_of_other_languages_do_not_make_a_drawer_relevant() {
    let scene = Scene::new();
    let notes = "# Notizen\n\nIm Lager 4 darf nicht gestapelt werden, weil der Boden schwach ist.\n\n\
        La remise pour les écoles est de quinze pour cent.\n\n\
        Ключи от серверной лежат у охраны.\n";
    std::fs::write(scene.project().join("notes.md"), notes).unwrap();
    let folder = scene.project();
    scene.dir.run(&["mine", folder.to_str().unwrap()]).ok();
    for prompt in [
        "warum ist der Build rot?",
        "ist das so richtig?",
        "la page est vide",
        "почему это так и что с этим?",
    ] {
        assert_eq!(scene.prompt(prompt, prompt), None, "{prompt}");
    }
    assert!(
        scene
            .prompt("s", "warum darf im Lager 4 nicht gestapelt werden?")
            .is_some()
    );
}

/// A wake-up prints one sentence of an exchange. The rest of the exchange was withheld from every
/// prompt of the session.
#[test]
fn a_wake_up_withholds_only_drawers_that_it_shows_whole() {
    let scene = Scene::new();
    let folder = scene.project();
    let talk = exchange(
        &folder,
        1,
        "We decided to use an expression index for the customer search. How fast is it?",
        "The median went from 2.3 seconds to 80 milliseconds with pg_trgm.",
    );
    let talk = put(&scene.dir, "talks/search.jsonl", talk);
    scene.dir.run(&["mine", talk.to_str().unwrap()]).ok();
    let start = json!({"session_id": "s", "cwd": folder, "source": "startup"});
    let woken = super::context(&scene.hook("SessionStart", &start).unwrap());
    assert!(woken.contains("expression index"), "{woken}");
    assert!(!woken.contains("pg_trgm"), "{woken}");
    let added = scene.prompt("s", "how fast was the customer search with pg_trgm?");
    assert!(added.is_some_and(|added| added.contains("80 milliseconds")));
}
