//! Explains one request, or each line of a log.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::{explainer::Explainer, logs, report::ExplainedRequest};
use crate::cli::Cli;
use crate::cli::args::ExplainArgs;
use crate::cli::output::WrongUsage;

pub(in crate::cli) async fn run(cli: &Cli, args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    if let Some(line) = &args.log_line {
        let explainer = Explainer::new(cli, args).await?;
        return logs::explain_line(&explainer, args, line).await;
    }
    if let Some(file) = &args.from_log {
        let explainer = Explainer::new(cli, args).await?;
        return logs::explain_file(&explainer, args, file).await;
    }
    if let Some(file) = &args.request {
        let mut request = read(file)?;
        request.headers.extend(headers(&args.headers)?);
        let explainer = Explainer::new(cli, args).await?;
        explainer.explain(&request, args.json).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(path), Some(user_agent)) = (&args.path, &args.user_agent) else {
        let usage =
            "specify a request: --path and --user-agent, --request, --log-line, or --from-log";
        anyhow::bail!(WrongUsage(usage.to_owned()));
    };
    if !path.starts_with('/') {
        anyhow::bail!(WrongUsage(format!(
            "--path {path:?} does not start with /; specify the path as in the request line"
        )));
    }
    let request = ExplainedRequest {
        line: None,
        method: args.method.clone(),
        host: args.host.clone(),
        // Browsers do not send the fragment of a URL (RFC 9110 §7.1).
        target: path.split('#').next().unwrap_or_default().to_owned(),
        user_agent: user_agent.clone().into_bytes(),
        headers: headers(&args.headers)?,
    };
    let explainer = Explainer::new(cli, args).await?;
    explainer.explain(&request, args.json).await?;
    Ok(ExitCode::SUCCESS)
}

/// Parses request headers given as `NAME: VALUE`.
fn headers(lines: &[String]) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let read = line.split_once(':').and_then(|(name, value)| {
            let name = name.trim().parse::<HeaderName>().ok()?;
            Some((name, HeaderValue::from_str(value.trim()).ok()?))
        });
        let Some((name, value)) = read else {
            anyhow::bail!(WrongUsage(format!(
                "--header {line:?} is not a header; specify it as in the request, such as 'Signature-Agent: \"https://agent.example\"'"
            )));
        };
        headers.append(name, value);
    }
    Ok(headers)
}

/// The maximum size of a request head in bytes, and maximum number of headers.
const MAX_BYTES: u64 = 1 << 20;
const MAX_HEADERS: usize = 1_000;

/// Reads the head of an HTTP/1.1 request; `-` reads standard input.
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
            "{} does not contain a request such as \"GET /a HTTP/1.1\" followed by headers: {reason}",
            file.display()
        );
        WrongUsage(text).into()
    })
}

fn parse(mut bytes: Vec<u8>) -> Result<ExplainedRequest, String> {
    // A copied request head may not end with an empty line.
    bytes.extend_from_slice(b"\r\n\r\n");
    let mut lines = vec![httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut lines);
    request.parse(&bytes).map_err(|error| error.to_string())?;
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err("the request line is missing".to_owned());
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
        .map_err(|_| format!("{target:?} is not a valid request target"))?;
    let told = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    // The host in the request target takes precedence over Host (RFC 9112 §3.2.2).
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
    fn request_head_is_read_with_and_without_final_empty_line() {
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
    fn input_without_a_request_is_an_error() {
        for text in ["", "hello", "GET", "GET / HTTP/9", "GET / HTTP/1.1\na b: c"] {
            assert!(parse(text.as_bytes().to_vec()).is_err(), "{text}");
        }
    }
}
