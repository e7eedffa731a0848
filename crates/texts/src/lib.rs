//! Internal crate of `robot-detection`: texts for visitors in several languages.

use std::collections::HashMap;
use std::sync::LazyLock;

use http::HeaderValue;

/// Supported languages as BCP 47 tags; English is the default.
const TAGS: [&str; 8] = ["en", "de", "fr", "es", "pt", "ja", "zh", "ru"];

/// Maximum number of language ranges of an `Accept-Language` header that are examined.
const MAX_RANGES: usize = 32;

type Translations = [&'static str; TAGS.len()];

static TEXTS: LazyLock<HashMap<&'static str, Translations>> =
    LazyLock::new(|| parse(include_str!("texts.txt")));

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
        let text = TEXTS.get(key).and_then(|texts| texts.get(self.0));
        text.copied().unwrap_or(key)
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

fn parse(file: &'static str) -> HashMap<&'static str, Translations> {
    let mut texts = HashMap::new();
    let mut key = "";
    for line in file.lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            key = name;
        } else if let Some((tag, text)) = line.split_once(' ')
            && let Some(at) = TAGS.iter().position(|known| *known == tag)
        {
            let translations = texts.entry(key).or_insert([""; TAGS.len()]);
            if let Some(place) = translations.get_mut(at) {
                *place = text;
            }
        }
    }
    texts
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
                assert_eq!(values(text), values(translations[0]), "{key}: {text}");
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
