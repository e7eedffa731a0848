//! Responses shown in the documents match those of a running server.

use std::{convert::Infallible, path::Path};

use http::StatusCode;
use robot_detection::cli;

use super::{
    page::{Page, page_of_book, readme},
    shell::commands,
};
use crate::support::program::{self, Answer, Server, request, succeed};

/// A curl request shown in a document, and lines of its response.
#[derive(Debug)]
pub(crate) struct DocumentedRequest {
    pub(crate) user_agent: String,
    pub(crate) path: String,
    answer: String,
}

impl DocumentedRequest {
    /// Returns the requests in README to a host and port.
    pub(crate) fn of_readme(host: &str, test: &str) -> Vec<Self> {
        Self::of(&readme(), host, test)
    }

    /// Returns the requests on a page that a test runs.
    fn of(page: &Page, host: &str, test: &str) -> Vec<Self> {
        let blocks = page.blocks();
        let mut shown = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            if block
                .note("run by: ")
                .is_none_or(|name| !name.ends_with(test))
            {
                continue;
            }
            let answer = blocks.get(at + 1).filter(|next| next.follows);
            let answer = answer.map_or("", |next| &next.text);
            let requests = commands(&block.text).into_iter();
            for words in requests.filter(|words| words[0] == "curl") {
                let [_, options, _, user_agent, url] = words.try_into().unwrap();
                assert_eq!(options, "-si");
                let path = url.strip_prefix(&format!("http://{host}"));
                shown.push(Self {
                    user_agent,
                    path: path.unwrap_or_else(|| panic!("{url}")).to_owned(),
                    answer: answer.to_owned(),
                });
            }
        }
        assert!(!shown.is_empty(), "{} has no request", page.name());
        shown
    }

    /// Panics unless the response has each line shown.
    pub(crate) fn compare(&self, answer: &Answer) {
        let status = StatusCode::from_u16(answer.status).unwrap();
        let mut lines = vec![format!("HTTP/1.1 {status}")];
        let headers = answer.headers.iter();
        lines.extend(headers.map(|(name, value)| format!("{name}: {value}")));
        lines.extend(answer.text().lines().map(str::to_owned));
        for line in self.answer.lines() {
            assert!(
                lines.iter().any(|said| said == line),
                "{line:?}: {lines:#?}"
            );
        }
    }
}

fn ask(server: &Server, shown: &DocumentedRequest) -> Answer {
    let user_agent = [("User-Agent", &*shown.user_agent)];
    request(server.addr, "GET", &shown.path, &user_agent)
}

#[test]
fn the_demonstration_responds_as_documented() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    let test = "the_demonstration_responds_as_documented";
    let page = page_of_book("quick-start.md");
    let shown = DocumentedRequest::of(&page, "127.0.0.1:8080", test);
    let statuses: Vec<_> = shown
        .iter()
        .map(|shown| {
            let answer = ask(&server, shown);
            shown.compare(&answer);
            answer.status
        })
        .collect();
    assert_eq!(statuses, [302, 200], "{}", page.name());
}

/// Returns the commands on a page that a test runs.
fn commands_of(page: &Page, test: &str) -> Vec<Vec<String>> {
    let blocks = page.blocks();
    let blocks = blocks.iter();
    blocks
        .filter(|block| {
            block
                .note("run by: ")
                .is_some_and(|name| name.ends_with(test))
        })
        .flat_map(|block| commands(&block.text))
        .filter(|words| words[0] == "robot-detection")
        .collect()
}

/// Runs the commands in one directory with our upstream; returns the server of the last command.
fn follow(directory: &Path, lines: Vec<Vec<String>>, upstream: &str) -> Server {
    let mut server = None;
    for words in lines {
        let matches = cli::command().get_matches_from(&words);
        match matches.subcommand_name() {
            Some("init") => drop(succeed(directory, &["init"])),
            Some("doctor") => {
                // Port 8080 may be in use, and there is no network.
                let arguments = ["doctor", "--offline", "--listen", "127.0.0.1:0"];
                let told = succeed(directory, &arguments);
                assert!(told.contains("ok    configuration:"), "{told}");
            }
            Some("serve") => {
                let mut command = program::command(directory);
                command.env("ROBOT_DETECTION_WEB_ROBOTS_DB", "");
                let arguments = ["serve", "--upstream", upstream];
                server = Some(Server::start_as(command, directory, &arguments));
            }
            other => panic!("{other:?}"),
        }
    }
    server.expect("the last command is `serve`")
}

#[tokio::test(flavor = "multi_thread")]
async fn init_doctor_and_serve_start_a_proxy() {
    let upstream = axum::Router::new().fallback(async || Ok::<_, Infallible>("the site itself"));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio_util::task::TaskTracker::new();
    let serving = serving.spawn(async move { axum::serve(listener, upstream).await });

    let test = "init_doctor_and_serve_start_a_proxy";
    let page = page_of_book("quick-start.md");
    let lines = commands_of(&page, test);
    assert_eq!(lines.len(), 3, "{}", page.name());
    let directory = tempfile::tempdir().unwrap();
    let server = follow(directory.path(), lines, &url);
    for shown in DocumentedRequest::of(&page, "127.0.0.1:8080", test) {
        shown.compare(&ask(&server, &shown));
        let person = server.get(&shown.path, program::FIREFOX);
        assert_eq!(person.text(), "the site itself");
    }
    serving.abort();
}
