//! The formats in which registries are published: what each is called, and who reads it.

use super::{
    Parsed, Source,
    cut_off::{RecordLine, flat_line, yaml_line},
    flat_file, import,
};

/// Bytes that a guess looks at.
const GUESS_BYTES: usize = 16 * 1024;

/// What is known of a format, whoever asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormatRow {
    /// The word of configuration and command line.
    word: &'static str,
    /// The name that a file usually has.
    #[cfg_attr(
        not(feature = "formats"),
        expect(dead_code, reason = "exports alone have files")
    )]
    pub(super) file_name: &'static str,
    /// Whether it is JSON: without comments, and without lines that say anything.
    pub(super) is_json: bool,
    /// Reads a file; `None` where the feature is missing.
    pub(super) read: Option<Reader>,
    /// Reads a line for the fields that each record has, where records are lines.
    pub(super) record_line: Option<RecordLine>,
}

type Reader = fn(&[u8], &Source) -> Result<Parsed, String>;

/// Names a reader that the feature `formats` builds.
#[cfg(feature = "formats")]
macro_rules! published {
    ($reader:ident) => {
        Some(import::published::$reader::read)
    };
}

/// Names no reader: this build has none of them.
#[cfg(not(feature = "formats"))]
macro_rules! published {
    ($reader:ident) => {
        None
    };
}

/// Declares the formats from one list, so that none lacks a row or its place in a list.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident = $word:literal { $($row:tt)* })*) => {
        /// Format of a published registry.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// Every format.
            pub const ALL: &'static [Self] = &[$(Self::$format),*];

            /// Every format of an export.
            #[cfg(feature = "formats")]
            pub(super) const EXPORTS: &'static [super::ExportFormat] = &[
                $(super::ExportFormat::Registry(Self::$format),)*
                super::ExportFormat::Nginx,
                super::ExportFormat::HaProxy,
                super::ExportFormat::RobotsTxt,
            ];

            pub(super) const fn row(self) -> &'static FormatRow {
                match self {
                    $(Self::$format => &FormatRow { word: $word, $($row)* },)*
                }
            }
        }
    };
}

formats! {
    /// Flat file of the Web Robots Database.
    WebRobotsDb = "web-robots-db" {
        file_name: "all.txt",
        is_json: false,
        read: Some(|bytes, source| {
            let parsed = flat_file::read(bytes, source);
            parsed.ok_or_else(|| "no robot-id field in it".to_owned())
        }),
        record_line: Some(flat_line),
    }
    /// `crawler-user-agents.json` of monperrus/crawler-user-agents.
    CrawlerUserAgents = "crawler-user-agents" {
        file_name: "crawler-user-agents.json",
        is_json: true,
        read: published!(crawler_user_agents),
        record_line: None,
    }
    /// `robots.json` of ai-robots-txt/ai.robots.txt.
    AiRobotsTxt = "ai-robots-txt" {
        file_name: "robots.json",
        is_json: true,
        read: published!(ai_robots_txt),
        record_line: None,
    }
    /// `regexes/bots.yml` of matomo-org/device-detector.
    Matomo = "matomo" {
        file_name: "bots.yml",
        is_json: false,
        read: published!(matomo),
        record_line: Some(yaml_line),
    }
    /// One token a line, `#` begins a comment.
    List = "list" {
        file_name: "robots.list",
        is_json: false,
        read: Some(|bytes, source| Ok(import::list::read(bytes, source))),
        record_line: None,
    }
}

impl Format {
    /// Returns the word that configuration and command line use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().word
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
            // Any text is a list of tokens, but for UTF-16 and binary data.
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
