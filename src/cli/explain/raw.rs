//! A request as it was sent, to be explained.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use anyhow::Context as _;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::cli::usage::WrongUsage;

use super::report::ExplainedRequest;

/// Most bytes of a head that are read, and most headers.
const MAX_BYTES: u64 = 1 << 20;
const MAX_HEADERS: usize = 1_000;

/// Reads the head of a request of HTTP/1.1; `-` is standard input.
pub(super) fn read(file: &Path) -> anyhow::Result<ExplainedRequest> {
    let name = || format!("cannot read {}", file.display());
    let mut input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).with_context(name)?)
    };
    let mut bytes = Vec::new();
    input
        .by_ref()
        .take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .with_context(name)?;
    parse(bytes).map_err(|reason| {
        let text = format!(
            "{} is no request such as \"GET /a HTTP/1.1\" and its headers: {reason}",
            file.display()
        );
        WrongUsage(text).into()
    })
}

fn parse(mut bytes: Vec<u8>) -> Result<ExplainedRequest, String> {
    // Who copies a head leaves the empty line at its end.
    bytes.extend_from_slice(b"\r\n\r\n");
    let mut lines = vec![httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut lines);
    request.parse(&bytes).map_err(|error| error.to_string())?;
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err("it has no first line".to_owned());
    };
    let mut headers = HeaderMap::new();
    for line in request.headers {
        let name = HeaderName::from_bytes(line.name.as_bytes());
        let value = HeaderValue::from_bytes(line.value);
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let uri: http::Uri = target
        .parse()
        .map_err(|_| format!("{target:?} is no target"))?;
    let told = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    // The target counts before Host (RFC 9112 §3.2.2).
    let host = uri.authority().map(http::uri::Authority::as_str).or(told);
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let user_agent = headers.get(header::USER_AGENT).map(HeaderValue::as_bytes);
    Ok(ExplainedRequest {
        line: None,
        method: method.to_owned(),
        host: host.map(str::to_owned),
        target: target.to_owned(),
        user_agent: user_agent.unwrap_or_default().to_vec(),
        headers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ExplainedRequest {
        parse(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_head_is_read_with_and_without_its_end() {
        for text in [
            "POST /a?b HTTP/1.1\r\nHost: a.example:81\r\nUser-Agent: x/1\r\nAccept: */*\r\n\r\nbody",
            "POST /a?b HTTP/1.1\nHost: a.example:81\nUser-Agent: x/1\nAccept: */*",
            "POST http://a.example:81/a?b HTTP/1.1\nHost: b.example\nUser-Agent: x/1\nAccept: */*\n",
        ] {
            let request = read(text);
            assert_eq!(request.method, "POST", "{text}");
            assert_eq!(request.target, "/a?b", "{text}");
            assert_eq!(request.host.as_deref(), Some("a.example:81"), "{text}");
            assert_eq!(request.user_agent, b"x/1", "{text}");
            assert_eq!(request.headers["accept"], "*/*", "{text}");
        }
        assert!(read("GET / HTTP/1.0").user_agent.is_empty());
    }

    #[test]
    fn what_is_no_request_is_told() {
        for text in ["", "hello", "GET", "GET / HTTP/9", "GET / HTTP/1.1\na b: c"] {
            assert!(parse(text.as_bytes().to_vec()).is_err(), "{text}");
        }
    }
}
