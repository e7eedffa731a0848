//! Requests over TLS get the same responses as without TLS.

use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::support::{
    front::{ProxyServer, listen_settings},
    raw::soon,
};

use super::{
    program::{Program, addr, configured},
    tls::{connect, write},
};

const LAST: &str = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const ROBOT: &str = "GET /members-only-stuff/ HTTP/1.1\r\nHost: a\r\n\
                     User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1)\r\n\r\n";
/// Excluded from the fast path by its body.
const CHUNKED: &str = "POST /odd HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                       3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";

fn ask(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// Responds with a description of the request.
async fn echo(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    let told = format!("<{} {} {body}>", parts.method, parts.uri.path());
    Ok(Response::new(told))
}

/// Sends text in pieces of the given size, each as a TLS record; returns the response.
async fn said(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    text: &str,
    piece: usize,
) -> Vec<String> {
    for piece in text.as_bytes().chunks(piece) {
        stream.write_all(piece).await.unwrap();
        stream.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answers = String::new();
    // A connection that closes without a TLS alert is an error.
    let read = soon(stream.read_to_string(&mut answers)).await;
    assert!(read.is_ok(), "{read:?} after {answers}");
    let lines = answers.split("\r\n").map(str::to_owned);
    lines.filter(|line| !line.starts_with("date: ")).collect()
}

/// Returns the statuses of responses, and the upstream's descriptions.
fn told(said: &[String]) -> String {
    let mut told = Vec::new();
    for line in said {
        // The next response follows a body directly.
        let (body, line) = line.split_at(line.find('>').map_or(0, |end| end + 1));
        told.extend(Some(body).filter(|body| !body.is_empty()));
        let status = line.strip_prefix("HTTP/1.1 ");
        told.extend(status.and_then(|status| status.get(..3)));
    }
    told.join(" ")
}

async fn tcp(url: &str) -> TcpStream {
    let stream = TcpStream::connect(addr(url)).await.unwrap();
    // Each piece is sent separately.
    stream.set_nodelay(true).unwrap();
    stream
}

#[tokio::test]
async fn requests_over_tls_get_the_same_responses_as_without() {
    let upstream = ProxyServer::serve(listen_settings(), tower::service_fn(echo)).await;
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let mut command = configured(
        directory.path(),
        &format!(
            "[server]\nlisten = '127.0.0.1:0'\nupstream = 'http://{}'\n\
             [[listener]]\nlisten = '127.0.0.1:0'\ntls = true\n\
             [[certificate]]\ncertificate_file = 'site.pem'\nkey_file = 'site.key'\n",
            upstream.addr
        ),
    );
    let (_program, urls) = Program::start(&mut command, 2);
    let [plain, https] = &urls[..] else {
        panic!("{urls:?}")
    };
    let (one, two, head) = (ask("GET", "/1"), ask("GET", "/2"), ask("HEAD", "/3"));
    for (text, expected) in [
        (LAST.to_owned(), "200 <GET /last >"),
        (
            format!("{one}{two}{ROBOT}{head}{LAST}"),
            "200 <GET /1 > 200 <GET /2 > 302 200 200 <GET /last >",
        ),
        (
            format!("{one}{CHUNKED}{two}{LAST}"),
            "200 <GET /1 > 200 <POST /odd abcde> 200 <GET /2 > 200 <GET /last >",
        ),
    ] {
        for piece in [1, 7, usize::MAX] {
            let stream = tcp(https).await;
            let stream = connect(stream, &[&files], "site.example", &["http/1.1"]).await;
            let by_tls = said(stream.unwrap(), &text, piece).await;
            assert_eq!(told(&by_tls), expected, "{by_tls:#?}");
            assert_eq!(by_tls, said(tcp(plain).await, &text, piece).await, "{text}");
        }
    }
}
