//! What the words of a User-Agent tell of whose it is.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;

use crate::words::listed;

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
    /// Of people or of servers: a system.
    System,
    /// A player's, or of a program that collects for one.
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
            fn of(
                kind: WordKind,
                words: impl IntoIterator<Item = &'static str>,
            ) -> impl Iterator<Item = (&'static str, WordKind)> {
                words.into_iter().map(move |word| (word, kind))
            }
            words_of(
                of(WordKind::People, listed(include_str!("platforms.txt")))
                    .chain(of(WordKind::People, ["ios ", " java/"]))
                    .chain(of(WordKind::System, ["linux", "x11"]))
                    .chain(of(WordKind::Player, ["pod", "cast"]))
                    .chain(of(WordKind::Program, listed(include_str!("programs.txt"))))
                    .chain(of(WordKind::Collector, COLLECTOR_WORDS.iter().copied()))
                    .chain(of(WordKind::Collects, COLLECTS.iter().copied())),
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

/// Set of words, each of a kind, made when it is first asked.
pub(super) type Words<K = ()> = LazyLock<Set<K>>;

/// Words that are found in any case.
pub(super) struct Set<K = ()> {
    automaton: Option<AhoCorasick>,
    /// By the numbers of the words.
    kinds: Box<[K]>,
}

/// Makes a set of words.
pub(super) fn words(words: impl IntoIterator<Item = &'static str>) -> Set {
    words_of(words.into_iter().map(|word| (word, ())))
}

/// Makes a set of words and what kind each is of.
pub(super) fn words_of<K>(words: impl IntoIterator<Item = (&'static str, K)>) -> Set<K> {
    let (words, kinds): (Vec<_>, Vec<_>) = words.into_iter().unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words);
    Set {
        // It fails for more words alone than there are in memory.
        automaton: automaton.ok(),
        kinds: kinds.into(),
    }
}

/// Returns `true` if a word of the set stands anywhere in `text`.
pub(super) fn has_any(words: &Words, text: &[u8]) -> bool {
    let automaton = words.automaton.as_ref();
    automaton.is_some_and(|automaton| automaton.is_match(text))
}

impl<K: Copy> Set<K> {
    /// Returns where words stand, and what they are.
    pub(super) fn all_in(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, K)> {
        let found = self.automaton.iter();
        let found = found.flat_map(move |all| all.find_overlapping_iter(text));
        found.filter_map(|found| {
            let kind = self.kinds.get(found.pattern().as_usize())?;
            Some((found.range(), *kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_at_any_place() {
        static WORDS: Words = Words::new(|| words(["robot", "bot", "go.web", " api", "rob"]));
        for (text, expected) in [
            ("a ROBOT", Some(2..5)),
            ("Bot", Some(0..3)),
            ("xGo.Webx", Some(1..7)),
            ("an api", Some(2..6)),
            ("ro bo", None),
            ("go", None),
            ("", None),
            ("go-web rob", Some(7..10)),
        ] {
            let mut found = WORDS.all_in(text.as_bytes()).map(|(range, ())| range);
            assert_eq!(found.next(), expected, "{text}");
            assert_eq!(has_any(&WORDS, text.as_bytes()), expected.is_some());
        }
    }
}
