//! Header lines, and those that a thread has seen before.

use std::{cell::RefCell, ptr, rc::Rc};

use http::HeaderMap;

use super::header::{CachedLine, Header, HeaderRole};

/// Headers of a plain request.
pub(super) const MAX_LINES: usize = 64;
/// Headers for which there is room in any case.
const USUAL_LINES: usize = 12;
/// Lines that a thread keeps: as many as a byte has values.
const SLOTS: usize = 256;

thread_local! {
    static CACHE: RefCell<LineCache> = RefCell::new(LineCache::new());
}

/// What the lines of a head say together.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Lines {
    /// Bytes of them, with the empty line.
    pub(super) len: usize,
    pub(super) notes: RequestNotes,
}

/// What is noted of a head while it is read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(in super::super) struct RequestNotes {
    /// The client wants no more than this answer.
    pub(in super::super) closes: bool,
    /// Some header may tell of another client.
    pub(in super::super) forwards: bool,
}

/// Lines that came before.
///
/// Clients say nearly the same each time, and one says what the other did. A line that
/// came before, byte for byte, has been checked and means what it meant; most come at
/// the same place as before.
pub(super) struct LineCache {
    slots: Box<[Slot]>,
    /// What came last at each place of a head: at least the name.
    positions: Box<[Option<Rc<CachedLine>>]>,
}

#[derive(Default)]
struct Slot {
    known: Option<Rc<CachedLine>>,
    /// Hash of the line that came last and was not known: a line is kept when it comes
    /// for the second time, as most that differ never come again.
    missed: u64,
}

/// Header of a line.
enum CacheLookup<'k> {
    Hit(&'k CachedLine),
    Miss(Header),
}

/// What has been said up to a line.
#[derive(Default)]
struct HeadFacts {
    hosts: u32,
    closes: Option<bool>,
    forwards: bool,
}

/// Lends the lines that this thread knows.
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
    /// What is in the map goes. Headers of another request need not be taken out before:
    /// what is said again stays.
    pub(super) fn fill(
        &mut self,
        headers: &mut HeaderMap,
        input: &[u8],
        max_lines: usize,
    ) -> Option<Lines> {
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

    /// Does so for lines with the names that are in the map, in their order.
    fn fill_again(
        &mut self,
        headers: &mut HeaderMap,
        input: &[u8],
        max_lines: usize,
    ) -> Option<Lines> {
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
                // What is known is held by us: nothing else has its place in memory.
                CacheLookup::Hit(known) if ptr::eq(value.as_bytes(), known.value()) => {}
                CacheLookup::Hit(known) => *value = known.header.value.clone(),
                CacheLookup::Miss(header) => *value = header.value,
            }
            rest = behind;
        }
        facts.all(input.len() - rest.strip_prefix(b"\r\n")?.len())
    }

    /// Reads the line at a place of the head; `None`: it is odd.
    fn read<'i>(&mut self, at: usize, rest: &'i [u8]) -> Option<(CacheLookup<'_>, &'i [u8])> {
        let last = self
            .positions
            .get(at)?
            .as_ref()
            .filter(|last| last.is_whole());
        if let Some(behind) = last.and_then(|last| rest.strip_prefix(&*last.line)) {
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
        let may_be_kept = header.may_be_kept(line);
        if slot.missed == hash && may_be_kept {
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
            // One of them is enough.
            _ if self.closes.is_some() => return None,
            role => self.closes = Some(role == HeaderRole::Close),
        }
        Some(())
    }

    fn all(self, len: usize) -> Option<Lines> {
        (self.hosts == 1).then(|| Lines {
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

/// Hash of all bytes; what others choose to collide is only slower.
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
