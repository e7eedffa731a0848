//! A check whether the claimed browser would send a request.

use std::{
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use http::{HeaderMap, HeaderValue, Method, Request, Version, header::USER_AGENT};
use memchr::memmem::Finder;

use crate::keys::{AgentKey, SeenKeys, halves};

use super::{
    Reason, Reasons,
    fronts::{FrontHeaders, Fronts, OVER_HTTPS},
    seen::{BrowserHeaders, Field},
    table::Table,
    user_agent::{Browser, number},
};

/// The prefix of the `Accept` header that browsers of all families send to open a page.
const PAGE_ACCEPT: &[u8] = b"text/html,application/xhtml+xml,application/xml;q=0.9";

/// The prefixes of the `Accept-Encoding` headers that browsers send. Media are requested without
/// compression.
const ENCODINGS: [&[u8]; 3] = [b"gzip, deflate", b"br, gzip, deflate", b"identity"];

const FETCH: [Field; 3] = [Field::FetchSite, Field::FetchMode, Field::FetchDest];

/// The brand that every Chromium browser lists in addition to its own brand.
static CHROMIUM: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"Chromium\";v=\""));

/// Senders that need not be checked again: a browser sends dozens of requests over a connection,
/// all of which come from the same program. The set occupies 128 KiB.
///
/// A collision between two senders only benefits a client that deliberately causes the collision.
type Senders = SeenKeys<16_384>;

/// A check whether requests come from the browsers that their User-Agents claim.
///
/// The check uses the bundled table of browsers, and learns which headers are removed by front
/// proxies. If nothing is unusual about a sender's request, the sender is not checked again because
/// all requests over a connection come from the same program.
///
/// # Example
///
/// ```
/// use http::Request;
/// use robot_detection_layer::suspect::{BrowserCheck, Reason, Transport};
///
/// let request = Request::get("/")
///     .header("host", "www.example.com")
///     .header("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0")
///     .header("accept", "*/*")
///     .body(())?;
/// let reasons = BrowserCheck::new().judge(&request, Transport::default());
/// assert!(reasons.is_suspect() && reasons.contains(Reason::LanguageMissing));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug)]
pub struct BrowserCheck {
    table: Table,
    fronts: Fronts,
    senders: Senders,
}

/// The connection details of a request that the server knows; by default, no details.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Transport {
    /// Whether the client is known to use HTTPS.
    pub is_https: bool,
    /// Whether the headers are in the order in which the client sent them.
    pub is_direct: bool,
    /// The trusted proxy that forwarded the request, if any.
    pub front: Option<IpAddr>,
    /// The client's address, with the port if only this client uses the connection.
    pub sender: Option<SocketAddr>,
}

/// The findings about one request, for display.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Findings {
    /// The browser and version with which the request was compared; `None` if the request was not
    /// checked.
    pub browser: Option<String>,
    /// All reasons, even if their total weight does not make the visitor a suspect.
    pub reasons: Reasons,
    /// Each reason, with the header as received.
    pub seen: Vec<(Reason, String)>,
}

/// A request that is being checked.
struct CheckedRequest<'t, 'h> {
    browser: Browser<'t>,
    seen: BrowserHeaders<'h>,
    transport: Transport,
    version: Version,
    /// Bits of the headers whose absence is a reason for suspicion.
    expected: u32,
}

impl Default for BrowserCheck {
    fn default() -> Self {
        Self::new()
    }
}

impl BrowserCheck {
    /// Creates a check that uses the bundled table of browsers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            table: Table::bundled(),
            fronts: Fronts::default(),
            senders: Senders::default(),
        }
    }

    /// Returns the reasons why the claimed browser would not have sent a request.
    ///
    /// Returns no reasons if the User-Agent does not belong to a browser in the table.
    #[must_use]
    pub fn judge<B>(&self, request: &Request<B>, transport: Transport) -> Reasons {
        let user_agent = request.headers().get(USER_AGENT);
        let user_agent = user_agent.map_or(&b""[..], HeaderValue::as_bytes);
        self.judge_with_key(request, user_agent, AgentKey::parse(user_agent), transport)
    }

    /// Returns the reasons for a request, given its User-Agent and the key of the User-Agent.
    pub(crate) fn judge_with_key<B>(
        &self,
        request: &Request<B>,
        user_agent: &[u8],
        agent: AgentKey,
        transport: Transport,
    ) -> Reasons {
        let shape = || self.shape(request.headers(), transport);
        let key = transport
            .sender
            .map(|sender| sender_key(sender, agent, shape));
        if key.is_some_and(|key| self.senders.contains(key)) {
            return Reasons::default();
        }
        let found = self.found(request, user_agent, transport);
        if let (Some(key), Some(reasons)) = (key, found)
            && reasons.is_empty()
        {
            self.senders.add(key);
        }
        found.unwrap_or_default()
    }

    /// Returns a number that distinguishes programs if their connections are unknown. It depends on
    /// the number of headers, and on the headers that the proxy is known to forward, because these
    /// determine which headers are considered missing.
    fn shape(&self, headers: &HeaderMap, transport: Transport) -> u64 {
        let brings = transport
            .front
            .map_or(0, |front| self.fronts.headers_forwarded_by(front));
        (headers.len() as u64) << 32 | u64::from(brings)
    }

    /// Returns the reasons without regard to the sender, or `None` if the request is not
    /// representative of a browser.
    fn found<B>(
        &self,
        request: &Request<B>,
        user_agent: &[u8],
        transport: Transport,
    ) -> Option<Reasons> {
        let Some(browser) = self.table.browser(user_agent) else {
            return Some(Reasons::default());
        };
        let seen = BrowserHeaders::from_headers(request.headers());
        let is_judged = is_judged(request.method(), request.uri().path());
        if !is_judged || seen.has_any(&[Field::Handshake, Field::Report]) {
            return None;
        }
        let front = transport.front;
        let came = seen.fields() | (OVER_HTTPS * u32::from(transport.is_https));
        let judged = CheckedRequest {
            expected: front.map_or(u32::MAX, |front| self.fronts.record_headers(front, came)),
            browser,
            seen,
            transport,
            version: request.version(),
        };
        Some(judged.reasons())
    }

    /// Returns the front proxies that never forward some of the headers that browsers send.
    ///
    /// Only proxies that have forwarded 500 or more browser requests are returned.
    #[must_use]
    pub fn fronts(&self) -> Vec<FrontHeaders> {
        self.fronts.removing_headers()
    }

    /// Explains the findings about a request, even if its sender has already been checked.
    #[must_use]
    pub fn explain<B>(&self, request: &Request<B>, transport: Transport) -> Findings {
        let headers = request.headers();
        let user_agent = headers.get(USER_AGENT).map(HeaderValue::as_bytes);
        let Some(browser) = user_agent.and_then(|value| self.table.browser(value)) else {
            return Findings::default();
        };
        let found = user_agent.and_then(|value| self.found(request, value, transport));
        let reasons = found.unwrap_or_default();
        let family = browser.family;
        let (id, version) = (&family.id, browser.version);
        let (latest, day) = (family.latest, &family.latest_day);
        Findings {
            browser: Some(format!(
                "{id} {version} (latest known version: {latest}, {day})"
            )),
            reasons,
            seen: reasons
                .iter()
                .map(|reason| (reason, shown(headers, reason.header())))
                .collect(),
        }
    }
}

impl CheckedRequest<'_, '_> {
    fn reasons(&self) -> Reasons {
        self.of_version()
            .union(self.of_metadata())
            .union(self.of_negotiation())
            .union(self.of_connection())
    }

    fn of_version(&self) -> Reasons {
        let Browser {
            family,
            version,
            is_impossible,
        } = self.browser;
        let is_hinted = self.seen.has(Field::Hints);
        let is_too_new = self.seen.has_any(&FETCH) && version < family.fetch_first
            || is_hinted && family.hints.is_none_or(|from| version < from);
        Reasons::default()
            .with_if(is_impossible, Reason::VersionImpossible)
            .with_if(version < family.outdated, Reason::VersionOutdated)
            .with_if(is_too_new, Reason::HeaderTooNew)
    }

    /// Checks the browser's client hints and fetch metadata, which are optional over plain HTTP.
    fn of_metadata(&self) -> Reasons {
        let Browser {
            family, version, ..
        } = self.browser;
        let is_https = self.transport.is_https;
        let fetch = FETCH.iter().filter(|field| self.seen.has(**field)).count();
        let no_hints = is_https
            && family.hints.is_some_and(|from| version >= from)
            && self.lacks(Field::Hints);
        let no_fetch =
            is_https && fetch == 0 && version >= family.fetch && self.lacks(Field::FetchMode);
        // Chromium 76 to 79 sent only some of these headers.
        let is_part = (1..FETCH.len()).contains(&fetch)
            && version >= family.fetch
            && FETCH.iter().any(|field| self.lacks(*field));
        let brands = Brands::of(self.seen.hints);
        let is_known = family.hints.is_some_and(|from| version >= from);
        let differ = is_known && brands.chromium.is_some_and(|brand| brand != version);
        Reasons::default()
            .with_if(no_hints, Reason::ClientHintsMissing)
            .with_if(differ, Reason::ClientHintsDiffer)
            .with_if(brands.is_headless, Reason::ClientHintsHeadless)
            .with_if(no_fetch, Reason::FetchMetadataMissing)
            .with_if(is_part, Reason::FetchMetadataIncomplete)
    }

    /// Checks the content negotiation headers.
    fn of_negotiation(&self) -> Reasons {
        let seen = &self.seen;
        let family = self.browser.family;
        let opens_page = self.opens_page();
        let page_accept = family.page_accept.as_ref().filter(|_| opens_page);
        let is_foreign = page_accept.is_some_and(|part| part.find(seen.accept).is_none());
        let no_upgrade = opens_page
            && family
                .upgrade
                .is_some_and(|from| self.browser.version >= from)
            && self.lacks(Field::Upgrade);
        let any_language = memchr::memchr(b'*', seen.language).is_some();
        let is_bare = !opens_page
            && seen.has(Field::Accept)
            && !seen.has_any(&FETCH)
            && !seen.has_any(&[Field::Referer, Field::Origin, Field::Range])
            && self.expected & Field::Referer.bit() != 0;
        Reasons::default()
            .with_if(self.lacks(Field::Accept), Reason::AcceptMissing)
            .with_if(is_foreign && seen.has(Field::Accept), Reason::AcceptForeign)
            .with_if(self.lacks(Field::Language), Reason::LanguageMissing)
            .with_if(any_language, Reason::LanguageForeign)
            .with_if(no_upgrade, Reason::UpgradeMissing)
            .with_if(is_bare, Reason::RequestBare)
            .union(self.of_encodings())
    }

    fn of_encodings(&self) -> Reasons {
        const ALL: &[u8] = b"gzip, deflate, br, zstd";
        let seen = &self.seen;
        if seen.encoding == ALL {
            return Reasons::default();
        }
        if !seen.has(Field::Encoding) {
            let is_missing = self.lacks(Field::Encoding);
            return Reasons::default().with_if(is_missing, Reason::EncodingMissing);
        }
        let Browser {
            family, version, ..
        } = self.browser;
        let is_ours = self.transport.front.is_none() && !seen.has(Field::Via);
        let is_whole = !seen.has(Field::Range);
        let is_known = ENCODINGS
            .iter()
            .any(|start| seen.encoding.starts_with(start));
        // Browsers request fonts and media with `identity`, but not with `Accept: */*`.
        let is_anything = matches!(seen.accept, b"" | b"*/*");
        let is_plain = is_whole && is_anything && seen.encoding == b"identity";
        let lacks = |from: u32, name| version >= from && !has(seen.encoding, name);
        let is_poor =
            lacks(family.br, b"br") || family.zstd.is_some_and(|from| lacks(from, b"zstd"));
        let is_poor = is_poor && is_whole && !has(seen.encoding, b"identity");
        Reasons::default()
            .with_if(is_ours && (!is_known || is_plain), Reason::EncodingForeign)
            .with_if(self.transport.is_https && is_poor, Reason::EncodingPoor)
    }

    /// Checks the `Connection` header and the order of the headers, unless an intermediary may have
    /// changed them.
    fn of_connection(&self) -> Reasons {
        let seen = &self.seen;
        let is_http1 = self.version == Version::HTTP_11;
        // Browsers neither close connections nor use HTTP/1.0, but undeclared proxies do.
        let is_changed = !self.transport.is_direct
            || seen.has(Field::Via)
            || is_http1 && seen.connection.eq_ignore_ascii_case(b"close")
            || self.version < Version::HTTP_11;
        // Range requests for media are sent by another component of the browser.
        if is_changed || seen.has(Field::Range) {
            return Reasons::default();
        }
        let family = self.browser.family;
        let is_in_order = seen.are_in_order(&family.order)
            && (!self.opens_page() || seen.are_in_order(&family.page_order));
        let is_foreign = is_http1 && seen.connection != b"keep-alive";
        Reasons::default()
            .with_if(is_foreign, Reason::ConnectionForeign)
            .with_if(!is_in_order, Reason::HeaderOrder)
    }

    /// Returns `true` if the request seems to open a page.
    fn opens_page(&self) -> bool {
        let seen = &self.seen;
        if seen.has(Field::FetchMode) {
            return seen.mode == b"navigate" && seen.dest == b"document";
        }
        seen.accept.starts_with(PAGE_ACCEPT)
    }

    /// Returns `true` if a header is missing although the proxy would have forwarded it.
    fn lacks(&self, field: Field) -> bool {
        !self.seen.has(field) && self.expected & field.bit() != 0
    }
}

/// The brands listed in `Sec-CH-UA`.
#[derive(Default)]
struct Brands {
    /// The version of the Chromium brand.
    chromium: Option<u32>,
    is_headless: bool,
}

impl Brands {
    fn of(hints: &[u8]) -> Self {
        if hints.is_empty() {
            return Self::default();
        }
        let at = CHROMIUM.find(hints);
        let version = at.and_then(|at| hints.get(at + CHROMIUM.needle().len()..));
        Self {
            chromium: version.and_then(number).map(|(version, _)| version),
            // Most values contain no `H`, and searching for the letter is faster than for the word.
            is_headless: memchr::memchr(b'H', hints).is_some() && has(hints, b"Headless"),
        }
    }
}

/// Returns `true` if a request is of a kind with which browsers send all of their headers.
///
/// Preflights and handshakes are excluded, and so are requests that the browser itself makes to
/// find out whether a password can be changed or to load the source of a minified script.
fn is_judged(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::POST)
        && !path.starts_with("/.well-known/")
        && !path.as_bytes().ends_with(b".map")
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Returns the value of a header, truncated if too long and with invisible characters escaped.
fn shown(headers: &HeaderMap, name: &str) -> String {
    const MAX_CHARS: usize = 160;
    match headers.get(name) {
        Some(value) => {
            let text = String::from_utf8_lossy(value.as_bytes());
            let cut: String = text.chars().take(MAX_CHARS).collect();
            format!("{name}: {cut:?}")
        }
        None => format!("no {name}"),
    }
}

/// Returns a key for a sender and its program, based on the port of the connection or, if the port
/// is 0, on the shape of the request.
fn sender_key(sender: SocketAddr, agent: AgentKey, shape: impl FnOnce() -> u64) -> u64 {
    let address = match sender.ip() {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => {
            let (high, low) = halves(v6.to_bits());
            high.rotate_left(32) ^ low
        }
    };
    let which = match sender.port() {
        0 => shape(),
        port => port.into(),
    };
    agent.mix(address, which)
}

#[cfg(test)]
mod tests;
