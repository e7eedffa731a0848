//! Login with a form: the submitted form, and the detection of a lost login.

use std::fmt;

use http::header;
use url::{Host, Url};

use robot_detection_store::fetch::shown_url;

use crate::document::decode;

use super::{PageResponse, form::Form};

/// Maximum number of form fields listed in an error.
const NAMED_FIELDS: usize = 10;

/// Login with the form on a page.
///
/// The form is fetched, filled in and submitted like a browser would, including hidden fields. No
/// text created by this type contains the password.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::site_robot::source::FormLogin;
///
/// let login = FormLogin::new("https://www.h.example/login".parse()?, "password", "geheim")
///     .field("user", "robot")
///     .token_field("csrf");
/// assert!(!format!("{login:?}").contains("geheim"));
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone)]
pub struct FormLogin {
    url: Url,
    fields: Vec<(String, String)>,
    password_field: String,
    password: String,
    token_field: Option<String>,
}

/// Login form with its fields filled in.
#[derive(Clone, Eq, PartialEq)]
pub(super) struct FilledForm {
    pub(super) url: Url,
    pub(super) fields: Vec<(String, String)>,
}

impl FormLogin {
    /// Creates a login from the URL of the form, the name of its password field, and the password.
    pub fn new(url: Url, password_field: &str, password: &str) -> Self {
        Self {
            url,
            fields: Vec::new(),
            password_field: password_field.to_owned(),
            password: password.to_owned(),
            token_field: None,
        }
    }

    /// Sets the value of a field.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the hidden field (CSRF token) that must have a value before the form is submitted.
    #[must_use]
    pub fn token_field(mut self, name: &str) -> Self {
        self.token_field = Some(name.to_owned());
        self
    }

    /// Replaces the URL of the form, for a site at another address.
    #[must_use]
    pub fn at(mut self, url: Url) -> Self {
        self.url = url;
        self
    }

    /// Returns the URL of the page with the form.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns `true` if data sent to the form's site cannot be intercepted.
    pub fn is_private(&self) -> bool {
        is_private(&self.url)
    }

    /// Returns `true` if a URL is that of the form, ignoring the query.
    pub(super) fn is_at(&self, url: &Url) -> bool {
        url.origin() == self.url.origin() && url.path() == self.url.path()
    }

    /// Fills in the form of a page; the error contains advice.
    pub(super) fn fill(&self, html: &str) -> Result<FilledForm, String> {
        let forms = Form::read_all(html);
        let form = self.find(&forms)?;
        if let Some(token) = &self.token_field {
            match form.field(token) {
                None => return Err(self.lacks(form, token, "site_robot.login_token_field")),
                Some(field) if field.value.is_empty() => {
                    return Err(format!(
                        "the field `{token}` of the form at {} is empty, perhaps because a script fills \
                         it in: use site_robot.login with a token or a cookie",
                        self.shown(),
                    ));
                }
                Some(_) => {}
            }
        }
        let unknown = self
            .fields
            .iter()
            .find(|(name, _)| form.field(name).is_none());
        if let Some((name, _)) = unknown {
            return Err(self.lacks(form, name, "site_robot.login_fields"));
        }
        Ok(FilledForm {
            url: self.target(form)?,
            fields: self.values(form),
        })
    }

    /// Returns `true` if a response asks for a login instead of returning the requested page.
    pub(super) fn is_asked_for(&self, url: &Url, answer: &PageResponse) -> bool {
        match answer.status {
            401 => true,
            200 | 203 | 403 => self.is_form(answer),
            301 | 302 | 303 | 307 | 308 => {
                let target = answer.location().and_then(|to| url.join(&to).ok());
                target.is_some_and(|target| self.is_at(&target))
            }
            _ => false,
        }
    }

    /// Returns `true` for a page with this form.
    fn is_form(&self, answer: &PageResponse) -> bool {
        let media_type = answer.media_type();
        if !matches!(
            media_type.as_deref(),
            None | Some("text/html" | "application/xhtml+xml")
        ) {
            return false;
        }
        let html = decode(&answer.body, answer.content_type().as_deref(), None).text;
        // Fast check: most pages do not contain the field name.
        html.contains(&self.password_field)
            && Form::read_all(&html).iter().any(|form| {
                let mut names = self.fields.iter();
                self.has_password(form) && names.all(|(name, _)| form.field(name).is_some())
            })
    }

    fn has_password(&self, form: &Form) -> bool {
        let field = form.field(&self.password_field);
        field.is_some_and(|field| field.is_password)
    }

    fn find<'f>(&self, forms: &'f [Form]) -> Result<&'f Form, String> {
        if let Some(form) = forms.iter().find(|form| self.has_password(form)) {
            return Ok(form);
        }
        let mut forms = forms.iter();
        let other = forms.find(|form| form.fields.iter().any(|field| field.is_password));
        Err(match other {
            Some(form) => self.lacks(
                form,
                &self.password_field,
                "site_robot.login_password_field",
            ),
            None => format!(
                "{} has no form with a password field: set site_robot.login_form to \
                 the page with the form",
                self.shown(),
            ),
        })
    }

    /// Returns the form's target. A page must not send the password to another host.
    fn target(&self, form: &Form) -> Result<Url, String> {
        let target = match form.action.trim() {
            "" => Ok(self.url.clone()),
            action => self.url.join(action),
        };
        let mut target = target.map_err(|error| {
            format!(
                "the form at {} has an invalid action URL: {error}",
                self.shown()
            )
        })?;
        if target.origin() != self.url.origin() {
            return Err(format!(
                "the form at {} would be sent to {}, but a password is sent only to the login's own \
                 site: if that site is yours, set site_robot.login_form to its page",
                self.shown(),
                shown_url(&target.origin().ascii_serialization()),
            ));
        }
        target.set_fragment(None);
        Ok(target)
    }

    fn values(&self, form: &Form) -> Vec<(String, String)> {
        let own = |name: &str| self.fields.iter().any(|(own, _)| own == name);
        let kept = form.fields.iter().filter(|field| {
            field.is_sent && field.name != self.password_field && !own(&field.name)
        });
        let kept = kept.map(|field| (field.name.clone(), field.value.clone()));
        let password = (self.password_field.clone(), self.password.clone());
        kept.chain(self.fields.iter().cloned())
            .chain([password])
            .collect()
    }

    fn lacks(&self, form: &Form, name: &str, setting: &str) -> String {
        let names = form.fields.iter().take(NAMED_FIELDS);
        let names: Vec<_> = names
            .map(|field| field.name.chars().take(50).collect::<String>())
            .map(|name| name.escape_debug().to_string())
            .collect();
        format!(
            "the form at {} has no field `{name}`: its fields are {}; check {setting}",
            self.shown(),
            names.join(", "),
        )
    }

    pub(super) fn shown(&self) -> String {
        shown_url(self.url.as_str())
    }
}

/// Returns `true` for an address to which data cannot be intercepted.
pub(super) fn is_private(address: &Url) -> bool {
    if address.scheme() == "https" {
        return true;
    }
    match address.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Returns the target of a login redirect, if it stays on the site.
pub(super) fn next_step(url: &Url, answer: &PageResponse) -> Option<Url> {
    if !answer.is_redirect() {
        return None;
    }
    let location = answer.text(&header::LOCATION)?;
    let next = url.join(&location).ok()?;
    (next.origin() == url.origin()).then_some(next)
}

impl fmt::Debug for FormLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormLogin")
            .field("url", &self.shown())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for FilledForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilledForm")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    const FORM: &str = "<form method=post action=/in><input type=hidden name=csrf value=t1>\
        <input name=user><input type=password name=pass></form>";

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn login() -> FormLogin {
        FormLogin::new(url("https://www.h.example/login"), "pass", "geheim")
            .field("user", "robot")
            .token_field("csrf")
    }

    fn answer(status: u16, headers: &[(&'static str, &str)], body: &str) -> PageResponse {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        PageResponse::new(status, headers, body.to_owned().into())
    }

    #[test]
    fn form_is_submitted_with_its_hidden_fields() {
        let filled = login().fill(FORM).unwrap();
        assert_eq!(filled.url.as_str(), "https://www.h.example/in");
        let pairs: Vec<_> = filled
            .fields
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        assert_eq!(pairs, ["csrf=t1", "user=robot", "pass=geheim"]);
        assert!(!format!("{:?} {filled:?}", login()).contains("geheim"));
    }

    #[test]
    fn form_is_submitted_only_to_its_own_site() {
        for action in [
            "https://evil.example/in",
            "http://www.h.example/in",
            "//www.h.example:8443/in",
            "javascript:send()",
        ] {
            let html = FORM.replace("/in", action);
            let error = login().fill(&html).unwrap_err();
            assert!(
                error.contains("own site") && !error.contains("geheim"),
                "{error}"
            );
        }
    }

    #[test]
    fn error_names_the_missing_field() {
        let fill = |html: &str| login().fill(html).unwrap_err();
        let error = fill(&FORM.replace("csrf", "token"));
        assert!(error.contains("no field `csrf`"), "{error}");
        assert!(error.contains("token, user, pass"), "{error}");
        assert!(fill(&FORM.replace("value=t1", "")).contains("`csrf` of the form"));
        assert!(fill(&FORM.replace("user", "mail")).contains("no field `user`"));
        let error = fill(&FORM.replace("name=pass", "name=secret"));
        assert!(error.contains("login_password_field"), "{error}");
        assert!(fill("<p>Closed").contains("no form"));
    }

    #[test]
    fn lost_login_is_detected() {
        let page = url("https://www.h.example/a");
        let is_asked = |answer: PageResponse| login().is_asked_for(&page, &answer);
        let html = [("content-type", "text/html")];
        assert!(is_asked(answer(401, &[], "")));
        assert!(is_asked(answer(302, &[("location", "/login?next=/a")], "")));
        assert!(is_asked(answer(200, &html, FORM)));
        assert!(!is_asked(answer(302, &[("location", "/b")], "")));
        assert!(!is_asked(answer(200, &html, "<p>The pass of the Brenner")));
        assert!(!is_asked(answer(
            200,
            &[("content-type", "text/plain")],
            FORM
        )));
        // A logged-in user may see a form to change the password.
        let change = "<form><input type=password name=old><input type=password name=pass></form>";
        assert!(!is_asked(answer(200, &html, change)));
    }

    #[test]
    fn private_address_is_https_or_local() {
        for (address, is) in [
            ("https://h.example/", true),
            ("http://127.0.0.1:3000/", true),
            ("http://[::1]/", true),
            ("http://localhost/", true),
            ("http://h.example/", false),
            ("http://192.0.2.1/", false),
            ("http://localhost.example/", false),
        ] {
            assert_eq!(is_private(&url(address)), is, "{address}");
        }
    }
}
