use super::support::read;
use loci_transcripts::Format;

#[test]
fn turns_are_recognised_by_the_names_before_them() {
    let text = "A talk on the pier.\n\nHuman: Is it deep?\nI cannot see.\n\nAI: Very.\n\n- ten\n- metres\nHuman: Thanks\n";
    let told = read(Format::Plain, text, "pier.txt");
    assert_eq!(
        told.texts(),
        [
            "Note:\nA talk on the pier.",
            "Human:\nIs it deep?\nI cannot see.\n\nAI:\nVery.\n\n- ten\n- metres",
            "Human:\nThanks"
        ]
    );
    assert_eq!(told.pieces()[1].speakers, ["user", "assistant"]);
    assert_eq!(
        (told.pieces()[1].start_line, told.pieces()[1].end_line),
        (3, 9)
    );
    assert_eq!(told.conversations()[0].id, "pier");
    assert_eq!(told.tally.messages, 4);
}

#[test]
fn quoted_lines_are_prompts_when_the_text_begins_with_one() {
    let told = read(
        Format::Plain,
        "> a\n> b\n\nanswer\nmore\n\n> c\nUser: no turn\n",
        "talk.txt",
    );
    assert_eq!(
        told.texts(),
        [
            "User:\na\nb\n\nAssistant:\nanswer\nmore",
            "User:\nc\n\nAssistant:\nUser: no turn"
        ]
    );
}

#[test]
fn an_aider_history_is_read() {
    let text = "\n# aider chat started at 2026-02-03 04:05:06\n\n> Aider v0.80\n> Model: test\n\n#### add a sail\n#### and a mast\n\nI will.\n\n```\nmast\n```\n\n\
                > Applied edit to boat.py\n\n#### thanks\n";
    let told = read(Format::Aider, text, "/home/mo/boat/.aider.chat.history.md");
    assert_eq!(
        told.texts(),
        [
            "Aider:\nAider v0.80\nModel: test",
            "User:\nadd a sail\nand a mast\n\nAssistant:\nI will.\n\n```\nmast\n```\n\nAider:\nApplied edit to boat.py",
            "User:\nthanks"
        ]
    );
    assert_eq!(
        told.pieces()[1].authored_at.as_deref(),
        Some("2026-02-03T04:05:06Z")
    );
    assert_eq!(told.skipped("session start"), 1);
}

#[test]
fn a_long_turn_is_not_held_whole() {
    let answer: String = (0..200_000)
        .map(|i| format!("line {i} of the answer\n"))
        .collect();
    let text = format!("User: go\nAssistant: start\n{answer}User: end\n");
    let told = read(Format::Plain, &text, "long.txt");
    let inside = told.marks().iter().filter(|mark| mark.part > 0).count();
    assert!(inside >= 4, "{inside}");
    let words: String = told.texts().join("\n");
    for i in 0..200_000 {
        assert!(
            i % 997 != 0 || words.contains(&format!("\nline {i} of the answer")),
            "{i}"
        );
    }
    let lines: usize = told
        .texts()
        .iter()
        .map(|text| text.matches(" of the answer").count())
        .sum();
    assert_eq!(lines, 200_000);
}
