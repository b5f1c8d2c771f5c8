//! The known word that a mistyped one most likely means.

/// The candidate nearest to `word`; `None` if none is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score = |c: &&str| strsim::jaro_winkler(&word.to_lowercase(), &c.to_lowercase());
    let best = candidates.into_iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    // Below this, jaro_winkler likens words that share little but their length.
    (score(&best) > 0.7).then_some(best)
}
