//! Issues and checks confirmation forms and cookies.

use std::{net::IpAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use askama::Template as _;
use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Response, StatusCode, Uri,
        header::{
            ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, LOCATION, RETRY_AFTER,
            SET_COOKIE, USER_AGENT,
        },
        uri::{Authority, PathAndQuery},
    },
};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use url::form_urlencoded;

use crate::store::{AddressNetwork, Store, StoreError};
use robot_detection_layer::clock::Clock;
use robot_detection_texts::Language;

use super::{
    copy::{Form, Problem},
    keys::{Keys, new_secret},
    submission_limits::SubmissionLimits,
};

/// The time in seconds for which a confirmation form is valid; a visitor that reads for longer has
/// to click the button again.
const FORM_S: i64 = 60 * 60;

/// The time in seconds for which a confirmation cookie is valid.
const COOKIE_S: i64 = 12 * 60 * 60;

/// The time in seconds after the confirmation during which confirmation cookies are renewed.
const ALL_S: i64 = 7 * 24 * 60 * 60;

/// The number of days for which confirmation keys are stored: as long as a cookie signed with a key
/// may be renewed.
const KEPT_DAYS: i64 = 8;

/// The interval at which the confirmation keys are reloaded from the database.
const LOOK_EVERY: Duration = Duration::from_mins(10);

/// The delay after a failed attempt to reload the confirmation keys.
const RETRY: Duration = Duration::from_secs(5);

/// The name of the confirmation cookie over HTTPS. Browsers accept the `__Host-` prefix only from
/// the same host and over HTTPS.
const SECURE_COOKIE: &str = "__Host-robot-detection-person";

/// The name of the confirmation cookie over plain HTTP, where browsers reject the `__Host-` prefix.
const PLAIN_COOKIE: &str = "robot-detection-person";

/// The maximum number of matching cookies to check, since each check computes an HMAC.
const MAX_COOKIES: usize = 4;

const DAY_S: i64 = 24 * 60 * 60;

/// Keys for the confirmation of human visitors; clones share all state.
#[derive(Clone, Debug)]
pub struct ConfirmationKeys {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    keys: ArcSwap<Keys>,
    presses: SubmissionLimits,
    clock: Clock,
}

/// A visitor that submits or has submitted a confirmation.
#[derive(Clone, Debug)]
pub struct ConfirmingVisitor<'r> {
    host: String,
    /// The network of the client, which remains the same if the address changes within it.
    network: String,
    user_agent: &'r [u8],
    language: Language,
}

/// A visitor's valid confirmation.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// The new cookie that renews the visitor's cookie, if a renewal is due.
    pub next_cookie: Option<HeaderValue>,
}

impl<'r> ConfirmingVisitor<'r> {
    /// Returns the visitor that sent a request.
    pub fn of(uri: &Uri, headers: &'r HeaderMap, client: IpAddr) -> Self {
        let user_agent = headers.get(USER_AGENT);
        Self {
            host: host(uri, headers),
            network: AddressNetwork::containing(client).to_string(),
            user_agent: user_agent.map_or(&b""[..], HeaderValue::as_bytes),
            language: Language::accepted(headers.get_all(ACCEPT_LANGUAGE)),
        }
    }

    /// Returns the value of the `User-Agent` header.
    pub fn user_agent(&self) -> &'r [u8] {
        self.user_agent
    }
}

impl ConfirmationKeys {
    /// Creates a random key, which is used until the stored keys are loaded.
    pub fn new(clock: &Clock) -> Self {
        let today = clock.now_ms().div_euclid(1_000).div_euclid(DAY_S);
        Self {
            inner: Arc::new(Inner {
                keys: ArcSwap::from_pointee(Keys::unknown(today)),
                presses: SubmissionLimits::default(),
                clock: clock.clone(),
            }),
        }
    }

    /// Reloads the keys from the database regularly until `stop` is cancelled.
    pub async fn run(self, store: Store, stop: CancellationToken) {
        let follow = async {
            loop {
                let pause = match self.look(&store).await {
                    Ok(()) => LOOK_EVERY,
                    Err(error) => {
                        debug!("could not reload the confirmation keys: {error}");
                        RETRY
                    }
                };
                tokio::time::sleep(pause).await;
            }
        };
        stop.run_until_cancelled(follow).await;
    }

    async fn look(&self, store: &Store) -> Result<(), StoreError> {
        let Some(new) = new_secret() else {
            // The current keys remain valid.
            return Ok(());
        };
        let today = self.now_s().div_euclid(DAY_S);
        let keys = store.keys().keys(today, KEPT_DAYS, &new).await?;
        let keys = self.inner.keys.load().with_secrets(&keys);
        self.inner.keys.store(Arc::new(keys));
        Ok(())
    }

    /// Returns the confirmation form for the requested page; `action` is the URL to which the form
    /// is submitted.
    pub fn form(&self, asked: &Uri, headers: &HeaderMap, action: &str) -> String {
        let to = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        self.form_of(
            Language::accepted(headers.get_all(ACCEPT_LANGUAGE)),
            &host(asked, headers),
            to,
            action,
        )
    }

    fn form_of(&self, language: Language, host: &str, to: &str, action: &str) -> String {
        let at_s = self.now_s();
        let at = at_s.to_string();
        let signed = self.inner.keys.load().sign(&form_parts(host, to, &at));
        let Some((day, signature)) = signed else {
            return String::new();
        };
        let form = Form {
            language,
            action,
            to,
            at_s,
            signature: &format!("{day}.{signature}"),
        };
        // Writing to a string never fails.
        form.render().unwrap_or_default()
    }

    /// Returns the response to a submitted form: a cookie and a redirect, or an error page.
    pub fn submit(
        &self,
        presser: &ConfirmingVisitor<'_>,
        is_https: bool,
        form: &[u8],
        action: &str,
    ) -> Response<Body> {
        let field = |name: &str| {
            let mut fields = form_urlencoded::parse(form);
            fields.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
        };
        let [to, at_s, key] = ["to", "at", "key"].map(|name| field(name).unwrap_or_default());
        let is_ours = is_path(&to) && self.has_issued(&presser.host, &to, &at_s, &key);
        let (now_s, language) = (self.now_s(), presser.language);
        if !is_ours {
            return problem(StatusCode::BAD_REQUEST, language, "problem-form", "");
        }
        let age_s = at_s.parse().map_or(i64::MAX, |at_s: i64| now_s - at_s);
        if !(0..=FORM_S).contains(&age_s) {
            let form = self.form_of(language, &presser.host, &to, action);
            return problem(StatusCode::FORBIDDEN, language, "problem-old", &form);
        }
        if !self.inner.presses.count(&presser.network, now_s) {
            let status = StatusCode::TOO_MANY_REQUESTS;
            let mut response = problem(status, language, "problem-many", "");
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(600));
            return response;
        }
        self.inner.presses.press(presser.user_agent);
        let name = if is_https {
            SECURE_COOKIE
        } else {
            PLAIN_COOKIE
        };
        let mut response = empty(StatusCode::SEE_OTHER);
        let headers = response.headers_mut();
        if let (Some(cookie), Ok(to)) = (
            self.cookie(name, presser, now_s, now_s + COOKIE_S),
            HeaderValue::try_from(to),
        ) {
            headers.insert(SET_COOKIE, cookie);
            headers.insert(LOCATION, to);
        }
        response
    }

    /// Returns the visitor's confirmation if the request has a valid confirmation cookie.
    pub fn confirmation(
        &self,
        presser: &ConfirmingVisitor<'_>,
        headers: &HeaderMap,
    ) -> Option<Confirmation> {
        let lines = headers.get_all(COOKIE).iter();
        let cookies = lines.filter_map(|line| line.to_str().ok());
        let cookies = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|cookie| {
                let (name, value) = cookie.trim().split_once('=')?;
                let mut ours = [SECURE_COOKIE, PLAIN_COOKIE].into_iter();
                Some((ours.find(|ours| *ours == name)?, value))
            });
        let now_s = self.now_s();
        let found = cookies.take(MAX_COOKIES).find_map(|(name, value)| {
            let (first_s, until_s) = self.times(presser, value, now_s)?;
            Some((name, first_s, until_s))
        });
        let (name, first_s, until_s) = found?;
        let next_s = (now_s + COOKIE_S).min(first_s + ALL_S);
        let is_due = until_s - now_s < COOKIE_S / 2 && next_s > until_s;
        let next = is_due.then(|| self.cookie(name, presser, first_s, next_s));
        Some(Confirmation {
            next_cookie: next.flatten(),
        })
    }

    /// Counts a request from a fleet. Returns `true` if confirmations from the fleet are accepted.
    pub fn accepts_from_fleet(&self, user_agent: &[u8]) -> bool {
        self.inner.presses.count_fleet_request(user_agent)
    }

    /// Returns the start and end time of a confirmation cookie, or `None` if the cookie is not
    /// valid.
    fn times(
        &self,
        presser: &ConfirmingVisitor<'_>,
        cookie: &str,
        now_s: i64,
    ) -> Option<(i64, i64)> {
        let mut parts = cookie.splitn(4, '.');
        let mut next = || parts.next();
        let (first, until, day, signature) = (next()?, next()?, next()?, next()?);
        let (first_s, until_s): (i64, i64) = (first.parse().ok()?, until.parse().ok()?);
        let is_good = now_s < until_s && (0..ALL_S).contains(&now_s.checked_sub(first_s)?);
        let parts = cookie_parts(presser, first, until);
        let keys = self.inner.keys.load();
        let is_ours = is_good && keys.verify(day.parse().ok()?, &parts, signature);
        is_ours.then_some((first_s, until_s))
    }

    fn cookie(
        &self,
        name: &str,
        presser: &ConfirmingVisitor<'_>,
        first_s: i64,
        until_s: i64,
    ) -> Option<HeaderValue> {
        let [first, until] = [first_s, until_s].map(|second| second.to_string());
        let parts = cookie_parts(presser, &first, &until);
        let (day, signature) = self.inner.keys.load().sign(&parts)?;
        let secure = if name == SECURE_COOKIE {
            "; Secure"
        } else {
            ""
        };
        let seconds = until_s - self.now_s();
        let text = format!(
            "{name}={first_s}.{until_s}.{day}.{signature}; Path=/; Max-Age={seconds}; HttpOnly; \
             SameSite=Lax{secure}"
        );
        let mut value = HeaderValue::try_from(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    fn has_issued(&self, host: &str, to: &str, at_s: &str, key: &str) -> bool {
        let Some((day, signature)) = key.split_once('.') else {
            return false;
        };
        let parts = form_parts(host, to, at_s);
        let keys = self.inner.keys.load();
        day.parse()
            .is_ok_and(|day| keys.verify(day, &parts, signature))
    }

    fn now_s(&self) -> i64 {
        self.inner.clock.now_ms().div_euclid(1_000)
    }
}

/// Returns the response to send if the copy of a page cannot be read.
pub(super) fn copy_unavailable() -> Response<Body> {
    let mut response = empty(StatusCode::SERVICE_UNAVAILABLE);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(10));
    response
}

fn form_parts<'p>(host: &'p str, to: &'p str, at_s: &'p str) -> [&'p [u8]; 4] {
    ["form", host, to, at_s].map(str::as_bytes)
}

fn cookie_parts<'p>(
    presser: &'p ConfirmingVisitor<'_>,
    first_s: &'p str,
    until_s: &'p str,
) -> [&'p [u8]; 6] {
    let (host, network) = (&*presser.host, &*presser.network);
    let [kind, host, network, first, until] =
        ["cookie", host, network, first_s, until_s].map(str::as_bytes);
    [kind, host, network, first, until, presser.user_agent]
}

/// Returns `true` for a path on the same host that browsers cannot interpret as another URL.
fn is_path(to: &str) -> bool {
    to.starts_with('/')
        && !to.starts_with("//")
        && !to.contains('\\')
        && to.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the host name that was requested.
fn host(uri: &Uri, headers: &HeaderMap) -> String {
    let from_header = || Authority::try_from(headers.get(HOST)?.as_bytes()).ok();
    let authority = uri.authority().cloned().or_else(from_header);
    authority.map_or(String::new(), |authority| {
        authority.host().trim_end_matches('.').to_ascii_lowercase()
    })
}

fn problem(
    status: StatusCode,
    language: Language,
    reason: &'static str,
    form: &str,
) -> Response<Body> {
    let page = Problem {
        language,
        reason: language.text(reason),
        form,
    };
    // Writing to a string never fails.
    let page = page.render().unwrap_or_default();
    let mut response = empty(status);
    *response.body_mut() = Body::from(page);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    response
}

#[cfg(test)]
mod tests;
