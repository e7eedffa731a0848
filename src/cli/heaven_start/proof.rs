//! Whether robots are led to heaven: a running server is asked as a robot would ask it.

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

/// Longest time for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Largest page of heaven that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// How often a server is asked that has not seen the new pages yet, and how long it has in between.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// What a robot gets at one page.
#[derive(Debug)]
pub(super) struct Proof {
    /// Page that it asks for, with its title.
    page: Option<(Url, String)>,
    /// Where it is led.
    location: Option<String>,
    /// Server that was asked; `None`: none answers.
    server: Option<SocketAddr>,
    /// Whether any has an address at which it could be asked.
    can_ask: bool,
    /// Whether it is not led there, as it can read the page itself.
    reads_itself: bool,
    /// Why it is not led to heaven, if it is not.
    failure: Option<String>,
}

/// What a server has answered.
struct ServerAnswer {
    server: SocketAddr,
    status: u16,
    location: Option<String>,
}

impl Proof {
    /// Returns `true` if a robot is led to heaven, will be once a server runs, or need not be.
    pub(super) fn is_good(&self) -> bool {
        self.failure.is_none()
    }

    pub(super) fn print(&self) -> std::io::Result<()> {
        let page = self.page.as_ref();
        let at = page.map_or_else(String::new, |(url, _)| format!(" at {url}"));
        if let Some(failure) = &self.failure {
            let text = format!("error: Googlebot{at} is not led to robot heaven: {failure}");
            output::note(&output::clean(&text));
            return Ok(());
        }
        if self.reads_itself {
            let text = format!(
                "Googlebot{at} reads the page itself, as no filter_pattern names it; robot heaven has a \
                 page of it too"
            );
            return output::line(&output::clean(&text));
        }
        let title = page.map_or("", |(_, title)| title);
        let to = self.location.as_deref().unwrap_or_default();
        let (is_led, next) = match self.server {
            Some(_) => ("is", ""),
            None if self.can_ask => (
                "will be",
                "\nno server answers here: `robot-detection serve` starts it",
            ),
            None => (
                "will be",
                "\nno server was asked: no listener without TLS has an address",
            ),
        };
        let text = format!("Googlebot{at} {is_led} led to {to}: «{title}»");
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

/// Looks where a robot is led that asks for a page of a site.
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
        proof.failure = Some("no page of the site is described".to_owned());
        return Ok(proof);
    };
    let expected = Explainer::of(loaded)
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
        let asker = Asker::new(loaded, &url, &expected)?;
        if let Some(answer) = asker.ask().await {
            proof.server = Some(answer.server);
            proof.failure = asker.judge(&answer).await;
        }
    }
    proof.location = expected.location;
    proof.page = Some((url, title));
    Ok(proof)
}

/// What asks the servers of this machine for one page.
struct Asker<'a> {
    client: DirectClient,
    loaded: &'a Loaded,
    url: &'a Url,
    expected: &'a DecisionView,
}

impl<'a> Asker<'a> {
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

    /// Asks until the answer is as expected; `None` where nobody answers.
    async fn ask(&self) -> Option<ServerAnswer> {
        let mut last = None;
        for _ in 0..TRIES {
            last = self.ask_once().await;
            // A server that runs sees new pages within a moment.
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

    /// Returns what is wrong with a server that answers so.
    async fn judge(&self, answer: &ServerAnswer) -> Option<String> {
        let (server, status) = (answer.server, answer.status);
        if !self.is_expected(answer) {
            return Some(if health::is_ready(self.loaded).await {
                format!(
                    "the server at {server} answers {status}, as it has not taken this configuration: reload \
                     it by `systemctl reload robot-detection` or kill -HUP, and run the command again"
                )
            } else {
                format!(
                    "what answers {status} at {server} is no robot-detection with this configuration: say \
                     --listen ADDRESS as `serve` was told"
                )
            });
        }
        let to = self.url.join(answer.location.as_deref()?).ok()?;
        match self.ask_at(server, &to).await {
            Some(page) if page.status == 200 => None,
            Some(page) => Some(format!("{to} answers {}", page.status)),
            None => Some(format!("{to} does not answer")),
        }
    }
}

/// Returns where this machine reaches the visitors' side of a server without TLS.
fn addresses(loaded: &Loaded) -> impl Iterator<Item = SocketAddr> {
    plain_addresses(loaded).filter_map(health::address)
}
