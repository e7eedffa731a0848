//! `doctor --front`: sends requests through a proxy and compares responses with the decisions.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr, UdpSocket},
    time::Duration,
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use crate::app;
use crate::assembly::plain_addresses;
use crate::check::{IDENTIFICATION_HEADER, VERDICT_HEADER};
use crate::clock::Clock;
use crate::config::FailMode;
use crate::fetch::{DirectClient, DirectResponse, DirectSettings};
use crate::policy::Policy;
use crate::probe::{Note, PROBE_HEADER, ProbeKey, ProbePoint, Purpose};
use crate::store::Store;

use super::{
    super::{args::DoctorArgs, health},
    check::{Check, ServedSite, Subject, sites},
    server::RunningServer,
};

/// The maximum time to wait for the server to store its notes about the requests.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The timeout for a response; an unanswered decision query takes 5 seconds.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of bytes to read from a page.
const MAX_BYTES: u64 = 1 << 20;
/// The client address that the forged headers contain (RFC 5737).
const FORGED_ADDRESS: &str = "192.0.2.66";
/// The header names to forge: names used by this program or by proxies, and names equal to these in
/// CGI.
const FORGED_NAMES: [&str; 5] = [
    "x-robot-detection",
    "x_robot_detection",
    "x.robot.detection.verdict",
    "x_forwarded_for",
    "x_real_ip",
];
const MARK: &str = "forged-by-doctor";

/// Simulated visitors, each with a name, a User-Agent, and `true` if it sends browser headers.
const VISITORS: [(&str, &str, bool); 3] = [
    (
        "GPTBot",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        false,
    ),
    (
        "false Googlebot",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        false,
    ),
    ("browser", BROWSER, true),
];
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";
/// The browser headers that rules and suspect detection use.
const BROWSER_HEADERS: [(HeaderName, &str); 3] = [
    (header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8"),
    (header::ACCEPT_LANGUAGE, "en-GB,en;q=0.5"),
    (HeaderName::from_static("sec-fetch-mode"), "navigate"),
];

/// The results of requests sent through a proxy.
#[derive(Debug, Default)]
pub(super) struct FrontChecks {
    pub(super) checks: Vec<Check>,
    /// Responses to all simulated visitors, for each path.
    pub(super) rows: Vec<(String, Vec<Cell>)>,
}

/// The response to one simulated visitor for one path.
#[derive(Debug)]
pub(super) struct Cell {
    id: String,
    answer: Result<DirectResponse, String>,
    note: Option<Note>,
}

/// A client that sends requests through a proxy.
struct Front<'s> {
    client: DirectClient,
    url: Url,
    host: Option<HeaderValue>,
    key: ProbeKey,
    store: &'s Store,
    clock: Clock,
    /// Whether the proxy is this program; a request without a note then got an internal page.
    is_own: bool,
}

/// Checks the proxy given with `--front`, or this program's own proxy if the server is running.
pub(super) async fn front(subject: &Subject<'_>, args: &DoctorArgs) -> anyhow::Result<FrontChecks> {
    let name = args.front.as_ref().map_or("own proxy", |_| "front");
    let mut found = FrontChecks::default();
    let Some(url) = (match &args.front {
        Some(url) => Some(url.clone()),
        None if args.offline => None,
        None => own_url(subject).await,
    }) else {
        return Ok(found);
    };
    let Some(store) = &subject.store else {
        let text = "cannot connect to the server's database".to_owned();
        found.checks.push(Check::new(name, Err(text)));
        return Ok(found);
    };
    let front = Front::new(subject, args, url, store).await?;
    for path in front.paths(subject, &args.path) {
        let mut row = Vec::new();
        for (_, agent, is_browser) in VISITORS {
            let none = HeaderMap::new();
            row.push(front.ask(&path, agent, is_browser, none, false).await);
        }
        found.rows.push((path, row));
    }
    let mut answers = found.rows.iter().flat_map(|(_, row)| row);
    if let Some(Err(error)) = answers.next().map(|cell| &cell.answer)
        && answers.all(|cell| cell.answer.is_err())
    {
        found.checks.push(Check::new(name, Err(error.clone())));
        found.rows.clear();
        return Ok(found);
    }
    let cells = found.rows.iter_mut().flat_map(|(_, row)| row);
    front.read(cells).await?;
    found.checks.push(front.asked(name, &found.rows));
    let mut cells = found.rows.iter().flat_map(|(_, row)| row);
    if cells.all(|cell| cell.note.is_none()) {
        // If a proxy does not send queries, no further checks are possible.
        return Ok(found);
    }
    found.checks.push(done(name, &found.rows));
    if !front.is_own {
        found.checks.push(complete(&found.rows));
        found.checks.push(front.address().await?);
        let forged = front.forged(&found.rows, args.echo.as_deref()).await?;
        found.checks.extend(forged);
        let failing = front.failing(subject, args.failing).await?;
        found.checks.push(failing);
    }
    Ok(found)
}

impl<'s> Front<'s> {
    async fn new(
        subject: &Subject<'_>,
        args: &DoctorArgs,
        url: Url,
        store: &'s Store,
    ) -> anyhow::Result<Self> {
        let host = match (&args.host, &args.front) {
            (None, None) => own_host(subject),
            (host, _) => host.clone(),
        };
        let settings = DirectSettings {
            timeout: TIMEOUT,
            max_body_bytes: MAX_BYTES,
            ..DirectSettings::default()
        };
        // Instances with incorrect clocks use the database's time.
        let clock = Clock::system();
        clock.correct(clock.now_ms() - store.instances().now_ms().await?);
        Ok(Self {
            client: DirectClient::new(settings)?,
            url,
            host: host.as_deref().map(HeaderValue::from_str).transpose()?,
            key: ProbeKey::from_store(store).await?,
            store,
            clock,
            is_own: args.front.is_none(),
        })
    }

    /// Returns the paths to request: a few common paths, and one below each filtered prefix.
    fn paths(&self, subject: &Subject<'_>, more: &[String]) -> Vec<String> {
        let mut paths = [
            "/",
            "/robot-detection-probe.css",
            "/robot-detection-probe.php",
        ]
        .map(str::to_owned)
        .to_vec();
        let host = self.host.as_ref().and_then(|host| host.to_str().ok());
        let host = host.or(self.url.host_str()).unwrap_or_default();
        for site in sites(subject.loaded) {
            let hosts = &site.loaded.settings().server.hosts;
            if !hosts.is_empty() && !hosts.iter().any(|name| is_host(name, host)) {
                continue;
            }
            // The configuration check reports invalid patterns.
            let policy = app::policy(&site.loaded).ok();
            let patterns = policy.iter().flat_map(Policy::filter_patterns);
            paths.extend(patterns.map(|pattern| pattern.replace('*', "robot-detection-probe")));
        }
        paths.extend(more.iter().cloned());
        paths.retain(|path| path.starts_with('/'));
        let mut known = BTreeSet::new();
        paths.retain(|path| known.insert(path.clone()));
        paths
    }

    /// Sends one request that contains a token.
    async fn ask(
        &self,
        path: &str,
        agent: &str,
        is_browser: bool,
        mut headers: HeaderMap,
        is_silent: bool,
    ) -> Cell {
        let id = format!("{:032x}", fastrand::u128(..));
        let purpose = if is_silent {
            Purpose::Silence
        } else {
            Purpose::Answer
        };
        let token = self.key.token(&id, purpose, self.clock.now_ms());
        let mut set = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        set(PROBE_HEADER, &token);
        set(header::USER_AGENT, agent);
        if is_browser {
            for (name, value) in BROWSER_HEADERS {
                set(name, value);
            }
        }
        if let Some(host) = &self.host {
            headers.insert(header::HOST, host.clone());
        }
        let answer = match self.url.join(path) {
            Ok(url) => {
                let sent = self
                    .client
                    .send_beginning(Method::GET, &url, headers, MAX_BYTES);
                sent.await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        Cell {
            id,
            answer,
            note: None,
        }
    }

    /// Reads the server's notes about the requests, which are stored shortly after each response.
    async fn read<'c>(&self, cells: impl Iterator<Item = &'c mut Cell>) -> anyhow::Result<()> {
        let deadline = Instant::now() + MAX_WAIT;
        for cell in cells {
            loop {
                let note = self.store.probes().find(&cell.id).await?;
                cell.note = note.and_then(|note| serde_json::from_str(&note).ok());
                if cell.note.is_some() || cell.answer.is_err() || Instant::now() >= deadline {
                    break;
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Checks that robot-detection was queried for each request.
    fn asked(&self, name: &str, rows: &[(String, Vec<Cell>)]) -> Check {
        let cells = || {
            let rows = rows.iter();
            rows.flat_map(|(path, row)| row.iter().map(move |cell| (path, cell)))
        };
        let mut faults = Vec::new();
        for (path, cell) in cells() {
            let fault = match &cell.answer {
                Err(error) => format!("{path}: no response: {error}"),
                Ok(_) if cell.note.is_none() => format!("{path}: robot-detection is not queried"),
                Ok(_) => continue,
            };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        let mut answers = cells().map(|(_, cell)| cell);
        if let Some(first) = answers.next().and_then(Cell::hint)
            && answers.all(|cell| cell.hint() == Some(first))
        {
            faults = vec![first.to_owned()];
        }
        let door = if self.is_own { "decides" } else { "is queried" };
        summary(
            name,
            &faults,
            &format!("robot-detection {door} about {} paths", rows.len()),
        )
    }

    /// Checks that the server receives the visitor's real address, not a forged address.
    async fn address(&self) -> anyhow::Result<Check> {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static(FORGED_ADDRESS));
        let mut cell = self.ask("/", BROWSER, true, headers, false).await;
        self.read(std::iter::once(&mut cell)).await?;
        let name = "address";
        let (Ok(answer), Some(note)) = (&cell.answer, &cell.note) else {
            return Ok(Check::warning(
                name,
                "not checked: robot-detection was not queried".to_owned(),
            ));
        };
        let peer = answer.peer.map(|peer| peer.ip().to_canonical());
        let own = answer.peer.and_then(local_address);
        let seen = note.address.to_canonical();
        Ok(if FORGED_ADDRESS.parse() == Ok(seen) {
            let text = "the proxy trusts X-Forwarded-For from this machine: visitors on this machine, or all visitors, can forge their address";
            Check::new(name, Err(text.to_owned()))
        } else if Some(seen) == own {
            Check::new(
                name,
                Ok(format!(
                    "the server receives {seen}, the address of this machine"
                )),
            )
        } else if Some(seen) == peer || seen.is_loopback() {
            let text = format!(
                "the server receives {seen}, the address of the proxy: configure the proxy to pass the visitor's address"
            );
            Check::new(name, Err(text))
        } else {
            let text = format!(
                "the server receives {seen}, which is correct if this machine connects to the proxy from this address"
            );
            Check::warning(name, text)
        })
    }

    /// Checks that the site does not receive identity headers forged by visitors.
    async fn forged(
        &self,
        rows: &[(String, Vec<Cell>)],
        echo: Option<&str>,
    ) -> anyhow::Result<Vec<Check>> {
        let name = "forged headers";
        let mut faults = Vec::new();
        let is_asked = |row: &[Cell]| row.iter().all(|cell| cell.note.is_some());
        for (path, _) in rows.iter().filter(|(_, row)| is_asked(row)) {
            let mut headers = HeaderMap::new();
            headers.insert(IDENTIFICATION_HEADER, HeaderValue::from_static(MARK));
            let cell = self.ask(path, BROWSER, true, headers, false).await;
            if cell.answer.is_ok_and(|answer| answer.status != 400) {
                faults.push(format!(
                    "{path}: a request with {IDENTIFICATION_HEADER} is not refused with status 400"
                ));
            }
        }
        for forged in FORGED_NAMES {
            let mut headers = HeaderMap::new();
            headers.insert(
                HeaderName::from_static(forged),
                HeaderValue::from_static(MARK),
            );
            let cell = self
                .ask(echo.unwrap_or("/"), BROWSER, true, headers, false)
                .await;
            match &cell.answer {
                Ok(answer) if answer.status == 400 => {}
                Ok(answer) if contains(&answer.body, MARK) => {
                    faults.push(format!("the site receives the visitor's {forged}"));
                }
                Ok(_) => {}
                Err(error) => faults.push(format!("{forged}: no response: {error}")),
            }
        }
        let mut checks = Vec::new();
        match echo {
            None => {
                let text = "not checked at the site: to check, use --echo with a page that prints its request headers";
                checks.push(summary(name, &faults, "X-Robot-Detection is refused"));
                checks.push(Check::warning("echo", text.to_owned()));
            }
            Some(echo) => {
                checks.push(summary(
                    name,
                    &faults,
                    "the site receives no forged headers",
                ));
                checks.push(self.identity(echo).await?);
            }
        }
        Ok(checks)
    }

    /// Checks that the site receives the identity of robots that pass.
    async fn identity(&self, echo: &str) -> anyhow::Result<Check> {
        let (_, agent, _) = VISITORS[0];
        let mut cell = self.ask(echo, agent, false, HeaderMap::new(), false).await;
        self.read(std::iter::once(&mut cell)).await?;
        let passes = cell
            .note
            .as_ref()
            .is_some_and(|note| note.decision == "pass");
        let (id, verdict) = (IDENTIFICATION_HEADER, VERDICT_HEADER);
        Ok(match &cell.answer {
            Ok(answer) if passes && contains(&answer.body, "gptbot") => {
                Check::new("echo", Ok(format!("the site receives {id} and {verdict}")))
            }
            _ if passes => Check::new(
                "echo",
                Err(format!(
                    "{echo} does not show {id}: gptbot; either the site does not receive the header, or the page does not print it"
                )),
            ),
            _ => Check::warning(
                "echo",
                format!("GPTBot is not allowed to request {echo}, so {id} could not be checked"),
            ),
        })
    }

    /// Checks the responses to visitors while robot-detection does not respond.
    async fn failing(&self, subject: &Subject<'_>, is_wanted: bool) -> anyhow::Result<Check> {
        let name = "failing";
        if !is_wanted {
            let text =
                "not checked: to check, add --failing, which leaves one decision query unanswered";
            return Ok(Check::warning(name, text.to_owned()));
        }
        let begun = Instant::now();
        let mut cell = self.ask("/", BROWSER, true, HeaderMap::new(), true).await;
        let took = begun.elapsed().as_millis();
        self.read(std::iter::once(&mut cell)).await?;
        let is_open = subject.settings.check.fails == FailMode::Open;
        let status = cell.answer.as_ref().ok().map(|answer| answer.status);
        let is_failure = |status: &u16| *status >= 500 || *status == 403;
        let passes = status.is_some_and(|status| !is_failure(&status));
        let text = match status {
            Some(status) => format!("{status} after {took} ms"),
            None => format!("no response within {took} ms"),
        };
        let word = if is_open { "open" } else { "closed" };
        Ok(if cell.note.is_none() {
            Check::warning(
                name,
                "not checked: robot-detection was not queried".to_owned(),
            )
        } else if passes == is_open {
            Check::new(
                name,
                Ok(format!("{text}, as check.fails = \"{word}\" requires")),
            )
        } else if is_open && matches!(status, Some(502 | 504)) {
            let text = format!(
                "{text}: Traefik may do this for up to a second, but other proxies must not"
            );
            Check::warning(name, text)
        } else {
            let text = format!(
                "{text}, but check.fails is \"{word}\": print the proxy's configuration again with proxy-config"
            );
            Check::new(name, Err(text))
        })
    }
}

impl FrontChecks {
    /// Returns the responses for all paths and visitors as a table.
    pub(super) fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let visitors = VISITORS.iter().map(|(name, ..)| *name);
        let row = |(path, cells): &(String, Vec<Cell>)| {
            let cells = cells.iter().map(Cell::shown);
            std::iter::once(path.clone()).chain(cells).collect()
        };
        let header = std::iter::once("PATH").chain(visitors).collect();
        (header, self.rows.iter().map(row).collect())
    }

    /// Returns the responses for all paths and visitors as JSON.
    pub(super) fn object(&self) -> Value {
        let cells = self.rows.iter().flat_map(|(path, cells)| {
            let cells = cells.iter().zip(VISITORS);
            cells.map(move |(cell, (visitor, ..))| {
                json!({
                    "path": path,
                    "visitor": visitor,
                    "status": cell.answer.as_ref().ok().map(|answer| answer.status),
                    "location": cell.location(),
                    "asked": cell.note.is_some(),
                    "seen": cell.note,
                })
            })
        });
        cells.collect()
    }
}

impl Cell {
    /// Returns the probable cause if the server stored no notes about the requests.
    fn hint(&self) -> Option<&'static str> {
        let status = self.answer.as_ref().ok()?.status;
        if self.note.is_some() {
            return None;
        }
        Some(match status {
            400 => {
                "robot-detection rejects the token: run doctor with the server's configuration file and database"
            }
            403 | 500.. => {
                "the proxy gets no response at check.listen: check that robot-detection is running, that the proxy's user is in the group of the socket, and that the socket is visible to the proxy (chroot); see also the proxy's error log"
            }
            _ => {
                "robot-detection is not queried for any path: include the output of proxy-config in the proxy's configuration for this site"
            }
        })
    }

    fn location(&self) -> Option<&str> {
        let answer = self.answer.as_ref().ok()?;
        answer.headers.get(header::LOCATION)?.to_str().ok()
    }

    /// Returns the response as shown in the table, such as `302 /robot-heaven/`.
    fn shown(&self) -> String {
        let Ok(answer) = &self.answer else {
            return "no response".to_owned();
        };
        let mut text = answer.status.to_string();
        if let Some(location) = self.location() {
            text = format!("{text} {location}");
        }
        match &self.note {
            None => text + " (not queried)",
            Some(note) if note.decision == "pass" => text + " pass",
            Some(note) => format!("{text} {}", note.decision),
        }
    }
}

/// Checks that the responses to visitors match the decisions.
fn done(name: &str, rows: &[(String, Vec<Cell>)]) -> Check {
    let mut faults = Vec::new();
    for (path, row) in rows {
        for (cell, (visitor, ..)) in row.iter().zip(VISITORS) {
            let (Ok(answer), Some(note)) = (&cell.answer, &cell.note) else {
                continue;
            };
            let is_done = match note.decision.as_str() {
                "refuse" => answer.status >= 400,
                "redirect" => (300..400).contains(&answer.status),
                _ => true,
            };
            if !is_done {
                let (decision, status) = (&note.decision, answer.status);
                faults.push(format!(
                    "{path}: the decision for {visitor} is {decision}, but the response is {status}"
                ));
            }
            if note.door == ProbePoint::Endpoint && note.target != *path {
                faults.push(format!("{path}: the query contained {}", note.target));
            }
        }
    }
    summary(
        name,
        &faults,
        "the responses to visitors match the decisions",
    )
}

/// Checks that queries contain the headers on which decisions depend.
fn complete(rows: &[(String, Vec<Cell>)]) -> Check {
    let notes = rows.iter().filter_map(|(_, row)| row.last()?.note.as_ref());
    let mut missing = Vec::new();
    for note in notes {
        for (name, value) in BROWSER_HEADERS {
            let is_it = |(known, sent): &(String, String)| known == name.as_str() && sent == value;
            if !note.headers.iter().any(is_it) && !missing.contains(&name.to_string()) {
                missing.push(name.to_string());
            }
        }
    }
    let faults = missing
        .into_iter()
        .map(|name| format!("the query does not contain the visitor's {name}"));
    summary(
        "headers",
        &faults.collect::<Vec<_>>(),
        "queries contain the visitor's headers",
    )
}

/// Returns the URL of this program's own proxy, if the server is running.
async fn own_url(subject: &Subject<'_>) -> Option<Url> {
    let running = RunningServer::find(subject.loaded).await?;
    let mut addresses = plain_addresses(subject.loaded);
    let addr = addresses.find(|addr| running.listens_at(addr))?;
    Url::parse(&format!("http://{}/", health::address(addr)?)).ok()
}

/// Returns a host name of a site, unless a site serves all hosts.
fn own_host(subject: &Subject<'_>) -> Option<String> {
    let sites = sites(subject.loaded);
    let hosts = |site: &ServedSite| site.loaded.settings().server.hosts.clone();
    if sites.iter().any(|site| hosts(site).is_empty()) {
        return None;
    }
    let mut names = sites.iter().flat_map(hosts);
    names.find(|name| !name.starts_with('*'))
}

/// Returns a check that fails with the given faults, or passes if there are none.
fn summary(name: &str, faults: &[String], text: &str) -> Check {
    let result = if faults.is_empty() {
        Ok(text.to_owned())
    } else {
        Err(faults.join("; "))
    };
    Check::new(name, result)
}

/// Returns `true` if a host matches a configured host name, which may begin with `*.`.
fn is_host(name: &str, host: &str) -> bool {
    let host = host.split(':').next().unwrap_or_default();
    match name.strip_prefix('*') {
        Some(end) => host
            .to_ascii_lowercase()
            .ends_with(&end.to_ascii_lowercase()),
        None => name.eq_ignore_ascii_case(host),
    }
}

/// Returns the local address that this machine uses to connect to a peer.
fn local_address(peer: SocketAddr) -> Option<IpAddr> {
    let any = if peer.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    // Connecting a UDP socket selects the local address without sending anything.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip().to_canonical())
}

fn contains(body: &[u8], text: &str) -> bool {
    memchr::memmem::find(body, text.as_bytes()).is_some()
}
