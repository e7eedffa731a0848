//! Recognition of browser families and versions by the User-Agent.

use super::table::{Family, Table};

/// The browser that a User-Agent claims.
#[derive(Clone, Copy, Debug)]
pub(super) struct Browser<'t> {
    pub(super) family: &'t Family,
    pub(super) version: u32,
    /// Whether no release of the browser has such a User-Agent.
    pub(super) is_impossible: bool,
}

/// A part of a User-Agent; `*` matches letters, digits and dots.
#[derive(Debug)]
pub(super) struct Shape {
    first: Box<str>,
    /// The literal text after each `*`.
    rest: Vec<Box<str>>,
}

impl Table {
    /// Returns the browser that a User-Agent claims, if the table contains it.
    pub(super) fn browser(&self, user_agent: &[u8]) -> Option<Browser<'_>> {
        let rest = user_agent.strip_prefix(b"Mozilla/5.0 (")?;
        let end = memchr::memchr(b')', rest)?;
        let (comment, rest) = (rest.get(..end)?, rest.get(end..)?.strip_prefix(b") ")?);
        let mut families = self.families().iter();
        families.find_map(|family| family.browser(comment, rest))
    }
}

impl Family {
    fn browser(&self, comment: &[u8], rest: &[u8]) -> Option<Browser<'_>> {
        let rest = self.start.behind(rest)?;
        let (version, rest) = version(rest)?;
        let mut platforms = self.platforms.iter();
        if !self.platforms.is_empty()
            && !platforms.any(|platform| comment.starts_with(platform.as_bytes()))
        {
            return None;
        }
        let ends = |endings: &[Shape]| {
            let mut endings = endings.iter();
            endings.any(|ending| ending.behind(rest).is_some_and(<[u8]>::is_empty))
        };
        let is_impossible = if ends(&self.endings) {
            !self.has_revision(comment, version)
        } else if ends(&self.impossible) {
            // Earlier releases may have had such a User-Agent.
            if version < self.impossible_from {
                return None;
            }
            true
        } else {
            return None;
        };
        Some(Browser {
            family: self,
            version,
            is_impossible,
        })
    }

    /// Returns `true` unless the comment's revision contradicts the version.
    fn has_revision(&self, comment: &[u8], version: u32) -> bool {
        /// The revision in the User-Agent of Firefox 110 to 119, because sites mistook `rv:11` for
        /// Internet Explorer.
        const FROZEN: u32 = 109;
        if self.revision.is_none_or(|from| version < from) {
            return true;
        }
        let at = memchr::memmem::find(comment, b"rv:");
        let named = at.and_then(|at| number(comment.get(at + 3..)?));
        match named {
            Some((revision, _)) => {
                revision == version || revision == FROZEN && (110..120).contains(&version)
            }
            // A comment may lack the revision, for example if a privacy extension has set the
            // comment.
            None => true,
        }
    }
}

impl Shape {
    pub(super) fn new(text: &str) -> Self {
        let mut parts = text.split('*').map(Box::from);
        Self {
            first: parts.next().unwrap_or_default(),
            rest: parts.collect(),
        }
    }

    /// Returns the text that follows the shape, or `None` if the shape does not match.
    fn behind<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let mut text = text.strip_prefix(self.first.as_bytes())?;
        for part in &self.rest {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
            let run = text.iter().take_while(|byte| is_part(byte)).count();
            text = text.get(run.max(1)..)?.strip_prefix(part.as_bytes())?;
        }
        Some(text)
    }
}

/// Parses the major version. Returns the version, and the text after the version and a space.
fn version(text: &[u8]) -> Option<(u32, &[u8])> {
    let (major, rest) = number(text)?;
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let more = rest.iter().take_while(|byte| is_part(byte)).count();
    let rest = rest.get(more..)?;
    match rest.split_first() {
        None => Some((major, rest)),
        Some((b' ', rest)) => Some((major, rest)),
        Some(_) => None,
    }
}

/// Parses a number of at most four digits.
pub(super) fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let mut number = 0;
    let mut rest = text;
    while let Some((digit @ b'0'..=b'9', behind)) = rest.split_first() {
        number = number * 10 + u32::from(digit - b'0');
        rest = behind;
        if text.len() - rest.len() > 4 {
            return None;
        }
    }
    (rest.len() < text.len()).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(user_agent: &str) -> String {
        let table = Table::bundled();
        match table.browser(user_agent.as_bytes()) {
            Some(browser) if browser.is_impossible => format!("no {}", browser.family.id),
            Some(browser) => format!("{} {}", browser.family.id, browser.version),
            None => "-".to_owned(),
        }
    }

    /// Test cases, each with the first comment, the rest of the User-Agent, and the expected
    /// result.
    const CASES: &[(&str, &str, &str)] = &[
        (
            "X11; Linux x86_64",
            "CHROME/156.0.0.0 Safari/537.36",
            "chromium 156",
        ),
        (
            "Linux; Android 10; K",
            "CHROME/140.0.7.1 Mobile Safari/537.36",
            "chromium 140",
        ),
        (
            "Windows NT 10.0",
            "CHROME/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
            "chromium 141",
        ),
        (
            "Windows NT 10.0",
            "CHROME/58.0.3029.110 Safari/537.3",
            "no chromium",
        ),
        ("Windows NT 10.0", "CHROME/20.0.1 Safari/536.11", "-"),
        (
            "Windows NT 10.0",
            "CHROME/20.0.1 Safari/537.36",
            "chromium 20",
        ),
        (
            "Linux; wv",
            "WEBKIT Version/4.0 Chrome/120.0.0.0 Mobile Safari/537.36",
            "-",
        ),
        (
            "X11; Linux x86_64",
            "WEBKIT QtWebEngine/6.7 Chrome/118.0.0.0 Safari/537.36",
            "-",
        ),
        (
            "X11; Linux x86_64",
            "CHROME/118.0.0.0 Safari/537.36 Vivaldi/6.4",
            "-",
        ),
        (
            "X11; Linux; rv:153.0",
            "Gecko/20100101 Firefox/153.0",
            "firefox 153",
        ),
        (
            "Windows; rv:109.0",
            "Gecko/20100101 Firefox/115.0",
            "firefox 115",
        ),
        (
            "Windows; rv:109.0",
            "Gecko/20100101 Firefox/128.0",
            "no firefox",
        ),
        (
            "Android 14; rv:140.0",
            "Gecko/140.0 Firefox/140.0",
            "firefox 140",
        ),
        (
            "X11; rv:128.0",
            "Gecko/20100101 Goanna/6.7 Firefox/128.0 PaleMoon/33.3",
            "-",
        ),
        (
            "X11; rv:115.0",
            "Gecko/20100101 Firefox/115.0 SeaMonkey/2.53",
            "-",
        ),
        (
            "Macintosh; Intel",
            "APPLE Version/18.1 Safari/605.1.15",
            "safari 18",
        ),
        (
            "iPhone; CPU",
            "APPLE Version/15.0 Mobile/15E148 Safari/604.1",
            "safari 15",
        ),
        (
            "iPhone; CPU",
            "APPLE CriOS/119.0.1 Mobile/15E148 Safari/604.1",
            "-",
        ),
        (
            "X11; Linux x86_64",
            "APPLE Version/17.0 Safari/605.1.15",
            "-",
        ),
        (
            "X11; Linux x86_64",
            "CHROME/99999999999999999999 Safari/537.36",
            "-",
        ),
        ("X11; Linux x86_64", "CHROME/ Safari/537.36", "-"),
    ];

    #[test]
    fn user_agents_must_match_exactly() {
        const GECKO: &str = "(KHTML, like Gecko)";
        for (comment, rest, expected) in CASES {
            let rest = rest
                .replace("CHROME/", "WEBKIT Chrome/")
                .replace("WEBKIT", &format!("AppleWebKit/537.36 {GECKO}"))
                .replace("APPLE ", &format!("AppleWebKit/605.1.15 {GECKO} "));
            let user_agent = format!("Mozilla/5.0 ({comment}) {rest}");
            assert_eq!(told(&user_agent), *expected, "{user_agent}");
        }
        for other in [
            "",
            "Mozilla/5.0",
            "Mozilla/5.0 (",
            "Mozilla/5.0 () ",
            "w3m/0.5.3",
        ] {
            assert_eq!(told(other), "-", "{other:?}");
        }
    }
}
