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

/// Whose a User-Agent is by a word in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Whose {
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
pub(super) struct Said {
    /// Whether people's words stand there.
    pub(super) is_people_s: bool,
    /// Whether a system is named that servers have too.
    has_system: bool,
    is_player: bool,
    /// Where the first words of programs stand.
    program: Option<Range<usize>>,
    collects: Option<Range<usize>>,
}

impl Said {
    /// Reads the words of a text; none is looked for behind one of people's.
    pub(super) fn by(text: &[u8]) -> Self {
        static WORDS: Words<Whose> = Words::new(|| {
            let all = [
                (PLATFORMS, Whose::People),
                (SYSTEMS, Whose::System),
                (PLAYERS, Whose::Player),
                (PROGRAM_WORDS, Whose::Program),
                (COLLECTOR_WORDS, Whose::Collector),
                (COLLECTS, Whose::Collects),
            ];
            words_of(
                all.into_iter()
                    .flat_map(|(words, whose)| words.iter().map(move |word| (*word, whose))),
            )
        });
        let mut said = Self::default();
        for (range, whose) in WORDS.all_in(text) {
            match whose {
                Whose::People => {
                    said.is_people_s = true;
                    break;
                }
                Whose::System => said.has_system = true,
                Whose::Player => said.is_player = true,
                Whose::Program => said.program = said.program.or(Some(range)),
                Whose::Collector => {
                    said.program = said.program.or(Some(range.clone()));
                    said.collects = said.collects.or(Some(range));
                }
                Whose::Collects => said.collects = said.collects.or(Some(range)),
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
    let said = Said::by(text);
    said.is_people_s || said.has_system
}
