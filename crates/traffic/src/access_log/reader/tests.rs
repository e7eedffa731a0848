use proptest::prelude::*;

use super::*;

/// A log line in each format for the same request, and the parts of the request that it contains.
const LINES: &[(&str, &str, &str)] = &[
    (
        "combined",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)""#,
        "r",
    ),
    (
        "combined",
        r#"192.0.2.7 - ann [x] [30/Nov/2026:11:15:54 +0100] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)" "-" rt=0.005"#,
        "r",
    ),
    (
        "combined",
        r#"10.0.0.1 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)" "203.0.113.9, 192.0.2.7""#,
        "r",
    ),
    (
        "combined",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)" "192.0.2.9" 0.005"#,
        "rd",
    ),
    (
        "combined",
        r#"h.example:443 192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)" 5000"#,
        "rh",
    ),
    (
        "combined",
        r#"5000 192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)""#,
        "r",
    ),
    (
        "combined",
        r#"192.0.2.7 h.example - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)""#,
        "rh",
    ),
    (
        "combined",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET http://h.example/a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)""#,
        "rh",
    ),
    (
        "combined",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)" "-" "person" "pass" "-" 0.005000"#,
        "rd",
    ),
    (
        "ingress-nginx",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/2.0" 200 512 "https://r.example/" "A/1 (x; y)" 340 0.005 [shop-web-80] [] 10.0.0.9:80 512 0.004 200 5f2b"#,
        "rd",
    ),
    (
        "Traefik",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)" 12 "web@docker" "http://10.0.0.9:80" 5ms"#,
        "rd",
    ),
    (
        "HAProxy clf",
        r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "" "" 49152 123 "web" "app" "s1" 0 0 1 2 5 "----" 1 1 0 0 0 0 0 "-" "-" "A/1 (x; y)" "https://r.example/""#,
        "",
    ),
    (
        "HAProxy httplog",
        r#"192.0.2.7:49152 [30/Nov/2026:10:15:54.123] web app/s1 0/0/1/2/5 200 512 - - ---- 1/1/0/0/0 0/0 {h.example|A/1 (x; y)|https://r.example/} {} "GET /a?b=c HTTP/1.1""#,
        "",
    ),
    (
        "HAProxy httplog",
        r#"<134>Nov 30 10:15:54 lb haproxy[12]: 192.0.2.7:49152 [30/Nov/2026:10:15:54.123] web app/s1 0/0/1/2/5 200 512 - - ---- 1/1/0/0/0 0/0 {A/1 (x; y)} "GET /a?b=c HTTP/1.1""#,
        "",
    ),
    (
        "Envoy",
        r#"[2026-11-30T10:15:54.310Z] "GET /a?b=c HTTP/1.1" 200 - 0 512 5 4 "192.0.2.7" "A/1 (x; y)" "5f2b" "h.example" "10.0.0.9:80""#,
        "hd",
    ),
    (
        "Istio",
        r#"[2026-11-30T10:15:54.310Z] "GET /a?b=c HTTP/1.1" 200 - via_upstream - "-" 0 512 5 4 "192.0.2.7" "A/1 (x; y)" "5f2b" "h.example" "10.0.0.9:80" outbound"#,
        "hd",
    ),
    (
        "ALB",
        r#"https 2026-11-30T10:15:54.186641Z app/lb/50dc 192.0.2.7:49152 10.0.0.9:80 0.0 0.005 0.0 200 200 340 512 "GET https://h.example:443/a?b=c HTTP/1.1" "A/1 (x; y)" ECDHE TLSv1.2 arn"#,
        "h",
    ),
    (
        "S3",
        r#"79a5 bucket [30/Nov/2026:10:15:54 +0000] 192.0.2.7 - 3E57 REST.GET.OBJECT a "GET /a?b=c HTTP/1.1" 200 - 512 512 5 4 "https://r.example/" "A/1 (x; y)" - 5f2b"#,
        "r",
    ),
    (
        "JSON",
        r#"{"time_iso8601":"2026-11-30T10:15:54+00:00","remote_addr":"192.0.2.7","request":"GET /a?b=c HTTP/1.1","status":200,"body_bytes_sent":512,"request_time":0.005,"http_referer":"https:\/\/r.example\/","http_user_agent":"A/1 (x; y)"}"#,
        "rd",
    ),
    (
        "JSON",
        r#"{"level":"info","ts":1796033754.125,"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"h.example","uri":"/a?b=c","headers":{"User-Agent":["A/1 (x; y)"],"Referer":["https://r.example/"]}},"duration":0.005,"size":512,"status":200}"#,
        "rh",
    ),
    (
        "JSON",
        r#"{"ClientHost":"192.0.2.7","DownstreamContentSize":512,"DownstreamStatus":200,"Duration":5000000,"RequestHost":"h.example","RequestMethod":"GET","RequestPath":"/a?b=c","StartUTC":"2026-11-30T10:15:54.123Z","request_User-Agent":"A/1 (x; y)","request_Referer":"https://r.example/","time":"2026-11-30T10:15:55Z"}"#,
        "rh",
    ),
    (
        "JSON",
        r#"{"authority":"h.example","bytes_sent":512,"duration":5,"method":"GET","path":"/a?b=c","response_code":200,"start_time":"2026-11-30T10:15:54.310Z","user_agent":"A/1 (x; y)","x_forwarded_for":"192.0.2.7"}"#,
        "h",
    ),
    (
        "JSON",
        r#"{"ClientIP":"192.0.2.7","ClientRequestHost":"h.example","ClientRequestMethod":"GET","ClientRequestURI":"/a?b=c","ClientRequestUserAgent":"A/1 (x; y)","ClientRequestReferer":"https://r.example/","EdgeEndTimestamp":1796033754200000000,"EdgeResponseBytes":512,"EdgeResponseStatus":200,"EdgeStartTimestamp":1796033754125000000}"#,
        "rh",
    ),
    (
        "JSON",
        r#"{"timestamp":"2026-11-30T10:15:54+0000","client_ip":"192.0.2.7","host":"h.example","url":"/a?b=c","request_method":"GET","request_referer":"https://r.example/","request_user_agent":"A/1 (x; y)","response_status":200,"response_body_size":512}"#,
        "rh",
    ),
    (
        "JSON",
        r#"{"httpRequest":{"requestMethod":"GET","requestUrl":"https://h.example/a?b=c","status":200,"responseSize":"512","userAgent":"A/1 (x; y)","remoteIp":"192.0.2.7","referer":"https://r.example/","latency":"0.005s"},"timestamp":"2026-11-30T10:15:54.125Z"}"#,
        "rh",
    ),
    (
        "JSON",
        r#"{"time":"2026-11-30T10:15:54.0000000Z","category":"FrontDoorAccessLog","properties":{"httpMethod":"GET","requestUri":"https://h.example:443/a?b=c","responseBytes":"512","userAgent":"A/1 (x; y)","clientIp":"192.0.2.7","clientPort":"49152","timeTaken":"0.005","httpStatusCode":"200","referer":"https://r.example/"}}"#,
        "rhd",
    ),
    (
        "combined",
        r#"{"log":"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] \"GET /a?b=c HTTP/1.1\" 200 512 \"https://r.example/\" \"A/1 (x; y)\"\n","stream":"stdout","time":"2026-11-30T10:15:54Z"}"#,
        "r",
    ),
    (
        "combined",
        r#"2026-11-30T10:15:54.669794202Z stdout F 192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)""#,
        "r",
    ),
];

/// Returns the request of [`LINES`] as text, with the parts that are not in all lines.
fn shown(line: LogLine<'_>) -> String {
    let LogLine::Request(record) = line else {
        return format!("{line:?}");
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let referrer = if record.referrer.is_empty() { "" } else { "r" };
    let host = if record.host.is_empty() { "" } else { "h" };
    let duration = if record.micros.is_some() { "d" } else { "" };
    if !record.referrer.is_empty() {
        assert_eq!(text(record.referrer), "https://r.example/");
    }
    if !record.host.is_empty() {
        assert_eq!(text(record.host), "h.example");
    }
    assert!(record.micros.is_none_or(|micros| micros == 5_000));
    format!(
        "{:?} {} {} {} {} {:?} {} {referrer}{host}{duration}",
        record.time_s,
        text(record.client),
        text(record.method),
        text(record.target),
        record.status,
        record.bytes,
        text(record.user_agent.unwrap_or_default()),
    )
}

fn expected(parts: &str) -> String {
    format!("Some(1796033754) 192.0.2.7 GET /a?b=c 200 Some(512) A/1 (x; y) {parts}")
}

#[test]
fn every_format_is_recognised() {
    for (name, line, parts) in LINES {
        let mut reader = LogReader::new();
        assert_eq!(
            shown(reader.read(line.as_bytes())),
            expected(parts),
            "{line}"
        );
        assert_eq!(reader.format(), *name, "{line}");
    }
    // A reader that has recognised one format reads the lines of others, except their durations.
    let mut reader = LogReader::new();
    let others = LINES.iter().filter(|(name, ..)| *name != "HAProxy clf");
    for (_, line, parts) in others.clone().chain(others.rev()) {
        let shown = shown(reader.read(line.as_bytes()));
        let request = expected(parts.trim_end_matches('d'));
        assert_eq!(shown.trim_end_matches('d'), request, "{line}");
    }
}

#[test]
fn w3c_lines_are_read_by_their_fields() {
    for (header, line, parts) in [
        (
            "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status sc-bytes time-taken",
            "2026-11-30 10:15:54 10.0.0.9 GET /a b=c 443 - 192.0.2.7 A/1+(x;+y) https://r.example/ 200 0 0 512 5",
            "rd",
        ),
        (
            "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query time-taken",
            "2026-11-30\t10:15:54\tFRA2\t512\t192.0.2.7\tGET\th.example\t/a\t200\thttps://r.example/\tA/1%2520(x;%20y)\tb=c\t0.005",
            "rhd",
        ),
    ] {
        let mut reader = LogReader::new();
        assert_eq!(
            reader.read(b"#Software: Microsoft Internet Information Services 10.0"),
            LogLine::Header
        );
        assert_eq!(reader.read(header.as_bytes()), LogLine::Header);
        assert_eq!(
            shown(reader.read(line.as_bytes())),
            expected(parts),
            "{line}"
        );
        let mut times = line.replace("/a", "/a%20+%2B");
        times = times.replace("10:15:54", "10:15:55");
        let LogLine::Request(record) = reader.read(times.as_bytes()) else {
            panic!("{times}");
        };
        assert_eq!(
            (record.target, record.time_s),
            (b"/a%20+%2B?b=c".as_slice(), Some(1_796_033_755))
        );
    }
}

#[test]
fn formats_in_three_notations_are_read() {
    for (notation, line, parts) in [
        (
            r#"$remote_addr [$time_iso8601] $request_method ${host} $request_uri $status/$bytes_sent ($request_time) "$http_user_agent""#,
            r#"192.0.2.7 [2026-11-30T10:15:54Z] GET h.example /a?b=c 200/512 (0.005) "A/1 (x; y)""#,
            "hd",
        ),
        (
            r#"%{User-agent}i|%h %l %u %t \"%r\" %>s %O %{Referer}i %D"#,
            r#"A/1 (x; y)|192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 https://r.example/ 5000"#,
            "rd",
        ),
        (
            r#"%h %^[%d:%t %^] "%r" %s %b "%R" "%u""#,
            r#"192.0.2.7 - - [30/Nov/2026:10:15:54 +0000] "GET /a?b=c HTTP/1.1" 200 512 "https://r.example/" "A/1 (x; y)""#,
            "r",
        ),
    ] {
        let format = notation.parse::<LogFormat>().unwrap();
        let mut reader = LogReader::with_format(format);
        assert_eq!(
            shown(reader.read(line.as_bytes())),
            expected(parts),
            "{notation}"
        );
        assert_eq!(reader.read(b"x"), LogLine::Unreadable);
    }
    for (notation, missing) in [
        ("%h %r", "a time"),
        ("$time_local $status", "a request"),
        ("", "a time"),
    ] {
        let error = notation.parse::<LogFormat>().unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_leave_the_next_line_readable(garbage in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (_, line, parts) = LINES[0];
        let mut reader = LogReader::new();
        reader.read(&garbage);
        prop_assert_eq!(shown(reader.read(line.as_bytes())), expected(parts));
        let cut = garbage.len().min(line.len());
        reader.read(&line.as_bytes()[cut..]);
        prop_assert_eq!(shown(reader.read(line.as_bytes())), expected(parts));
    }
}
