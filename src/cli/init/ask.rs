//! Asks questions on standard output, and reads the answers from standard input.

use std::io::{self, BufRead as _, Read as _};
use std::time::Duration;

use http::{HeaderMap, Method};
use url::Url;

use super::{
    super::{
        input::MAX_WRONG,
        output::{self, WrongUsage},
    },
    answers::{Answers, Question},
};
use crate::fetch::{DirectClient, DirectSettings};

/// The maximum length of a typed answer, in bytes.
const MAX_BYTES: u64 = 8 * 1024;

/// Asks all questions; skips the question about readers of robot heaven if a flag answers it.
///
/// # Errors
///
/// Returns an error if standard input ends too early, or after too many invalid answers.
pub(super) fn ask(readers: Option<&str>) -> anyhow::Result<Answers> {
    let mut answers = Answers::default();
    output::line("Press Enter to accept the value in brackets.")?;
    for question in Question::ALL {
        if !answers.wants(question) {
            continue;
        }
        match readers {
            Some(readers) if question == Question::Readers => {
                answers.take(question, readers).map_err(WrongUsage)?;
            }
            _ => ask_one(question, &mut answers)?,
        }
    }
    Ok(answers)
}

fn ask_one(question: Question, answers: &mut Answers) -> anyhow::Result<()> {
    output::line(&format!("\n{}", question.text()))?;
    for _ in 0..MAX_WRONG {
        let default = answers.default_of(question);
        output::text(&format!("[{default}] "))?;
        let Some(line) = read_line()? else {
            if question == Question::Readers {
                let text = "heaven.open_to: the visitors that may read the pages are not set; use --open-to \
                            all, robots or verified";
                return Err(WrongUsage(text.to_owned()).into());
            }
            anyhow::bail!(
                "standard input ended before all questions were answered; nothing was written"
            );
        };
        let answer = match line.trim() {
            "" => default.as_str(),
            answer => answer,
        };
        match take(question, answer, answers)? {
            Ok(()) => return Ok(()),
            Err(wrong) => output::line(&output::clean(&wrong))?,
        }
    }
    anyhow::bail!("{MAX_WRONG} answers were invalid; nothing was written")
}

/// Sets an answer, unless it is invalid or specifies an upstream that does not respond.
fn take(question: Question, answer: &str, answers: &mut Answers) -> io::Result<Result<(), String>> {
    let mut tried = answers.clone();
    if let Err(wrong) = tried.take(question, answer) {
        return Ok(Err(wrong));
    }
    if question == Question::Upstream {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        match runtime.block_on(tried.upstream_failure()) {
            Ok(None) => {
                let found = runtime.block_on(path_setting(tried.upstream()));
                tried.path_setting = found.map(|(setting, _)| setting);
                if let Some((setting, word)) = found {
                    output::line(&format!(
                        "The upstream is {word}: server.{setting} is set to normalize paths in the same way."
                    ))?;
                }
            }
            Ok(Some(failure)) => {
                return Ok(Err(format!("the upstream does not respond: {failure}")));
            }
            Err(errors) => return Ok(Err(errors.to_string())),
        }
    }
    *answers = tried;
    Ok(Ok(()))
}

/// Reads a line; returns `None` at the end of standard input.
fn read_line() -> anyhow::Result<Option<String>> {
    let mut line = Vec::new();
    let stdin = io::stdin().lock();
    stdin.take(MAX_BYTES).read_until(b'\n', &mut line)?;
    let is_whole = line.pop() == Some(b'\n');
    Ok(is_whole.then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// The timeout for a response from the upstream.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of bytes to read from a page; only the headers are used.
const MAX_PAGE_BYTES: u64 = 1024;

/// A setting for a kind of server, the name of a header, and words in the header that identify this
/// kind.
const SIGNS: [(&str, &str, &str); 5] = [
    (
        "path_parameters",
        "server",
        "Apache-Coyote Tomcat Jetty WildFly Undertow GlassFish Payara WebLogic",
    ),
    ("path_parameters", "x-powered-by", "Servlet JSP Undertow"),
    ("path_parameters", "set-cookie", "JSESSIONID="),
    ("ignore_case", "server", "Microsoft-IIS Microsoft-HTTPAPI"),
    ("ignore_case", "x-powered-by", "ASP.NET"),
];

/// Returns the path setting for an upstream server, and the name of the server software.
pub(super) async fn path_setting(upstream: &str) -> Option<(&'static str, &'static str)> {
    let url = Url::parse(upstream).ok()?;
    let client = DirectClient::new(DirectSettings {
        timeout: TIMEOUT,
        ..DirectSettings::default()
    });
    let sent = client.ok()?;
    let sent = sent.send_beginning(Method::GET, &url, HeaderMap::new(), MAX_PAGE_BYTES);
    // A server that does not send an HTTP response is not recognised.
    let headers = sent.await.ok()?.headers;
    SIGNS.into_iter().find_map(|(setting, name, words)| {
        let lines = headers.get_all(name).iter();
        let mut lines = lines.filter_map(|line| line.to_str().ok());
        let word = lines.find_map(|line| words.split(' ').find(|word| line.contains(word)));
        Some((setting, word?))
    })
}
