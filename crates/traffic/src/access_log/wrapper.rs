//! Envelopes in which syslog and container runtimes write the lines of a log.

use memchr::{memchr, memmem};

/// A line without its envelope.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wrapped<'l> {
    Text(&'l [u8]),
    /// The text of a JSON string, with its escape sequences.
    Json(&'l [u8]),
}

/// Returns the line in an envelope of Docker (json-file), Kubernetes (CRI) or syslog (RFC 3164,
/// RFC 5424), or the line itself.
pub(super) fn unwrap(line: &[u8]) -> Wrapped<'_> {
    let text = match line {
        [b'{', ..] => return docker(line).map_or(Wrapped::Text(line), Wrapped::Json),
        [b'<', b'0'..=b'9', ..] => memchr(b'>', line).and_then(|at| syslog(line.get(at + 1..)?)),
        [b'0'..=b'9', _, _, _, b'-', ..] => cri(line).or_else(|| header(line, 2)),
        [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', b' ', ..] => header(line, 4),
        _ => None,
    };
    Wrapped::Text(text.unwrap_or(line))
}

fn docker(line: &[u8]) -> Option<&[u8]> {
    let text = line.strip_prefix(b"{\"log\":")?.trim_ascii_start();
    let text = text.strip_prefix(b"\"")?;
    super::pattern::quoted(text).map(|(text, _)| text)
}

/// Returns the text after `2026-11-30T10:15:54.123Z stdout F `.
fn cri(line: &[u8]) -> Option<&[u8]> {
    let text = line.get(memchr(b' ', line)? + 1..)?;
    let text = text.strip_prefix(b"std")?;
    let text = text.strip_prefix(b"out ").or(text.strip_prefix(b"err "))?;
    text.get(2..)
}

fn syslog(line: &[u8]) -> Option<&[u8]> {
    let Some(text) = line.strip_prefix(b"1 ") else {
        let is_iso = line.first().is_some_and(u8::is_ascii_digit);
        return header(line, if is_iso { 2 } else { 4 });
    };
    // The time, host, program, process and message id precede the structured data.
    let data = words(text, 5)?;
    match data.strip_prefix(b"- ") {
        Some(text) => Some(text),
        None => data.get(memmem::find(data, b"] ")? + 2..),
    }
}

/// Returns the text after a time and a host, which are `count` words, and a tag that ends with a
/// colon.
fn header(line: &[u8], count: usize) -> Option<&[u8]> {
    // A day below ten is written with two spaces.
    let is_padded = count == 4 && line.get(4) == Some(&b' ');
    let text = words(line, count + usize::from(is_padded))?;
    let tag = memchr(b' ', text)?;
    text.get(..tag)?
        .ends_with(b":")
        .then(|| text.get(tag + 1..))?
}

fn words(mut text: &[u8], count: usize) -> Option<&[u8]> {
    for _ in 0..count {
        text = text.get(memchr(b' ', text)? + 1..)?;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_are_removed() {
        for line in [
            "GET / x",
            "2026-11-30T10:15:54.669794202Z stdout F GET / x",
            "<134>Nov 30 10:15:54 host nginx: GET / x",
            "<134>Nov  3 10:15:54 host nginx[12]: GET / x",
            "Nov 30 10:15:54 host nginx[12]: GET / x",
            "2026-11-30T10:15:54+00:00 host nginx: GET / x",
            "<165>1 2026-11-30T10:15:54Z host nginx 12 ID47 - GET / x",
            "<165>1 2026-11-30T10:15:54Z host nginx 12 - [a b=\"c\"] GET / x",
        ] {
            assert_eq!(unwrap(line.as_bytes()), Wrapped::Text(b"GET / x"), "{line}");
        }
        let docker = br#"{"log":"GET \"/\"\n","stream":"stdout","time":"2026-11-30T10:15:54Z"}"#;
        assert_eq!(unwrap(docker), Wrapped::Json(br#"GET \"/\"\n"#));
        let spaced = br#"{"log": "GET /\n", "stream": "stdout"}"#;
        assert_eq!(unwrap(spaced), Wrapped::Json(br"GET /\n"));
        for line in [
            "",
            "<",
            "<1>",
            "2026-",
            "Nov ",
            "{\"log\":\"",
            "2026-11-30 10:15:54 GET /",
        ] {
            assert_eq!(
                unwrap(line.as_bytes()),
                Wrapped::Text(line.as_bytes()),
                "{line}"
            );
        }
    }
}
