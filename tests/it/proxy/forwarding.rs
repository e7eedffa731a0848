//! Headers that the upstream gets, and headers that it does not.

use robot_detection::listen::{ListenSettings, TrustedProxies};

use crate::support::{
    front::{ProxyServer, listen_settings, proxy, proxy_settings, proxy_with},
    raw::{RawClient, RawServer, exchange, header, status},
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Sends a request with these header lines; returns the request as the upstream received it.
async fn forwarded(front: &ProxyServer, upstream: &RawServer, lines: &str) -> String {
    let request = format!("GET / HTTP/1.1\r\nHost: site.example\r\n{lines}\r\n");
    let response = exchange(front.addr, request).await;
    assert_eq!(status(&response), 200, "{response}");
    upstream.last_request()
}

#[tokio::test]
async fn the_upstream_gets_a_normalised_head() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let lines = "User-Agent: test/1.0\r\nAccept: */*\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
                 Keep-Alive: timeout=9\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n\
                 Proxy: http://evil.example\r\nTE: trailers, deflate\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\
                 Expect: 100-continue\r\nCookie: a=b\r\n";
    let received = forwarded(&front, &upstream, lines).await;
    let mut lines: Vec<_> = received.trim_end().split("\r\n").collect();
    assert_eq!(lines.remove(0), "GET / HTTP/1.1");
    lines.sort_unstable();
    let via = lines.remove(7);
    assert!(via.starts_with("via: 1.1 robot-detection ("), "{via}");
    assert_eq!(
        lines,
        [
            "accept: */*",
            "connection: te",
            "cookie: a=b",
            "forwarded: for=127.0.0.1;proto=http;host=site.example",
            "host: site.example",
            "te: trailers",
            "user-agent: test/1.0",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: site.example",
            "x-forwarded-proto: http",
        ]
    );
}

#[tokio::test]
async fn path_and_query_are_forwarded_byte_for_byte() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let mut client = RawClient::connect(front.addr).await;
    for target in [
        "/",
        "/?",
        "//double//slash",
        "/a/../b/./c",
        "/%2e%2e/%2F%2f%00%zz",
        "/p;matrix=1;x?q=1;r=2&&=&a=%20+",
        "/q?next=http://other.example/?a=b",
        "/quote'(\"){}|[]^\\",
        "/caf\u{e9}",
        "/?%E2%82%AC=%e2%82%ac",
    ] {
        client
            .send(format!(
                "GET {target} HTTP/1.1\r\nHost: site.example\r\n\r\n"
            ))
            .await;
        let response = client.response().await;
        assert_eq!(status(&response), 200, "{target}: {response}");
        let received = upstream.last_request();
        let line = received.lines().next().unwrap();
        // Except bytes that are not allowed in a target.
        let target = target.replace('\u{e9}', "%C3%A9");
        assert_eq!(line, format!("GET {target} HTTP/1.1"));
    }
}

#[tokio::test]
async fn an_absolute_target_determines_the_host() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let request = "GET http://other.example/a?b HTTP/1.1\r\nHost: site.example\r\n\r\n";
    assert_eq!(status(&exchange(front.addr, request).await), 200);
    let received = upstream.last_request();
    assert!(received.starts_with("GET /a?b HTTP/1.1\r\n"), "{received}");
    assert_eq!(header(&received, "host"), ["other.example"]);
}

#[tokio::test]
async fn the_upstreams_own_host_is_sent_if_configured() {
    let upstream = RawServer::answering(OK).await;
    let mut settings = proxy_settings(upstream.addr);
    settings.preserve_host = false;
    settings.servers[0].push_str("/app/");
    let front = ProxyServer::serve_proxy(listen_settings(), proxy_with(settings)).await;
    let received = forwarded(&front, &upstream, "").await;
    assert!(received.starts_with("GET /app/ HTTP/1.1\r\n"), "{received}");
    assert_eq!(header(&received, "host"), [upstream.addr.to_string()]);
    assert_eq!(header(&received, "x-forwarded-host"), ["site.example"]);
}

#[tokio::test]
async fn forged_forwarding_headers_are_never_trusted() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let forged = [
        "X-Forwarded-For",
        "x_forwarded_for",
        "X.Forwarded.For",
        "X-Forwarded_For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X_Forwarded_Prefix",
        "X-Forwarded",
        "Forwarded",
        "X-Real-IP",
        "X_Real_IP",
    ];
    for name in forged {
        let lines = format!("{name}: 203.0.113.9\r\n{name}: 203.0.113.10\r\n");
        let received = forwarded(&front, &upstream, &lines).await;
        assert!(!received.contains("203.0.113"), "{name}: {received}");
        assert_eq!(header(&received, "x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(header(&received, "x-forwarded-proto"), ["http"]);
    }
}

#[tokio::test]
async fn our_headers_cannot_be_removed_by_naming_them_in_connection() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let lines = "Connection: Host, Via\r\nX-Forwarded-For: 203.0.113.9\r\n";
    let received = forwarded(&front, &upstream, lines).await;
    assert_eq!(header(&received, "x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(header(&received, "host"), ["site.example"]);
    assert_eq!(header(&received, "forwarded").len(), 1);

    let kept = http::HeaderName::from_static("x-ours");
    let front =
        ProxyServer::serve_proxy(listen_settings(), proxy(upstream.addr).keep_header(kept)).await;
    let received = forwarded(
        &front,
        &upstream,
        "Connection: x-ours, x-theirs\r\nX-Ours: 1\r\nX-Theirs: 1\r\n",
    )
    .await;
    assert_eq!(header(&received, "x-ours"), ["1"]);
    assert!(header(&received, "x-theirs").is_empty());
}

#[tokio::test]
async fn a_trusted_proxys_chain_is_kept_and_extended() {
    let upstream = RawServer::answering(OK).await;
    let settings = ListenSettings {
        trusted_proxies: TrustedProxies::parse(["127.0.0.0/8"]).unwrap(),
        ..listen_settings()
    };
    let front = ProxyServer::serve_proxy(settings, proxy(upstream.addr)).await;
    let lines = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: https\r\n\
                 X_Forwarded_For: 192.0.2.66\r\n";
    let received = forwarded(&front, &upstream, lines).await;
    assert_eq!(
        header(&received, "x-forwarded-for"),
        ["203.0.113.9, 198.51.100.7, 127.0.0.1"]
    );
    assert_eq!(header(&received, "x-forwarded-proto"), ["https"]);
    assert!(header(&received, "x_forwarded_for").is_empty());
}

#[tokio::test]
async fn hop_by_hop_headers_of_responses_are_removed() {
    let upstream = RawServer::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
         Upgrade: h2c\r\nProxy-Connection: x\r\nServer: origin/1.0\r\nX-End: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nok",
    )
    .await;
    let front = ProxyServer::proxy(upstream.addr).await;
    let response = exchange(front.addr, "GET / HTTP/1.1\r\nHost: site.example\r\n\r\n").await;
    for name in [
        "connection",
        "x-hop",
        "keep-alive",
        "upgrade",
        "proxy-connection",
    ] {
        assert!(header(&response, name).is_empty(), "{name}: {response}");
    }
    assert_eq!(header(&response, "server"), ["origin/1.0"]);
    assert_eq!(header(&response, "set-cookie"), ["a=1", "b=2"]);
}

#[tokio::test]
async fn requests_that_violate_http_do_not_reach_the_upstream() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    for (request, expected) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: user@site.example\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\"b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: \r\n\r\n", 400),
        (
            "GET http://user@site.example/ HTTP/1.1\r\nHost: site.example\r\n\r\n",
            400,
        ),
        (
            "GET site.example HTTP/1.1\r\nHost: site.example\r\n\r\n",
            400,
        ),
        (
            "GET site.example:80 HTTP/1.1\r\nHost: site.example:80\r\n\r\n",
            400,
        ),
        ("GET * HTTP/1.1\r\nHost: site.example\r\n\r\n", 400),
        (
            "CONNECT site.example:443 HTTP/1.1\r\nHost: site.example:443\r\n\r\n",
            501,
        ),
        ("TRACE / HTTP/1.1\r\nHost: site.example\r\n\r\n", 501),
        (
            "POST / HTTP/1.1\r\nHost: site.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            501,
        ),
        (
            "POST / HTTP/1.1\r\nHost: site.example\r\nTransfer-Encoding: gzip\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: site.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            400,
        ),
        (
            "POST / HTTP/1.1\r\nHost: site.example\r\nContent-Length: +1\r\n\r\na",
            400,
        ),
        (
            "GET / HTTP/1.1\r\nHost: site.example\r\nBad Name: x\r\n\r\n",
            400,
        ),
    ] {
        let response = exchange(front.addr, request).await;
        assert_eq!(status(&response), expected, "{request:?}: {response}");
    }
    assert_eq!(upstream.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn http_1_0_needs_no_host() {
    let upstream = RawServer::answering(OK).await;
    let front = ProxyServer::proxy(upstream.addr).await;
    assert_eq!(
        status(&exchange(front.addr, "GET / HTTP/1.0\r\n\r\n").await),
        200
    );
    let received = upstream.last_request();
    assert_eq!(header(&received, "host"), [upstream.addr.to_string()]);
    assert!(
        header(&received, "via")[0].starts_with("1.0 "),
        "{received}"
    );
}

#[tokio::test]
async fn a_proxy_in_front_of_itself_detects_the_loop() {
    let listener = robot_detection::listen::Listener::bind(listen_settings())
        .await
        .unwrap();
    let service = proxy(listener.local_addr());
    let front = ProxyServer::with(listener, service);
    let response = exchange(front.addr, "GET / HTTP/1.1\r\nHost: site.example\r\n\r\n").await;
    assert_eq!(status(&response), 508, "{response}");
}
