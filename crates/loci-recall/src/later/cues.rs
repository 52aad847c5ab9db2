//! The words by which a statement shows that it changes something, and words that are values.
//!
//! A cue is some words in lower case. It matches at the beginning of a word, and at the end of one
//! unless it ends with `*`.

/// Words that a change or a decision contains.
#[rustfmt::skip]
pub(super) const CHANGES: &[&str] = &[
    // English
    "actually", "instead", "no longer", "anymore", "any more", "changed our mind",
    "changed my mind", "change of plan*", "decision", "decided", "from now on", "going forward",
    "switched", "switch to", "switching", "replace*", "rather than", "scrap", "settled on",
    "after all", "moved to", "moved:", "final*", "agreed", "correction", "in the end", "as of",
    "cancelled", "canceled", "drop", "dropped", "forget", "overruled", "revised", "updated",
    "update:", "not anymore", "ended up", "turns out",
    // German
    "nicht mehr", "ab sofort", "ab jetzt", "verlegt", "statt", "stattdessen", "doch nicht",
    "beschlossen", "entschieden", "entscheidung", "umgestellt", "ersetzt", "abgesagt", "neuer plan",
    // Russian
    "теперь", "больше не", "вместо", "решили", "решено", "решение", "отменил*", "перенесли",
    "передумал*", "отныне", "сменил*", "не будем",
    // Spanish
    "al final", "ya no", "en vez de", "en lugar de", "a partir de ahora", "decidimos", "decidido",
    "cambiamos", "se cambia", "finalmente", "mejor dicho",
    // French
    "désormais", "au lieu de", "finalement", "on a décidé", "décision", "ne plus", "changé d'avis",
    "à partir de maintenant", "remplacé*", "annulé*",
];

/// Chinese cues, which match anywhere, because Chinese has no spaces.
pub(super) const CHANGES_ANYWHERE: &[&str] =
    &["决定", "改成", "改为", "改用", "不再", "换成", "取消"];

/// Words that are values as numbers are.
#[rustfmt::skip]
pub(super) const VALUES: &[&str] = &[
    "april", "august", "biweekly", "daily", "december", "dienstag", "dienstags", "domingo",
    "donnerstag", "donnerstags", "eight", "eleven", "evening", "february", "fifteen", "fifty",
    "five", "forty", "four", "freitag", "freitags", "friday", "fridays", "hourly", "hundred",
    "january", "jeudi", "jueves", "july", "june", "lundi", "lunes", "march", "mardi", "martes",
    "mercredi", "midnight", "mittwoch", "mittwochs", "monday", "mondays", "montag", "montags",
    "monthly", "morning", "nightly", "nine", "noon", "november", "october", "one", "samstag",
    "samstags", "saturday", "saturdays", "september", "seven", "six", "sixty", "sonntag",
    "sonntags", "sunday", "sundays", "sábado", "ten", "thirty", "three", "thursday", "thursdays",
    "tuesday", "tuesdays", "twelve", "twenty", "two", "vendredi", "viernes", "wednesday",
    "wednesdays", "weekly", "воскресенье", "вторник", "понедельник", "пятница", "пятницу",
    "среда", "среду", "субботу", "четверг",
];
