//! Internal crate of `robot-detection`: texts for visitors in several languages.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use http::HeaderValue;

/// Supported languages as BCP 47 tags; English is the default.
const TAGS: [&str; 8] = ["en", "de", "fr", "es", "pt", "ja", "zh", "ru"];

/// Maximum number of language ranges of an `Accept-Language` header that are examined.
const MAX_RANGES: usize = 32;

/// Texts by key, with one translation per language; a missing translation is empty.
type Texts = HashMap<String, [String; TAGS.len()]>;

static TEXTS: LazyLock<Texts> =
    LazyLock::new(|| parse(include_str!("texts.txt")).unwrap_or_default());

/// Texts of the site, which replace those in [`TEXTS`].
static SITE: OnceLock<Texts> = OnceLock::new();

/// Language of the texts for visitors.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Language(usize);

impl Language {
    /// Returns the supported language for a BCP 47 tag such as `de-CH`.
    #[must_use]
    pub fn from_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next()?;
        let mut tags = TAGS.iter();
        tags.position(|known| known.eq_ignore_ascii_case(primary))
            .map(Self)
    }

    /// Returns the supported language that `Accept-Language` headers prefer, by default English.
    #[must_use]
    pub fn accepted<'h>(headers: impl IntoIterator<Item = &'h HeaderValue>) -> Self {
        let ranges = headers.into_iter().filter_map(|line| line.to_str().ok());
        let ranges = ranges.flat_map(|line| line.split(',')).take(MAX_RANGES);
        let mut best = (Self::default(), 0.0);
        for range in ranges {
            let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
            let weight = weight.trim().strip_prefix("q=");
            let weight = weight.and_then(|weight| weight.trim().parse().ok());
            if let (Some(language), Some(weight)) = (Self::from_tag(tag), weight)
                && weight > best.1
            {
                best = (language, weight);
            }
        }
        best.0
    }

    /// Returns the BCP 47 tag, for `lang` attributes.
    #[must_use]
    pub fn tag(self) -> &'static str {
        TAGS.get(self.0).copied().unwrap_or(TAGS[0])
    }

    /// Returns a text in this language, or its key if there is no such text.
    #[must_use]
    pub fn text(self, key: &'static str) -> &'static str {
        let find = |texts: &'static Texts| texts.get(key)?.get(self.0).map(String::as_str);
        let site = SITE.get().and_then(find).filter(|text| !text.is_empty());
        site.or_else(|| find(&TEXTS)).unwrap_or(key)
    }

    /// Returns a text in this language with each `{}` replaced by a value.
    #[must_use]
    pub fn filled(self, key: &'static str, values: &[&dyn std::fmt::Display]) -> String {
        let mut parts = self.text(key).split("{}");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for (part, value) in parts.zip(values) {
            filled.push_str(&value.to_string());
            filled.push_str(part);
        }
        filled
    }
}

/// Replaces texts for visitors by those of a file in the format of `texts.txt`.
///
/// The first file of a process applies; the content of other files is only checked.
///
/// # Errors
///
/// Returns an error with the line number and the reason; no text is replaced then.
pub fn replace(file: &str) -> Result<(), String> {
    let texts = parse(file)?;
    for (key, translations) in &texts {
        let Some(own) = TEXTS.get(key) else {
            return Err(format!("unknown text [{key}]"));
        };
        for text in translations.iter().filter(|text| !text.is_empty()) {
            let (values, own) = (|text: &str| text.matches("{}").count(), &own[0]);
            if values(text) != values(own) {
                return Err(format!("[{key}] {text:?} needs each {{}} of {own:?}"));
            }
        }
    }
    SITE.get_or_init(|| texts);
    Ok(())
}

fn parse(file: &str) -> Result<Texts, String> {
    let mut texts = Texts::new();
    let mut key = "";
    for (line, number) in file.lines().map(str::trim).zip(1..) {
        if let Some(name) = line.strip_prefix('[') {
            key = name.trim_end_matches(']');
        } else if !line.is_empty() && !line.starts_with('#') {
            let (tag, text) = line.split_once(' ').unwrap_or_default();
            let mut places = TAGS.iter().zip(texts.entry(key.to_owned()).or_default());
            let Some((_, place)) = places.find(|(known, _)| **known == tag) else {
                let tags = TAGS.join(", ");
                return Err(format!("line {number}: expected [KEY] or one of {tags}"));
            };
            text.clone_into(place);
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_exists_in_every_language_with_the_same_values() {
        assert!(TEXTS.len() > 40, "{}", TEXTS.len());
        for (key, translations) in TEXTS.iter() {
            for text in translations {
                assert!(!text.is_empty(), "{key}");
                let values = |text: &str| text.matches("{}").count();
                assert_eq!(values(text), values(&translations[0]), "{key}: {text}");
            }
        }
    }

    #[test]
    fn the_language_is_the_supported_one_with_the_highest_weight() {
        for (header, tag) in [
            ("de-CH, en;q=0.5", "de"),
            ("nl, ja;q=0.8, en;q=0.5", "ja"),
            ("en;q=0.4,PT-br;q=0.9", "pt"),
            ("zh-Hant-TW", "zh"),
            ("fr;q=0, *", "en"),
            ("es;q=NaN, ;;q=, -", "en"),
            ("nl", "en"),
        ] {
            let header = HeaderValue::from_static(header);
            assert_eq!(Language::accepted([&header]).tag(), tag, "{header:?}");
        }
        assert_eq!(Language::accepted([]).tag(), "en");
    }
}
