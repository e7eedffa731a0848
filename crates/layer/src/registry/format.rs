//! The formats in which registries are published.

/// Bytes that a guess looks at.
const GUESS_BYTES: usize = 16 * 1024;

/// Format of a published registry.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// Flat file of the Web Robots Database.
    WebRobotsDb,
    /// `crawler-user-agents.json` of monperrus/crawler-user-agents.
    CrawlerUserAgents,
    /// `robots.json` of ai-robots-txt/ai.robots.txt.
    AiRobotsTxt,
    /// `regexes/bots.yml` of matomo-org/device-detector.
    Matomo,
    /// One token a line, `#` begins a comment.
    List,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self::WebRobotsDb,
        Self::CrawlerUserAgents,
        Self::AiRobotsTxt,
        Self::Matomo,
        Self::List,
    ];

    /// Returns the word that configuration and command line use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WebRobotsDb => "web-robots-db",
            Self::CrawlerUserAgents => "crawler-user-agents",
            Self::AiRobotsTxt => "ai-robots-txt",
            Self::Matomo => "matomo",
            Self::List => "list",
        }
    }

    /// Returns the format that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.as_str() == word)
    }

    /// Returns the format that bytes look like; `None` for bytes like no format.
    ///
    /// Looks at the first bytes only, and does not tell whether they parse.
    #[must_use]
    pub fn guess(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let start = bytes.trim_ascii_start();
        let head = start.get(..GUESS_BYTES).unwrap_or(start);
        let text = String::from_utf8_lossy(head).to_ascii_lowercase();
        let has_line = |field: &str| {
            text.lines()
                .any(|line| line.trim_start().starts_with(field))
        };
        match head.first()? {
            b'[' => Some(Self::CrawlerUserAgents),
            b'{' => Some(Self::AiRobotsTxt),
            b'<' | 0 => None,
            _ if has_line("- regex:") => Some(Self::Matomo),
            _ if has_line("robot-") && text.contains("robot-id") => Some(Self::WebRobotsDb),
            _ if text.contains('\0') => None,
            _ => Some(Self::List),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_guessed_from_their_first_bytes() {
        let guesses: &[(&[u8], Option<Format>)] = &[
            (b"# a header\n\nrobot-id: x\n", Some(Format::WebRobotsDb)),
            (
                b" [\n {\"pattern\": \"x\"}]",
                Some(Format::CrawlerUserAgents),
            ),
            (b"{\"AcmeBot\": {}}", Some(Format::AiRobotsTxt)),
            (
                b"# licence\n- regex: 'Acme'\n  name: 'Acme'",
                Some(Format::Matomo),
            ),
            (b"AcmeBot\nOtherBot\n", Some(Format::List)),
            (b"<html>", None),
            (b"a\0b", None),
            (b"", None),
        ];
        for (bytes, guess) in guesses {
            assert_eq!(
                Format::guess(bytes),
                *guess,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn every_word_names_its_format() {
        for &format in Format::ALL {
            assert_eq!(Format::from_word(format.as_str()), Some(format));
        }
    }
}
