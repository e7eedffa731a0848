//! A members' application of thirty pages, with a login form and sessions that expire.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Form, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use tokio::{net::TcpListener, task::JoinSet};

use crate::site_robot_pdf::pdf;

pub(super) const PASSWORD: &str = "lamp-room-41";

/// Number of requests after which a session ends.
const LASTS: usize = 12;

/// Texts that only members may ever read.
pub(super) const SECRETS: [&str; 6] = [
    "Combination of the strongbox",
    "Minutes of the closed meeting",
    "Draft of the lighthouse plan",
    "Telephone of the harbour master",
    "Unpublished accounts",
    "Scripts know the tide key",
];

/// The application; stops when dropped.
pub(super) struct Application {
    pub(super) origin: String,
    pub(super) seen: Arc<Mutex<ReceivedRequest>>,
    _server: JoinSet<()>,
}

/// Sessions and requests that the application has seen.
#[derive(Debug, Default)]
pub(super) struct ReceivedRequest {
    /// Remaining requests of the last session.
    left: usize,
    pub(super) sessions: usize,
    pub(super) paths: Vec<String>,
}

type Shared = State<Arc<Mutex<ReceivedRequest>>>;

impl Application {
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let seen = Arc::new(Mutex::new(ReceivedRequest::default()));
        let app = Router::new()
            .route("/login", get(form).post(log_in))
            .fallback(member)
            .with_state(Arc::clone(&seen));
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            origin,
            seen,
            _server: server,
        }
    }
}

async fn form() -> impl IntoResponse {
    let cookie = "form=f7; Path=/; HttpOnly";
    let form = "<title>Log in</title><h1>Log in</h1><form method=post action=/login>\
        <input type=hidden name=csrf value=f7><input name=user>\
        <input type=password name=pass><button>Log in</button></form>";
    ([(header::SET_COOKIE, cookie)], Html(form))
}

async fn log_in(
    State(seen): Shared,
    headers: HeaderMap,
    Form(fields): Form<HashMap<String, String>>,
) -> Response {
    let is = |name: &str, value: &str| fields.get(name).is_some_and(|it| it == value);
    let has_form = has_cookie(&headers, "form=f7");
    if !(is("user", "robot") && is("pass", PASSWORD) && is("csrf", "f7") && has_form) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let mut seen = seen.lock().unwrap();
    seen.sessions += 1;
    seen.left = LASTS;
    let session = format!("session=s{}; Path=/; HttpOnly", seen.sessions);
    let headers = [
        (header::SET_COOKIE, session),
        (header::LOCATION, "/members/".to_owned()),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn has_cookie(headers: &HeaderMap, wanted: &str) -> bool {
    let cookies = headers.get(header::COOKIE);
    let cookies = cookies.and_then(|cookies| cookies.to_str().ok());
    cookies.is_some_and(|cookies| cookies.split("; ").any(|cookie| cookie == wanted))
}

async fn member(State(seen): Shared, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let mut seen = seen.lock().unwrap();
    seen.paths.push(path.clone());
    if !path.starts_with("/members/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let session = format!("session=s{}", seen.sessions);
    if seen.left == 0 || !has_cookie(request.headers(), &session) {
        return (StatusCode::FOUND, [(header::LOCATION, "/login")]).into_response();
    }
    seen.left -= 1;
    drop(seen);
    page(&path)
}

/// Returns a page, or a response for its scripts.
fn page(path: &str) -> Response {
    let name = path.strip_prefix("/members/").unwrap_or_default();
    let (kind, number) = name.split_once('/').unwrap_or((name, ""));
    let (head, body) = match kind {
        "" => start(),
        "logbook" => logbook(number),
        "print" => (
            "<link rel=canonical href=/members/logbook/1>".to_owned(),
            format!("{}<p>For the printer.</p>", logbook("1").1),
        ),
        "news" => news(number),
        "en" | "de" => tides(kind),
        "app" => return script_page(number),
        "data" => {
            let words = format!("{{\"text\": \"Gauge {number} reads four fathoms.\"}}");
            return ([(header::CONTENT_TYPE, "application/json")], words).into_response();
        }
        "app.js" => {
            return ([(header::CONTENT_TYPE, "text/javascript")], SCRIPT).into_response();
        }
        "report.pdf" => {
            return ([(header::CONTENT_TYPE, "application/pdf")], pdf()).into_response();
        }
        "closed" => {
            let page = html("Closed", "", &format!("<p>{}.</p>", SECRETS[1]));
            return ([("x-robots-tag", "noindex")], Html(page)).into_response();
        }
        name => match plain(name) {
            Some(parts) => parts,
            None => return StatusCode::NOT_FOUND.into_response(),
        },
    };
    Html(html(&title(name), &head, &body)).into_response()
}

fn html(title: &str, head: &str, body: &str) -> String {
    let menu = "<a href=/members/>Start</a> <a href=/members/logout>Log out</a> \
        <a href='/members/post/7/delete'>Delete</a>";
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>{head}</head>\
         <body><nav>{menu}</nav><main><h1>{title}</h1>{body}</main>\
         <footer>The guild of the harbour</footer></body></html>"
    )
}

/// Returns the title of the page with a name.
pub(super) fn title(name: &str) -> String {
    match name {
        "" => "Guild of the harbour".to_owned(),
        name => format!("Guild: {}", name.replace('/', " ")),
    }
}

/// Returns the names of all pages, the start page first.
pub(super) fn names() -> Vec<String> {
    let numbered = [("logbook", 12), ("news", 3), ("app", 3)];
    let numbered = numbered
        .into_iter()
        .flat_map(|(kind, count)| (1..=count).map(move |number| format!("{kind}/{number}")));
    let others = [
        "tables",
        "code",
        "quotes",
        "en/tides",
        "de/tides",
        "print/1",
        "report.pdf",
        "snippet",
        "hidden",
        "aside",
        "closed",
    ];
    let others = others.map(str::to_owned);
    std::iter::once(String::new())
        .chain(numbered)
        .chain(others)
        .collect()
}

fn start() -> (String, String) {
    let link = |name: String| format!("<li><a href='/members/{name}'>{}</a>", title(&name));
    let links: String = names().into_iter().skip(1).map(link).collect();
    let words = "<p>All that the guild keeps for its members stands on these pages.</p>";
    (String::new(), format!("{words}<ul>{links}</ul>"))
}

fn logbook(number: &str) -> (String, String) {
    let body = format!(
        "<p>Day {number}: the wind came from the west, and the pilot went out at dawn.</p>\
         <h2>Ships of day {number}</h2><ol><li>The brig <b>Petrel {number}</b><li>Two boats<ul>\
         <li>one with salt<li>one with rope</ul></ol>\
         <p>See also <a href=/members/tables>the tables</a>.</p>"
    );
    (String::new(), body)
}

/// Returns title and HTML of a news page; each page gives its publication date in another way.
fn news(number: &str) -> (String, String) {
    let (head, time) = match number {
        "1" => (
            "<script type=application/ld+json>{\"@context\":\"https://schema.org\",\
             \"@type\":\"NewsArticle\",\"datePublished\":\"2025-03-01T08:00:00Z\",\
             \"dateModified\":\"2025-03-02T08:00:00Z\"}</script>",
            "",
        ),
        "2" => (
            "<meta property=article:published_time content=2025-04-01T08:00:00Z>",
            "",
        ),
        _ => ("", "<time datetime=2025-05-01>1 May</time>"),
    };
    let body = format!("<p>{time} News {number} of the quay: a new crane was set up.</p>");
    (head.to_owned(), body)
}

fn tides(language: &str) -> (String, String) {
    let head = "<link rel=alternate hreflang=en href=/members/en/tides>\
        <link rel=alternate hreflang=de href=/members/de/tides>";
    let words = match language {
        "de" => "Die Flut kommt zweimal am Tag, und das Wasser steigt um vier Meter.",
        _ => "The tide comes twice a day, and the water rises by four metres.",
    };
    (head.to_owned(), format!("<p lang={language}>{words}</p>"))
}

fn plain(name: &str) -> Option<(String, String)> {
    let noindex = "<meta name=robots content=noindex>";
    let (head, body) = match name {
        "tables" => (
            "",
            "<table><caption>Depths</caption><tr><th>Quay<th>Fathoms<tr><td>North<td>4\
             <tr><td>South<td>7</table>"
                .to_owned(),
        ),
        "code" => (
            "",
            "<p>The gauge is read so:</p><pre><code class=language-python>\
             for gauge in gauges:\n    print(gauge.depth)\n</code></pre>"
                .to_owned(),
        ),
        "quotes" => (
            "",
            "<p>The old pilot said:</p><blockquote><p>Never trust a calm harbour.</blockquote>"
                .to_owned(),
        ),
        "snippet" => (
            "",
            format!(
                "<p>What is shown to all.</p><p data-nosnippet>{}.</p>",
                SECRETS[0]
            ),
        ),
        "hidden" => (noindex, format!("<p>{}.</p>", SECRETS[2])),
        "aside" => (
            "",
            format!(
                "<p>What people see.</p><p hidden>{}.</p><p aria-hidden=true>{}.</p>",
                SECRETS[3], SECRETS[4]
            ),
        ),
        _ => return None,
    };
    Some((head.to_owned(), body))
}

const SCRIPT: &str = "
    const number = location.pathname.split('/').pop();
    fetch('/members/data/' + number).then(it => it.json()).then(data => {
        document.getElementById('root').innerHTML =
            '<h1>Gauge ' + number + '</h1><p>' + data.text + '</p>' +
            '<p hidden>Scripts know the tide key.</p>';
    });";

fn script_page(number: &str) -> Response {
    Html(format!(
        "<!doctype html><html lang=en><title>{}</title><div id=root></div>\
         <script src=/members/app.js></script>",
        title(&format!("app/{number}"))
    ))
    .into_response()
}
