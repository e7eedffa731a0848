//! A cache of the header lines that a thread has received before.

use std::{cell::RefCell, rc::Rc};

use http::HeaderMap;

use super::header::{CachedLine, Header, HeaderRole};

/// The maximum number of headers of a plain request.
pub(super) const MAX_LINES: usize = 64;
/// The number of headers for which space is reserved in one step; the map grows if a request has
/// more headers.
const USUAL_LINES: usize = 12;
/// The number of cached lines per thread. One byte of the hash selects the slot, so no index is out
/// of bounds.
const SLOTS: usize = 256;

thread_local! {
    static CACHE: RefCell<LineCache> = RefCell::new(LineCache::new());
}

/// The parsed header lines of one request.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct ParsedLines {
    /// The size of the lines in bytes, including the empty line at the end.
    pub(super) len: usize,
    pub(super) notes: RequestNotes,
}

/// The properties of a request head that the listener needs, which are recorded during parsing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(in super::super) struct RequestNotes {
    /// Whether the client closes the connection after this response.
    pub(in super::super) closes: bool,
    /// Whether a header may contain the address of another client.
    pub(in super::super) forwards: bool,
}

/// A cache of header lines that were received before.
///
/// A client sends nearly the same head each time, and so do similar clients. A line that equals an
/// earlier line byte for byte has already been validated and has the same meaning. Most lines are
/// in the same position in the head as before. Together with cached response heads, this saves a
/// quarter of the instructions for a redirect.
pub(super) struct LineCache {
    slots: Box<[Slot]>,
    /// The last line received at each position in a head, or only the line's name.
    positions: Box<[Option<Rc<CachedLine>>]>,
}

#[derive(Default)]
struct Slot {
    known: Option<Rc<CachedLine>>,
    /// The hash of the last line that was not found. A line is cached when it occurs a second time,
    /// because most varying lines (dates, tokens) never recur.
    missed: u64,
}

/// The result of looking up a header line in the cache.
enum CacheLookup<'k> {
    Hit(&'k CachedLine),
    Miss(Header),
}

/// The properties of a head that follow from the lines parsed so far.
#[derive(Default)]
struct HeadFacts {
    hosts: u32,
    closes: Option<bool>,
    forwards: bool,
}

/// Calls a function with the current thread's cache of header lines.
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

    /// Fills a map with all headers of a head. Returns `None` if hyper must handle a line, or if
    /// there are too many lines.
    ///
    /// Earlier values are replaced. The map may still contain the names of another request; if the
    /// names are the same, only the values are set.
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

    /// Sets the values in the header map if the lines have the same names in the same order as the
    /// map.
    fn fill_again(
        &mut self,
        headers: &mut HeaderMap,
        input: &[u8],
        max_lines: usize,
    ) -> Option<ParsedLines> {
        // The map may come from a listener with a higher limit on the number of headers.
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

    /// Parses the line at a position in the head; returns `None` if hyper must handle the line.
    fn read<'i>(&mut self, at: usize, rest: &'i [u8]) -> Option<(CacheLookup<'_>, &'i [u8])> {
        let last = self
            .positions
            .get(at)?
            .as_ref()
            .filter(|last| last.is_complete());
        if let Some(behind) = last.and_then(|last| rest.strip_prefix(&*last.line)) {
            // This is a second lookup in the same slot, because the borrow checker does not allow
            // the result of the first lookup to leave the condition.
            let last = self.positions.get(at)?.as_ref()?;
            return Some((CacheLookup::Hit(last), behind));
        }
        let (line, behind) = rest.split_at_checked(memchr::memchr(b'\n', rest)? + 1)?;
        Some((self.find(at, line)?, behind))
    }

    /// Looks up a header line, which ends with a line feed, in the cache.
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
        if slot.missed == hash && header.is_cacheable(line) {
            let known = Rc::new(CachedLine::new(line, header));
            slot.known = Some(Rc::clone(&known));
            return Some(CacheLookup::Hit(position.insert(known)));
        }
        slot.missed = hash;
        if position.is_none() {
            *position = Some(Rc::new(CachedLine::name_only(line, &header)));
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
            // Two `Connection` lines may contradict each other, so hyper decides.
            _ if self.closes.is_some() => return None,
            role => self.closes = Some(role == HeaderRole::Close),
        }
        Some(())
    }

    fn all(self, len: usize) -> Option<ParsedLines> {
        // An HTTP/1.1 request has exactly one `Host` (RFC 9112 §3.2).
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

/// Returns a hash of all bytes in a header line.
///
/// The factor is 2^64 divided by the golden ratio (Fibonacci hashing). No secret key is needed,
/// because lines are compared in full: a client that causes collisions only disables the caching of
/// its own lines.
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

    /// Returns the result of parsing a line at different positions, if the result is always the
    /// same.
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
    fn line_has_the_same_meaning_each_time() {
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
    fn secret_long_or_first_seen_lines_are_not_cached() {
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
            assert!(!position.is_complete() && position.line.ends_with(b": "));
        }
    }

    /// Generates a head from a few header names, with values that recur exactly or with small
    /// changes.
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
        fn head_has_the_same_meaning_whatever_came_before(
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
                // Changes to a request must not affect the next request.
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
