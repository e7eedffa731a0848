use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const CHROME: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";
const SAFARI: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 \
     (KHTML, like Gecko) Version/18.1 Safari/605.1.15";
const TOR: &str = "Mozilla/5.0 (Windows NT 10.0; rv:128.0) Gecko/20100101 Firefox/128.0";

/// The `Accept` header that Chromium 156 sends to open a page.
const CHROME_PAGE: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,\
     image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7";
/// The `Accept` header that Firefox 153 sends to open a page.
const FIREFOX_PAGE: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const DIRECT: Transport = Transport {
    is_https: false,
    is_direct: true,
    front: None,
    sender: None,
};
const TLS: Transport = Transport {
    is_https: true,
    ..DIRECT
};

type Line<'l> = (&'l str, &'l str);

fn request(method: &str, path: &str, lines: &[Line<'_>]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

fn told(lines: &[Line<'_>], transport: Transport) -> String {
    let request = request("GET", "/a", lines);
    BrowserCheck::new().judge(&request, transport).to_string()
}

/// Returns the headers that Chromium 156 sends over plain HTTP.
fn chrome<'l>(accept: &'l str, more: &[Line<'l>]) -> Vec<Line<'l>> {
    let mut lines = vec![("host", "site.example"), ("connection", "keep-alive")];
    if accept == CHROME_PAGE {
        lines.push(("upgrade-insecure-requests", "1"));
    }
    lines.extend([("user-agent", CHROME), ("accept", accept)]);
    lines.extend(more);
    lines.extend([
        ("accept-encoding", "gzip, deflate"),
        ("accept-language", "en-US,en;q=0.9"),
    ]);
    lines
}

/// Returns the headers that Chromium 156 sends over HTTPS, with HTTP/2 unless `is_http1` is set.
fn secure_chrome<'l>(
    accept: &'l str,
    mode: &'l str,
    dest: &'l str,
    is_http1: bool,
) -> Vec<Line<'l>> {
    let mut lines = Vec::new();
    if is_http1 {
        lines.extend([("host", "site.example"), ("connection", "keep-alive")]);
    }
    lines.extend([
        ("sec-ch-ua", r#""Not:A-Brand";v="8", "Chromium";v="156""#),
        ("sec-ch-ua-mobile", "?0"),
        ("sec-ch-ua-platform", r#""Linux""#),
    ]);
    if dest == "document" {
        lines.push(("upgrade-insecure-requests", "1"));
    }
    lines.extend([
        ("user-agent", CHROME),
        ("accept", accept),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-mode", mode),
        ("sec-fetch-dest", dest),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("accept-language", "en-US,en;q=0.9"),
    ]);
    lines
}

/// Returns the headers that Firefox 153 sends over plain HTTP.
fn firefox<'l>(accept: &'l str, more: &[Line<'l>]) -> Vec<Line<'l>> {
    let mut lines = vec![
        ("host", "site.example"),
        ("user-agent", FIREFOX),
        ("accept", accept),
        ("accept-language", "en-US,en;q=0.9"),
        ("accept-encoding", "gzip, deflate"),
        ("connection", "keep-alive"),
    ];
    if accept == FIREFOX_PAGE {
        lines.push(("upgrade-insecure-requests", "1"));
    }
    lines.extend(more);
    lines
}

fn http2(mut request: Request<()>) -> Request<()> {
    *request.version_mut() = Version::HTTP_2;
    request
}

fn without<'l>(lines: &[Line<'l>], names: &[&str]) -> Vec<Line<'l>> {
    let mut lines = lines.to_vec();
    lines.retain(|(name, _)| !names.contains(name));
    lines
}

fn with<'l>(lines: &[Line<'l>], name: &str, value: &'l str) -> Vec<Line<'l>> {
    let replaced = lines.iter().map(|line| {
        if line.0 == name {
            (line.0, value)
        } else {
            *line
        }
    });
    replaced.collect()
}

#[test]
fn real_browser_requests_give_no_reason() {
    let referer = [("referer", "http://site.example/")];
    let video = [("referer", "http://site.example/"), ("range", "bytes=0-")];
    let image = "image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
    for lines in [
        chrome(CHROME_PAGE, &[]),
        chrome(CHROME_PAGE, &referer),
        chrome("text/css,*/*;q=0.1", &referer),
        chrome("*/*", &referer),
        chrome("application/json", &referer),
        chrome(image, &referer),
        with(&chrome("*/*", &video), "accept-encoding", "identity"),
        firefox(FIREFOX_PAGE, &[]),
        firefox("*/*", &referer),
        firefox("text/css,*/*;q=0.1", &referer),
        with(
            &firefox("video/webm,*/*;q=0.5", &video),
            "accept-encoding",
            "identity",
        ),
    ] {
        assert_eq!(told(&lines, DIRECT), "", "{lines:?}");
        // The transport is unknown, or a trusted proxy reports plain HTTP.
        assert_eq!(told(&lines, Transport::default()), "", "{lines:?}");
    }
    for (accept, mode, dest) in [
        (CHROME_PAGE, "navigate", "document"),
        (CHROME_PAGE, "navigate", "iframe"),
        ("*/*", "no-cors", "script"),
        ("*/*", "cors", "empty"),
        ("*/*", "same-origin", "serviceworker"),
        (image, "no-cors", "image"),
    ] {
        let lines = secure_chrome(accept, mode, dest, true);
        assert_eq!(told(&lines, TLS), "", "{lines:?}");
        let lines = secure_chrome(accept, mode, dest, false);
        let request = http2(request("GET", "/", &lines));
        let reasons = BrowserCheck::new().judge(&request, TLS);
        assert_eq!(reasons.to_string(), "", "{lines:?}");
    }
}

#[test]
fn background_requests_of_browsers_are_not_checked() {
    let user_agent = ("user-agent", CHROME);
    for (method, path, line) in [
        ("OPTIONS", "/", ("origin", "https://a.example")),
        ("GET", "/ws", ("upgrade", "websocket")),
        ("CONNECT", "/ws", ("sec-websocket-key", "x")),
        (
            "GET",
            "/.well-known/change-password",
            ("pragma", "no-cache"),
        ),
        ("GET", "/a.js.map", ("pragma", "no-cache")),
        ("POST", "/r", ("content-type", "application/reports+json")),
    ] {
        let request = request(method, path, &[user_agent, line]);
        let reasons = BrowserCheck::new().judge(&request, TLS);
        assert!(reasons.is_empty(), "{method} {path}: {reasons}");
    }
}

/// Each case is a human visitor's request that lacks headers but is not suspect.
#[test]
fn missing_headers_and_rare_browsers_make_no_suspect() {
    let page = secure_chrome(CHROME_PAGE, "navigate", "document", true);
    let image = secure_chrome("image/webp,*/*;q=0.8", "no-cors", "image", true);
    let sec = [
        "sec-ch-ua",
        "sec-ch-ua-mobile",
        "sec-ch-ua-platform",
        "sec-fetch-site",
        "sec-fetch-mode",
        "sec-fetch-dest",
    ];
    let stripped = without(&page, &sec);
    let (old, older) = ("Chrome/109.0.0.0", "Chrome/49.0.2623.112");
    let [old, older] = [old, older].map(|name| CHROME.replace("Chrome/156.0.0.0", name));
    let tor = with(&firefox(FIREFOX_PAGE, &[]), "user-agent", TOR);
    let brave = r#""Brave";v="156", "Chromium";v="156", "Not)A;Brand";v="99""#;
    let opera = CHROME.to_owned() + " OPR/120.0.0.0";
    let opera_hints = r#""Opera";v="120", "Chromium";v="156", "Not)A;Brand";v="99""#;
    for (who, lines) in [
        ("a corporate proxy removes Sec-*", stripped.clone()),
        (
            "and zstd",
            with(&stripped, "accept-encoding", "gzip, deflate, br"),
        ),
        (
            "and br",
            with(&stripped, "accept-encoding", "gzip, deflate"),
        ),
        ("scripts are off", without(&page, &sec[..3])),
        (
            "an extension hides the language",
            without(&page, &["accept-language"]),
        ),
        (
            "and the brand",
            without(&page, &["accept-language", "sec-ch-ua"]),
        ),
        ("an extension hides the referrer", image),
        (
            "Windows 7 has no later one",
            with(&stripped, "user-agent", &old),
        ),
        (
            "Windows XP has no later one",
            with(&chrome(CHROME_PAGE, &[]), "user-agent", &older),
        ),
        ("Tor Browser over plain HTTP", tor),
        ("Brave", with(&page, "sec-ch-ua", brave)),
        (
            "Opera",
            with(&with(&page, "sec-ch-ua", opera_hints), "user-agent", &opera),
        ),
        (
            "a balancer that does not keep connections",
            with(&page, "connection", "close"),
        ),
        ("changed order", page.iter().rev().copied().collect()),
    ] {
        let found = BrowserCheck::new().judge(&request("GET", "/", &lines), TLS);
        assert!(!found.is_suspect(), "{who}: {found}");
    }
    let newer = CHROME.replace("156", "170");
    let newer = with(&chrome(CHROME_PAGE, &[]), "user-agent", &newer);
    assert_eq!(told(&newer, DIRECT), "", "version is newer than the table");
    for other in [
        "Dillo/3.0.5",
        "w3m/0.5.3",
        "Lynx/2.9",
        "NetSurf/3.10 (Linux)",
    ] {
        assert_eq!(told(&[("user-agent", other)], TLS), "", "{other}");
    }
}

/// The cases are headers that tools send with a browser's User-Agent over plain HTTP, without a
/// proxy.
#[test]
fn tools_with_a_browser_user_agent_are_suspect_on_their_first_request() {
    let agent = |user_agent: &'static str| ("user-agent", user_agent);
    let any = ("accept", "*/*");
    for user_agent in [CHROME, FIREFOX] {
        for (tool, lines) in [
            ("curl", vec![agent(user_agent), any]),
            (
                "curl --compressed",
                vec![
                    agent(user_agent),
                    any,
                    ("accept-encoding", "deflate, gzip, br, zstd"),
                ],
            ),
            (
                "wget",
                vec![
                    agent(user_agent),
                    any,
                    ("accept-encoding", "identity"),
                    ("connection", "Keep-Alive"),
                ],
            ),
            (
                "requests",
                vec![
                    agent(user_agent),
                    ("accept-encoding", "gzip, deflate"),
                    any,
                    ("connection", "keep-alive"),
                ],
            ),
            (
                "httpx",
                vec![
                    any,
                    ("accept-encoding", "gzip, deflate"),
                    ("connection", "keep-alive"),
                    agent(user_agent),
                ],
            ),
            (
                "aiohttp",
                vec![agent(user_agent), any, ("accept-encoding", "gzip, deflate")],
            ),
            (
                "scrapy",
                vec![
                    ("accept", FIREFOX_PAGE),
                    ("accept-language", "en"),
                    agent(user_agent),
                    ("accept-encoding", "gzip, deflate, br, zstd"),
                ],
            ),
            (
                "urllib",
                vec![
                    ("accept-encoding", "identity"),
                    agent(user_agent),
                    ("connection", "close"),
                ],
            ),
            ("go", vec![agent(user_agent), ("accept-encoding", "gzip")]),
            (
                "node's fetch",
                vec![
                    ("connection", "keep-alive"),
                    agent(user_agent),
                    any,
                    ("accept-language", "*"),
                    ("sec-fetch-mode", "cors"),
                    ("accept-encoding", "gzip, deflate"),
                ],
            ),
            (
                "axios",
                vec![
                    ("accept", "application/json, text/plain, */*"),
                    agent(user_agent),
                    ("accept-encoding", "gzip, compress, deflate, br"),
                    ("connection", "close"),
                ],
            ),
            ("reqwest", vec![agent(user_agent), any]),
            (
                "libwww-perl",
                vec![
                    ("te", "deflate,gzip;q=0.3"),
                    ("connection", "TE, close"),
                    agent(user_agent),
                ],
            ),
        ] {
            for transport in [DIRECT, TLS] {
                let found = BrowserCheck::new().judge(&request("GET", "/", &lines), transport);
                assert!(found.is_suspect(), "{tool} as {user_agent}: {found}");
                let weights = found.iter().map(Reason::weight);
                assert!(weights.count() > 1, "{tool}: only one reason");
            }
        }
    }
}

#[test]
fn contradictions_are_sufficient_on_their_own() {
    let page = secure_chrome(CHROME_PAGE, "navigate", "document", true);
    let brand = |text| with(&page, "sec-ch-ua", text);
    let impossible = CHROME.replace("Safari/537.36", "Safari/537.3");
    for (lines, expected) in [
        (brand(r#""Chromium";v="131""#), "client-hints-differ"),
        (
            brand(r#""HeadlessChrome";v="156", "Chromium";v="156""#),
            "client-hints-headless",
        ),
        (with(&page, "user-agent", &impossible), "version-impossible"),
    ] {
        assert_eq!(told(&lines, TLS), expected);
        assert_eq!(told(&lines, Transport::default()), expected);
    }
    let old = FIREFOX.replace("153", "45");
    let mut lines = with(&firefox(FIREFOX_PAGE, &[]), "user-agent", &old);
    lines.push(("sec-fetch-mode", "navigate"));
    assert_eq!(told(&lines, DIRECT), "version-outdated,header-too-new");
}

#[test]
fn safari_is_checked_by_headers_common_to_all_browsers() {
    let lines = [
        ("host", "site.example"),
        ("accept", FIREFOX_PAGE),
        ("sec-fetch-site", "none"),
        ("accept-encoding", "gzip, deflate, br"),
        ("sec-fetch-mode", "navigate"),
        ("user-agent", SAFARI),
        ("accept-language", "en-GB,en;q=0.9"),
        ("sec-fetch-dest", "document"),
        ("connection", "keep-alive"),
    ];
    assert_eq!(told(&lines, TLS), "");
    let curl = [("user-agent", SAFARI), ("accept", "*/*")];
    assert_eq!(
        told(&curl, TLS),
        "fetch-metadata-missing,accept-language-missing,accept-encoding-missing,connection-foreign,request-bare"
    );
}

#[test]
fn header_removed_by_a_front_is_not_expected() {
    let coherence = BrowserCheck::new();
    let behind = Transport {
        is_https: true,
        is_direct: false,
        front: Some([192, 0, 2, 1].into()),
        sender: None,
    };
    let page = secure_chrome(CHROME_PAGE, "navigate", "document", true);
    let judged = |lines: &[Line<'_>]| {
        let found = coherence.judge(&request("GET", "/", lines), behind);
        found.to_string()
    };
    let bare = [("user-agent", CHROME), ("accept", "*/*")];
    assert_eq!(judged(&bare), "", "the forwarded headers are not known yet");
    let stripped = without(&page, &["sec-ch-ua", "accept-encoding"]);
    assert_eq!(judged(&stripped), "");
    assert_eq!(
        judged(&bare),
        "fetch-metadata-missing,accept-language-missing",
        "header forwarded once is expected"
    );
}

#[test]
fn connection_is_checked_until_a_request_has_no_reasons() {
    let coherence = BrowserCheck::new();
    let judged = |lines: &[Line<'_>], sender: &str| {
        let sender = sender.parse().ok();
        let transport = Transport { sender, ..DIRECT };
        let found = coherence.judge(&request("GET", "/", lines), transport);
        found.is_suspect()
    };
    let (page, bare) = (chrome(CHROME_PAGE, &[]), [("user-agent", CHROME)]);
    assert!(judged(&bare, "192.0.2.1:5"));
    assert!(judged(&bare, "192.0.2.1:5"), "reasons are found again");
    assert!(!judged(&page, "192.0.2.1:5"));
    assert!(!judged(&bare, "192.0.2.1:5"), "the sender is known");
    assert!(judged(&bare, "192.0.2.1:6"), "new connection");
    assert!(
        judged(&[("user-agent", FIREFOX)], "192.0.2.1:5"),
        "different program"
    );
    // Behind a proxy the client's connection is unknown.
    assert!(!judged(&page, "192.0.2.1:0"));
    assert!(judged(&bare, "192.0.2.1:0"));
    let explained = coherence.explain(&request("GET", "/", &bare), DIRECT);
    assert!(explained.reasons.is_suspect());
}

#[test]
fn findings_contain_escaped_headers() {
    let lines = [
        ("user-agent", CHROME),
        ("accept", "*/*"),
        ("accept-language", "*\t\"x\""),
    ];
    let found = BrowserCheck::new().explain(&request("GET", "/", &lines), DIRECT);
    assert_eq!(
        found.browser.as_deref(),
        Some("chromium 156 (latest known version: 156, 2026-11-26)")
    );
    let seen: Vec<_> = found
        .seen
        .iter()
        .map(|(reason, text)| format!("{reason}: {text}"))
        .collect();
    assert!(
        seen.contains(&"accept-encoding-missing: no accept-encoding".to_owned()),
        "{seen:?}"
    );
    let escaped = r#"accept-language-foreign: accept-language: "*\t\"x\"""#;
    assert!(seen.contains(&escaped.to_owned()), "{seen:?}");
    let nobody = BrowserCheck::new().explain(&request("GET", "/", &[]), DIRECT);
    assert!(nobody.browser.is_none() && nobody.reasons.is_empty());
}

proptest! {
    #[test]
    fn arbitrary_headers_do_not_panic(
        user_agent in prop_oneof![
            Just(CHROME.as_bytes().to_vec()),
            Just(FIREFOX.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..80),
            "Mozilla/5\\.0 \\([^)]{0,20}\\) (Gecko/[0-9]{0,8} Firefox/|AppleWebKit/537\\.36 \\(KHTML, like Gecko\\) Chrome/)[0-9.]{0,9}.{0,20}"
                .prop_map(String::into_bytes),
        ],
        lines in prop::collection::vec(
            (
                prop::sample::select(vec![
                    "accept", "accept-language", "accept-encoding", "connection", "sec-ch-ua",
                    "sec-fetch-mode", "sec-fetch-site", "sec-fetch-dest", "range", "via", "x-other",
                ]),
                prop::collection::vec(any::<u8>(), 0..40),
            ),
            0..40,
        ),
        is_https: bool,
        is_direct: bool,
    ) {
        let mut request = Request::new(());
        if let Ok(value) = HeaderValue::from_bytes(&user_agent) {
            request.headers_mut().insert(USER_AGENT, value);
        }
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                request.headers_mut().append(name, value);
            }
        }
        let transport = Transport { is_https, is_direct, front: None, sender: None };
        let coherence = BrowserCheck::new();
        let found = coherence.explain(&request, transport);
        prop_assert_eq!(found.reasons, coherence.judge(&request, transport));
        prop_assert_eq!(found.seen.len(), found.reasons.iter().count());
    }
}

#[test]
fn programs_are_distinguished_by_all_known_properties() {
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    let keys = [
        sender_key(at("192.0.2.1:0"), AgentKey::parse(b"Chrome/152"), || {
            5 << 32
        }),
        sender_key(at("192.0.2.1:0"), AgentKey::parse(b"Chrome/152"), || {
            6 << 32
        }),
        sender_key(at("192.0.2.1:0"), AgentKey::parse(b"Chrome/151"), || {
            5 << 32
        }),
        sender_key(at("192.0.2.1:5"), AgentKey::parse(b"Chrome/152"), || {
            5 << 32
        }),
        sender_key(at("192.0.2.1:6"), AgentKey::parse(b"Chrome/152"), || {
            5 << 32
        }),
        sender_key(at("192.0.2.2:5"), AgentKey::parse(b"Chrome/152"), || {
            5 << 32
        }),
        sender_key(
            at("[2001:db8::1]:5"),
            AgentKey::parse(b"Chrome/152"),
            || 5 << 32,
        ),
        sender_key(
            at("[2001:db8:0:1::]:5"),
            AgentKey::parse(b"Chrome/152"),
            || 5 << 32,
        ),
    ];
    let apart: BTreeSet<_> = keys.into_iter().collect();
    assert_eq!(apart.len(), keys.len());
    let again = sender_key(at("192.0.2.1:5"), AgentKey::parse(b"Chrome/152"), || {
        7 << 32
    });
    assert_eq!(again, keys[3], "same connection, same program");
}
