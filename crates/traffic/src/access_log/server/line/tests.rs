use proptest::prelude::*;

use super::*;
use crate::access_log::{LogLine, LogReader, MAX_LINE_BYTES, Record, escapes::unescape};

fn read<'a>(reader: &'a mut LogReader, line: &'a [u8]) -> Record<'a> {
    match reader.read(line) {
        LogLine::Request(record) => record,
        other => panic!("{other:?}"),
    }
}

const ANSWER: LoggedAnswer = LoggedAnswer {
    status: 302,
    body_bytes: 12,
    duration: Duration::from_micros(1_500),
};

fn line() -> Line<'static> {
    Line {
        client: "192.0.2.7".parse().unwrap(),
        received_ms: 1_772_359_200_123,
        host: Some(b"www.example"),
        method: "GET",
        target: "/a?b=c",
        version: "HTTP/1.1",
        answer: Some(ANSWER),
        referer: None,
        user_agent: Some(b"ExampleBot/1.0"),
        site: "default",
        robot: Some("examplebot"),
        visitor: "listed",
        decision: "redirect",
        cause: "rule \"a\"",
        verdict: Some("verified"),
        reasons: Reasons::default(),
    }
}

fn written(line: &Line<'_>, format: LineFormat) -> Vec<u8> {
    let mut out = Vec::new();
    line.write(format, &mut out);
    out
}

fn text(line: &Line<'_>, format: LineFormat) -> String {
    String::from_utf8(written(line, format)).unwrap()
}

/// Returns the quoted fields of a line in unescaped form.
fn quoted_fields(line: &[u8]) -> Vec<Vec<u8>> {
    let pieces = line.split(|byte| *byte == b'"');
    let fields = pieces.skip(1).step_by(2);
    fields
        .map(|raw| {
            let mut field = Vec::new();
            unescape(raw, &mut field);
            field
        })
        .collect()
}

#[test]
fn request_is_written_in_every_format() {
    assert_eq!(
        text(&line(), LineFormat::Common),
        r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET /a?b=c HTTP/1.1" 302 12 examplebot listed redirect verified 0.001500"#
    );
    assert_eq!(
        text(&line(), LineFormat::Combined),
        r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET /a?b=c HTTP/1.1" 302 12 "-" "ExampleBot/1.0" "examplebot" "listed" "redirect" "verified" 0.001500"#
    );
    assert_eq!(
        text(&line(), LineFormat::Json),
        r#"{"time":"2026-03-01T10:00:00.123Z","remote_addr":"192.0.2.7","host":"www.example","request_method":"GET","request_uri":"/a?b=c","server_protocol":"HTTP/1.1","status":302,"body_bytes_sent":12,"request_time":0.001500,"http_referer":null,"http_user_agent":"ExampleBot/1.0","site":"default","robot":"examplebot","visitor":"listed","decision":"redirect","cause":"rule \"a\"","verdict":"verified","suspect":null}"#
    );
}

#[test]
fn response_of_another_server_is_written_as_unknown() {
    let line = Line {
        answer: None,
        ..line()
    };
    assert_eq!(
        text(&line, LineFormat::Common),
        r#"192.0.2.7 - - [01/Mar/2026:10:00:00 +0000] "GET /a?b=c HTTP/1.1" - - examplebot listed redirect verified -"#
    );
    for format in [LineFormat::Combined, LineFormat::Json] {
        let bytes = written(&line, format);
        let mut reader = LogReader::new();
        let read = read(&mut reader, &bytes);
        assert_eq!(
            (read.status, read.bytes, read.micros),
            (0, None, None),
            "{format:?}"
        );
        assert_eq!(read.decision, b"redirect", "{format:?}");
        assert_eq!(read.verdict, b"verified", "{format:?}");
    }
}

#[test]
fn format_names_are_parsed() {
    for (word, format) in [
        ("common", LineFormat::Common),
        ("combined", LineFormat::Combined),
        ("json", LineFormat::Json),
    ] {
        assert_eq!(word.parse(), Ok(format));
    }
    let error = "xml".parse::<LineFormat>().unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown access log format \"xml\": expected common, combined or json"
    );
}

#[test]
fn line_with_the_longest_fields_can_be_read_back() {
    let long = "\u{1}".repeat(MAX_LINE_BYTES);
    let line = Line {
        host: Some(long.as_bytes()),
        method: &long,
        target: &long,
        referer: Some(long.as_bytes()),
        user_agent: Some(long.as_bytes()),
        site: &long,
        robot: Some(&long),
        cause: &long,
        answer: Some(LoggedAnswer {
            body_bytes: u64::MAX,
            duration: Duration::MAX,
            ..ANSWER
        }),
        received_ms: i64::MAX,
        ..line()
    };
    for format in [LineFormat::Common, LineFormat::Combined, LineFormat::Json] {
        let bytes = written(&line, format);
        assert!(bytes.len() <= MAX_LINE_BYTES, "{format:?}: {}", bytes.len());
        let mut reader = LogReader::new();
        let entry = read(&mut reader, &bytes);
        assert_eq!(entry.bytes, Some(u64::MAX));
        assert_eq!(entry.user_agent.is_none(), format == LineFormat::Common);
    }
}

/// Generates texts in which bytes that have a meaning in log formats are more frequent than other
/// bytes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let telling = b"\"\\ []{}:,-x019u\n".to_vec();
    let byte = prop_oneof![proptest::sample::select(telling), any::<u8>()];
    proptest::collection::vec(byte, 0..120)
}

proptest! {
    #[test]
    fn written_lines_can_be_read_back(
        user_agent in bytes(),
        referer in bytes(),
        target in ".{0,60}",
        robot in ".{1,20}",
        body_bytes in any::<u64>(),
    ) {
        let line = Line {
            target: &target,
            referer: Some(&referer),
            user_agent: Some(&user_agent),
            robot: Some(&robot),
            answer: Some(LoggedAnswer { body_bytes, ..ANSWER }),
            ..line()
        };
        let said = (!matches!(&*user_agent, b"" | b"-")).then_some(&*user_agent);

        let combined = written(&line, LineFormat::Combined);
        prop_assert!(combined.iter().all(|byte| matches!(byte, b' '..=b'~')));
        let mut reader = LogReader::new();
        let entry = read(&mut reader, &combined);
        prop_assert_eq!((entry.user_agent, entry.bytes), (said, Some(body_bytes)));
        let request = format!("GET {target} HTTP/1.1");
        prop_assert_eq!(
            quoted_fields(&combined),
            [request.as_bytes(), &referer, &user_agent, robot.as_bytes(), b"listed", b"redirect", b"verified"]
        );

        let common = written(&line, LineFormat::Common);
        let entry = read(&mut reader, &common);
        prop_assert_eq!((entry.user_agent, entry.bytes), (None, Some(body_bytes)));

        let json = written(&line, LineFormat::Json);
        prop_assert!(json.iter().all(|byte| matches!(byte, b' '..=b'~')));
        let entry = read(&mut reader, &json);
        let lossy = String::from_utf8_lossy(&user_agent);
        let said = said.map(|_| lossy.as_bytes());
        prop_assert_eq!((entry.user_agent, entry.bytes), (said, Some(body_bytes)));
    }
}
