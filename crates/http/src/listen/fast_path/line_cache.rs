//! Cache of the header lines that a thread has received before.

use std::{cell::RefCell, rc::Rc};

use http::HeaderMap;

use super::header::{CachedLine, Header, HeaderRole};

/// Headers of a plain request.
pub(super) const MAX_LINES: usize = 64;
/// Headers that are reserved for in one step; beyond them the map grows.
const USUAL_LINES: usize = 12;
/// Lines that a thread keeps: one byte of the hash is the slot, so no index is out of bounds.
const SLOTS: usize = 256;

thread_local! {
    static CACHE: RefCell<LineCache> = RefCell::new(LineCache::new());
}

/// Header lines of one request, parsed.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct ParsedLines {
    /// Bytes of the lines, with the empty one at the end.
    pub(super) len: usize,
    pub(super) notes: RequestNotes,
}

/// What the listener has to know of a head, noted while it is parsed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(in super::super) struct RequestNotes {
    /// The client wants no more than this answer.
    pub(in super::super) closes: bool,
    /// Some header may name another client.
    pub(in super::super) forwards: bool,
}

/// Cache of header lines.
///
/// A client sends nearly the same head each time, and so do clients of one kind. A line
/// that equals an earlier one byte for byte has been validated and means the same; most
/// stand at the same position of the head as before. Together with
/// response heads that are made once it saves a quarter of the instructions of a redirect.
pub(super) struct LineCache {
    slots: Box<[Slot]>,
    /// Line received last at each position of a head, or its name alone.
    positions: Box<[Option<Rc<CachedLine>>]>,
}

#[derive(Default)]
struct Slot {
    known: Option<Rc<CachedLine>>,
    /// Hash of the last line that missed: a line is cached when it comes for the second
    /// time, as most of those that differ (dates, tokens) never come again.
    missed: u64,
}

/// Result of looking a line up.
enum CacheLookup<'k> {
    Hit(&'k CachedLine),
    Miss(Header),
}

/// Facts that the lines of a head have established so far.
#[derive(Default)]
struct HeadFacts {
    hosts: u32,
    closes: Option<bool>,
    forwards: bool,
}

/// Lends the cache of this thread.
pub(super) fn with_cache<T>(parse: impl FnOnce(&mut LineCache) -> T) -> T {
    CACHE.with_borrow_mut(parse)
}

impl LineCache {
    fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            positions: (0..MAX_LINES).map(|_| None).collect(),
        }
    }

    /// Fills a map with the headers of all lines; `None`: one is odd, or there are too many.
    ///
    /// Earlier contents are replaced. The names of another request may still be in the map:
    /// where they are the same, only values are put in.
    pub(super) fn fill(
        &mut self,
        headers: &mut HeaderMap,
        input: &[u8],
        max_lines: usize,
    ) -> Option<ParsedLines> {
        if !headers.is_empty() {
            let lines = self.fill_again(headers, input, max_lines);
            if lines.is_some() {
                return lines;
            }
            headers.clear();
        }
        headers.reserve(USUAL_LINES);
        let (mut facts, mut rest) = (HeadFacts::default(), input);
        for at in 0..=max_lines {
            if let Some(behind) = rest.strip_prefix(b"\r\n") {
                return facts.all(input.len() - behind.len());
            }
            let (found, behind) = self.read(at, rest)?;
            facts.add(found.header().role)?;
            let Header { name, value, .. } = match found {
                CacheLookup::Hit(known) => known.header.clone(),
                CacheLookup::Miss(header) => header,
            };
            headers.try_append(name, value).ok()?;
            rest = behind;
        }
        None
    }

    /// Does so if the lines have the same names in the same order as the map.
    fn fill_again(
        &mut self,
        headers: &mut HeaderMap,
        input: &[u8],
        max_lines: usize,
    ) -> Option<ParsedLines> {
        // The map may come from a listener with a higher limit.
        if headers.len() > max_lines {
            return None;
        }
        let (mut facts, mut rest) = (HeadFacts::default(), input);
        for (at, (name, value)) in headers.iter_mut().enumerate() {
            let (found, behind) = self.read(at, rest)?;
            let header = found.header();
            if header.name != *name {
                return None;
            }
            facts.add(header.role)?;
            match found {
                CacheLookup::Hit(known) => *value = known.header.value.clone(),
                CacheLookup::Miss(header) => *value = header.value,
            }
            rest = behind;
        }
        facts.all(input.len() - rest.strip_prefix(b"\r\n")?.len())
    }

    /// Reads the line at a position of the head; `None`: it is odd.
    fn read<'i>(&mut self, at: usize, rest: &'i [u8]) -> Option<(CacheLookup<'_>, &'i [u8])> {
        let last = self
            .positions
            .get(at)?
            .as_ref()
            .filter(|last| last.is_whole());
        if let Some(behind) = last.and_then(|last| rest.strip_prefix(&*last.line)) {
            // A second look-up of the same slot: the borrow checker
            // does not let the first one out of the condition.
            let last = self.positions.get(at)?.as_ref()?;
            return Some((CacheLookup::Hit(last), behind));
        }
        let (line, behind) = rest.split_at_checked(memchr::memchr(b'\n', rest)? + 1)?;
        Some((self.find(at, line)?, behind))
    }

    /// Finds the header of a line, which ends with a line feed.
    fn find(&mut self, at: usize, line: &[u8]) -> Option<CacheLookup<'_>> {
        let position = self.positions.get_mut(at)?;
        let hash = hash(line);
        let [.., number] = hash.to_le_bytes();
        let slot = self.slots.get_mut(usize::from(number))?;
        if let Some(known) = &slot.known
            && *known.line == *line
        {
            let known = position.insert(Rc::clone(known));
            return Some(CacheLookup::Hit(known));
        }
        let header = Header::parse(line, position.as_deref())?;
        if slot.missed == hash && header.may_be_kept(line) {
            let known = Rc::new(CachedLine::new(line, header));
            slot.known = Some(Rc::clone(&known));
            return Some(CacheLookup::Hit(position.insert(known)));
        }
        slot.missed = hash;
        if position.is_none() {
            *position = Some(Rc::new(CachedLine::name_of(line, &header)));
        }
        Some(CacheLookup::Miss(header))
    }
}

impl HeadFacts {
    fn add(&mut self, role: HeaderRole) -> Option<()> {
        match role {
            HeaderRole::Nothing => {}
            HeaderRole::Host => self.hosts += 1,
            HeaderRole::Forwarding => self.forwards = true,
            // Two `Connection` lines may contradict each other: hyper decides.
            _ if self.closes.is_some() => return None,
            role => self.closes = Some(role == HeaderRole::Close),
        }
        Some(())
    }

    fn all(self, len: usize) -> Option<ParsedLines> {
        // A request of HTTP/1.1 has exactly one `Host` (RFC 9112 §3.2).
        (self.hosts == 1).then(|| ParsedLines {
            len,
            notes: RequestNotes {
                closes: self.closes.unwrap_or(false),
                forwards: self.forwards,
            },
        })
    }
}

impl CacheLookup<'_> {
    fn header(&self) -> &Header {
        match self {
            Self::Hit(known) => &known.header,
            Self::Miss(header) => header,
        }
    }
}

/// Hash of all bytes of a line.
///
/// The factor is 2^64 divided by the golden ratio (Fibonacci hashing). There is no secret key:
/// lines are compared in full, so that a client that makes them collide only loses the cache.
fn hash(line: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = line.len() as u64;
    let (chunks, _) = line.as_chunks::<8>();
    for chunk in chunks.iter().chain(line.last_chunk()) {
        hash = (hash ^ u64::from_le_bytes(*chunk)).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    }
    hash
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    /// What a line says at one place and at another, when it comes several times.
    fn facts(known: &mut LineCache, line: &str) -> Option<(HeaderRole, String)> {
        let found = [0, 0, 1, 1, 0].map(|at| {
            let (found, behind) = known.read(at, line.as_bytes())?;
            assert!(behind.is_empty());
            let Header { value, role, .. } = found.header();
            Some((*role, value.to_str().unwrap().to_owned()))
        });
        assert!(found.iter().all(|one| *one == found[0]), "{line}");
        let [found, ..] = found;
        found
    }

    fn kept(known: &LineCache) -> usize {
        known
            .slots
            .iter()
            .filter(|slot| slot.known.is_some())
            .count()
    }

    #[test]
    fn a_line_means_the_same_each_time() {
        let mut known = LineCache::new();
        for (line, expected) in [
            ("Host: a\r\n", Some((HeaderRole::Host, "a"))),
            ("Host:a.example\r\n", Some((HeaderRole::Host, "a.example"))),
            ("CONNECTION: Close\r\n", Some((HeaderRole::Close, "Close"))),
            (
                "Connection: keep-alive\r\n",
                Some((HeaderRole::KeepAlive, "keep-alive")),
            ),
            (
                "Forwarded: for=a\r\n",
                Some((HeaderRole::Forwarding, "for=a")),
            ),
            (
                "x-forwarded-for: 192.0.2.1\r\n",
                Some((HeaderRole::Forwarding, "192.0.2.1")),
            ),
            ("x_forwarded.for: 192.0.2.1\r\n", None),
            ("User_Agent: a\r\n", None),
            ("Connection: keep-alive, TE\r\n", None),
            ("X-Long-Name: \r\n", Some((HeaderRole::Nothing, ""))),
            ("X-Long-Name:  two\r\n", None),
            ("X-Long-Name: two \r\n", None),
            ("X-Long-Name: two\n", None),
            (" X-Long-Name: two\r\n", None),
            ("Content-Length: 0\r\n", None),
        ] {
            let expected = expected.map(|(role, value)| (role, value.to_owned()));
            assert_eq!(facts(&mut known, line), expected, "{line}");
        }
        assert!(kept(&known) >= 4);
    }

    #[test]
    fn what_is_secret_or_long_or_came_once_is_not_kept() {
        let mut known = LineCache::new();
        facts(&mut known, "Cookie: session=1234\r\n").unwrap();
        facts(&mut known, "Authorization: Basic 1234\r\n").unwrap();
        facts(&mut known, &format!("Accept: {}\r\n", "a".repeat(300))).unwrap();
        for number in 0..1000 {
            let line = format!("If-None-Match: \"{number}\"\r\n");
            known.read(number % 10, line.as_bytes()).unwrap();
        }
        assert_eq!(kept(&known), 0);
        let positions: Vec<_> = known.positions.iter().flatten().collect();
        assert_eq!(positions.len(), 10);
        for position in positions {
            assert!(!position.is_whole() && position.line.ends_with(b": "));
        }
    }

    /// Names of few kinds and values that are said again, or nearly.
    fn head() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["Host", "host", "Accept", "X-A", "Connection", "TE"]);
        let value =
            prop::sample::select(vec!["", "a", "close", "keep-alive", "b ", " c", "\u{7f}"]);
        let blank = prop::sample::select(vec![": ", ": ", ": ", ":"]);
        let line =
            (name, blank, value).prop_map(|(name, blank, value)| name.to_owned() + blank + value);
        prop::collection::vec(line, 1..5).prop_map(|lines| lines.join("\r\n") + "\r\n\r\nrest")
    }

    proptest! {
        #[test]
        fn a_head_says_the_same_whatever_came_before(
            heads in prop::collection::vec((head(), 0..4), 1..20),
        ) {
            let (mut known, mut used) = (LineCache::new(), HeaderMap::new());
            for (head, change) in heads.iter().chain(&heads) {
                let mut fresh = HeaderMap::new();
                let expected = LineCache::new().fill(&mut fresh, head.as_bytes(), 4);
                let found = known.fill(&mut used, head.as_bytes(), 4);
                prop_assert_eq!(&found, &expected);
                if found.is_some() {
                    prop_assert!(used.iter().eq(&fresh));
                    prop_assert_eq!(&used, &fresh);
                }
                // What somebody does to a request is not seen in the next one.
                let first = used.keys().next().cloned();
                match (change, first) {
                    (0, Some(first)) => drop(used.insert(first, HeaderValue::from_static("b"))),
                    (1, Some(first)) => drop(used.remove(first)),
                    _ => {}
                }
            }
        }
    }
}
