//! Names by which robots.txt refers to robots.

use super::{PatternKind, Robot, useragent::without_version};

/// Maximum number of bytes in a product token.
const MAX_BYTES: usize = 100;

/// The name of a robot in robots.txt, and whether the name is published or derived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ProductToken<'r> {
    text: &'r str,
    is_published: bool,
}

/// The reason why robots.txt cannot refer to a robot.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", self.as_str())]
#[non_exhaustive]
pub enum NoProductToken {
    /// The published token is not a valid product token.
    Odd,
    /// No token is published, and neither the name nor the patterns of the robot are suitable.
    Unnamed,
}

impl NoProductToken {
    /// Returns the reason as a few words that can follow the robot's name.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Odd => "with invalid characters in its product token",
            Self::Unnamed => "without a product token or a name that is suitable as one",
        }
    }
}

impl Robot {
    /// Returns the name by which robots.txt refers to the robot.
    ///
    /// The name is the published [product token](Self::product_token) or, failing that, the robot's
    /// name without a version, or else the first pattern that is a single word. A derived token
    /// consists of letters, `_` and `-` (RFC 9309 §2.2.1) as well as digits and dots, which are
    /// used in practice. A derived token is a guess, because the name that the robot looks for is
    /// unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if no `User-agent` line can refer to the robot.
    pub fn token(&self) -> Result<ProductToken<'_>, NoProductToken> {
        if let Some(text) = self.product_token.as_deref() {
            let published = ProductToken {
                text,
                is_published: true,
            };
            let is_readable = is_readable(text);
            return is_readable.then_some(published).ok_or(NoProductToken::Odd);
        }
        self.derived_token().ok_or(NoProductToken::Unnamed)
    }

    fn derived_token(&self) -> Option<ProductToken<'_>> {
        let sent = self.patterns.iter();
        let sent = sent.filter(|pattern| pattern.kind != PatternKind::Regex);
        [self.name.as_str()]
            .into_iter()
            .chain(sent.map(|pattern| pattern.text.trim_end_matches('/')))
            .map(bare)
            .find(|text| is_word(text))
            .map(|text| ProductToken {
                text,
                is_published: false,
            })
    }
}

impl<'r> ProductToken<'r> {
    /// Returns the token as written in a `User-agent` line.
    #[must_use]
    pub fn as_str(&self) -> &'r str {
        self.text
    }

    /// Returns `true` if a source publishes the token, and `false` if the token is derived from the
    /// robot's name or patterns.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.is_published
    }

    /// Returns the word for the origin of the token: `published` or `derived`.
    #[must_use]
    pub fn origin(&self) -> &'static str {
        if self.is_published {
            "published"
        } else {
            "derived"
        }
    }
}

/// Returns a name without its version and without a remark in brackets.
fn bare(name: &str) -> &str {
    let name = name.split(['(', '[']).next().unwrap_or_default().trim();
    let name = without_version(name);
    match name.rsplit_once(' ') {
        Some((stem, version)) if is_version(version) => stem.trim_end(),
        _ => name,
    }
}

fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix(['v', 'V']).unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Returns `true` if a derived token is a single word that contains a letter.
fn is_word(text: &str) -> bool {
    is_readable(text)
        && text.contains(|c: char| c.is_ascii_alphabetic())
        && !text.contains([' ', '!'])
}

/// Returns `true` if the token is valid. `*` is invalid because it stands for all robots.
fn is_readable(token: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || " _-.!".contains(c);
    token.len() <= MAX_BYTES
        && token.starts_with(|c: char| c.is_ascii_alphanumeric())
        && token.chars().all(is_inside)
        && !token.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Pattern, Source};

    fn robot(name: &str, published: Option<&str>, patterns: &[(PatternKind, &str)]) -> Robot {
        let mut robot = Robot::new("id", Source::manual());
        name.clone_into(&mut robot.name);
        robot.product_token = published.map(str::to_owned);
        let patterns = patterns.iter();
        robot.patterns = patterns
            .map(|&(kind, text)| Pattern::new(kind, text))
            .collect();
        robot
    }

    #[test]
    fn a_published_token_takes_precedence_over_the_name() {
        let published = robot("Acme Robot", Some("AcmeBot"), &[]);
        let token = published.token().unwrap();
        assert_eq!((token.as_str(), token.is_published()), ("AcmeBot", true));
        let odd = robot("AcmeBot", Some("*"), &[]);
        assert_eq!(odd.token(), Err(NoProductToken::Odd));
    }

    #[test]
    fn otherwise_the_token_is_derived_from_name_or_patterns() {
        use PatternKind::{Exact, Prefix, Regex, Token};
        for (name, patterns, expected) in [
            ("DeepSeekBot", &[][..], Some("DeepSeekBot")),
            ("img2dataset", &[], Some("img2dataset")),
            ("Factset_spyderbot", &[], Some("Factset_spyderbot")),
            ("anthropic-ai (retired)", &[], Some("anthropic-ai")),
            ("Brightbot 1.0", &[], Some("Brightbot")),
            ("Acme/2.1", &[], Some("Acme")),
            ("Allen AI", &[(Token, "AllenAI")], Some("AllenAI")),
            (
                "Common tools",
                &[(Regex, "^cc.index$"), (Prefix, "cc-index/")],
                Some("cc-index"),
            ),
            ("Acme research robot", &[(Token, "Acme research")], None),
            ("", &[], None),
            ("1.0", &[], None),
            ("*", &[], None),
            ("Ärger", &[], None),
            ("A\nDisallow: /", &[(Exact, "A: b")], None),
        ] {
            let robot = robot(name, None, patterns);
            let token = robot.token();
            assert_eq!(token.ok().map(|token| token.as_str()), expected, "{name}");
            assert!(token.is_err() || !token.unwrap().is_published());
        }
    }
}
