//! Extraction of the name from a User-Agent, without version, comment and address.

use super::{version, words::is_library};

/// A name, and the separator between the name and its version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Name {
    /// The name without its version; never empty.
    pub(super) text: String,
    /// The separator before the version: `/`, `-`, `_`, `V` or a space; `None` if there is no
    /// version.
    pub(super) separator: Option<char>,
}

/// Words that follow a name, as in `Foo at http://…` or `Foo for Unix`.
const PREPOSITIONS: &[&str] = &["at", "by", "for", "from", "in", "on", "via", "with"];

/// Returns the name at the start of a User-Agent, or at the start of a segment of a User-Agent.
pub(super) fn name_of(text: &str) -> Option<Name> {
    let mut words: Vec<&str> = Vec::new();
    let mut separator = None;
    for word in cut_at_comment(text).split_whitespace() {
        if !words.is_empty() && version::is_word(word) {
            separator = Some(' ');
            break;
        }
        let (stem, found) = split_version(word);
        if !words.is_empty() && is_library(stem) {
            break;
        }
        words.push(stem);
        if found.is_some() {
            separator = found;
            break;
        }
    }
    // Prepositions at the end refer to removed text: a comment, a version or a URL.
    while words.len() > 1
        && words.last().is_some_and(|last| {
            PREPOSITIONS
                .iter()
                .any(|word| last.eq_ignore_ascii_case(word))
        })
    {
        words.pop();
    }
    let joined = words.join(" ");
    let name = joined.trim_matches(|c: char| " ,;:/+-&|=\"'".contains(c) || c == '.');
    (!name.is_empty()).then(|| Name {
        text: name.to_owned(),
        separator,
    })
}

/// Returns a product token without its version: `Foo/1.0` becomes `Foo`.
pub(in crate::registry) fn without_version(token: &str) -> &str {
    match token.rsplit_once('/') {
        Some((name, behind)) if version::follows_slash(behind) && !name.is_empty() => name,
        _ => token,
    }
}

/// Returns the text before a comment, an address or a placeholder in brackets.
fn cut_at_comment(text: &str) -> &str {
    let text = text.trim().trim_start_matches(['+', '-', ' ']);
    let brackets = text.find(['(', '[', '{', '<', ';']);
    let dash = text.find(" - ");
    let lower = text.to_ascii_lowercase();
    let url = ["http://", "https://", " www.", "+www."]
        .iter()
        .filter_map(|start| lower.find(start))
        // A URL at the start is the whole name.
        .filter(|&at| at > 0)
        .min();
    let end = [brackets, dash, url].into_iter().flatten().min();
    end.and_then(|end| text.get(..end)).unwrap_or(text).trim()
}

/// Splits a word into the name and the separator before the version, if any.
fn split_version(word: &str) -> (&str, Option<char>) {
    // The slashes of a URL do not separate a version.
    if word.contains("://") {
        return (word.trim_end_matches('/'), None);
    }
    if let Some((stem, behind)) = word.split_once('/') {
        let is_version = version::follows_slash(behind) && !stem.is_empty();
        return if is_version {
            (stem, Some('/'))
        } else {
            (word, None)
        };
    }
    for separator in ['-', '_'] {
        if let Some((stem, behind)) = word.rsplit_once(separator)
            && !stem.is_empty()
            && version::follows_hyphen(behind)
        {
            return (stem, Some(separator));
        }
    }
    without_attached_version(word).map_or((word, None), |stem| (stem, Some('V')))
}

/// Returns the text before a version such as `V1.1` at the end of a word.
fn without_attached_version(word: &str) -> Option<&str> {
    let rest = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = word.get(rest.len()..)?;
    let stem = rest.strip_suffix(['v', 'V'])?;
    let dotted = number.contains('.') && number.starts_with(|c: char| c.is_ascii_digit());
    (dotted && !stem.is_empty()).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(useragent: &str, text: &str, separator: Option<char>) {
        let name = name_of(useragent).unwrap();
        assert_eq!(
            (name.text.as_str(), name.separator),
            (text, separator),
            "{useragent}"
        );
    }

    #[test]
    fn a_version_ends_the_name() {
        check("Quillback/1.0", "Quillback", Some('/'));
        check("Quill Back Robot 1.0", "Quill Back Robot", Some(' '));
        check("Quillback/1.0 libwww-perl/0.40", "Quillback", Some('/'));
        check(
            "Quillback 3.0.X (quill@acme.example) - http://acme.example",
            "Quillback",
            Some(' '),
        );
        check("Quill-v2", "Quill", Some('-'));
        check("quill-1.1", "quill", Some('-'));
        check("QuillV1.1", "Quill", Some('V'));
        check("quill100", "quill100", None);
        check("VQbot_K/4.2", "VQbot_K", Some('/'));
    }

    #[test]
    fn placeholders_are_versions() {
        check("Quill/x.x", "Quill", Some('/'));
        check("Quill/*.*", "Quill", Some('/'));
        check("Quill/<version>", "Quill", Some('/'));
        check("Quill/{version} for {platform}", "Quill", Some('/'));
        check("Quill/(version)", "Quill", Some('/'));
        check("Quill/v[0-9\\.]+", "Quill", Some('/'));
        check("Quill/vX.X.X -$TYPE ($OSTYPE)", "Quill", Some('/'));
        check("quillSpider xxxxxxx ()/", "quillSpider", Some(' '));
    }

    #[test]
    fn a_second_name_after_a_slash_is_kept() {
        check("Ask Wilbur/Tundra", "Ask Wilbur/Tundra", None);
        check("merlin/lookout (team@acme.example)", "merlin/lookout", None);
    }

    #[test]
    fn comments_and_addresses_are_removed() {
        check(
            "Quillseeker at http://www.acme.example /1.0",
            "Quillseeker",
            None,
        );
        check(
            "Quill Valley v0.151 - http://acme.example",
            "Quill Valley",
            Some(' '),
        );
        check("QuillRealm.example; 0.2; [J];", "QuillRealm.example", None);
        check("QuillReaper [quill@acme.example]", "QuillReaper", None);
        check("quill (can be modified by the user)", "quill", None);
        check("http://www.acme.example", "http://www.acme.example", None);
        check("team@acme.example", "team@acme.example", None);
    }

    #[test]
    fn texts_without_a_name_give_none() {
        for nothing in ["", "(only a comment)", " - ", "+++", "/1.0"] {
            assert_eq!(
                name_of(nothing).filter(|name| name.text != "1.0"),
                None,
                "{nothing}"
            );
        }
    }

    #[test]
    fn a_product_token_loses_its_version() {
        assert_eq!(without_version("Quill/1.0"), "Quill");
        assert_eq!(without_version("Ask Wilbur/Tundra"), "Ask Wilbur/Tundra");
        assert_eq!(without_version("/1.0"), "/1.0");
    }
}
