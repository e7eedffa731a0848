//! An axum application with members' pages that robots cannot read, and a robot heaven.
//!
//! ```console
//! $ cargo run --example axum_members
//! $ curl -si -A 'Googlebot/2.1' http://127.0.0.1:3000/members-only-stuff/     # 302 to heaven
//! $ curl -si -A 'Firefox/140.0' http://127.0.0.1:3000/members-only-stuff/     # 303 to the login
//! $ curl -s  -A 'Googlebot/2.1' http://127.0.0.1:3000/robot-heaven/           # built from the data
//! ```
//!
//! To listen on another address, pass it as the first argument. In a browser, log in as `member` or
//! as `owner`, both with the password `secret`: the owner can open the admin page,
//! <http://127.0.0.1:3000/robot-detection/admin/>, which uses this application's own login.

use std::{
    collections::HashMap,
    error::Error,
    fmt::Write,
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock},
};

use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use robot_detection::{Identification, RobotDetection};
use tokio::net::TcpListener;

/// Source of both a members' page and its heaven page.
struct Report {
    slug: &'static str,
    title: &'static str,
    /// Public summary; robots index it.
    summary: &'static str,
    /// Text for paying members.
    text: &'static str,
}

/// A real application would query a database.
const REPORTS: [Report; 2] = [
    Report {
        slug: "lighthouses",
        title: "Lighthouses & their keepers",
        summary: "How forty lighthouses of the north coast are kept, and by whom.",
        text: "The keeper of the oldest one has never seen the sea from below.",
    },
    Report {
        slug: "bridges",
        title: "Bridges that nobody crosses",
        summary: "A list of bridges with no road on either side, with photographs.",
        text: "Three of them were delivered to the wrong river.",
    },
];

#[derive(Clone, Default)]
struct Members {
    sessions: Arc<RwLock<HashMap<String, Role>>>,
}

#[derive(Clone, Copy)]
enum Role {
    Member,
    Owner,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The layer wraps everything, so that robots get their redirect before the login sends them to
    // a form that they cannot fill in.
    let robots = RobotDetection::builder()
        .filter_patterns(["/members-only-stuff, /members-only-stuff/*"])
        .redirect_url("/robot-heaven/")
        .database_url("sqlite::memory:") // use a file in production
        .web_robots_db("") // only the bundled registry, without a network
        .build()
        .await?;

    let members = Members::default();
    let members_only = Router::new()
        .route("/members-only-stuff/", get(reports))
        .route("/members-only-stuff/{slug}", get(report))
        .route_layer(middleware::from_fn_with_state(
            members.clone(),
            login_required,
        ));
    // The console needs no login here, since only the owner can open it. An application without its
    // own login nests `admin_router()`, which asks for a password.
    let owner_only = Router::new()
        .nest_service(
            "/robot-detection/admin",
            robots.admin_router_without_login(),
        )
        .layer(middleware::from_fn_with_state(
            members.clone(),
            owner_required,
        ));
    let app = Router::new()
        .route("/", get(home))
        .route("/login", get(login_form).post(login))
        .route("/robot-heaven/", get(heaven))
        .route("/robot-heaven/{slug}", get(heaven_page))
        .merge(members_only)
        .with_state(members)
        .merge(owner_only)
        .layer(robots.layer())
        .layer(robots.traffic_layer());

    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:3000")).await?;
    say(&format!("listening on http://{}", listener.local_addr()?));
    axum::serve(
        listener,
        app.into_make_service_with_connect_info::<SocketAddr>(),
    )
    .await?;
    robots.shutdown().await;
    Ok(())
}

async fn home() -> Html<String> {
    page(
        "Reports",
        "<p><a href=\"/members-only-stuff/\">For members</a></p>",
    )
}

async fn reports() -> Html<String> {
    page("Reports for members", &links("/members-only-stuff/"))
}

async fn report(Path(slug): Path<String>) -> Response {
    match find(&slug) {
        Some(report) => page(
            report.title,
            &format!(
                "<p>{}</p><p>{}</p>",
                escape(report.summary),
                escape(report.text)
            ),
        )
        .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Heaven's entry page, which greets the robot that the layer has identified.
async fn heaven(robot: Option<Identification>) -> Html<String> {
    let greeting = match robot {
        Some(found) => format!("<p>Welcome, {}.</p>", escape(found.id())),
        None => String::new(),
    };
    page(
        "Reports, in short",
        &format!("{greeting}{}", links("/robot-heaven/")),
    )
}

async fn heaven_page(Path(slug): Path<String>) -> Response {
    match find(&slug) {
        Some(report) => page(
            report.title,
            &format!(
                "<p>{}</p><p><a href=\"/members-only-stuff/{slug}\">All of it, for members</a></p>",
                escape(report.summary)
            ),
        )
        .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn login_form() -> Html<String> {
    page(
        "Log in",
        "<form method=\"post\"><label>Name <input name=\"name\"></label>
        <label>Password <input name=\"password\" type=\"password\"></label>
        <button>Log in</button></form>",
    )
}

/// Checks name and password; a demonstration with one member and the owner.
async fn login(State(members): State<Members>, form: String) -> Response {
    let mut fields: Vec<&str> = form.split('&').collect();
    fields.sort_unstable();
    let role = match fields.as_slice() {
        ["name=member", "password=secret"] => Role::Member,
        ["name=owner", "password=secret"] => Role::Owner,
        _ => return (StatusCode::FORBIDDEN, page("Wrong name or password", "")).into_response(),
    };
    let session = new_session();
    let cookie = format!("session={session}; Path=/; HttpOnly; SameSite=Lax");
    members
        .sessions
        .write()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(session, role);
    (
        [(header::SET_COOKIE, cookie)],
        Redirect::to("/members-only-stuff/"),
    )
        .into_response()
}

/// Lets members pass and redirects other visitors to the login.
async fn login_required(
    State(members): State<Members>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    match members.role(&headers) {
        Some(_) => next.run(request).await,
        None => Redirect::to("/login").into_response(),
    }
}

/// Lets only the owner pass.
async fn owner_required(
    State(members): State<Members>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    match members.role(&headers) {
        Some(Role::Owner) => next.run(request).await,
        Some(Role::Member) => StatusCode::FORBIDDEN.into_response(),
        None => Redirect::to("/login").into_response(),
    }
}

impl Members {
    /// Returns the role of the logged-in visitor.
    fn role(&self, headers: &HeaderMap) -> Option<Role> {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().strip_prefix("session="))
            .find_map(|session| sessions.get(session).copied())
    }
}

/// Returns a session id that is sufficient for a demonstration. In production, use a session crate,
/// which generates ids with a secure random number generator.
fn new_session() -> String {
    let random = || RandomState::new().hash_one("session");
    format!("{:016x}{:016x}", random(), random())
}

fn find(slug: &str) -> Option<&'static Report> {
    REPORTS.iter().find(|report| report.slug == slug)
}

fn links(directory: &str) -> String {
    let mut list = String::from("<ul>");
    for Report { slug, title, .. } in &REPORTS {
        let title = escape(title);
        let _ = write!(list, "<li><a href=\"{directory}{slug}\">{title}</a></li>");
    }
    list + "</ul>"
}

fn page(title: &str, body: &str) -> Html<String> {
    let title = escape(title);
    Html(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <title>{title}</title><h1>{title}</h1>{body}</html>"
    ))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[expect(clippy::print_stdout, reason = "prints the address for the user")]
fn say(line: &str) {
    println!("{line}");
}
