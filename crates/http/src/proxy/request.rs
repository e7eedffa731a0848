//! Rewriting of requests before they are sent to the upstream.

use std::net::Ipv6Addr;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version,
    header::{CONNECTION, CONTENT_LENGTH, COOKIE, HOST, TE, TRANSFER_ENCODING, UPGRADE, VIA},
    request::Parts,
    uri::Scheme,
};

use crate::listen::ClientAddr;

use super::{
    error_page::ErrorPage,
    forwarded_headers::ForwardedHeaders,
    header_kinds::{FieldValues, HeaderPresence},
    headers,
    upstream::Upstream,
};

/// The maximum number of `Via` entries with this proxy's name.
///
/// The limit ends loops through an intermediary that removes comments from `Via` and thereby the
/// marks that identify this proxy.
const MAX_PASSES: usize = 8;

/// Rules for rewriting requests to an upstream.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) upstream: Upstream,
    pub(super) preserve_host: bool,
    /// The headers that this program sets, which a client's `Connection` header cannot remove.
    pub(super) kept: Vec<HeaderName>,
    /// The name prefix of the headers that are not forwarded.
    pub(super) hidden: Option<&'static str>,
    pub(super) via: Via,
}

/// The proxy's `Via` entries, by which loops are detected (RFC 9110 §7.6.3).
#[derive(Clone, Debug)]
pub(super) struct Via {
    /// A text that is unique to this proxy and is part of its `Via` entries.
    mark: String,
    /// The entries for requests received over HTTP/1.0, HTTP/1.1 and HTTP/2.
    entries: [HeaderValue; 3],
}

/// The properties of a request, apart from its head, that affect how the head is rewritten.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestFacts {
    /// Whether the request has no body.
    pub(super) is_empty: bool,
    pub(super) has_known_length: bool,
    /// Whether the listener can pass on the connection after a protocol switch.
    pub(super) can_upgrade: bool,
}

/// The result of rewriting a request, apart from the head itself.
#[derive(Debug)]
pub(super) struct RewrittenRequest {
    /// The protocol to which the client asks to switch.
    pub(super) protocol: Option<HeaderValue>,
    /// The client's `Accept` header, used for error pages.
    pub(super) accept: Option<HeaderValue>,
    /// The client's `Accept-Language` header, used for error pages.
    pub(super) accept_language: Option<HeaderValue>,
    pub(super) added: AddedHeaders,
}

/// The headers that the proxy adds, which are usually written to the upstream without a header map.
#[derive(Debug)]
pub(super) struct AddedHeaders {
    via: HeaderValue,
    /// The forwarding headers, or `None` if the head already contains them.
    forwarded_headers: Option<ForwardedHeaders>,
}

impl AddedHeaders {
    /// Adds the proxy's headers to the existing headers.
    pub(super) fn insert(self, headers: &mut HeaderMap) {
        headers.append(VIA, self.via);
        if let Some(forwarded_headers) = self.forwarded_headers {
            forwarded_headers.insert(headers);
        }
    }

    /// Writes the proxy's headers as HTTP/1.1 header lines.
    pub(super) fn write(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(b"via: ");
        output.extend_from_slice(self.via.as_bytes());
        output.extend_from_slice(b"\r\n");
        if let Some(forwarded_headers) = &self.forwarded_headers {
            forwarded_headers.write(output);
        }
    }
}

/// Rewrites the head of a request for the upstream.
///
/// # Errors
///
/// Returns the error page to respond with if the request must not be forwarded.
pub(super) fn rewrite(
    rules: &Rules,
    parts: &mut Parts,
    client: Option<&ClientAddr>,
    facts: RequestFacts,
) -> Result<RewrittenRequest, ErrorPage> {
    let (names, values) = HeaderPresence::scan(&parts.headers);
    // RFC 9112 §6.1: an unknown transfer coding results in a 501 response.
    let has_unknown_coding = names.has_coding && headers::has_unknown_coding(&parts.headers);
    if is_for_others(&parts.method) || has_unknown_coding {
        return Err(ErrorPage::NotImplemented);
    }
    if !is_usable(&parts.method, &parts.uri) {
        return Err(ErrorPage::BadRequest);
    }
    let (host, is_there) = host(rules, parts, values)?;
    let accept = values.accept.cloned();
    let accept_language = values.accept_language.cloned();
    if names.has_via {
        // RFC 9110 §7.6.3.
        rules.via.check(&parts.headers)?;
    }
    let protocol = names.has_upgrade.then(|| upgrade(parts, facts)).flatten();
    let map = &mut parts.headers;
    // Checked before `TE` is removed: only `trailers` is end-to-end (RFC 9110 §10.1.4).
    let takes_trailers = names.has_te && headers::has_token(map, &TE, "trailers");
    names.strip(map, &rules.kept);
    if let Some(prefix) = rules.hidden {
        let is_hidden = |name: &HeaderName| name.as_str().starts_with(prefix);
        headers::remove_where(map, |name| is_hidden(name) && !rules.kept.contains(name));
    }
    let (forwarded_headers, host) = if rules.preserve_host {
        if !is_there {
            map.insert(HOST, host.clone());
        }
        (host, None)
    } else {
        (host, Some(rules.upstream.host.clone()))
    };
    let forwarded_headers = ForwardedHeaders::new(client.copied(), forwarded_headers);
    let forwarded_headers = if names.has_forwarding {
        forwarded_headers.replace(map)
    } else {
        Some(forwarded_headers)
    };
    join_cookies(map, parts.version);
    frame(map, facts);
    // `TE` is a hop-by-hop header, so it is listed in `Connection` (RFC 9110 §10.1.4).
    if takes_trailers {
        headers::set(map, TE, "trailers");
        headers::set(map, CONNECTION, "te");
    }
    // `Upgrade` is a hop-by-hop header, so it is listed in `Connection` (RFC 9110 §7.8).
    if let Some(protocol) = &protocol {
        headers::set(map, CONNECTION, "upgrade");
        map.insert(UPGRADE, protocol.clone());
    }
    if let Some(host) = host {
        map.insert(HOST, host);
    }
    let added = AddedHeaders {
        via: rules.via.entry(parts.version).clone(),
        forwarded_headers,
    };
    retarget(&rules.upstream, parts)?;
    Ok(RewrittenRequest {
        protocol,
        accept,
        accept_language,
        added,
    })
}

/// Sets the target and version of the request that is sent to the upstream.
fn retarget(upstream: &Upstream, parts: &mut Parts) -> Result<(), ErrorPage> {
    if !upstream.keeps_target(&parts.uri) {
        parts.uri = upstream.target(&parts.uri).ok_or(ErrorPage::BadRequest)?;
    }
    // A proxy sends its own version (RFC 9112 §2.3).
    parts.version = Version::HTTP_11;
    Ok(())
}

/// Returns `true` if the target is a path or the `*` of `OPTIONS` (RFC 9112 §3.2.1, §3.2.4).
///
/// A gateway serves only the `http` and `https` schemes (RFC 9110 §7.4).
fn is_usable(method: &Method, uri: &Uri) -> bool {
    let is_other = |scheme: &Scheme| *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS;
    if uri.scheme().is_some_and(is_other) {
        return false;
    }
    match uri.path() {
        "" => false,
        "*" => *method == Method::OPTIONS,
        _ => true,
    }
}

/// Returns `true` if a method requests a tunnel to an arbitrary server (RFC 9110 §9.3.6) or an echo
/// of credentials (RFC 9110 §9.3.8). Such requests are refused with status 501 (RFC 9110 §15.6.2).
fn is_for_others(method: &Method) -> bool {
    *method == Method::CONNECT || *method == Method::TRACE
}

/// Returns the status with which a [`Proxy`](super::Proxy) would refuse a request regardless of the
/// upstream. The function is for servers that decide about requests that other servers forward.
pub fn refusal<B>(request: &Request<B>) -> Option<StatusCode> {
    let (method, uri) = (request.method(), request.uri());
    if is_for_others(method) {
        return Some(ErrorPage::NotImplemented.status());
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let has_host = hosts.next().is_none_or(is_host) && hosts.next().is_none();
    let is_right = is_usable(method, uri) && has_host && authority(uri).is_ok();
    (!is_right).then(|| ErrorPage::BadRequest.status())
}

/// Returns the requested host, which is the target's authority or else the `Host` header (RFC 9112
/// §3.2.2, RFC 9113 §8.3.1).
///
/// The returned flag is `true` if the headers already contain this host.
fn host(
    rules: &Rules,
    parts: &Parts,
    values: FieldValues<'_>,
) -> Result<(HeaderValue, bool), ErrorPage> {
    let line = values.host;
    // RFC 9112 §3.2: several `Host` headers, or an invalid `Host`, result in a 400 response.
    if values.has_several_hosts || line.is_some_and(|line| !is_host(line)) {
        return Err(ErrorPage::BadRequest);
    }
    // `Host` is required even if the target contains an authority (RFC 9112 §3.2).
    if line.is_none() && parts.version == Version::HTTP_11 {
        return Err(ErrorPage::BadRequest);
    }
    match (authority(&parts.uri)?, line) {
        // RFC 9113 §8.3.1: if there is a `Host` header, it must not differ from `:authority`.
        (Some(authority), Some(line))
            if parts.version == Version::HTTP_2
                && !authority.as_bytes().eq_ignore_ascii_case(line.as_bytes()) =>
        {
            Err(ErrorPage::BadRequest)
        }
        (Some(authority), _) => Ok((authority, false)),
        (None, Some(line)) => Ok((line.clone(), true)),
        (None, None) if parts.version == Version::HTTP_10 => {
            Ok((rules.upstream.host.clone(), false))
        }
        (None, None) => Err(ErrorPage::BadRequest),
    }
}

fn authority(uri: &Uri) -> Result<Option<HeaderValue>, ErrorPage> {
    let Some(authority) = uri.authority() else {
        return Ok(None);
    };
    HeaderValue::try_from(authority.as_str())
        .ok()
        .filter(is_host)
        .map(Some)
        .ok_or(ErrorPage::BadRequest)
}

/// Returns `true` if the value is a host with an optional port and without a user name, and is
/// valid in `Host` and in a quoted string.
///
/// RFC 3986 §3.2.2 allows more names, but resolvers look up only these names. Programs disagree
/// about the meaning of names that contain commas or percent signs.
fn is_host(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    if bytes.starts_with(b"[") {
        return value.to_str().is_ok_and(is_bracketed);
    }
    let len = bytes
        .iter()
        .take_while(|byte| headers::is_host_name_byte(**byte))
        .count();
    match bytes.split_at_checked(len) {
        None | Some(([], _)) => false,
        Some((_, [])) => true,
        Some((_, [b':', port @ ..])) => is_port(port),
        Some(_) => false,
    }
}

/// Returns `true` if the text is a bracketed IPv6 address with an optional port (RFC 3986 §3.2.2).
fn is_bracketed(text: &str) -> bool {
    let parts = text.strip_prefix('[').and_then(|text| text.split_once(']'));
    parts.is_some_and(|(address, rest)| {
        let port = rest.as_bytes().strip_prefix(b":");
        (rest.is_empty() || port.is_some_and(is_port)) && address.parse::<Ipv6Addr>().is_ok()
    })
}

/// Returns `true` if the digits are a valid port, which may be empty (RFC 3986 §3.2.3).
fn is_port(digits: &[u8]) -> bool {
    let add = |port: u16, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        port.checked_mul(10)?.checked_add(digit)
    };
    digits.iter().try_fold(0, add).is_some()
}

/// Returns the protocol to switch to if the request asks for a switch and may switch.
///
/// Over HTTP/2, only an extended `CONNECT` can switch. An upgrade to HTTP/2 or TLS would hide all
/// further requests from the checks in front of the upstream. A body would have to be sent before
/// the protocol switch (RFC 9110 §7.8).
fn upgrade(parts: &Parts, facts: RequestFacts) -> Option<HeaderValue> {
    // RFC 9110 §7.8: `Upgrade` is ignored in HTTP/1.0, or if the connection option is missing.
    let asks = parts.version != Version::HTTP_10
        && facts.is_empty
        && facts.can_upgrade
        && parts.headers.contains_key(UPGRADE)
        && headers::has_token(&parts.headers, &CONNECTION, "upgrade");
    if !asks {
        return None;
    }
    let mut lines = parts.headers.get_all(UPGRADE).iter();
    let protocol = lines.next()?;
    let is_http = headers::tokens(&parts.headers, &UPGRADE).any(|protocol| {
        let name = protocol
            .split(|byte| *byte == b'/')
            .next()
            .unwrap_or_default();
        [&b"h2c"[..], b"h2", b"http", b"tls"]
            .iter()
            .any(|http| name.eq_ignore_ascii_case(http))
    });
    (!is_http && lines.next().is_none()).then(|| protocol.clone())
}

/// Sets the framing headers of a request whose body has an unknown length (RFC 9112 §6.1, §6.3).
fn frame(headers: &mut HeaderMap, facts: RequestFacts) {
    if !facts.is_empty && !facts.has_known_length {
        headers.remove(CONTENT_LENGTH);
        headers::set(headers, TRANSFER_ENCODING, "chunked");
    }
}

/// Joins the `Cookie` lines of an HTTP/2 request into a single line for HTTP/1.1 (RFC 9113 §8.2.3).
fn join_cookies(headers: &mut HeaderMap, version: Version) {
    if version != Version::HTTP_2 || headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let crumbs: Vec<_> = headers
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if let Ok(cookie) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..])) {
        headers.insert(COOKIE, cookie);
    }
}

impl Via {
    const NAME: &str = "robot-detection";

    /// Creates the `Via` entries for a proxy; `id` distinguishes proxies that have the same name.
    pub(super) fn new(id: u64) -> Self {
        let mark = format!("({id:016x})");
        let entries = ["1.0", "1.1", "2.0"].map(|version| {
            HeaderValue::try_from(format!("{version} {} {mark}", Self::NAME))
                .unwrap_or_else(|_| HeaderValue::from_static(Self::NAME))
        });
        Self { mark, entries }
    }

    /// Returns an error for a request that has passed through this proxy before.
    fn check(&self, headers: &HeaderMap) -> Result<(), ErrorPage> {
        let mut passes = 0;
        for line in headers.get_all(VIA) {
            let line = String::from_utf8_lossy(line.as_bytes());
            if line.contains(&self.mark) {
                return Err(ErrorPage::LoopDetected);
            }
            passes += line.matches(Self::NAME).count();
        }
        if passes > MAX_PASSES {
            return Err(ErrorPage::LoopDetected);
        }
        Ok(())
    }

    pub(super) fn entry(&self, version: Version) -> &HeaderValue {
        let [http_1_0, http_1_1, http_2] = &self.entries;
        match version {
            Version::HTTP_10 => http_1_0,
            Version::HTTP_2 => http_2,
            _ => http_1_1,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const BODILESS: RequestFacts = RequestFacts {
        is_empty: true,
        has_known_length: true,
        can_upgrade: true,
    };

    fn rules() -> Rules {
        Rules {
            upstream: Upstream::parse("http://origin.example").unwrap(),
            preserve_host: true,
            kept: Vec::new(),
            hidden: None,
            via: Via::new(7),
        }
    }

    fn parts(version: Version, target: &str, lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::get(target).version(version);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn rewritten(mut parts: Parts, facts: RequestFacts) -> Result<Parts, ErrorPage> {
        rewrite(&rules(), &mut parts, None, facts).map(|_| parts)
    }

    const REFUSED: Result<&str, ErrorPage> = Err(ErrorPage::BadRequest);

    #[test]
    fn host_is_the_authority_or_the_header() {
        for (version, target, hosts, expected) in [
            (Version::HTTP_11, "/", &["a.example"][..], Ok("a.example")),
            (Version::HTTP_11, "/", &["a.example:81"], Ok("a.example:81")),
            (Version::HTTP_11, "/", &["[::1]:81"], Ok("[::1]:81")),
            (Version::HTTP_11, "/", &[], REFUSED),
            (Version::HTTP_11, "/", &["a", "a"], REFUSED),
            (Version::HTTP_11, "/", &["a b"], REFUSED),
            (Version::HTTP_11, "/", &["a/b"], REFUSED),
            (Version::HTTP_11, "/", &["a@b"], REFUSED),
            (Version::HTTP_11, "/", &["a\"b"], REFUSED),
            (Version::HTTP_11, "/", &["a,b"], REFUSED),
            (Version::HTTP_11, "/", &["a%41"], REFUSED),
            (Version::HTTP_11, "/", &["a:b"], REFUSED),
            (Version::HTTP_11, "/", &["a:+80"], REFUSED),
            (Version::HTTP_11, "/", &["a:65536"], REFUSED),
            (Version::HTTP_11, "/", &["a:80:81"], REFUSED),
            (Version::HTTP_11, "/", &[":80"], REFUSED),
            (Version::HTTP_11, "/", &["[::1"], REFUSED),
            (Version::HTTP_11, "/", &["[::1]b"], REFUSED),
            (Version::HTTP_11, "/", &["[x]:1"], REFUSED),
            (Version::HTTP_11, "/", &["a:"], Ok("a:")),
            (Version::HTTP_11, "/", &["a_b.c-d"], Ok("a_b.c-d")),
            (Version::HTTP_11, "http://b/", &["a"], Ok("b")),
            (Version::HTTP_11, "http://b/", &[], REFUSED),
            (Version::HTTP_11, "ftp://a/", &["a"], REFUSED),
            (Version::HTTP_10, "http://b/", &[], Ok("b")),
            (Version::HTTP_11, "http://u@b/", &["a"], REFUSED),
            (Version::HTTP_10, "/", &[], Ok("origin.example")),
            (Version::HTTP_10, "/", &["a"], Ok("a")),
            (Version::HTTP_2, "http://b/", &[], Ok("b")),
            (Version::HTTP_2, "http://b/", &["B"], Ok("b")),
            (Version::HTTP_2, "http://b/", &["a"], REFUSED),
            (Version::HTTP_2, "/", &["a"], Ok("a")),
        ] {
            let lines: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
            let host = rewritten(parts(version, target, &lines), BODILESS)
                .map(|parts| parts.headers[HOST].to_str().unwrap().to_owned());
            assert_eq!(
                host.as_deref().map_err(|page| *page),
                expected,
                "{target} {hosts:?}"
            );
        }
    }

    #[test]
    fn own_mark_and_too_many_passes_are_a_loop() {
        let mark = &rules().via.mark;
        let ours = format!("1.1 other, 1.1 robot-detection {mark}");
        let others = "1.1 robot-detection (1)";
        let passes = [others; MAX_PASSES].join(", ");
        for (via, expected) in [
            (others, None),
            (&*passes, None),
            (
                &*format!("{passes}, {others}"),
                Some(ErrorPage::LoopDetected),
            ),
            (&*ours, Some(ErrorPage::LoopDetected)),
        ] {
            let parts = parts(Version::HTTP_11, "/", &[("host", "a"), ("via", via)]);
            assert_eq!(rewritten(parts, BODILESS).err(), expected, "{via}");
        }
    }

    #[test]
    fn body_of_unknown_length_is_chunked_despite_a_length_header() {
        let facts = RequestFacts {
            is_empty: false,
            has_known_length: false,
            ..BODILESS
        };
        let lines = [("host", "a"), ("content-length", "3")];
        let headers = rewritten(parts(Version::HTTP_2, "/", &lines), facts)
            .unwrap()
            .headers;
        assert_eq!(headers[TRANSFER_ENCODING], "chunked");
        assert!(!headers.contains_key(CONTENT_LENGTH));
    }

    #[test]
    fn cookies_are_joined_for_http2_only() {
        let lines = [("host", "a"), ("cookie", "a=1"), ("cookie", "b=2")];
        let cookies = |version| {
            let headers = rewritten(parts(version, "/", &lines), BODILESS)
                .unwrap()
                .headers;
            headers.get_all(COOKIE).iter().cloned().collect::<Vec<_>>()
        };
        assert_eq!(cookies(Version::HTTP_2), ["a=1; b=2"]);
        assert_eq!(cookies(Version::HTTP_11), ["a=1", "b=2"]);
    }
}
