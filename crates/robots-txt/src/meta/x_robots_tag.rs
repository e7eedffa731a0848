//! The value of an `X-Robots-Tag` header to send.

use std::{fmt, str::FromStr};

use super::{
    super::lint::nearest,
    Directive, RobotsDirectives,
    items::{ItemKind, Items, starts_with_number},
};

/// The maximum length of an `X-Robots-Tag` value in bytes.
const MAX_BYTES: usize = 1024;

/// Non-standard words that some robots obey, which `DeviantArt` introduced in 2022.
const DE_FACTO: [&str; 2] = ["noai", "noimageai"];

/// The value of an `X-Robots-Tag` header: rules for all robots and for individual robots.
///
/// Unknown words are sent unchanged, because some robots may support them;
/// [`unknown_words`](Self::unknown_words) lists them. Known words must have a valid value. The
/// value is written as a single line of visible ASCII characters and spaces.
///
/// # Example
///
/// ```
/// use robot_detection_robots_txt::meta::XRobotsTag;
///
/// let tag: XRobotsTag = "NOARCHIVE,googlebot: max-snippet: 50".parse()?;
/// assert_eq!(tag.to_string(), "noarchive, googlebot: max-snippet:50");
/// let tag: XRobotsTag = "noidex, noai".parse()?;
/// assert!(tag.unknown_words().eq([("noidex", Some("noindex"))]));
/// assert!("max-snippet: few".parse::<XRobotsTag>().is_err());
/// # Ok::<(), robot_detection_robots_txt::meta::XRobotsTagError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct XRobotsTag {
    everybody: Option<Rules>,
    /// The rules for each token as written, in order; tokens are unique when case is ignored.
    robots: Vec<(String, Rules)>,
}

/// The rules for one robot or for all robots.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Rules {
    directives: RobotsDirectives,
    /// The words that are not known directives, as written.
    words: Vec<String>,
}

/// An error for an invalid `X-Robots-Tag` value.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct XRobotsTagError {
    reason: String,
}

impl XRobotsTag {
    /// Creates a header value with rules for all robots.
    #[must_use]
    pub fn new(directives: RobotsDirectives) -> Self {
        Self {
            everybody: Some(Rules {
                directives,
                words: Vec::new(),
            }),
            robots: Vec::new(),
        }
    }

    /// Returns the rules that apply to all robots, if there are any.
    #[must_use]
    pub fn everybody(&self) -> Option<&RobotsDirectives> {
        self.everybody.as_ref().map(|rules| &rules.directives)
    }

    /// Returns the robots' tokens with the rules for each.
    pub fn robots(&self) -> impl Iterator<Item = (&str, &RobotsDirectives)> {
        let robots = self.robots.iter();
        robots.map(|(token, rules)| (token.as_str(), &rules.directives))
    }

    /// Returns the unknown words, each with the directive name that was probably intended.
    ///
    /// The words `noai` and `noimageai` are not returned: they are not standardised, but some
    /// robots obey them.
    pub fn unknown_words(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        let robots = self.robots.iter().map(|(_, rules)| rules);
        let words = self.everybody.iter().chain(robots);
        let words = words.flat_map(|rules| &rules.words);
        let unknown = words.filter(|word| !DE_FACTO.iter().any(|it| word.eq_ignore_ascii_case(it)));
        unknown.map(|word| {
            let known = Directive::names().chain(DE_FACTO.iter().copied());
            (word.as_str(), nearest(word.as_bytes(), known))
        })
    }

    /// Returns the rules for a token, and adds empty rules if there are none.
    fn entry(&mut self, token: Option<&str>) -> &mut Rules {
        let Some(token) = token else {
            return self.everybody.get_or_insert_default();
        };
        let mut known = self.robots.iter();
        let at = known
            .position(|(known, _)| known.eq_ignore_ascii_case(token))
            .unwrap_or(self.robots.len());
        if at == self.robots.len() {
            let own = (token.to_owned(), Rules::default());
            self.robots.push(own);
        }
        match self.robots.get_mut(at) {
            Some((_, rules)) => rules,
            None => self.everybody.get_or_insert_default(),
        }
    }
}

impl FromStr for XRobotsTag {
    type Err = XRobotsTagError;

    fn from_str(text: &str) -> Result<Self, XRobotsTagError> {
        check_characters(text)?;
        let mut tag = Self {
            everybody: None,
            robots: Vec::new(),
        };
        let mut token = None;
        // Whether a rule is still missing in the whole value or after the last token.
        let mut is_waiting = true;
        for item in Items::from_header(text) {
            match item.kind {
                ItemKind::Token if is_waiting && token.is_some() => break,
                ItemKind::Token => {
                    let is_everybody = item.text == "*" || item.text.eq_ignore_ascii_case("robots");
                    token = Some(item.text).filter(|_| !is_everybody);
                    is_waiting = true;
                }
                ItemKind::Directives(directives) => {
                    let rules = tag.entry(token);
                    rules.directives.extend(directives.into_iter().flatten());
                    is_waiting = false;
                }
                ItemKind::Unknown => {
                    check_value(item.text)?;
                    let words = &mut tag.entry(token).words;
                    if !words.iter().any(|word| word == item.text) {
                        words.push(item.text.to_owned());
                    }
                    is_waiting = false;
                }
            }
        }
        match token {
            _ if !is_waiting => Ok(tag),
            Some(token) => Err(refuse(format!(
                "no rule follows {token:?}; write one, such as {token}: noindex"
            ))),
            None => Err(refuse(
                "the value is empty; write rules such as noindex, nofollow",
            )),
        }
    }
}

/// Writes the rules for all robots, followed by those for each token.
impl fmt::Display for XRobotsTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parting = "";
        if let Some(rules) = &self.everybody {
            rules.fmt(f)?;
            parting = ", ";
        }
        for (token, rules) in &self.robots {
            write!(f, "{parting}{token}: {rules}")?;
            parting = ", ";
        }
        Ok(())
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parting = "";
        // Without restrictions, the directives are written as `all`, which is redundant next to
        // another word.
        if self.words.is_empty() || !self.directives.is_empty() {
            self.directives.fmt(f)?;
            parting = ", ";
        }
        for word in &self.words {
            write!(f, "{parting}{word}")?;
            parting = ", ";
        }
        Ok(())
    }
}

fn check_characters(text: &str) -> Result<(), XRobotsTagError> {
    if text.len() > MAX_BYTES {
        return Err(refuse(format!(
            "the value is longer than {MAX_BYTES} bytes"
        )));
    }
    // A line break would end the header and start another.
    let is_fit = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if text.bytes().all(is_fit) {
        Ok(())
    } else {
        Err(refuse(
            "the value contains a character that is neither visible ASCII nor a space",
        ))
    }
}

/// Returns an error for a known word with an invalid value, or a value without a word.
fn check_value(item: &str) -> Result<(), XRobotsTagError> {
    if starts_with_number(item) {
        return Err(refuse(format!(
            "{item:?} is not a rule; a number must follow the name of its rule, as in max-snippet: {item}"
        )));
    }
    let (name, _) = item.split_once(':').unwrap_or((item, ""));
    let name = name.trim().to_ascii_lowercase();
    let hint = match name.as_str() {
        "unavailable_after" => "write a date such as 2030-12-31 or 31 Dec 2030 15:00:00 GMT",
        "max-image-preview" => "write none, standard or large",
        "max-snippet" | "max-video-preview" => "write a number, or -1 for no limit",
        _ => return Ok(()),
    };
    Err(refuse(format!("{item:?} is not a rule; {hint}")))
}

fn refuse(reason: impl Into<String>) -> XRobotsTagError {
    XRobotsTagError {
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Result<String, String> {
        let tag = text.parse::<XRobotsTag>();
        tag.map(|tag| tag.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn value_is_normalised() {
        for (text, expected) in [
            ("noindex", "noindex"),
            (" NoIndex ,, none,", "noindex, nofollow"),
            ("all", "all"),
            ("googlebot:noindex", "googlebot: noindex"),
            (
                "a: noindex, b: none, A: max-snippet:5, robots: nosnippet",
                "nosnippet, a: noindex, max-snippet:5, b: noindex, nofollow",
            ),
            (
                "unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, noindex",
                "noindex, unavailable_after: Fri, 25 Jun 2010 15:00:00 PST",
            ),
            ("a: all, *: noindex", "noindex, a: all"),
            ("noai, noimageai", "noai, noimageai"),
            ("NoAI, noindex,NoAI, all", "noindex, NoAI"),
            ("a: noai, b: noindex, tdm: 1", "a: noai, b: noindex, tdm: 1"),
        ] {
            assert_eq!(written(text).as_deref(), Ok(expected), "{text}");
            assert_eq!(written(expected).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn unknown_words_are_returned() {
        let tag: XRobotsTag = "noai, NOIMAGEAI, noidex, a: no-follow, x y, all"
            .parse()
            .unwrap();
        let words: Vec<_> = tag.unknown_words().collect();
        let expected = [
            ("noidex", Some("noindex")),
            ("no-follow", Some("nofollow")),
            ("x y", None),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn invalid_value_is_rejected() {
        for (text, expected) in [
            ("", "value is empty"),
            (" , ", "value is empty"),
            ("max-snippet:many", "-1 for no limit"),
            ("max-image-preview: huge", "standard or large"),
            ("unavailable_after: soon", "2030-12-31"),
            ("a:,0,", "must follow the name of its rule"),
            ("noindex, -1", "as in max-snippet: -1"),
            ("googlebot:", r#"no rule follows "googlebot""#),
            ("googlebot: , ", r#"no rule follows "googlebot""#),
            ("a: b: noindex", r#"no rule follows "a""#),
            ("noindex\r\nSet-Cookie: a=b", "neither visible ASCII"),
            ("noindex\t", "neither visible ASCII"),
            ("noindex\0", "neither visible ASCII"),
            ("noïndex", "neither visible ASCII"),
        ] {
            let error = written(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let long = "noindex,".repeat(200);
        assert!(written(&long).unwrap_err().contains("1024 bytes"));
    }
}
