//! Session of a form login, which starts with the first page and is renewed after it has expired.

use std::{
    fmt,
    sync::{PoisonError, RwLock},
};

use cookie_store::{CookieStore, RawCookie};
use http::{
    HeaderMap, Method,
    header::{self, HeaderValue},
};
use tokio::sync::Mutex;
use url::{Origin, Url};

use super::{
    FormLogin, HttpSource, PageRequest, PageResponse, SourceError,
    login::{is_private, next_step},
};
use crate::document::decode;

/// Maximum number of redirects followed after the form is submitted.
const MAX_STEPS: usize = 5;

/// Number of consecutive futile logins after which no further login is attempted.
// A site may deny its robot some pages, and each of these pages causes a login. This many logins in
// a row do not indicate an expired session, and more would look like password guessing.
const MAX_FUTILE: u32 = 5;

/// Login session of a source, which is shared by its clones and kept in memory only.
pub(super) struct LoginSession {
    login: FormLogin,
    /// Sites whose pages require the login; cookies are sent to no other site.
    sites: Vec<Origin>,
    cookies: RwLock<Cookies>,
    state: Mutex<SessionState>,
}

// `logins` counts successful logins, so that only the first of several pages renews an expired
// session. `failure` is kept until the next run, so that a wrong password is not sent again.
#[derive(Debug, Default)]
struct SessionState {
    logins: u64,
    futile: u32,
    failure: Option<String>,
}

impl LoginSession {
    pub(super) fn new(login: FormLogin, sites: impl IntoIterator<Item = Origin>) -> Self {
        Self {
            sites: sites.into_iter().collect(),
            login,
            cookies: RwLock::default(),
            state: Mutex::default(),
        }
    }

    /// Clears the result of the last login; cookies are kept until they expire.
    pub(super) async fn begin_run(&self) {
        let mut state = self.state.lock().await;
        (state.futile, state.failure) = (0, None);
    }

    /// Returns `true` for pages that may require the login; robots.txt never requires it.
    pub(super) fn covers(&self, url: &Url) -> bool {
        self.sites.contains(&url.origin()) && url.path() != "/robots.txt"
    }

    /// Returns the URL of the form if its cookies are not sent to a page because the page's address
    /// differs.
    pub(super) fn foreign_login(&self, page: &Url) -> Option<&Url> {
        let form = self.login.url();
        let is_foreign = form.origin() != page.origin() && self.cookie(page).is_none();
        is_foreign.then_some(form)
    }

    /// Requests a page as a logged-in user; logs in first, or again, if necessary.
    pub(super) async fn fetch(
        &self,
        source: &HttpSource,
        request: &PageRequest<'_>,
    ) -> Result<PageResponse, SourceError> {
        let login = self.logged_in(source, 0).await?;
        let answer = self.page(source, request).await?;
        if !self.login.is_login_required(request.url, &answer) {
            return Ok(answer);
        }
        if self.login.is_at(request.url) {
            return Err(locked(request.url));
        }
        self.logged_in(source, login).await?;
        let answer = self.page(source, request).await?;
        let is_futile = self.login.is_login_required(request.url, &answer);
        let mut state = self.state.lock().await;
        state.futile = if is_futile { state.futile + 1 } else { 0 };
        if is_futile {
            return Err(locked(request.url));
        }
        Ok(answer)
    }

    async fn page(
        &self,
        source: &HttpSource,
        request: &PageRequest<'_>,
    ) -> Result<PageResponse, SourceError> {
        let answer = source.exchange(request, self.cookie(request.url)).await?;
        // The guarded data is consistent at all times, so a poisoned lock is harmless.
        let mut cookies = self.cookies.write().unwrap_or_else(PoisonError::into_inner);
        cookies.store(request.url, &answer.headers);
        Ok(answer)
    }

    fn cookie(&self, url: &Url) -> Option<HeaderValue> {
        let cookies = self.cookies.read().unwrap_or_else(PoisonError::into_inner);
        cookies.header(url)
    }

    /// Logs in, unless there has been a login after login number `since`; returns the number of the
    /// latest login.
    async fn logged_in(&self, source: &HttpSource, since: u64) -> Result<u64, SourceError> {
        // Concurrent requests wait here until a single login is done.
        let mut state = self.state.lock().await;
        if let Some(reason) = &state.failure {
            return Err(failed(reason));
        }
        if state.logins > since || state.futile >= MAX_FUTILE {
            return Ok(state.logins);
        }
        match (LoginSteps::new(&self.login, source)).log_in().await {
            Ok(cookies) => {
                // The cookies are set immediately, so that no page is requested with the old ones.
                *self.cookies.write().unwrap_or_else(PoisonError::into_inner) = cookies;
                state.logins += 1;
                Ok(state.logins)
            }
            Err(reason) => {
                tracing::warn!("the site robot cannot log in: {reason}");
                let error = failed(&reason);
                state.failure = Some(reason);
                Err(error)
            }
        }
    }
}

/// A login in progress, with the cookies received so far.
struct LoginSteps<'s> {
    login: &'s FormLogin,
    source: &'s HttpSource,
    cookies: Cookies,
}

impl<'s> LoginSteps<'s> {
    fn new(login: &'s FormLogin, source: &'s HttpSource) -> Self {
        Self {
            login,
            source,
            cookies: Cookies::default(),
        }
    }

    /// Fetches the form, submits it, and checks the result.
    async fn log_in(mut self) -> Result<Cookies, String> {
        let (url, shown) = (self.login.url(), self.login.shown());
        let page = self.step(url).await?;
        if let Some(to) = next_step(url, &page) {
            return Err(format!(
                "{shown} redirects to {to}: set site_robot.login_form to the page with the form"
            ));
        }
        if page.status >= 300 {
            return Err(format!(
                "{shown} returned status {}: set site_robot.login_form to the page with the form",
                page.status
            ));
        }
        let html = decode(&page.body, page.content_type().as_deref(), None);
        let filled = self.login.fill(&html.text)?;
        let cookie = self.cookies.header(&filled.url);
        let (address, headers) = self.source.prepare(&Method::POST, &filled.url, cookie);
        if !is_private(&address) {
            return Err(format!(
                "the password was not sent because {} would receive it unencrypted: make \
                 site_robot.login_form an https URL",
                address.origin().ascii_serialization(),
            ));
        }
        let sent = self.source.post_form(&filled, &address, headers).await;
        let answer = sent.map_err(|error| error.to_string())?;
        self.cookies.store(&filled.url, &answer.headers);
        self.end(filled.url, answer).await
    }

    /// Follows the redirects after a login to the final page, and evaluates that page.
    async fn end(mut self, mut url: Url, mut answer: PageResponse) -> Result<Cookies, String> {
        for _ in 0..MAX_STEPS {
            let Some(next) = next_step(&url, &answer) else {
                break;
            };
            answer = self.step(&next).await?;
            url = next;
        }
        let shown = self.login.shown();
        if answer.status >= 400 || self.login.is_login_required(&url, &answer) {
            return Err(format!(
                "the login at {shown} was refused: {} returned status {}; check site_robot.login_fields \
                 and the password",
                url.path(),
                answer.status,
            ));
        }
        if self.cookies.is_empty() {
            return Err(format!(
                "the login at {shown} set no cookie: check site_robot.login_fields"
            ));
        }
        Ok(self.cookies)
    }

    async fn step(&mut self, url: &Url) -> Result<PageResponse, String> {
        let request = PageRequest::get(url);
        let answer = self.source.exchange(&request, self.cookies.header(url));
        let answer = answer.await.map_err(|error| error.to_string())?;
        self.cookies.store(url, &answer.headers);
        Ok(answer)
    }
}

fn locked(url: &Url) -> SourceError {
    SourceError::Locked {
        url: robot_detection_store::fetch::shown_url(url.as_str()),
    }
}

fn failed(reason: &str) -> SourceError {
    SourceError::Login {
        reason: reason.to_owned(),
    }
}

impl fmt::Debug for LoginSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginSession")
            .field("login", &self.login)
            .finish_non_exhaustive()
    }
}

/// Maximum number of cookies accepted from one response.
const MAX_GIVEN: usize = 50;

/// Maximum number of stored cookies; any further cookies are ignored.
const MAX_KEPT: usize = 500;

/// Maximum length of a `Cookie` header, in bytes.
const MAX_COOKIE_BYTES: usize = 16 * 1024;

/// Cookies of a login, by site and path (RFC 6265).
#[derive(Default)]
pub(super) struct Cookies(CookieStore);

impl Cookies {
    /// Stores the cookies in a response; cookies for another site are rejected.
    pub(super) fn store(&mut self, url: &Url, headers: &HeaderMap) {
        let lines = headers.get_all(header::SET_COOKIE).iter().take(MAX_GIVEN);
        let lines = lines.filter_map(|line| line.to_str().ok());
        for cookie in lines.filter_map(|line| RawCookie::parse(line).ok()) {
            if self.0.iter_any().count() < MAX_KEPT {
                // `store_response_cookies` is not used because it logs the values.
                let _ = self.0.insert_raw(&cookie, url);
            }
        }
    }

    /// Returns the `Cookie` header for a URL; `None` if it would be empty or too long.
    pub(super) fn header(&self, url: &Url) -> Option<HeaderValue> {
        let pairs = self.0.get_request_values(url);
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let cookie = pairs.join("; ");
        if cookie.is_empty() || cookie.len() > MAX_COOKIE_BYTES {
            return None;
        }
        let mut cookie = HeaderValue::from_str(&cookie).ok()?;
        // The value is excluded from debug output and from the HTTP/2 compression tables.
        cookie.set_sensitive(true);
        Some(cookie)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter_unexpired().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn given(lines: &[String]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::SET_COOKIE, line.parse().unwrap());
        }
        headers
    }

    #[test]
    fn cookies_are_sent_only_to_their_site() {
        let mut cookies = Cookies::default();
        let from = url("https://www.h.example/login");
        cookies.store(
            &from,
            &given(&[
                "s=1; Path=/; Secure; HttpOnly".to_owned(),
                "d=2; Domain=h.example; Path=/".to_owned(),
                "x=3; Domain=evil.example".to_owned(),
                "p=4; Path=/login".to_owned(),
            ]),
        );
        let sent = |text: &str| {
            let header = cookies.header(&url(text));
            header.map(|it| it.to_str().unwrap().to_owned())
        };
        let own = sent("https://www.h.example/a").unwrap();
        assert!(
            own.contains("s=1") && own.contains("d=2") && !own.contains("p=4"),
            "{own}"
        );
        assert_eq!(sent("https://h.example/").as_deref(), Some("d=2"));
        assert_eq!(sent("http://www.h.example/").as_deref(), Some("d=2"));
        assert_eq!(sent("https://evil.example/"), None);
        cookies.store(&from, &given(&["s=; Path=/; Max-Age=0".to_owned()]));
        assert!(
            !cookies
                .header(&url("https://www.h.example/a"))
                .unwrap()
                .to_str()
                .unwrap()
                .contains("s=")
        );
    }

    #[test]
    fn number_of_cookies_is_limited() {
        let mut cookies = Cookies::default();
        for number in 0..100 {
            let lines: Vec<_> = (0..100).map(|n| format!("c{number}-{n}=v")).collect();
            cookies.store(&url("https://h.example/"), &given(&lines));
        }
        assert!(cookies.0.iter_any().count() <= MAX_KEPT);
    }
}
