//! Browsers by their User-Agents: which family, and which version.

use super::table::{Family, Table};

/// Browser that a User-Agent claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Browser<'t> {
    pub(super) family: &'t Family,
    pub(super) version: u32,
    /// Whether no release writes it so.
    pub(super) is_impossible: bool,
}

impl Table {
    /// Returns the browser that a User-Agent names; `None`: none that is known here.
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
        let rest = behind(&self.start, rest)?;
        let (version, rest) = version(rest)?;
        let is_there = |platform: &Box<str>| comment.starts_with(platform.as_bytes());
        if !self.platforms.is_empty() && !self.platforms.iter().any(is_there) {
            return None;
        }
        let ends = |endings: &[Box<str>]| {
            let mut endings = endings.iter();
            endings.any(|ending| behind(ending, rest).is_some_and(<[u8]>::is_empty))
        };
        let is_impossible = if ends(&self.endings) {
            !self.has_revision(comment, version)
        } else if ends(&self.impossible) {
            // Before that releases had such endings, and nothing is known of them.
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

    /// Returns `true` unless the comment names another revision than the version has.
    fn has_revision(&self, comment: &[u8], version: u32) -> bool {
        /// Revision that Firefox 110 to 119 named, as sites took 110 and 11 for Internet Explorer.
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
            // A comment may leave it out, such as that of an extension for privacy.
            None => true,
        }
    }
}

/// Returns what stands behind a shape, whose `*` is a run of letters, digits and dots.
fn behind<'a>(shape: &str, text: &'a [u8]) -> Option<&'a [u8]> {
    let (mut shape, mut text) = (shape.as_bytes(), text);
    while let Some(at) = memchr::memchr(b'*', shape) {
        text = text.strip_prefix(shape.get(..at)?)?;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
        let run = text.iter().take_while(|byte| is_part(byte)).count();
        text = text.get(run.max(1)..)?;
        shape = shape.get(at + 1..)?;
    }
    text.strip_prefix(shape)
}

/// Reads the first number of a version; returns it, and what follows the version and a blank.
fn version(text: &[u8]) -> Option<(u32, &[u8])> {
    let (major, rest) = number(text)?;
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let more = rest.iter().take_while(|byte| is_part(byte)).count();
    let rest = rest.get(more..)?;
    match rest.first() {
        None => Some((major, rest)),
        Some(b' ') => Some((major, rest.get(1..)?)),
        Some(_) => None,
    }
}

/// Reads a number of four digits at most.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 4 {
        return None;
    }
    let number = std::str::from_utf8(text.get(..digits)?)
        .ok()?
        .parse()
        .ok()?;
    Some((number, text.get(digits..)?))
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

    #[test]
    fn browsers_are_known_to_the_letter() {
        const WEBKIT: &str = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (comment, rest, expected) in [
            (
                "X11; Linux x86_64",
                format!("{WEBKIT} Chrome/156.0.0.0 Safari/537.36"),
                "chromium 156",
            ),
            (
                "Linux; Android 10; K",
                format!("{WEBKIT} Chrome/140.0.7.1 Mobile Safari/537.36"),
                "chromium 140",
            ),
            (
                "Windows NT 10.0",
                format!("{WEBKIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"),
                "chromium 141",
            ),
            (
                "Windows NT 10.0",
                format!("{WEBKIT} Chrome/58.0.3029.110 Safari/537.3"),
                "no chromium",
            ),
            (
                "Windows NT 10.0",
                format!("{WEBKIT} Chrome/20.0.1 Safari/536.11"),
                "-",
            ),
            (
                "Windows NT 10.0",
                format!("{WEBKIT} Chrome/20.0.1 Safari/537.36"),
                "chromium 20",
            ),
            (
                "Linux; Android 9; wv",
                format!("{WEBKIT} Version/4.0 Chrome/120.0.0.0 Mobile Safari/537.36"),
                "-",
            ),
            (
                "X11; Linux x86_64",
                format!("{WEBKIT} QtWebEngine/6.7 Chrome/118.0.0.0 Safari/537.36"),
                "-",
            ),
            (
                "X11; Linux x86_64",
                format!("{WEBKIT} Chrome/118.0.0.0 Safari/537.36 Vivaldi/6.4"),
                "-",
            ),
            (
                "X11; Linux x86_64; rv:153.0",
                "Gecko/20100101 Firefox/153.0".to_owned(),
                "firefox 153",
            ),
            (
                "Windows NT 10.0; rv:109.0",
                "Gecko/20100101 Firefox/115.0".to_owned(),
                "firefox 115",
            ),
            (
                "Windows NT 10.0; rv:109.0",
                "Gecko/20100101 Firefox/128.0".to_owned(),
                "no firefox",
            ),
            (
                "Android 14; Mobile; rv:140.0",
                "Gecko/140.0 Firefox/140.0".to_owned(),
                "firefox 140",
            ),
            (
                "X11; Linux x86_64; rv:128.0",
                "Gecko/20100101 Goanna/6.7 Firefox/128.0 PaleMoon/33.3".to_owned(),
                "-",
            ),
            (
                "X11; Linux x86_64; rv:115.0",
                "Gecko/20100101 Firefox/115.0 SeaMonkey/2.53".to_owned(),
                "-",
            ),
            (
                "Macintosh; Intel Mac OS X 10_15_7",
                "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15".to_owned(),
                "safari 18",
            ),
            (
                "iPhone; CPU iPhone OS 15_0 like Mac OS X",
                "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.0 Mobile/15E148 Safari/604.1"
                    .to_owned(),
                "safari 15",
            ),
            (
                "iPhone; CPU iPhone OS 17_0 like Mac OS X",
                "AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/119.0.1 Mobile/15E148 Safari/604.1"
                    .to_owned(),
                "-",
            ),
            (
                "X11; Linux x86_64",
                "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15".to_owned(),
                "-",
            ),
            (
                "X11; Linux x86_64",
                format!("{WEBKIT} Chrome/99999999999999999999 Safari/537.36"),
                "-",
            ),
            (
                "X11; Linux x86_64",
                format!("{WEBKIT} Chrome/ Safari/537.36"),
                "-",
            ),
        ] {
            let user_agent = format!("Mozilla/5.0 ({comment}) {rest}");
            assert_eq!(told(&user_agent), expected, "{user_agent}");
        }
        for other in [
            "",
            "Mozilla/5.0",
            "Mozilla/5.0 (",
            "Mozilla/5.0 () ",
            "w3m/0.5.3",
            "Dillo/3.0.5",
        ] {
            assert_eq!(told(other), "-", "{other:?}");
        }
    }
}
