//! Finds the request in what a user's message contains. Agents put other text into messages:
//! reminders, the environment, open files, the output of commands. None of it is a title.

/// The longest title, in characters.
const MOST_CHARACTERS: usize = 80;
/// The most bytes of a message that are read.
const MOST_BYTES: usize = 60_000;
/// The most elements that are removed from a message, per name.
const MOST_ELEMENTS: usize = 20;
/// A sentence is taken alone if it has at least this many characters.
const LEAST_SENTENCE: usize = 20;

/// Elements that wrap the request itself. Every other element at the beginning of a message, and
/// those of [`CONTEXT`] anywhere, are left out.
const WRAPPERS: [&str; 10] = [
    "user_query",
    "user_request",
    "userrequest",
    "user_message",
    "user-message",
    "task",
    "feedback",
    "prompt",
    "query",
    "question",
];

/// Elements that programs add after a request.
const CONTEXT: [&str; 18] = [
    "additional_data",
    "attached_files",
    "attachments",
    "command-args",
    "command-contents",
    "command-message",
    "command-name",
    "editorcontext",
    "environment_context",
    "environment_details",
    "ide_diagnostics",
    "ide_opened_file",
    "ide_selection",
    "local-command-caveat",
    "local-command-stdout",
    "reminderinstructions",
    "system-reminder",
    "user_instructions",
];

/// Beginnings of messages that a program wrote.
const PROGRAM: [&str; 9] = [
    "[request interrupted",
    "[recalled from memory]",
    "caveat: the messages below",
    "this session is being continued",
    "the following is the codex agent history",
    "# agents.md instructions",
    "# context from my ide setup",
    "base directory for this skill",
    "warmup",
];

/// The words before the request in messages that an editor wrote.
const REQUEST_BELOW: [&str; 2] = ["## my request for codex:", "## my request:"];

/// Words that ask for nothing.
const IDLE: [&str; 44] = [
    "hi",
    "hello",
    "hey",
    "yo",
    "hallo",
    "hola",
    "bonjour",
    "salut",
    "ciao",
    "moin",
    "servus",
    "привет",
    "здравствуйте",
    "你好",
    "こんにちは",
    "ok",
    "okay",
    "yes",
    "no",
    "sure",
    "thanks",
    "thank",
    "you",
    "please",
    "continue",
    "go",
    "on",
    "again",
    "test",
    "testing",
    "ping",
    "there",
    "good",
    "morning",
    "evening",
    "afternoon",
    "day",
    "start",
    "begin",
    "resume",
    "next",
    "claude",
    "codex",
    "weiter",
];

/// Names that programs give to every conversation.
const GENERIC: [&str; 9] = [
    "new session",
    "new chat",
    "new conversation",
    "new thread",
    "new agent",
    "new task",
    "untitled",
    "chat",
    "session",
];

/// The title in the name of a conversation; `None` if a program made the name up.
pub(super) fn of_name(name: &str) -> Option<String> {
    let name = name.trim();
    let lower = name.to_lowercase();
    let is_generic = GENERIC.iter().any(|generic| {
        let rest = lower.strip_prefix(generic);
        // `New session - 2026-05-01T09:00:00Z`
        rest.is_some_and(|rest| !rest.contains(char::is_alphabetic) || rest.starts_with(" - 2"))
    });
    if is_generic || is_number(name) {
        return None;
    }
    of_message(name)
}

/// Whether a name is a number, such as a UUID.
fn is_number(name: &str) -> bool {
    let is_digit = |letter: char| letter.is_ascii_hexdigit() || matches!(letter, '-' | '_' | '.');
    name.chars().all(is_digit) && name.chars().any(|letter| letter.is_ascii_digit())
}

/// The title of a conversation in which a user says this; `None` if it asks for nothing.
pub(super) fn of_message(message: &str) -> Option<String> {
    let mut end = message.len().min(MOST_BYTES);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let message = requested(message.get(..end)?)?;
    let line = best_line(&message)?;
    let title = shortened(&line);
    (!title.is_empty()).then_some(title)
}

/// The message without what programs added; `None` if nothing is left.
fn requested(message: &str) -> Option<String> {
    let mut rest = message.trim();
    for _ in 0..MOST_ELEMENTS {
        let lower = rest.to_ascii_lowercase();
        let below = REQUEST_BELOW
            .iter()
            .find_map(|mark| Some(lower.find(mark)? + mark.len()));
        if let Some(below) = below {
            rest = rest.get(below..)?.trim();
            continue;
        }
        // The instructions in `AGENTS.md` come as a line and an element.
        if lower.starts_with("# agents.md instructions") {
            rest = rest.split_once('\n')?.1.trim();
            continue;
        }
        if PROGRAM.iter().any(|start| lower.starts_with(start)) || is_command(rest) {
            return None;
        }
        let Some((name, inner, after)) = leading_element(rest) else {
            break;
        };
        let is_wrapper = WRAPPERS.contains(&name.as_str());
        rest = if is_wrapper { inner } else { after }.trim();
    }
    let mut rest = rest.to_owned();
    for name in CONTEXT {
        for _ in 0..MOST_ELEMENTS {
            let Some((before, after)) = around_element(&rest, name) else {
                break;
            };
            rest = format!("{before}\n{after}");
        }
    }
    (!rest.trim().is_empty()).then(|| rest.trim().to_owned())
}

/// The name, the content and the rest of a text that begins with an element. An element without an
/// end contains all of the text.
fn leading_element(text: &str) -> Option<(String, &str, &str)> {
    let inside = text.strip_prefix('<')?;
    let length = inside
        .find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-'))
        .filter(|length| *length > 1)?;
    let (name, rest) = inside.split_at_checked(length)?;
    let (_, content) = rest.split_once('>')?;
    let end = format!("</{name}>");
    let (inner, after) = content.split_once(&end).unwrap_or((content, ""));
    Some((name.to_ascii_lowercase(), inner, after))
}

/// The text before and after an element of this name.
fn around_element(text: &str, name: &str) -> Option<(String, String)> {
    let lower = text.to_ascii_lowercase();
    let start = lower.find(&format!("<{name}"))?;
    let end_mark = format!("</{name}>");
    let end = lower.get(start..)?.find(&end_mark);
    let end = end.map_or(text.len(), |end| start + end + end_mark.len());
    Some((text.get(..start)?.to_owned(), text.get(end..)?.to_owned()))
}

/// Whether a message is a command to the program, such as `/compact`. A path is none.
fn is_command(message: &str) -> bool {
    let first = message.split_whitespace().next().unwrap_or_default();
    let is_slash = first
        .strip_prefix('/')
        .is_some_and(|name| !name.is_empty() && !name.contains(['/', '.']));
    is_slash || first.starts_with('!')
}

/// The first line that reads like a sentence, else the first one with words.
fn best_line(message: &str) -> Option<String> {
    let mut is_code = false;
    let mut lines: Vec<&str> = Vec::new();
    for line in message.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && has_words(line) {
            lines.push(line);
        }
    }
    let is_label = |line: &str| line.ends_with(':') && line.split_whitespace().count() <= 4;
    let is_start = |line: &&str| is_prose(line) || is_label(line);
    let at = lines.iter().position(is_start).unwrap_or(0);
    let line = without_marks(lines.get(at)?);
    // A short label such as `Task:` belongs to the line below it.
    let next = lines.get(at + 1).map(|next| without_marks(next));
    Some(match next.filter(|_| is_label(line)) {
        Some(next) => format!("{line} {next}"),
        None => line.to_owned(),
    })
}

/// Whether a line says anything: it has letters and is not only a greeting or an agreement.
fn has_words(line: &str) -> bool {
    let letters = line.chars().filter(|letter| letter.is_alphabetic()).count();
    let mut words = line
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let is_idle = |word: &str| IDLE.contains(&word.to_lowercase().as_str());
    letters >= 3
        && !words.all(is_idle)
        && !line.starts_with("[image")
        && !line.starts_with("[Image")
}

/// Whether a line is a sentence rather than code, a path or a line of a log.
fn is_prose(line: &str) -> bool {
    let visible = line
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .count();
    let letters = line.chars().filter(|letter| letter.is_alphabetic()).count();
    let is_log = ["at ", "File \"", "Traceback", "error[", "warning:", "$ "]
        .iter()
        .any(|start| line.starts_with(start));
    let is_wide = line.chars().any(|letter| u32::from(letter) > 0x2e7f);
    !is_log && letters * 10 >= visible * 7 && (line.split_whitespace().count() > 1 || is_wide)
}

/// A line without the marks of headings, quotations and lists.
fn without_marks(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', '*', '-', '•', ' ']);
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = number
        .strip_prefix(['.', ')'])
        .filter(|rest| rest.len() + 1 < line.len() && rest.starts_with(' '));
    numbered.unwrap_or(line).trim().trim_end_matches(['*', '#'])
}

/// The first sentence of a line, or as many words as fit.
fn shortened(line: &str) -> String {
    let sentence = [". ", "? ", "! ", "。", "？"]
        .iter()
        .filter_map(|mark| {
            let end = line.find(mark)? + mark.trim_end().len();
            let sentence = line.get(..end)?;
            (sentence.chars().count() >= LEAST_SENTENCE).then_some(sentence)
        })
        .min_by_key(|sentence| sentence.len());
    let line = sentence.unwrap_or(line).trim();
    let line = line.strip_suffix('.').unwrap_or(line);
    let Some((end, _)) = line.char_indices().nth(MOST_CHARACTERS) else {
        return line.to_owned();
    };
    let cut = line.get(..end).unwrap_or(line);
    let cut = match cut.rfind(char::is_whitespace) {
        Some(space) if space > end / 2 => cut.get(..space).unwrap_or(cut),
        _ => cut,
    };
    format!("{}…", cut.trim_end_matches([' ', ',', ':', ';', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_no_title() {
        for message in [
            "",
            "hi",
            "Hello there!",
            "ok, continue",
            "/compact keep the plan",
            "/clear",
            "!ls -la",
            "<system-reminder>\nToday is Monday. Do the dishes.\n</system-reminder>",
            "<environment_context>\n<cwd>/home/ada</cwd>\n</environment_context>",
            "<environment_context>\n<cwd>/home/ada</cwd>",
            "<command-name>/model</command-name>\n<command-message>model</command-message>",
            "<local-command-stdout>Set model to opus</local-command-stdout>",
            "<ide_opened_file>The user opened the file /a/b.rs in the IDE.</ide_opened_file>",
            "# AGENTS.md instructions for /home/ada/x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
            "# Context from my IDE setup:\n\n## Open tabs:\n- main.rs",
            "Caveat: The messages below were generated by the user while running local commands.",
            "[Request interrupted by user]",
            "This session is being continued from a previous conversation that ran out of context.",
            "Warmup",
            "привет",
            "你好",
            "[image]",
            "```\nlet x = 1;\n```",
            "1234 5678",
        ] {
            assert_eq!(of_message(message), None, "{message}");
        }
    }

    #[test]
    fn the_request_is_found_behind_noise() {
        for (message, title) in [
            ("Why was the lamp dark?", "Why was the lamp dark?"),
            (
                "<system-reminder>Be nice.</system-reminder>\nFix the login page.",
                "Fix the login page",
            ),
            (
                "Fix the login page.\n<system-reminder>Be nice to all.</system-reminder>",
                "Fix the login page",
            ),
            (
                "<user_query>\nAdd a retry to the uploader\n</user_query>",
                "Add a retry to the uploader",
            ),
            (
                "<task>\nPort the parser to Rust\n</task>\n\n<environment_details>\n# Files\na.rs\n</environment_details>",
                "Port the parser to Rust",
            ),
            (
                "# Context from my IDE setup:\n\n## Active file: src/a.rs\n\n## My request for Codex:\nrename the field",
                "rename the field",
            ),
            (
                "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>\nMake the tests pass",
                "Make the tests pass",
            ),
            ("Hi\n\nCan you split the file?", "Can you split the file?"),
            ("Task:\nSplit the large file", "Task: Split the large file"),
            ("## 1. Move the docs", "Move the docs"),
            (
                "error[E0277]: the trait `A` is not implemented\n --> src/main.rs:1\nHow do I solve this?",
                "How do I solve this?",
            ),
            (
                "/home/ada/x.rs has a bug in line 7",
                "/home/ada/x.rs has a bug in line 7",
            ),
            ("修复登录页面的错误", "修复登录页面的错误"),
            ("refactor", "refactor"),
        ] {
            assert_eq!(of_message(message).as_deref(), Some(title), "{message}");
        }
        let long = "Please look at every file of the repository and tell me which functions are never called at all";
        let title = of_message(long).unwrap();
        assert!(
            title.ends_with('…') && title.chars().count() <= 81,
            "{title}"
        );
        let first = of_message("Fix the flaky upload test. Then update the changelog.");
        assert_eq!(first.as_deref(), Some("Fix the flaky upload test"));
    }

    #[test]
    fn a_name_that_a_program_made_up_is_no_title() {
        for name in [
            "New session - 2026-05-01T09:00:00.000Z",
            "New Chat",
            "untitled",
            "5e0d6c1a-0000-4000-8000-000000000001",
            " ",
        ] {
            assert_eq!(of_name(name), None, "{name}");
        }
        assert_eq!(of_name("Lamp repair").as_deref(), Some("Lamp repair"));
        assert_eq!(of_name("Chat widget").as_deref(), Some("Chat widget"));
    }

    #[test]
    fn odd_messages_do_no_harm() {
        for message in [
            "<", "<a", "<a>", "</a>", "<a b", "<é>", "<<<<", "ü", "<task>", "#", "1.",
        ] {
            let _ = of_message(message);
        }
        let _ = of_message(&"<a>".repeat(30_000));
        let _ = of_message(&"<system-reminder>".repeat(3_000));
        let _ = of_message(&"é".repeat(100_000));
    }
}
