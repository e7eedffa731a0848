//! Header lines, and those that a thread has seen before.

use std::cell::RefCell;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION},
};

/// Lines that a thread keeps: as many as a byte has values.
const SLOTS: usize = 256;
/// Bytes of a line that is kept, and of one that can be: less has no hash.
const KEPT_BYTES: usize = 256;
const MIN_KEPT_BYTES: usize = 8;

thread_local! {
    static KNOWN: RefCell<KnownLines> = RefCell::new(KnownLines::new());
}

/// What a header says about its connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Meaning {
    Nothing,
    Host,
    Keeps,
    Closes,
}

/// Lines that came before.
///
/// Clients say nearly the same each time, and one says what the other did. A line that
/// came before, byte for byte, has been checked and means what it meant.
pub(super) struct KnownLines {
    slots: Box<[Slot]>,
}

#[derive(Default)]
struct Slot {
    known: Option<Known>,
    /// Hash of the line that came last and was not known: a line is kept when it comes
    /// for the second time, as most that differ never come again.
    missed: u64,
}

struct Known {
    line: Box<[u8]>,
    header: Header,
}

#[derive(Clone)]
struct Header {
    name: HeaderName,
    value: HeaderValue,
    meaning: Meaning,
}

/// Lends the lines that this thread knows.
pub(super) fn with_known<T>(parse: impl FnOnce(&mut KnownLines) -> T) -> T {
    KNOWN.with_borrow_mut(parse)
}

impl KnownLines {
    fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }

    /// Adds the header of a line, which ends with a line feed; `None`: it is odd.
    pub(super) fn add(&mut self, line: &[u8], headers: &mut HeaderMap) -> Option<Meaning> {
        let hash = hash(line);
        let [.., number] = hash.to_le_bytes();
        let slot = self.slots.get_mut(usize::from(number))?;
        if let Some(known) = &slot.known
            && *known.line == *line
        {
            return known.header.clone().add(headers);
        }
        let header = Header::parse(line)?;
        if slot.missed == hash && header.may_be_kept(line) {
            slot.known = Some(Known {
                line: line.into(),
                header: header.clone(),
            });
        }
        slot.missed = hash;
        header.add(headers)
    }
}

impl Header {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r\n")?;
        let colon = memchr::memchr(b':', line)?;
        let name = HeaderName::from_bytes(line.get(..colon)?).ok()?;
        let value = line.get(colon + 1..)?;
        // No more than is to be skipped by everybody; hyper judges what is behind a value.
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let has_more = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if has_more(value.first()) || has_more(value.last()) {
            return None;
        }
        let meaning = Meaning::of(&name, value)?;
        let value = HeaderValue::from_bytes(value).ok()?;
        Some(Self {
            name,
            value,
            meaning,
        })
    }

    fn add(self, headers: &mut HeaderMap) -> Option<Meaning> {
        headers.try_append(self.name, self.value).ok()?;
        Some(self.meaning)
    }

    /// Secrets are not kept for longer than their request, and what is long is not either.
    fn may_be_kept(&self, line: &[u8]) -> bool {
        (MIN_KEPT_BYTES..=KEPT_BYTES).contains(&line.len())
            && ![COOKIE, AUTHORIZATION, PROXY_AUTHORIZATION].contains(&self.name)
    }
}

impl Meaning {
    /// `None`: a request that has it asks for more than an answer.
    fn of(name: &HeaderName, value: &[u8]) -> Option<Self> {
        let name = name.as_str();
        let is_odd = match name.len() {
            4 if name == "host" => return Some(Self::Host),
            10 if name == "connection" => return Self::of_connection(value),
            2 => name == "te",
            6 => name == "expect",
            7 => name == "upgrade" || name == "trailer",
            14 => name == "content-length" || name == "http2-settings",
            17 => name == "transfer-encoding",
            _ => false,
        };
        (!is_odd).then_some(Self::Nothing)
    }

    fn of_connection(value: &[u8]) -> Option<Self> {
        if value.eq_ignore_ascii_case(b"close") {
            return Some(Self::Closes);
        }
        value
            .eq_ignore_ascii_case(b"keep-alive")
            .then_some(Self::Keeps)
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
    use super::*;

    /// The header that a line adds, when it comes several times.
    fn added(known: &mut KnownLines, line: &str) -> Option<(Meaning, HeaderMap)> {
        let found = [(); 4].map(|()| {
            let mut headers = HeaderMap::new();
            let meaning = known.add(line.as_bytes(), &mut headers);
            meaning.map(|meaning| (meaning, headers))
        });
        assert!(found.iter().all(|one| *one == found[0]), "{line}");
        let [found, ..] = found;
        found
    }

    fn kept(known: &KnownLines) -> usize {
        known
            .slots
            .iter()
            .filter(|slot| slot.known.is_some())
            .count()
    }

    #[test]
    fn a_line_means_the_same_each_time() {
        let mut known = KnownLines::new();
        for (line, expected) in [
            ("Host: a\r\n", Some((Meaning::Host, "a"))),
            ("Host:a.example\r\n", Some((Meaning::Host, "a.example"))),
            ("CONNECTION: Close\r\n", Some((Meaning::Closes, "Close"))),
            (
                "Connection: keep-alive\r\n",
                Some((Meaning::Keeps, "keep-alive")),
            ),
            ("Connection: keep-alive, TE\r\n", None),
            ("X-Long-Name: \r\n", Some((Meaning::Nothing, ""))),
            ("X-Long-Name:  two\r\n", None),
            ("X-Long-Name: two \r\n", None),
            ("X-Long-Name: two\n", None),
            (" X-Long-Name: two\r\n", None),
            ("Content-Length: 0\r\n", None),
        ] {
            let found = added(&mut known, line);
            let found = found.as_ref().map(|(meaning, headers)| {
                let (_, value) = headers.iter().next().unwrap();
                (*meaning, value.to_str().unwrap())
            });
            assert_eq!(found, expected, "{line}");
        }
        assert!(kept(&known) >= 4);
    }

    #[test]
    fn what_is_secret_or_long_or_came_once_is_not_kept() {
        let mut known = KnownLines::new();
        added(&mut known, "Cookie: session=1234\r\n").unwrap();
        added(&mut known, "Authorization: Basic 1234\r\n").unwrap();
        added(&mut known, &format!("Accept: {}\r\n", "a".repeat(300))).unwrap();
        for number in 0..1000 {
            let line = format!("If-None-Match: \"{number}\"\r\n");
            known.add(line.as_bytes(), &mut HeaderMap::new()).unwrap();
        }
        assert_eq!(kept(&known), 0);
    }

    #[test]
    fn names_and_values_have_the_bytes_that_hyper_lets_pass() {
        for byte in 0..=u8::MAX {
            for line in [
                [b"X", &[byte][..], b"Y: 1\r\n"].concat(),
                [b"Name: 1", &[byte][..], b"1\r\n"].concat(),
            ] {
                let mut lines = [httparse::EMPTY_HEADER; 4];
                let whole = [&line[..], b"\r\n"].concat();
                let is_passed = matches!(
                    httparse::parse_headers(&whole, &mut lines),
                    Ok(httparse::Status::Complete((len, [_]))) if len == whole.len()
                );
                let is_ours = Header::parse(&line).is_some();
                // A colon in the name ends it; a line feed in the value ends the line.
                assert!(is_passed || !is_ours, "{byte:#x}");
                assert_eq!(is_passed, is_ours, "{byte:#x}");
            }
        }
    }
}
