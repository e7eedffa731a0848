//! Values that are part of a field.

use std::net::IpAddr;

use super::{
    pattern::quoted,
    slot::{Fields, Slot},
};

/// Fields after the User-Agent of a combined line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail<'l> {
    /// Decision and verdict, if this program wrote the line.
    pub(super) own: Option<[&'l [u8]; 2]>,
    /// `X-Forwarded-For`.
    pub(super) forwarded: &'l [u8],
    pub(super) micros: Option<u64>,
}

impl<'l> Tail<'l> {
    pub(super) fn read(mut text: &'l [u8]) -> Self {
        let mut tail = Self::default();
        let mut fields = [b"".as_slice(); 4];
        for (number, field) in fields.iter_mut().enumerate() {
            let Some((found, behind)) = text.strip_prefix(b" \"").and_then(quoted) else {
                break;
            };
            (*field, text) = (found, behind);
            if number == 0 && last_address(found).is_some() {
                tail.forwarded = found;
            }
        }
        let [_robot, visitor, decision, verdict] = fields;
        if matches!(
            visitor,
            b"person" | b"listed" | b"unlisted" | b"nameless" | b"shared" | b"-"
        ) && !verdict.is_empty()
        {
            let verdict = if verdict == b"-" { b"" } else { verdict };
            tail.own = Some([decision, verdict]);
        }
        // Only a duration is written with a decimal point.
        let word = text.strip_prefix(b" ").unwrap_or(text);
        let word = word.split(|byte| *byte == b' ').next().unwrap_or_default();
        tail.micros = seconds(word);
        tail
    }
}

/// Returns the duration of a request in microseconds.
pub(super) fn micros(fields: &Fields<'_>) -> Option<u64> {
    let times = |slot, factor: u64| number(fields.get(slot))?.checked_mul(factor);
    let seconds = seconds(fields.get(Slot::Seconds));
    (seconds.or_else(|| times(Slot::Seconds, 1_000_000)))
        .or_else(|| times(Slot::Millis, 1_000))
        .or_else(|| times(Slot::Micros, 1))
}

/// Parses seconds with a decimal point; returns microseconds.
fn seconds(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = text.split_at_checked(memchr::memchr(b'.', text)?)?;
    let fraction = fraction.get(1..)?.get(..6).or(fraction.get(1..))?;
    let scale = 10_u64.pow(u32::try_from(6 - fraction.len()).ok()?);
    let whole = number(whole)?.checked_mul(1_000_000)?;
    whole.checked_add(number(fraction)?.checked_mul(scale)?)
}

/// Parses a number that consists of digits only, or its integer part; saturates on overflow.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let digits = text.split(|byte| *byte == b'.').next()?;
    let add = |number: u64, digit: &u8| {
        let digit = char::from(*digit).to_digit(10)?;
        Some(number.saturating_mul(10).saturating_add(digit.into()))
    };
    digits
        .iter()
        .try_fold(0, add)
        .filter(|_| !digits.is_empty())
}

fn address(text: &[u8]) -> Option<IpAddr> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Returns the client and the host in the words before the time.
///
/// The client is the first address among the words `host client - user`, `client host user` or
/// `duration client - user`; a virtual host may itself be an address.
pub(super) fn client_and_host(prefix: &[u8]) -> (&[u8], &[u8]) {
    let mut words = prefix.split(|byte| *byte == b' ');
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    // Without a virtual host, the second word is the `-` of identd, which is not an address.
    if second.len() > 1 && address(second).is_some() {
        let is_host = memchr::memchr2(b'.', b':', first).is_some();
        return (second, if is_host { without_port(first) } else { b"" });
    }
    // lighttpd writes the host instead of identd's name.
    let is_host = memchr::memchr(b'.', second).is_some();
    (first, if is_host { second } else { b"" })
}

/// Returns an address or a host without its port.
pub(super) fn without_port(text: &[u8]) -> &[u8] {
    let (host, port) = match memchr::memrchr(b':', text) {
        Some(at) => text.split_at(at),
        None => (text, b"".as_slice()),
    };
    let is_port = port.iter().skip(1).all(u8::is_ascii_digit);
    let host = if is_port { host } else { text };
    let host = host.strip_prefix(b"[").unwrap_or(host);
    host.strip_suffix(b"]").unwrap_or(host)
}

/// Returns the last address of an `X-Forwarded-For` field, which the proxy in front has added.
fn last_address(forwarded: &[u8]) -> Option<&[u8]> {
    let last = forwarded.rsplit(|byte| *byte == b',').next()?.trim_ascii();
    address(last).map(|_| last)
}

/// Returns the address of the client behind a proxy.
///
/// Clients can send any `X-Forwarded-For`, so the field is used only if the client's own address is
/// missing or belongs to a private network, as that of a proxy does.
pub(super) fn forwarded_client<'l>(client: &'l [u8], forwarded: &'l [u8]) -> &'l [u8] {
    let is_proxy = match address(client).filter(|_| !forwarded.is_empty()) {
        Some(IpAddr::V4(address)) => address.is_private() || address.is_loopback(),
        Some(IpAddr::V6(address)) => address.is_unique_local() || address.is_loopback(),
        None => client.is_empty(),
    };
    let behind = last_address(forwarded).filter(|_| is_proxy);
    behind.unwrap_or(client)
}

/// Returns the User-Agent among the header values that HAProxy captures.
///
/// A single value is the User-Agent; among several, it is the first with a version, as in `A/1`.
pub(super) fn captured_user_agent(captured: &[u8]) -> &[u8] {
    let mut quotes = captured.split(|byte| *byte == b'"');
    if quotes.clone().count() > 1 {
        // The quoted fields before the captured headers are the state and two cookies.
        let mut quoted = quotes.by_ref().skip(1).step_by(2).skip(3);
        return pick(&mut quoted);
    }
    let request = memchr::memmem::find(captured, b"} {").and_then(|at| captured.get(..at));
    pick(&mut request.unwrap_or(captured).split(|byte| *byte == b'|'))
}

fn pick<'l>(values: &mut dyn Iterator<Item = &'l [u8]>) -> &'l [u8] {
    let mut count = 0;
    let all: [&[u8]; 8] = std::array::from_fn(|_| {
        let value = values.next();
        count += usize::from(value.is_some());
        value.unwrap_or_default()
    });
    // A captured URL is a referrer.
    let is_url = |value: &[u8]| value.starts_with(b"http://") || value.starts_with(b"https://");
    let mut present = (all.iter()).filter(|value| !matches!(**value, b"" | b"-") && !is_url(value));
    let has_version = |value: &&&[u8]| {
        let slash = memchr::memchr(b'/', value);
        slash.is_some_and(|at| at > 0 && value.get(at + 1).is_some_and(|next| *next != b'/'))
    };
    let named = present.clone().find(has_version);
    let named = named.or_else(|| present.next().filter(|_| count == 1));
    named.copied().unwrap_or_default()
}

/// Splits "GET /a HTTP/1.1" into method and target; text without a space is neither.
pub(super) fn split(request: &[u8]) -> (&[u8], &[u8]) {
    let Some(at) = memchr::memchr(b' ', request) else {
        return (b"", b"");
    };
    let (method, target) = request.split_at(at);
    let target = target.get(1..).unwrap_or_default();
    // Split from the right: a malformed target may contain blanks.
    let version = memchr::memrchr(b' ', target);
    let version = version.filter(|at| {
        target
            .get(at + 1..)
            .is_some_and(|it| it.starts_with(b"HTTP/"))
    });
    (
        method,
        version.and_then(|at| target.get(..at)).unwrap_or(target),
    )
}

/// Splits the host from a target in absolute form (RFC 9112 §3.2.2); `host` is the host otherwise.
pub(super) fn split_url<'l>(host: &'l [u8], target: &'l [u8]) -> (&'l [u8], &'l [u8]) {
    if target.starts_with(b"/") {
        return (host, target);
    }
    let Some(at) = memchr::memmem::find(target, b"://") else {
        return (host, target);
    };
    let (scheme, rest) = target.split_at(at);
    let rest = rest.get(3..).unwrap_or_default();
    // In `a?to=https://example.com/`, the `://` belongs to the query.
    if scheme.iter().any(|byte| matches!(byte, b'/' | b'?')) {
        return (host, target);
    }
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    // `http://example.com?a` has an empty path, which is equivalent to `/` (RFC 9110 §4.2.3).
    let is_empty = !path.starts_with(b"/");
    (without_port(host), if is_empty { b"/" } else { path })
}
