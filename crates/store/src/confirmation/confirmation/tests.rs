use axum::http::HeaderName;

use super::*;

const AGENT: &str = "Mozilla/5.0 Chrome/152";
const ACTION: &str = "/robot-heaven/person";

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let lines = lines.iter();
    lines
        .map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::try_from(*value).unwrap())
        })
        .collect()
}

fn visitor(host: &str, agent: &str, cookie: &str) -> HeaderMap {
    headers(&[("host", host), ("user-agent", agent), ("cookie", cookie)])
}

/// Returns the body that a browser sends when the button on a page is clicked.
fn filled(form: &str) -> String {
    let value = |name: &str| {
        let (_, rest) = form
            .split_once(&format!("name=\"{name}\" value=\""))
            .unwrap();
        let value = rest.split_once('"').unwrap().0;
        // Undo the escaping by askama.
        value.replace("&#38;", "&")
    };
    let mut fields = form_urlencoded::Serializer::new(String::new());
    for name in ["to", "at", "key"] {
        fields.append_pair(name, &value(name));
    }
    fields.finish()
}

struct Site {
    clock: Clock,
    way_out: ConfirmationKeys,
}

impl Site {
    fn new() -> Self {
        let clock = Clock::manual(1_800_000_000_000);
        let way_out = ConfirmationKeys::new(&clock);
        Self { clock, way_out }
    }

    fn form(&self, to: &str) -> String {
        let asked = to.parse().unwrap();
        self.way_out
            .form(&asked, &visitor("a.example", AGENT, ""), ACTION)
    }

    fn press(&self, host: &str, client: [u8; 4], body: &str, is_https: bool) -> Response<Body> {
        let headers = visitor(host, AGENT, "");
        let presser = ConfirmingVisitor::of(&Uri::from_static("/"), &headers, client.into());
        self.way_out
            .submit(&presser, is_https, body.as_bytes(), ACTION)
    }

    /// Clicks the button and returns the cookie in the form in which a browser sends it.
    fn cookie(&self, is_https: bool) -> String {
        let body = filled(&self.form("/a?b&c"));
        let response = self.press("a.example:8443", [192, 0, 2, 1], &body, is_https);
        assert_eq!(response.status(), 303);
        assert_eq!(response.headers()["location"], "/a?b&c");
        of_browser(&response.headers()["set-cookie"])
    }

    fn word(&self, host: &str, client: [u8; 4], agent: &str, cookie: &str) -> Option<Confirmation> {
        let headers = visitor(host, agent, cookie);
        let presser = ConfirmingVisitor::of(&Uri::from_static("/"), &headers, client.into());
        self.way_out.confirmation(&presser, &headers)
    }

    fn is_good(&self, cookie: &str) -> bool {
        self.word("a.example", [192, 0, 2, 77], AGENT, cookie)
            .is_some()
    }

    fn later(&self, hours: u64) {
        self.clock.advance(Duration::from_secs(3_600 * hours));
    }
}

fn of_browser(set_cookie: &HeaderValue) -> String {
    let text = set_cookie.to_str().unwrap();
    text.split_once(';').unwrap().0.to_owned()
}

#[test]
fn confirmation_cookie_is_valid_for_one_browser_and_network() {
    let site = Site::new();
    let cookie = site.cookie(true);
    assert!(cookie.starts_with("__Host-"));
    assert!(site.is_good(&cookie));
    assert!(site.is_good(&format!("a=b; {cookie}; c=d")));
    assert!(site.is_good(&site.cookie(false)), "over plain HTTP");
    for (host, client, agent) in [
        ("b.example", [192, 0, 2, 1], AGENT),
        ("a.example", [198, 51, 100, 1], AGENT),
        ("a.example", [192, 0, 2, 1], "Mozilla/5.0 Chrome/151"),
    ] {
        let replayed = site.word(host, client, agent, &cookie);
        assert!(replayed.is_none(), "{host} {client:?} {agent}");
    }
    let (name, value) = cookie.split_once('=').unwrap();
    let mut parts: Vec<_> = value.split('.').map(str::to_owned).collect();
    parts[1] = "1900000000".to_owned();
    for forged in [
        format!("{name}={}", parts.join(".")),
        format!("{name}={}", value.trim_end_matches(|_: char| true)),
        format!("{cookie}A"),
        format!("{name}="),
        format!("{name}=...."),
        format!("{name}=-9223372036854775808.9223372036854775807.0.x"),
        format!("other={value}"),
    ] {
        assert!(!site.is_good(&forged), "{forged}");
    }
    assert!(!Site::new().is_good(&cookie), "accepted with another key");
}

#[test]
fn cookie_is_renewed_for_a_week_only() {
    let site = Site::new();
    let mut cookie = site.cookie(true);
    let first = cookie.clone();
    let mut hours = 0;
    while let Some(next) = site.word("a.example", [192, 0, 2, 1], AGENT, &cookie) {
        cookie = next.next_cookie.as_ref().map_or(cookie, of_browser);
        site.later(1);
        hours += 1;
        assert_eq!(site.is_good(&first), hours < 12, "after {hours} hours");
    }
    assert_eq!(hours, 7 * 24);
}

#[test]
fn form_redirects_only_to_its_page_on_its_host() {
    let site = Site::new();
    let form = filled(&site.form("/a"));
    let status = |host: &str, form: &str| site.press(host, [192, 0, 2, 1], form, true).status();
    assert_eq!(status("a.example", &form), 303);
    assert_eq!(status("b.example", &form), 400);
    assert_eq!(status("a.example", ""), 400);
    let (_, rest) = form.split_once('&').unwrap();
    for to in ["%2Fb", "https%3A%2F%2Fb.example", "%2F%2Fb.example"] {
        assert_eq!(status("a.example", &format!("to={to}&{rest}")), 400, "{to}");
    }
    for to in ["//b.example/", "/\\b.example", "a", "", "/a\r\nb", "/ä"] {
        assert!(!is_path(to), "{to}");
    }
    site.later(2);
    assert_eq!(status("a.example", &form), 403, "the form has expired");
}

#[tokio::test]
async fn expired_form_is_replaced_by_a_new_one() {
    let site = Site::new();
    let form = filled(&site.form("/a"));
    site.later(2);
    let response = site.press("a.example", [192, 0, 2, 1], &form, true);
    let page = axum::body::to_bytes(response.into_body(), 10_000).await;
    let page = String::from_utf8(page.unwrap().to_vec()).unwrap();
    let again = site.press("a.example", [192, 0, 2, 1], &filled(&page), true);
    assert_eq!(again.status(), 303);
}

#[test]
fn network_limit_applies() {
    let site = Site::new();
    let form = filled(&site.form("/a"));
    let mut statuses = (0..100).map(|host| {
        site.press("a.example", [192, 0, 2, host], &form, true)
            .status()
    });
    let first_refused = statuses.position(|status| status == 429);
    assert_eq!(first_refused, Some(60));
    let other = site.press("a.example", [198, 51, 100, 1], &form, true);
    assert_eq!(other.status(), 303);
}

#[tokio::test]
async fn instances_share_the_keys_in_their_database() {
    let store = Store::connect("sqlite::memory:").await.unwrap();
    let sites = [Site::new(), Site::new()];
    for site in &sites {
        site.way_out.look(&store).await.unwrap();
    }
    let cookie = sites[0].cookie(true);
    assert!(sites[1].is_good(&cookie));
    for site in &sites {
        site.later(8);
        site.way_out.look(&store).await.unwrap();
    }
    assert!(sites[1].is_good(&cookie), "signed with yesterday's key");
}
