//! Formats of published registries, with their names and parsers.

use super::{
    Parsed, Source, flat_file, import,
    truncation::{RecordLine, flat_line, yaml_line},
};

/// Number of bytes that are inspected to guess a format.
const GUESS_BYTES: usize = 16 * 1024;

/// The properties of a registry format.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormatRow {
    /// The name of the format in the configuration and on the command line.
    word: &'static str,
    /// Whether the format is JSON, which has no comments and no significant lines.
    pub(super) is_json: bool,
    /// The function that parses a file; `None` if the required feature is not enabled.
    pub(super) read: Option<Reader>,
    /// The function that determines the fields of each record line by line, if records consist of
    /// lines.
    pub(super) record_line: Option<RecordLine>,
}

type Reader = fn(&[u8], &Source) -> Result<Parsed, String>;

/// Expands to a parser that requires the feature `formats`.
#[cfg(feature = "formats")]
macro_rules! published {
    ($reader:ident) => {
        Some(import::published::$reader::read)
    };
}

/// Expands to `None`, because the feature that contains the parser is not enabled.
#[cfg(not(feature = "formats"))]
macro_rules! published {
    ($reader:ident) => {
        None
    };
}

/// Declares all formats in one list, so that each format has a row and an entry in the lists.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $word:literal { $($row:tt)* })*) => {
        /// The format of a published registry.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All registry formats.
            pub const ALL: &'static [Self] = &[$(Self::$format),*];

            pub(super) const fn row(self) -> &'static FormatRow {
                match self {
                    $(Self::$format => &FormatRow { word: $word, $($row)* },)*
                }
            }
        }
    };
}

formats! {
    /// The flat file of the Web Robots Database.
    WebRobotsDb = "web-robots-db" {
        is_json: false,
        read: Some(|bytes, source| {
            let parsed = flat_file::read(bytes, source);
            parsed.ok_or_else(|| "no robot-id field found".to_owned())
        }),
        record_line: Some(flat_line),
    }
    /// The file `crawler-user-agents.json` from monperrus/crawler-user-agents.
    CrawlerUserAgents = "crawler-user-agents" {
        is_json: true,
        read: published!(crawler_user_agents),
        record_line: None,
    }
    /// The file `robots.json` from ai-robots-txt/ai.robots.txt.
    AiRobotsTxt = "ai-robots-txt" {
        is_json: true,
        read: published!(ai_robots_txt),
        record_line: None,
    }
    /// The file `regexes/bots.yml` from matomo-org/device-detector.
    Matomo = "matomo" {
        is_json: false,
        read: published!(matomo),
        record_line: Some(yaml_line),
    }
    /// A list with one token per line; `#` starts a comment.
    List = "list" {
        is_json: false,
        read: Some(|bytes, source| Ok(import::list::read(bytes, source))),
        record_line: None,
    }
}

impl Format {
    /// Returns the name of the format in the configuration and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Returns the format with the given name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.as_str() == word)
    }

    /// Guesses the format of a file. Returns `None` if the bytes do not look like a known format.
    ///
    /// Only the first bytes are inspected, so the file may still fail to parse.
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
            // Any text is a list of tokens, except UTF-16 and binary data.
            _ if text.contains('\0') => None,
            _ => Some(Self::List),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_guessed_from_the_first_bytes() {
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
    fn every_word_parses_to_its_format() {
        for &format in Format::ALL {
            assert_eq!(Format::from_word(format.as_str()), Some(format));
        }
    }
}
