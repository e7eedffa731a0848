//! The formats in which registries are published: what each is called, and who reads and writes it.

#[cfg(feature = "formats")]
use std::sync::Arc;

#[cfg(feature = "formats")]
use super::{
    ExportFormat, Exported, Robot, write_ai_robots_txt, write_crawler_user_agents, write_flat_file,
    write_list, write_matomo,
};
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
    /// Writes robots.
    #[cfg(feature = "formats")]
    pub(super) write: fn(&[Arc<Robot>]) -> Exported,
}

type Reader = fn(&[u8], &Source) -> Result<Parsed, String>;

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
            pub(super) const EXPORTS: &'static [ExportFormat] = &[
                $(ExportFormat::Registry(Self::$format),)*
                ExportFormat::Nginx,
                ExportFormat::HaProxy,
                ExportFormat::RobotsTxt,
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
        #[cfg(feature = "formats")]
        write: write_all,
    }
    /// `crawler-user-agents.json` of monperrus/crawler-user-agents.
    CrawlerUserAgents = "crawler-user-agents" {
        file_name: "crawler-user-agents.json",
        is_json: true,
        #[cfg(feature = "formats")]
        read: Some(import::crawler_user_agents::read),
        #[cfg(not(feature = "formats"))]
        read: None,
        record_line: None,
        #[cfg(feature = "formats")]
        write: write_crawler_user_agents,
    }
    /// `robots.json` of ai-robots-txt/ai.robots.txt.
    AiRobotsTxt = "ai-robots-txt" {
        file_name: "robots.json",
        is_json: true,
        #[cfg(feature = "formats")]
        read: Some(import::ai_robots_txt::read),
        #[cfg(not(feature = "formats"))]
        read: None,
        record_line: None,
        #[cfg(feature = "formats")]
        write: write_ai_robots_txt,
    }
    /// `regexes/bots.yml` of matomo-org/device-detector.
    Matomo = "matomo" {
        file_name: "bots.yml",
        is_json: false,
        #[cfg(feature = "formats")]
        read: Some(import::matomo::read),
        #[cfg(not(feature = "formats"))]
        read: None,
        record_line: Some(yaml_line),
        #[cfg(feature = "formats")]
        write: write_matomo,
    }
    /// One token a line, `#` begins a comment.
    List = "list" {
        file_name: "robots.list",
        is_json: false,
        read: Some(|bytes, source| Ok(import::list::read(bytes, source))),
        record_line: None,
        #[cfg(feature = "formats")]
        write: write_list,
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

    /// Writes robots in this format.
    #[cfg(feature = "formats")]
    pub(crate) fn write(self, robots: &[Arc<Robot>]) -> Exported {
        (self.row().write)(robots)
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

/// Writes all robots, whether they take part in detection or not.
#[cfg(feature = "formats")]
fn write_all(robots: &[Arc<Robot>]) -> Exported {
    Exported {
        text: write_flat_file(robots.iter().map(AsRef::as_ref)),
        robots: robots.len(),
        ..Exported::default()
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
