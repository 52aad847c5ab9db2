//! Times in questions and dates in metadata. Today is Wednesday, 14 June 2023.

use jiff::civil::{Date, date};
use loci_text::when::{authored, find};
use proptest::prelude::*;

const TODAY: Date = date(2023, 6, 14);

/// A question with `[` and `]` around the time, its first day, and the day after its last.
const TIMES: &[(&str, &str, &str)] = &[
    (
        "what was said [on December 1,2022]",
        "2022-12-01",
        "2022-12-02",
    ),
    ("[in mid-August 2022]", "2022-08-11", "2022-08-21"),
    ("[as of 1 February, 2023]", "0001-01-01", "2023-02-02"),
    (
        "the [week before August 3, 2022]",
        "2022-07-27",
        "2022-08-03",
    ),
    (
        "[on the Saturday after October 28, 2022]",
        "2022-10-29",
        "2022-10-30",
    ),
    (
        "[on the Monday before July 24, 2022]",
        "2022-07-18",
        "2022-07-19",
    ),
    ("the [day after May 7]", "2023-05-08", "2023-05-09"),
    (
        "the [weekend before May 7, 2023]",
        "2023-04-29",
        "2023-05-01",
    ),
    (
        "[in the last week of October 2022]",
        "2022-10-25",
        "2022-11-01",
    ),
    (
        "[in the second week of November]",
        "2022-11-08",
        "2022-11-15",
    ),
    ("[first weekend of August 2022]", "2022-08-06", "2022-08-08"),
    ("the [last weekend in May]", "2023-05-27", "2023-05-29"),
    ("What did we do [today]?", "2023-06-14", "2023-06-15"),
    ("[Yesterday]'s plan", "2023-06-13", "2023-06-14"),
    ("the [day before yesterday]", "2023-06-12", "2023-06-13"),
    ("what happened [last night]", "2023-06-13", "2023-06-14"),
    ("what I wrote [3 days ago]", "2023-06-11", "2023-06-12"),
    ("what I wrote [a week ago]", "2023-06-05", "2023-06-12"),
    (
        "what I wrote [two weeks ago], roughly",
        "2023-05-29",
        "2023-06-05",
    ),
    ("[a couple of months ago]", "2023-04-01", "2023-05-01"),
    ("[Five Years Ago] in Rome", "2018-01-01", "2019-01-01"),
    ("[last week]", "2023-06-05", "2023-06-12"),
    ("[this week]", "2023-06-12", "2023-06-19"),
    ("[next week]", "2023-06-19", "2023-06-26"),
    ("[last month]'s bill", "2023-05-01", "2023-06-01"),
    ("[this month]", "2023-06-01", "2023-07-01"),
    ("[next year]", "2024-01-01", "2025-01-01"),
    ("[last weekend]", "2023-06-10", "2023-06-12"),
    ("[this weekend]", "2023-06-17", "2023-06-19"),
    ("[during the last 3 days]", "2023-06-11", "2023-06-15"),
    ("[in the past week]", "2023-06-07", "2023-06-15"),
    ("[last Monday]", "2023-06-12", "2023-06-13"),
    ("[last Wednesday]", "2023-06-07", "2023-06-08"),
    ("[next Wednesday]", "2023-06-21", "2023-06-22"),
    ("[on Wednesday]", "2023-06-14", "2023-06-15"),
    ("[since Monday]", "2023-06-12", "2023-06-15"),
    ("where was I [in May]?", "2023-05-01", "2023-06-01"),
    ("where was I [in june]?", "2023-06-01", "2023-07-01"),
    ("where was I [in July]?", "2022-07-01", "2022-08-01"),
    ("[in May 2021]", "2021-05-01", "2021-06-01"),
    ("[May 2021] trip", "2021-05-01", "2021-06-01"),
    ("[last May]", "2023-05-01", "2023-06-01"),
    ("[last June]", "2022-06-01", "2022-07-01"),
    ("[next May]", "2024-05-01", "2024-06-01"),
    ("[on May 7]", "2023-05-07", "2023-05-08"),
    ("[May 7]", "2023-05-07", "2023-05-08"),
    ("the dinner [of July 4th]", "2022-07-04", "2022-07-05"),
    ("[7 May 2023]", "2023-05-07", "2023-05-08"),
    ("[may 7th, 2021] dinner", "2021-05-07", "2021-05-08"),
    ("[Sept. 3, 2020]", "2020-09-03", "2020-09-04"),
    ("[on the 7th of May]", "2023-05-07", "2023-05-08"),
    ("what about [Feb 29]", "2020-02-29", "2020-03-01"),
    ("(see [2023-05-07])", "2023-05-07", "2023-05-08"),
    ("see [2023-05].", "2023-05-01", "2023-06-01"),
    ("[in 2022] I moved", "2022-01-01", "2023-01-01"),
    ("[in 2022] was it cold", "2022-01-01", "2023-01-01"),
    ("[summer of 2021]", "2021-06-01", "2021-09-01"),
    ("[in the winter of 2021]", "2021-12-01", "2022-03-01"),
    ("[last summer]", "2022-06-01", "2022-09-01"),
    ("[this summer]", "2023-06-01", "2023-09-01"),
    ("[last winter]", "2022-12-01", "2023-03-01"),
    (
        "[between May 2021 and July 2021]",
        "2021-05-01",
        "2021-08-01",
    ),
    ("[between May and July 2021]", "2021-05-01", "2021-08-01"),
    ("[between November and January]", "2022-11-01", "2023-02-01"),
    (
        "[between yesterday and last Monday]",
        "2023-06-12",
        "2023-06-14",
    ),
    ("[from 2019 to 2021]", "2019-01-01", "2022-01-01"),
    ("[since 2021]", "2021-01-01", "2023-06-15"),
    ("[since last week]", "2023-06-05", "2023-06-15"),
    ("[before 2020]", "0001-01-01", "2020-01-01"),
    ("[until May 7, 2021]", "0001-01-01", "2021-05-07"),
    ("[after the 3rd of March 2021]", "2021-03-04", "9999-12-31"),
    ("[in early May]", "2023-05-01", "2023-05-11"),
    ("[mid May]", "2023-05-11", "2023-05-21"),
    ("[late May 2021]", "2021-05-21", "2021-06-01"),
    ("at the [end of May]", "2023-05-21", "2023-06-01"),
    ("[Q2 2022]", "2022-04-01", "2022-07-01"),
    ("[in Q1]", "2023-01-01", "2023-04-01"),
    (
        "may I ask what I said [yesterday]?",
        "2023-06-13",
        "2023-06-14",
    ),
];

#[test]
fn a_question_names_the_days_it_speaks_of() {
    for (marked, from, until) in TIMES {
        let question = marked.replace(['[', ']'], "");
        let when = find(&question, TODAY).unwrap_or_else(|| panic!("{question}"));
        assert_eq!(
            (
                when.from.to_string().as_str(),
                when.until.to_string().as_str()
            ),
            (*from, *until),
            "{question}"
        );
        let phrase = marked.split(['[', ']']).nth(1).unwrap();
        assert_eq!(&question[when.phrase], phrase, "{question}");
    }
}

#[test]
fn words_that_only_look_like_times_are_none() {
    for question in [
        "may I come in",
        "May I?",
        "May 7 people come along?",
        "this may be wrong",
        "what 7 may do",
        "march on",
        "the march of progress",
        "wait a second, the second one",
        "2000 drawers",
        "how do I fit 2000 drawers in 2000 boxes",
        "a total of 2000",
        "version 1.2023 or 2.0",
        "in v2023",
        "in 2023.4",
        "in 20230",
        "what did April say about June",
        "before I go, after lunch, since then",
        "the last version and the next step",
        "spring framework, fall back",
        "Q2 and Q3",
        "one day",
        "the day after, the second week of it",
        "mid-range and late-stage",
        "in 3 days",
        "999999999999999999 days ago",
        "99999999 years ago",
        "February 30, 2023",
        "2023-13-45",
        "on 2023",
        "",
    ] {
        assert_eq!(find(question, TODAY), None, "{question}");
    }
}

#[test]
fn a_sentence_end_separates_a_month_from_a_number() {
    let when = find("It was in May. 2021 was better", TODAY).unwrap();
    assert_eq!(when.from, date(2023, 5, 1));
}

#[test]
fn dates_of_metadata_are_read_in_utc() {
    let expected = Some(1_683_554_160_000);
    for value in [
        "2023-05-08T13:56:00Z",
        "2023-05-08T15:56:00+02:00",
        "2023-05-08T13:56:00.000Z",
        "2023-05-08T13:56:00",
        "2023-05-08T13:56",
        "2023-05-08 13:56:00",
        " 2023-05-08 13:56 ",
        "1683554160",
        "1683554160000",
        "1:56 pm on 8 May, 2023",
        "1:56 PM on May 8th, 2023",
        "1:56pm, 8 May 2023",
        "2023/05/08 (Mon) 13:56",
        "2023/5/8 13:56",
        "Mon, 8 May 2023 13:56:00 +0000",
        "May 8, 2023 at 1:56 pm",
    ] {
        assert_eq!(authored(value), expected, "{value}");
    }
    let midnight = Some(1_683_504_000_000);
    for value in [
        "2023-05-08",
        "20230508",
        "8 May 2023",
        "12:00 am on 8 May, 2023",
    ] {
        assert_eq!(authored(value), midnight, "{value}");
    }
    assert_eq!(authored("12:30 pm on 8 May, 2023"), Some(1_683_549_000_000));
}

#[test]
fn other_values_are_not_read_as_dates() {
    for value in [
        "",
        "someday",
        "2023",
        "42",
        "12345678",
        "May",
        "May 2023",
        "13:56",
        "13:56 pm on 8 May, 2023",
        "8 May 2023 8 May 2023",
        "2023-02-30",
        "2023/02/30",
        "25:00 on 8 May 2023",
        "pm 8 May 2023",
        "v1.2.3",
        "12345678901234567890",
    ] {
        assert_eq!(authored(value), None, "{value}");
    }
}

/// Questions of words that the reader knows, in any order.
fn questions() -> impl Strategy<Value = String> {
    let words = "today yesterday 3 7 7th 31 2000 2023 ago days weeks years last this next past week weekend month year Monday May may march \
         february 29 , . in on since before until after between and from to the of of early late mid end summer winter Q2 first second last day Saturday mid- 2023-05-07 \
         2023-02 a couple 9999 99999999999";
    let words: Vec<&str> = words.split_whitespace().collect();
    prop::collection::vec(prop::sample::select(words), 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn a_time_ends_after_it_begins(
        question in prop_oneof![questions(), any::<String>(), "\\PC{0,40}"],
        year in -9999..=9999_i16,
        day in 1..=366_i64,
    ) {
        let today = date(year, 1, 1).checked_add(jiff::Span::new().days(day - 1)).unwrap_or(Date::MAX);
        if let Some(when) = find(&question, today) {
            prop_assert!(when.from < when.until, "{:?}", when);
            prop_assert!(!when.phrase.is_empty() && question.get(when.phrase).is_some());
        }
        authored(&question);
    }

    #[test]
    fn dates_survive_printing(second in 100_000_000..9_999_999_999_i64) {
        let stamp = jiff::Timestamp::from_second(second).unwrap();
        prop_assert_eq!(authored(&stamp.to_string()), Some(second * 1000));
        prop_assert_eq!(authored(&second.to_string()), Some(second * 1000));
    }
}

#[test]
fn a_megabyte_of_time_words_takes_linear_time() {
    for seed in [
        "early ",
        "the ",
        "between May and ",
        "last ",
        "7 ",
        "2023 ",
        ". ",
        "end of the ",
        "from 7 May ",
        "week before ",
        "first week of ",
        "mid-",
        "x",
    ] {
        let question = seed.repeat((1 << 20) / seed.len());
        let began = std::time::Instant::now();
        find(&question, TODAY);
        assert!(
            began.elapsed() < std::time::Duration::from_secs(5),
            "{seed}"
        );
    }
}
