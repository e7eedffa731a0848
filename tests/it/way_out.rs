//! Suspects get robot heaven's copy of a page; people end the suspicion with one click.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test cannot do fails the test"
)]

use std::{fs, os::unix::net::UnixStream, path::Path};

use robot_detection::{
    description::{ResourceDescription, name},
    heaven::{HeavenSettings, Library, publish},
    store::Store,
};
use serde_json::Value;
use tempfile::TempDir;
use url::form_urlencoded;

use crate::support::{
    browser::Browser,
    program::{
        Answer, CHROME, DEADLINE, FIREFOX, GOOGLEBOT, Server, admin_json, eventually, exchange,
        exchange_on, request, succeed,
    },
    raw::RawServer,
};

const SITE: &str = "http://www.example.com";

/// Headers of curl with a browser's User-Agent.
const LIAR: [(&str, &str); 2] = [("User-Agent", CHROME), ("Accept", "*/*")];

/// A version in a form that no browser uses.
const IMPOSSIBLE: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/150.0.0.0 Safari/537.3";

/// A fleet's User-Agent: not exactly any browser's, so only the number of requests reveals it.
const FLEET: &str =
    "Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36 Example/1";

const HEAVEN: &str = "[heaven]\nsource = 'database'\n[suspects]\naction = 'heaven'\n";

struct House {
    directory: TempDir,
    server: Server,
    _site: RawServer,
}

impl House {
    /// Starts a server in front of a site, with copies of two of its pages.
    async fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        describe(directory.path()).await.close().await;
        Self::before(directory, settings).await
    }

    async fn before(directory: TempDir, settings: &str) -> Self {
        let site = RawServer::answering(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<p>the original",
        )
        .await;
        let config = format!(
            "web_robots_db = ''\naccess_log = {{ path = 'access.log', format = 'json' }}\n\
             [database]\nurl = 'sqlite://{}/heaven.db'\n\
             [server]\nhosts = 'www.example.com'\nupstream = 'http://{}'\n{settings}",
            directory.path().display(),
            site.addr
        );
        fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        let house = Self {
            directory,
            server,
            _site: site,
        };
        // The list of pages is loaded after startup.
        eventually("robot heaven is loaded", || {
            let index = house.server.get("/robot-heaven/sitemap.xml", GOOGLEBOT);
            index.text().contains("articles/7") || house.ask("/articles/7", &LIAR).is_copy()
        });
        house
    }

    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        request(self.server.addr, "GET", path, headers)
    }

    /// Sends a request from an address named by a trusted proxy.
    fn ask_from(&self, address: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask(path, &[&[("X-Forwarded-For", address)], headers].concat())
    }

    /// Gets a copy, presses its button, and requests the page again; returns the last response.
    fn click(&self, address: &str, headers: &[(&str, &str)]) -> Answer {
        let copy = self.ask_from(address, "/articles/7", headers);
        assert!(copy.is_copy(), "{address}: {}", copy.text());
        let line = |(name, value): &(&str, &str)| format!("{name}: {value}\r\n");
        let lines: String = headers.iter().map(line).collect();
        let from = format!("X-Forwarded-For: {address}\r\n{lines}");
        let freed = self.press(&filled(&copy.text()), &from);
        assert_eq!(freed.status, 303, "{address}: {}", freed.text());
        let cookie = cookie(&freed);
        let headers = [headers, &[("Cookie", &cookie)]].concat();
        self.ask_from(address, "/articles/7", &headers)
    }

    fn press(&self, form: &str, headers: &str) -> Answer {
        let head = format!(
            "POST /robot-heaven/person HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{headers}\r\n{form}",
            form.len()
        );
        exchange(self.server.addr, head.as_bytes())
    }

    fn lines(&self, fits: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let file = self.directory.path().join("access.log");
        let read = || -> Vec<Value> {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let lines = text.lines();
            lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect()
        };
        eventually("the lines are in the access log", || fits(&read()));
        read()
    }
}

trait Copy {
    fn is_copy(&self) -> bool;
}

impl Copy for Answer {
    fn is_copy(&self) -> bool {
        self.text().contains("The year began quietly") && self.text().contains("I am human")
    }
}

async fn describe(directory: &Path) -> Store {
    let url = format!("sqlite://{}/heaven.db", directory.display());
    let store = Store::connect(&url).await.unwrap();
    let descriptions = [
        "/articles/7",
        "/articles/8?a=1&b=2",
        "/members-only-stuff/a",
    ]
    .map(|path| {
        let mut description = ResourceDescription::new(format!("{SITE}{path}"));
        description.set(name::TITLE, "A year");
        description.set(name::FULL_TEXT, "The year began quietly.");
        description
    });
    let saved = store
        .descriptions()
        .save("default", 1, &descriptions, 1_790_000_000_000);
    saved.await.unwrap();
    store
}

/// Returns the body that a browser sends when the button is pressed.
fn filled(page: &str) -> String {
    let values = ["to", "at", "key"].map(|name| {
        let (_, rest) = page
            .split_once(&format!("name=\"{name}\" value=\""))
            .unwrap();
        let value = rest.split_once('"').unwrap().0.replace("&#38;", "%26");
        format!("{name}={}", value.replace('/', "%2F").replace('?', "%3F"))
    });
    values.join("&")
}

fn cookie(answer: &Answer) -> String {
    let set = answer.header("set-cookie");
    set.split_once(';').unwrap().0.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspect_gets_a_copy_directly_and_leaves_it_with_one_click() {
    let house = House::new(HEAVEN).await;
    let target = "/articles/8?a=1&b=2";
    let copy = house.ask(target, &LIAR);
    assert!(copy.is_copy(), "{}", copy.text());
    assert_eq!((copy.status, &*copy.header("location")), (200, ""));
    assert_eq!(copy.header("cache-control"), "private, no-store");
    assert_eq!(
        (copy.header("etag"), copy.header("set-cookie")),
        Default::default()
    );

    let form = filled(&copy.text());
    let agent = format!("User-Agent: {CHROME}\r\n");
    let freed = house.press(&form, &agent);
    assert_eq!((freed.status, &*freed.header("location")), (303, target));
    let flags = freed.header("set-cookie");
    assert!(flags.contains("HttpOnly; SameSite=Lax"), "{flags}");
    let cookie = cookie(&freed);
    let with = |agent: &'static str| {
        let headers = [
            ("User-Agent", agent),
            ("Accept", "*/*"),
            ("Cookie", &*cookie),
        ];
        house.ask(target, &headers).is_copy()
    };
    assert!(!with(CHROME));
    assert!(with(IMPOSSIBLE), "the confirmation applies to one browser");

    let token = succeed(house.directory.path(), &["admin", "token", "test"]);
    // A query for evidence first writes all pending evidence.
    admin_json(house.server.addr, token.trim(), ("GET", "evidence"), "");
    let report = succeed(house.directory.path(), &["report", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let confirmed = &report["suspects"][5];
    assert_eq!(confirmed["number"], 1, "{confirmed:#}");

    let lines = house.lines(|lines| lines.iter().any(|line| line["cause"] == "way-out"));
    let of = |cause: &str| lines.iter().filter(|line| line["cause"] == cause).count();
    assert!(of("suspects") >= 2);
    assert_eq!(of("way-out"), 1);
    // Before heaven was loaded there was no copy, and the suspect passed.
    let served = lines.iter().find(|line| line["decision"] == "serve");
    assert_eq!(served.unwrap()["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_page_requests_for_public_pages_get_a_copy() {
    let house = House::new(HEAVEN).await;
    let is_copy = |path: &str, headers: &[(&str, &str)]| {
        let answer = house.ask(path, headers);
        assert_eq!(answer.status, 200, "{path} {headers:?}");
        answer.is_copy()
    };
    assert!(is_copy("/articles/7", &LIAR));
    assert!(!is_copy("/articles/9", &LIAR), "heaven has no such page");
    assert!(
        !is_copy("/members-only-stuff/a", &LIAR),
        "the page is for members"
    );
    let json = [("User-Agent", CHROME), ("Accept", "application/json")];
    assert!(!is_copy("/articles/7", &json));
    let script = [LIAR[0], LIAR[1], ("X-Requested-With", "XMLHttpRequest")];
    assert!(!is_copy("/articles/7", &script));
    let person = [
        ("User-Agent", FIREFOX),
        (
            "Accept",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        ),
        ("Accept-Language", "de,en;q=0.5"),
        ("Accept-Encoding", "gzip, deflate"),
        ("Upgrade-Insecure-Requests", "1"),
    ];
    assert!(!is_copy("/articles/7", &person));
    assert!(!is_copy("/articles/7", &[("User-Agent", GOOGLEBOT)]));
    let sent = request(house.server.addr, "POST", "/articles/7", &LIAR);
    assert!(!sent.is_copy());
    for (form, status) in [("", 400), ("to=%2Fa&at=1&key=1.x", 400)] {
        let answer = house.press(form, "");
        assert_eq!((answer.status, &*answer.header("set-cookie")), (status, ""));
    }
    let asked = house.ask("/robot-heaven/person", &LIAR);
    assert_eq!(asked.status, 404, "only a form can press the button");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_confirms_for_each_address_frees_no_fleet() {
    let settings = format!("trusted_proxies = ['127.0.0.1']\n{HEAVEN}[traffic]\nfleets = true\n");
    let house = House::new(&settings).await;
    let address = |number: u32| format!("2001:db8:{number:x}::1");
    for person in 0..30 {
        let from = format!("198.51.100.{person}");
        let asset = [("User-Agent", FIREFOX), ("Referer", "https://a.example/")];
        house.ask_from(&from, &format!("/page/{}", person % 5), &asset[..1]);
        for number in 0..5 {
            house.ask_from(&from, &format!("/{number}.css"), &asset);
        }
    }
    let program = [("User-Agent", FLEET)];
    for number in 0..100 {
        let path = format!("/archive/of/{number}");
        let answer = house.ask_from(&address(number), &path, &program);
        assert!(!answer.is_copy(), "one request raises no suspicion");
    }
    let token = succeed(house.directory.path(), &["admin", "token", "test"]);
    let told = admin_json(house.server.addr, token.trim(), ("GET", "suspects"), "");
    let told: Value = serde_json::from_str(&told.text()).unwrap();
    assert_eq!(told["fleets"][0]["user_agent"], FLEET, "{told:#}");

    // Each from a separate network, so that the pace of networks delays none of them.
    let freed = |number| !house.click(&address(number), &program).is_copy();
    let freed: Vec<_> = (0..100).filter(|number| freed(*number)).collect();
    assert!(
        (1..20).contains(&freed.len()) && freed.iter().all(|number| *number < 20),
        "{freed:?}"
    );

    let person = house.click("192.0.2.7", &[("User-Agent", IMPOSSIBLE)]);
    assert!(
        !person.is_copy(),
        "a person mistaken for a program can still confirm"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_the_result_of_a_copy() {
    let house = House::new(HEAVEN).await;
    let explained = |path: &str| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: {IMPOSSIBLE}\r\n\r\n"
        );
        fs::write(house.directory.path().join("head.txt"), head).unwrap();
        let arguments = ["explain", "--request", "head.txt"];
        succeed(house.directory.path(), &arguments)
    };
    let copy = explained("/articles/7");
    assert!(copy.contains("The response is heaven's copy"), "{copy}");
    let none = explained("/articles/9");
    assert!(
        none.contains("not served heaven's copy (robot heaven has no public copy of this page"),
        "{none}"
    );
    assert!(none.contains("decision  pass"), "{none}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_evaluates_pasted_headers_as_the_layer_does() {
    let house = House::new(HEAVEN).await;
    let token = succeed(house.directory.path(), &["admin", "token", "test"]);
    let answer = |path: &str, headers: &str| {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("path", path)
            .append_pair("headers", headers)
            .finish();
        let asked = format!("identify?user_agent=&{query}");
        admin_json(house.server.addr, token.trim(), ("GET", &asked), "")
    };
    let identified = |path: &str, headers: &str| -> Value {
        serde_json::from_str(&answer(path, headers).text()).unwrap()
    };
    let impossible = format!("User-Agent: {IMPOSSIBLE}\r\nAccept: text/html");
    let copy = identified("/articles/7", &impossible);
    assert_eq!(copy["decision"], "serve", "{copy:#}");
    assert!(
        copy["suspect"]
            .as_array()
            .unwrap()
            .contains(&"version-impossible".into())
    );
    let steps = copy["steps"].to_string();
    assert!(steps.contains("the visitor is a suspect"), "{steps}");
    assert!(steps.contains("The response is heaven's copy"), "{steps}");
    let none = identified("/articles/9", &impossible);
    assert_eq!(none["decision"], "pass", "{none:#}");
    let person = format!(
        "GET / HTTP/1.1\nUser-Agent: {FIREFOX}\nAccept: */*\nReferer: /\nAccept-Language: de"
    );
    let person = identified("/articles/7", &person);
    assert_eq!(
        (&person["decision"], &person["suspect"]),
        (&"pass".into(), &Value::Array(Vec::new()))
    );
    let wrong = answer("/", "User-Agent");
    assert_eq!(wrong.status, 422);
    assert!(wrong.text().contains("is not a header"), "{}", wrong.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn published_pages_are_copies_too() {
    let directory = tempfile::tempdir().unwrap();
    let store = describe(directory.path()).await;
    let library = Library::new(store.clone(), "default");
    let pages = directory.path().join("pages");
    let settings = HeavenSettings::new(SITE).unwrap();
    publish(&library, &pages, &settings).await.unwrap();
    store.close().await;
    let settings = format!(
        "[heaven]\ndirectory = '{}'\n[suspects]\naction = 'heaven'\n",
        pages.display()
    );
    let house = House::before(directory, &settings).await;
    // The sitemap is served as a file before the list of pages is loaded.
    eventually("the original has a copy", || {
        house.ask("/articles/7", &LIAR).is_copy()
    });
    let copy = house.ask("/articles/7", &LIAR);
    assert_eq!(
        (copy.header("etag"), copy.header("last-modified")),
        Default::default()
    );
    let head = request(house.server.addr, "HEAD", "/articles/7", &LIAR);
    assert_eq!((head.status, &*head.text()), (200, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_serves_copies_and_redirect_only_proxies_pass_suspects() {
    let settings = format!("[check]\nlisten = 'unix:check.sock'\n{HEAVEN}");
    let house = House::new(&settings).await;
    let question = |asks: &str, more: &str| {
        let stream = UnixStream::connect(house.directory.path().join("check.sock")).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let described = "X-Robot-Detection-Request: 192.0.2.7 http GET - /articles/7\r\n";
        let head = format!(
            "GET {asks} HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\
             User-Agent: {IMPOSSIBLE}\r\nAccept: text/html\r\n{described}{more}\r\n"
        );
        exchange_on(stream, head.as_bytes())
    };
    let asked = question("/check/nginx", "");
    let answer = asked.header("x-robot-detection-answer");
    let page = answer.rsplit_once("\tpage=").unwrap().1;
    assert_eq!((asked.status, page), (403, "/robot-heaven/?suspect"));
    let copy = question(
        "/check/page",
        &format!("X-Robot-Detection-Page: {page}\r\n"),
    );
    assert!(copy.is_copy(), "{}", copy.text());
    assert_eq!(copy.header("cache-control"), "private, no-store");
    for dialect in ["caddy", "haproxy"] {
        let asked = question(&format!("/check/{dialect}"), "");
        let decision = asked.header("x-robot-detection-decision");
        assert_eq!((asked.status, &*decision), (200, "pass"), "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_scripts_confirms_with_one_click() {
    let house = House::new(HEAVEN).await;
    let browser = Browser::start().await;
    browser.disable_scripts().await;
    browser.set_user_agent(IMPOSSIBLE).await;
    let page = format!("http://{}/articles/7", house.server.addr);
    browser.client.goto(&page).await.unwrap();
    browser.keep_screenshot("way-out").await;
    browser.press("form.way-out button").await;
    browser.wait_for_text("p", "the original").await;
    assert_eq!(browser.client.current_url().await.unwrap().as_str(), page);
    browser.client.refresh().await.unwrap();
    browser.wait_for_text("p", "the original").await;
    browser.end().await;
}
