//! What the words of a User-Agent tell of whose it is.

use std::ops::Range;

use super::{
    platform::{PLATFORMS, SYSTEMS},
    words::{Words, words_of},
};

/// Words of players, and of programs that collect for them.
const PLAYERS: &[&str] = &["pod", "cast"];

/// Words that programs have in their names, and few apps that people use.
const PROGRAM_WORDS: &[&str] = &[
    "aggregat",
    "audit",
    "automat",
    "backlink",
    "collect",
    "curl",
    "directory",
    "discover",
    "domain",
    "enrich",
    "feed",
    "find",
    "http",
    "image",
    "inspect",
    "link",
    "locat",
    "lookup",
    "measure",
    "metadata",
    "metric",
    "perl",
    "php",
    "ping",
    "preview",
    "probe",
    "proxy",
    "python",
    "quality",
    "render",
    "rss",
    "ruby",
    "secur",
    "seo",
    "service",
    "site",
    "ssl",
    "status",
    "survey",
    "track",
    "translat",
    "url",
    "verif",
    "visit",
    "walk",
    "web",
    "worm",
];

/// Words of programs that no player has.
const COLLECTOR_WORDS: &[&str] = &[
    "search", " api", "analy", "catalog", "import", "index", "rank", "test",
];

/// Words that make a player's name a program's.
const COLLECTS: &[&str] = &[
    "backfill",
    "bulk",
    "classif",
    "download",
    "grab",
    "ingest",
    "manager",
    "pipeline",
    "preflight",
    "process",
    "puller",
    "renam",
    "stt",
    "sync",
    "transcri",
    "worker",
];

/// What a word tells of whose a User-Agent is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum WordKind {
    /// People's: what they hold or look through.
    People,
    /// Of people or of servers.
    System,
    /// A player's, unless a program says it.
    Player,
    /// A program's, unless a player says it.
    Program,
    /// A program's.
    Collector,
    /// A program's if a player's words stand there too.
    Collects,
}

/// What the words of a User-Agent tell of whose it is.
#[derive(Debug, Default)]
pub(super) struct WordsFound {
    /// Whether people's words stand there.
    pub(super) is_people_s: bool,
    /// Whether a system is named that servers have too.
    has_system: bool,
    is_player: bool,
    /// Where the first words of programs stand.
    program: Option<Range<usize>>,
    collects: Option<Range<usize>>,
}

impl WordsFound {
    /// Reads the words of a text; none is looked for after one of people's.
    pub(super) fn by(text: &[u8]) -> Self {
        static WORDS: Words<WordKind> = Words::new(|| {
            let all = [
                (PLATFORMS, WordKind::People),
                (SYSTEMS, WordKind::System),
                (PLAYERS, WordKind::Player),
                (PROGRAM_WORDS, WordKind::Program),
                (COLLECTOR_WORDS, WordKind::Collector),
                (COLLECTS, WordKind::Collects),
            ];
            words_of(
                all.into_iter()
                    .flat_map(|(words, whose)| words.iter().map(move |word| (*word, whose))),
            )
        });
        let mut said = Self::default();
        for (range, whose) in WORDS.all_in(text) {
            match whose {
                WordKind::People => {
                    said.is_people_s = true;
                    break;
                }
                WordKind::System => said.has_system = true,
                WordKind::Player => said.is_player = true,
                WordKind::Program => said.program = said.program.or(Some(range)),
                WordKind::Collector => {
                    said.program = said.program.or(Some(range.clone()));
                    said.collects = said.collects.or(Some(range));
                }
                WordKind::Collects => said.collects = said.collects.or(Some(range)),
            }
        }
        said.is_people_s |= said.is_player && said.collects.is_none();
        said
    }

    /// Returns where a program's word stands, unless it is people's.
    pub(super) fn program(self) -> Option<Range<usize>> {
        let program = if self.is_player {
            self.collects
        } else {
            self.program
        };
        program.filter(|_| !self.is_people_s)
    }
}

/// Returns `true` if a User-Agent names what people use, or may use.
pub(super) fn has_platform(text: &[u8]) -> bool {
    let said = WordsFound::by(text);
    said.is_people_s || said.has_system
}
