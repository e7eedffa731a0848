//! Classification of the words in a User-Agent as words of programs or of human visitors.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;

use crate::words::listed;

/// Words in the names of programs other than media players.
const COLLECTOR_WORDS: &[&str] = &[
    "search", " api", "analy", "catalog", "import", "index", "rank", "test",
];

/// Words that turn a media player's name into the name of a program that collects media.
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

/// Classification of a word in a User-Agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum WordKind {
    /// A word that devices, systems and browsers of human visitors use.
    People,
    /// The name of a system that human visitors or servers use.
    System,
    /// A word that media players, or programs that collect media, use.
    Player,
    /// A word that programs use, unless a media player's word occurs too.
    Program,
    /// A word that only programs use.
    Collector,
    /// A word that indicates a program if a media player's word occurs too.
    Collects,
}

/// The kinds of words that occur in a User-Agent.
#[derive(Debug, Default)]
pub(super) struct WordsFound {
    /// Whether the User-Agent contains a word of human visitors' devices or programs.
    pub(super) is_people_s: bool,
    /// Whether the User-Agent contains the name of a system that servers use too.
    has_system: bool,
    is_player: bool,
    /// Range of the first word that indicates a program.
    program: Option<Range<usize>>,
    collects: Option<Range<usize>>,
}

impl WordsFound {
    /// Searches a User-Agent for words, stopping at the first word of kind `People`.
    pub(super) fn find_in(text: &[u8]) -> Self {
        static WORDS: Words<WordKind> = Words::new(|| {
            fn of(
                kind: WordKind,
                words: impl IntoIterator<Item = &'static str>,
            ) -> impl Iterator<Item = (&'static str, WordKind)> {
                words.into_iter().map(move |word| (word, kind))
            }
            word_set(
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
        for (range, whose) in WORDS.find_all(text) {
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

    /// Returns the range of the word that indicates a program, unless the User-Agent belongs to a
    /// human visitor.
    pub(super) fn program(self) -> Option<Range<usize>> {
        let program = if self.is_player {
            self.collects
        } else {
            self.program
        };
        program.filter(|_| !self.is_people_s)
    }
}

/// Returns `true` if a User-Agent mentions a system or program that human visitors may use.
pub(super) fn has_platform(text: &[u8]) -> bool {
    let said = WordsFound::find_in(text);
    said.is_people_s || said.has_system
}

/// A set of words with their kinds, created on first use.
pub(super) type Words<K = ()> = LazyLock<Set<K>>;

/// A set of words that are found regardless of case.
pub(super) struct Set<K = ()> {
    automaton: Option<AhoCorasick>,
    /// Kind of each word, indexed by the number of the word.
    kinds: Box<[K]>,
}

/// Creates a set of words.
pub(super) fn words(words: impl IntoIterator<Item = &'static str>) -> Set {
    word_set(words.into_iter().map(|word| (word, ())))
}

/// Creates a set of words with their kinds.
pub(super) fn word_set<K>(words: impl IntoIterator<Item = (&'static str, K)>) -> Set<K> {
    let (words, kinds): (Vec<_>, Vec<_>) = words.into_iter().unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words);
    Set {
        // This fails only if there are more words than fit into memory.
        automaton: automaton.ok(),
        kinds: kinds.into(),
    }
}

/// Returns `true` if any word of the set occurs in `text`.
pub(super) fn has_any(words: &Words, text: &[u8]) -> bool {
    let automaton = words.automaton.as_ref();
    automaton.is_some_and(|automaton| automaton.is_match(text))
}

impl<K: Copy> Set<K> {
    /// Returns the range and the kind of each word found in a text.
    pub(super) fn find_all(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, K)> {
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
    fn words_are_found_in_any_case_and_position() {
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
            let mut found = WORDS.find_all(text.as_bytes()).map(|(range, ())| range);
            assert_eq!(found.next(), expected, "{text}");
            assert_eq!(has_any(&WORDS, text.as_bytes()), expected.is_some());
        }
    }
}
