//! Handling of hop-by-hop headers (RFC 9110 §7.6.1) and list headers.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING},
};

/// Removes the standard hop-by-hop headers and the headers listed in `Connection`.
///
/// `kept` contains headers set by this program, which a client's `Connection` header cannot remove.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap, kept: &[HeaderName]) {
    for name in named_by_connection(headers) {
        // A client must not cause the removal of headers that frame or route the message: RFC 9110
        // §7.6.1 forbids listing end-to-end headers in `Connection`.
        if name != HOST && name != CONTENT_LENGTH && !kept.contains(&name) {
            headers.remove(name);
        }
    }
    remove_where(headers, |name| {
        matches!(
            name.as_str(),
            "connection"
                | "keep-alive"
                | "proxy-connection"
                | "te"
                | "transfer-encoding"
                | "upgrade"
        )
    });
}

/// Removes headers that are intended for a forward proxy (RFC 9110 §11.7.2) or an upgrade to
/// HTTP/2.
pub(super) fn strip_proxy_fields(headers: &mut HeaderMap) {
    // CGI passes `Proxy` to programs as `HTTP_PROXY` (httpoxy, CVE-2016-5385).
    remove_where(headers, |name| {
        matches!(
            name.as_str(),
            "proxy-authorization" | "proxy" | "http2-settings"
        )
    });
}

/// Removes the headers whose names match; usually no name matches, and nothing is allocated.
pub(super) fn remove_where(headers: &mut HeaderMap, is_out: impl Fn(&HeaderName) -> bool) {
    if headers.keys().any(&is_out) {
        let names: Vec<_> = headers
            .keys()
            .filter(|name| is_out(name))
            .cloned()
            .collect();
        for name in names {
            headers.remove(name);
        }
    }
}

/// Replaces several equal `Content-Length` values with one (RFC 9110 §8.6).
///
/// Returns `false` if the `Content-Length` values differ or are not numbers (RFC 9112 §6.3, rule
/// 5).
pub(super) fn merge_content_lengths(headers: &mut HeaderMap) -> bool {
    let mut lengths = headers
        .get_all(CONTENT_LENGTH)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii);
    let Some(first) = lengths.next() else {
        return true;
    };
    let Some(length) = decimal(first) else {
        return false;
    };
    let mut is_alone = true;
    for other in lengths {
        if decimal(other) != Some(length) {
            return false;
        }
        is_alone = false;
    }
    if !is_alone {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    true
}

pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add))?
}

/// Returns `true` if `Connection` contains only `keep-alive`, the default of HTTP/1.1.
pub(super) fn is_keep_alive(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(CONNECTION).iter();
    let line = lines.next();
    lines.next().is_none()
        && line.is_some_and(|line| line.as_bytes().eq_ignore_ascii_case(b"keep-alive"))
}

/// Returns `true` if any line of a comma-separated header contains the token.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|found| found.eq_ignore_ascii_case(token.as_bytes()))
}

/// Returns the members of a comma-separated header from all of its lines.
pub(super) fn tokens<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        // Empty elements are ignored (RFC 9110 §5.6.1.2).
        .filter(|token| !token.is_empty())
}

/// Returns `true` if the body has a transfer coding other than `chunked` (RFC 9112 §6.1, §7).
///
/// The check is strict, because parsers disagree about lists with empty elements. No client sends
/// such lists.
pub(super) fn has_unknown_coding(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(TRANSFER_ENCODING).iter();
    lines.next().is_some_and(|coding| {
        lines.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked")
    })
}

/// Sets a header to a static value.
pub(super) fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    if !headers.contains_key(CONNECTION) {
        return Vec::new();
    }
    tokens(headers, &CONNECTION)
        // The usual options name no header, or a header that is removed anyway.
        .filter(|token| {
            !token.eq_ignore_ascii_case(b"keep-alive") && !token.eq_ignore_ascii_case(b"close")
        })
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        .collect()
}

/// Returns `true` if a byte may occur in a host name that resolvers look up.
pub(super) fn is_host_name_byte(byte: u8) -> bool {
    // This is a table, because every byte of every request's host is looked up.
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated at compile time, where an error would be reported"
    )]
    const IN_NAME: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0_u8;
        while byte < 0x80 {
            table[byte as usize] =
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
            byte += 1;
        }
        table
    };
    IN_NAME.get(usize::from(byte)).is_some_and(|is_in| *is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_named_headers_are_removed() {
        let mut map = headers(&[
            ("connection", "keep-alive, X-Hop"),
            ("connection", "host, content-length,, x-ours, not a name"),
            ("keep-alive", "timeout=5"),
            ("x-hop", "1"),
            ("host", "site.example"),
            ("content-length", "4"),
            ("x-ours", "kept"),
            ("x-end", "kept"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("proxy-connection", "close"),
            ("transfer-encoding", "chunked"),
        ]);
        strip_hop_by_hop(&mut map, &[HeaderName::from_static("x-ours")]);
        let mut left: Vec<_> = map.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "host", "x-end", "x-ours"]);
    }

    #[test]
    fn only_a_single_chunked_is_a_known_coding() {
        for (coding, unknown) in [
            (&["chunked"][..], false),
            (&["Chunked"], false),
            (&["gzip, chunked"], true),
            (&["chunked", "chunked"], true),
            (&[",chunked"], true),
            (&["chunked, "], true),
            (&["identity"], true),
            (&[""], true),
            (&[], false),
        ] {
            let lines: Vec<_> = coding
                .iter()
                .map(|coding| ("transfer-encoding", *coding))
                .collect();
            assert_eq!(has_unknown_coding(&headers(&lines)), unknown, "{coding:?}");
        }
    }

    #[test]
    fn several_lengths_are_merged_or_refused() {
        for (lines, expected) in [
            (&[][..], Some(&[][..])),
            (&["5"], Some(&["5"])),
            (&["5", "5"], Some(&["5"])),
            (&["5, 5", "05"], Some(&["5"])),
            (&["5", "6"], None),
            (&["5,"], None),
            (&[""], None),
            (&["+5"], None),
            (&["18446744073709551616"], None),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| ("content-length", *line)).collect();
            let mut map = headers(&lines);
            let is_one = merge_content_lengths(&mut map);
            assert_eq!(is_one, expected.is_some(), "{lines:?}");
            if let Some(expected) = expected {
                let left: Vec<_> = map.get_all(CONTENT_LENGTH).iter().collect();
                assert_eq!(left, expected, "{lines:?}");
            }
        }
    }

    #[test]
    fn tokens_are_found_in_any_line_and_case() {
        let map = headers(&[("connection", "keep-alive"), ("connection", "a, UPGRADE")]);
        assert!(has_token(&map, &CONNECTION, "upgrade"));
        assert!(!has_token(&map, &CONNECTION, "up"));
    }
}
