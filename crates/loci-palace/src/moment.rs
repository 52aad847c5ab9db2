//! Parses moments that people type.

/// Parses a moment: a date, or words such as `last week`, which mean the first day of that period.
pub fn parse_moment(text: &str) -> Option<i64> {
    let text = text.trim();
    let is_year = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let named = |text: &str| {
        let when = loci_text::when::find(text, loci_recall::today())?;
        (when.phrase.len() == text.len()).then(|| loci_recall::start_of(when.from))?
    };
    if is_year {
        return loci_text::when::authored(&format!("{text}-01-01"));
    }
    loci_text::when::authored(text)
        .or_else(|| named(text))
        .or_else(|| named(&format!("last {text}")))
}
