//! Checks whether robots are redirected to heaven, by sending a robot's request to a running
//! server.

use std::{net::SocketAddr, time::Duration};

use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::{Value, json};
use tokio::time::sleep;
use url::{Position, Url};

use crate::assembly::{logs_in, plain_addresses};
use crate::cli::{
    explain::{Explainer, GOOGLEBOT, example_page, obstacle},
    health, output,
};
use crate::config::Loaded;
use crate::fetch::{DirectClient, DirectSettings};
use crate::operations::decisions::DecisionView;
use crate::policy::{Action, Policy};
use crate::store::Store;

/// The timeout for one response from a server.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum size of a heaven page, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The maximum number of requests to a server that may not have loaded the new pages yet, and the
/// pause between two requests.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// The result of a robot's request for one page.
#[derive(Debug)]
pub(super) struct Proof {
    /// The URL and title of the requested page.
    page: Option<(Url, String)>,
    /// The target to which the robot is redirected.
    location: Option<String>,
    /// The address of the queried server; `None` if no server responds.
    server: Option<SocketAddr>,
    /// Whether any listener has an address that can be queried.
    can_ask: bool,
    /// Whether the robot can read the page directly and is therefore not redirected.
    reads_itself: bool,
    /// The reason why the robot is not redirected to heaven; `None` if it is redirected.
    failure: Option<String>,
}

/// A response from the queried server.
struct ServerAnswer {
    server: SocketAddr,
    status: u16,
    location: Option<String>,
}

impl Proof {
    /// Returns `true` if the robot is redirected, will be redirected once a server is running, or
    /// needs no redirect.
    pub(super) fn is_good(&self) -> bool {
        self.failure.is_none()
    }

    pub(super) fn print(&self) -> std::io::Result<()> {
        let page = self.page.as_ref();
        let at = page.map_or_else(String::new, |(url, _)| format!(" at {url}"));
        if let Some(failure) = &self.failure {
            let text = format!("error: Googlebot{at} is not redirected to robot heaven: {failure}");
            output::note(&output::clean(&text));
            return Ok(());
        }
        if self.reads_itself {
            let text = format!(
                "Googlebot{at} reads the page directly, because no filter_pattern matches the page; robot heaven also contains a \
                 page for it"
            );
            return output::line(&output::clean(&text));
        }
        let title = page.map_or("", |(_, title)| title);
        let to = self.location.as_deref().unwrap_or_default();
        let (is_led, next) = match self.server {
            Some(_) => ("is", ""),
            None if self.can_ask => (
                "will be",
                "\nno server is running: start the server with `robot-detection serve`",
            ),
            None => (
                "will be",
                "\nno server was queried, because no listener without TLS has an IP address",
            ),
        };
        let text = format!("Googlebot{at} {is_led} redirected to {to}: «{title}»");
        output::line(&format!("{}{next}", output::clean(&text)))
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "is_led": self.is_good() && !self.reads_itself,
            "url": self.page.as_ref().map(|(url, _)| url.as_str()),
            "title": self.page.as_ref().map(|(_, title)| title),
            "location": self.location,
            "server": self.server,
            "failure": self.failure,
        })
    }
}

/// Checks the redirect of a robot that requests a page of a site.
pub(super) async fn prove(
    (loaded, store): (&Loaded, &Store),
    (site, of_site): (&str, &Loaded),
    policy: &Policy,
) -> anyhow::Result<Proof> {
    let mut proof = Proof {
        page: None,
        location: None,
        server: None,
        can_ask: addresses(loaded).next().is_some(),
        reads_itself: false,
        failure: None,
    };
    let Some((url, title)) = example_page(store, site, policy).await? else {
        proof.failure = Some("no page of the site has been described".to_owned());
        return Ok(proof);
    };
    let expected = Explainer::for_user_agents(loaded)
        .await?
        .robot_answer(&url, GOOGLEBOT)
        .await?;
    let heaven = &of_site.settings().heaven.path;
    let is_open = !policy.is_filtered(url.path()) && !logs_in(of_site, of_site.settings());
    proof.reads_itself = is_open && expected.action == Action::Pass;
    if !proof.reads_itself {
        proof.failure = obstacle(&expected, heaven);
    }
    if !proof.reads_itself && proof.failure.is_none() {
        let asker = PageClient::new(loaded, &url, &expected)?;
        if let Some(answer) = asker.ask().await {
            proof.server = Some(answer.server);
            proof.failure = asker.judge(&answer).await;
        }
    }
    proof.location = expected.location;
    proof.page = Some((url, title));
    Ok(proof)
}

/// A client that requests one page from the servers on this machine.
struct PageClient<'a> {
    client: DirectClient,
    loaded: &'a Loaded,
    url: &'a Url,
    expected: &'a DecisionView,
}

impl<'a> PageClient<'a> {
    fn new(loaded: &'a Loaded, url: &'a Url, expected: &'a DecisionView) -> anyhow::Result<Self> {
        let client = DirectClient::new(DirectSettings {
            user_agent: Some(HeaderValue::from_static(GOOGLEBOT)),
            connect_timeout: TIMEOUT,
            timeout: TIMEOUT,
            max_body_bytes: MAX_BYTES,
            ..DirectSettings::default()
        })?;
        Ok(Self {
            client,
            loaded,
            url,
            expected,
        })
    }

    /// Repeats the request until the response is as expected; returns `None` if no server responds.
    async fn ask(&self) -> Option<ServerAnswer> {
        let mut last = None;
        for _ in 0..TRIES {
            last = self.ask_once().await;
            // A running server loads new pages after a short delay.
            match &last {
                Some(answer) if !self.is_expected(answer) => sleep(PAUSE).await,
                _ => break,
            }
        }
        last
    }

    async fn ask_once(&self) -> Option<ServerAnswer> {
        for server in addresses(self.loaded) {
            if let Some(answer) = self.ask_at(server, self.url).await {
                return Some(answer);
            }
        }
        None
    }

    async fn ask_at(&self, server: SocketAddr, url: &Url) -> Option<ServerAnswer> {
        let target = &url[Position::BeforePath..Position::AfterQuery];
        let host = &url[Position::BeforeHost..Position::AfterPort];
        let address = Url::parse(&format!("http://{server}{target}")).ok()?;
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_str(host).ok()?)]);
        let answer = self
            .client
            .send(Method::GET, &address, headers)
            .await
            .ok()?;
        let location = answer.headers.get(header::LOCATION);
        Some(ServerAnswer {
            server,
            status: answer.status,
            location: location.and_then(|to| to.to_str().ok()).map(str::to_owned),
        })
    }

    fn is_expected(&self, answer: &ServerAnswer) -> bool {
        if self.expected.action == Action::Serve {
            return answer.status == 200;
        }
        answer.location.is_some() && answer.location == self.expected.location
    }

    /// Returns the reason why a server's response is incorrect; `None` if the response is correct.
    async fn judge(&self, answer: &ServerAnswer) -> Option<String> {
        let (server, status) = (answer.server, answer.status);
        if !self.is_expected(answer) {
            return Some(if health::is_ready(self.loaded).await {
                format!(
                    "the server at {server} returned status {status}, because the server has not loaded this configuration: reload \
                     the server with `systemctl reload robot-detection` or kill -HUP, and run the command again"
                )
            } else {
                format!(
                    "the program that returned status {status} at {server} is not robot-detection with this configuration: use \
                     --listen ADDRESS, as in `serve`"
                )
            });
        }
        let to = self.url.join(answer.location.as_deref()?).ok()?;
        match self.ask_at(server, &to).await {
            Some(page) if page.status == 200 => None,
            Some(page) => Some(format!("{to} returned status {}", page.status)),
            None => Some(format!("{to} does not respond")),
        }
    }
}

/// Returns the local addresses of the server's public listeners without TLS.
fn addresses(loaded: &Loaded) -> impl Iterator<Item = SocketAddr> {
    plain_addresses(loaded).filter_map(health::address)
}
