//! Tests of the distinction between plain and other heads.

use super::{
    LAST,
    talk::{run, said},
};

#[test]
fn only_strictly_formed_simple_requests_are_plain() {
    for (head, is_plain) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        (
            "HEAD /a?b=c HTTP/1.1\r\nhost: a\r\nX:\r\nX: é\t1\r\n\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
            true,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
                .replace("\r\n", "\n")
                .as_str(),
            false,
        ),
        ("GET / HTTP/1.1\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", false),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", false),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nX: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", false),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n", false),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nTrailer: x\r\n\r\n", false),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHTTP2-Settings: x\r\n\r\n",
            false,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x\r\n\r\n",
            false,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: keep-alive\r\n\r\n",
            false,
        ),
        ("GET / HTTP/1.1\r\nHost: a \r\n\r\n", false),
    ] {
        let input = format!("{head}{LAST}");
        let (_, plain) = run(said::<true>(&input, usize::MAX));
        let expected = if is_plain { 2 } else { 0 };
        assert_eq!(plain, expected, "{head:?}");
    }
}

#[test]
fn head_is_plain_up_to_the_limits() {
    let max = 8 * 1024;
    let head = |len: usize, lines: usize| {
        let start = "GET / HTTP/1.1\r\nHost: a\r\n";
        let more = "X: y\r\n".repeat(lines);
        let rest = len.saturating_sub(start.len() + more.len() + "C: \r\n\r\n".len());
        format!("{start}{more}C: {}\r\n\r\n", "c".repeat(rest))
    };
    assert_eq!(head(max, 0).len(), max);
    for piece in [1, 1000, usize::MAX] {
        for (head, is_plain) in [
            (head(max, 0), true),
            (head(max + 1, 0), false),
            (head(1000, 62), true),
            (head(1000, 63), false),
        ] {
            let input = format!("{head}{LAST}");
            let (said, plain) = run(said::<true>(&input, piece));
            assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 2, "{piece}");
            assert_eq!(plain, if is_plain { 2 } else { 0 }, "{piece}");
        }
    }
}
