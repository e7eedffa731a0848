//! Whether a request is one that the browser would send which its User-Agent names.

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
    seen::{Field, Seen},
    table::Table,
    user_agent::{Browser, number},
};

/// Begin of `Accept` where a browser opens a page, of each family.
const PAGE_ACCEPT: &[u8] = b"text/html,application/xhtml+xml,application/xml;q=0.9";

/// With what browsers begin `Accept-Encoding`; media are asked for as they are.
const ENCODINGS: [&[u8]; 3] = [b"gzip, deflate", b"br, gzip, deflate", b"identity"];

const FETCH: [Field; 3] = [Field::FetchSite, Field::FetchMode, Field::FetchDest];

/// Brand that every browser on Chromium has beside its own.
static CHROMIUM: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"Chromium\";v=\""));

/// Senders that need not be judged again: a browser sends dozens of requests over a connection, and
/// one program has sent them all. They take 128 KiB.
///
/// Who makes two senders look alike has only himself to pass for.
type Senders = SeenKeys<16_384>;

/// Judge of requests that say they come from a browser.
///
/// It knows the browsers of a table that comes with the program, and learns which headers the proxies
/// before it take off. A sender in whose request nothing was found is not judged again: what one
/// connection brings comes from one program.
///
/// # Example
///
/// ```
/// use http::Request;
/// use robot_detection_layer::suspect::{Coherence, Reason, Transport};
///
/// let request = Request::get("/")
///     .header("host", "www.example.com")
///     .header("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0")
///     .header("accept", "*/*")
///     .body(())?;
/// let reasons = Coherence::new().judge(&request, Transport::default());
/// assert!(reasons.are_suspect() && reasons.contains(Reason::LanguageMissing));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Debug)]
pub struct Coherence {
    table: Table,
    fronts: Fronts,
    senders: Senders,
}

/// How a request came, as far as the server knows; by default it knows nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Transport {
    /// Whether the client has certainly used HTTPS.
    pub is_https: bool,
    /// Whether the client has sent the headers itself, in this order.
    pub is_direct: bool,
    /// Proxy that is trusted to tell of its visitors, where one has brought the request.
    pub front: Option<IpAddr>,
    /// Address of the client, and its port where the connection is the client's alone.
    pub sender: Option<SocketAddr>,
}

/// What is found of one request, for people to read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Findings {
    /// Browser that is judged, and by which version of it; `None`: nobody is.
    pub browser: Option<String>,
    /// All reasons, those too that make no suspect.
    pub reasons: Reasons,
    /// Each of them with what was seen, as it came.
    pub seen: Vec<(Reason, String)>,
}

/// One request on the way to its reasons.
struct Judged<'t, 'h> {
    browser: Browser<'t>,
    seen: Seen<'h>,
    transport: Transport,
    version: Version,
    /// Bits of the headers that are missed where they are not there.
    expected: u32,
}

impl Default for Coherence {
    fn default() -> Self {
        Self::new()
    }
}

impl Coherence {
    /// Creates it with the table that comes with the program.
    #[must_use]
    pub fn new() -> Self {
        Self {
            table: Table::bundled(),
            fronts: Fronts::default(),
            senders: Senders::default(),
        }
    }

    /// Returns why the browser that is named would not have sent this request.
    ///
    /// Nothing is found of a request that names no browser of the table: what it does not know, it
    /// does not judge.
    #[must_use]
    pub fn judge<B>(&self, request: &Request<B>, transport: Transport) -> Reasons {
        let user_agent = request.headers().get(USER_AGENT);
        let user_agent = user_agent.map_or(&b""[..], HeaderValue::as_bytes);
        self.judge_by(request, user_agent, AgentKey::of(user_agent), transport)
    }

    /// Returns the same where the User-Agent is known, and its number.
    pub(crate) fn judge_by<B>(
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
        if key.is_some_and(|key| self.senders.has(key)) {
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

    /// Returns what tells programs apart whose connections are not seen: how much they say, and what the
    /// proxy before them is known to bring, as more may be missed then.
    fn shape(&self, headers: &HeaderMap, transport: Transport) -> u64 {
        let brings = transport.front.map_or(0, |front| self.fronts.known(front));
        (headers.len() as u64) << 32 | u64::from(brings)
    }

    /// Returns what is found, whoever has sent it; `None` of a request that tells nothing of others.
    fn found<B>(
        &self,
        request: &Request<B>,
        user_agent: &[u8],
        transport: Transport,
    ) -> Option<Reasons> {
        let Some(browser) = self.table.browser(user_agent) else {
            return Some(Reasons::default());
        };
        let seen = Seen::of(request.headers());
        let is_judged = is_judged(request.method(), request.uri().path());
        if !is_judged || seen.has_any(&[Field::Handshake, Field::Report]) {
            return None;
        }
        let front = transport.front;
        let came = seen.fields() | (OVER_HTTPS * u32::from(transport.is_https));
        let judged = Judged {
            expected: front.map_or(u32::MAX, |front| self.fronts.bring(front, came)),
            browser,
            seen,
            transport,
            version: request.version(),
        };
        Some(judged.reasons())
    }

    /// Returns the proxies before this program by which something that browsers send never comes.
    ///
    /// Told of is who has brought 500 requests of browsers.
    #[must_use]
    pub fn fronts(&self) -> Vec<FrontHeaders> {
        self.fronts.taking_off()
    }

    /// Judges as [`judge`](Self::judge) does whom it has not seen before, and tells what was seen.
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
                "{id} {version}, by what is known of it up to version {latest} ({day})"
            )),
            reasons,
            seen: reasons
                .iter()
                .map(|reason| (reason, shown(headers, reason.header())))
                .collect(),
        }
    }
}

impl Judged<'_, '_> {
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

    /// What browsers say of themselves and of their request; over plain HTTP they need not.
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
        // Chromium 76 to 79 had some of them and not yet the others.
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

    /// What browsers say of the answer that they want.
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
        // Fonts and media are asked for as they are, but nothing that could be anything.
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

    /// How the headers came; whatever stands between may have changed that.
    fn of_connection(&self) -> Reasons {
        let seen = &self.seen;
        let is_http1 = self.version == Version::HTTP_11;
        // No browser closes connections or speaks HTTP/1.0: that is a proxy which does not say so.
        let is_changed = !self.transport.is_direct
            || seen.has(Field::Via)
            || is_http1 && seen.connection.eq_ignore_ascii_case(b"close")
            || self.version < Version::HTTP_11;
        // Parts of media are put together by another hand.
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

    /// Returns `true` if a page is opened, as far as the request tells.
    fn opens_page(&self) -> bool {
        let seen = &self.seen;
        if seen.has(Field::FetchMode) {
            return seen.mode == b"navigate" && seen.dest == b"document";
        }
        seen.accept.starts_with(PAGE_ACCEPT)
    }

    /// Returns `true` if a header did not come that would have if it had been sent.
    fn lacks(&self, field: Field) -> bool {
        !self.seen.has(field) && self.expected & field.bit() != 0
    }
}

/// What `Sec-CH-UA` says.
#[derive(Default)]
struct Brands {
    /// Version of Chromium.
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
            // Most have no such letter, which is found out faster than the word.
            is_headless: memchr::memchr(b'H', hints).is_some() && has(hints, b"Headless"),
        }
    }
}

/// Returns `true` if a request is one of a kind that browsers send with all of their headers.
///
/// Preflights and handshakes are none, and neither is what they ask for by themselves: whether a
/// password can be changed, or the source of a minified script.
fn is_judged(method: &Method, path: &str) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::POST)
        && !path.starts_with("/.well-known/")
        && !path.as_bytes().ends_with(b".map")
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Returns a header as it came, cut when long and with what is not visible escaped.
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

/// Returns a number for a sender and what tells its programs apart: the port of its connection, or a
/// shape of what they send where that is 0.
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
    agent.with(address, which)
}

#[cfg(test)]
mod tests;
