//! Routes of the pages and of the JSON API, each with its summary, parameters and response.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use robot_detection_operations::{
    alerts::AlertStatuses,
    bans::BanViews,
    decisions::Explanation,
    instances::Instances,
    live_rules::{AddedRule, NewPause, PauseState, RuleFields, Rules},
    robots::{ListRobots, NewRobot, RobotViews},
    sessions::{EndedSessions, Sessions},
    tokens::{CreatedToken, NewToken, Tokens},
    traffic::TrafficFigures,
};
use robot_detection_store::store::EVIDENCE_EVENTS;
use robot_detection_traffic::traffic::{By, decision_words, verdict_words};
use tower_http::compression::CompressionLayer;

use super::{
    access, account, alerts, api, assets, bans, changes, credentials, evidence, guard, identify,
    listing, live_rules, login, manual,
    openapi::{Api, Operation},
    parameters::with_parameters,
    problem::Problem,
    refresh_job, refreshes, robots, robots_txt, session,
    settings::{Access, Admin},
    settings_page, site_robot, sites, sources,
    state::AdminState,
    suspects, traffic, verification,
};

/// Maximum size of a form or JSON body.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Query parameters that select the site whose decisions are shown.
const SITE: &[&str] = &["site", "host"];
const DRY_RUN: &[&str] = &["dry_run"];
const CHANGES: &[&str] = &["event", "since", "until"];
const LIST: &[&str] = &[
    "q",
    "id",
    "source",
    "status",
    "purpose",
    "operator",
    "duplicates",
    "sort",
    "dir",
    "limit",
    "cursor",
];
const IDENTIFY: &[&str] = &[
    "user_agent",
    "path",
    "method",
    "host",
    "headers",
    "https",
    "site",
];
const VERIFICATION: &[&str] = &["robot", "sort", "dir"];
const CHECK: &[&str] = &["robot", "url", "host", "site"];
/// Query parameter that selects the site of a site robot.
const ROBOT_SITE: &[&str] = &["site"];
const ROBOT_URL: &[&str] = &["site", "url"];
const DESCRIPTIONS: &[&str] = &["site", "q", "limit", "cursor"];

/// Creates the router with the pages at `/` and the JSON API under `/api`.
///
/// Links are relative, so the router can be nested at any path. Prefer `nest_service`, which
/// responds with and without a trailing slash.
pub fn router(admin: Admin) -> Router {
    let has_login = matches!(admin.access, Access::Login { .. });
    let state = AdminState::new(admin);
    let mut routes = pages().merge(api(has_login).into_router());
    if has_login {
        routes = routes.merge(login_pages());
    }
    // The last layer sees a request first: foreign hosts and sites are refused before the session
    // is loaded from the database.
    routes
        .fallback(async || Problem::not_found("This page does not exist."))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(state.clone(), access::require_access))
        .layer(from_fn_with_state(state.clone(), session::manage))
        .layer(from_fn(guard::same_site))
        .layer(from_fn_with_state(state.clone(), guard::known_host))
        .layer(from_fn(guard::finish))
        .layer(CompressionLayer::new())
        .with_state(state)
}

fn pages() -> Router<AdminState> {
    Router::new()
        .merge(traffic_pages())
        .route("/registry", get(robots::list))
        .route("/live", get(evidence::show))
        .route("/live/events", get(evidence::events))
        .route("/identify", get(identify::show))
        .route("/verification", get(verification::show))
        .route("/robots-txt", get(robots_txt::show))
        .route("/sources", get(sources::show))
        .route("/settings", get(settings_page::show))
        .route("/site-robot", get(site_robot::show))
        .route("/refreshes", get(refreshes::list))
        .route("/alerts", get(alerts::show))
        .route("/suspects", get(suspects::show))
        .route("/bans", get(bans::show))
        .route("/bans/remove", post(bans::remove))
        .route("/robots/export", get(listing::download))
        .route("/robots/new", get(manual::form).post(manual::add))
        .route("/robots/remove", post(manual::remove))
        .route("/verification/ranges/refresh", post(verification::fetch))
        .route("/sites/reload", post(sites::reload))
        .merge(rule_pages())
        .merge(site_robot_pages())
        .route("/refresh", get(refreshes::progress).post(refreshes::start))
        .route("/refresh/accept", post(refreshes::accept))
        .route("/refreshes/{refresh_id}", get(refreshes::record))
        .route("/assets/{asset_name}", get(assets::serve))
}

fn rule_pages() -> Router<AdminState> {
    Router::new()
        .route("/rules", get(live_rules::list).post(live_rules::add))
        .route("/rules/new", get(live_rules::form))
        .route("/rules/confirm", get(live_rules::confirm))
        .route("/rules/remove", post(live_rules::remove))
        .route("/rules/restore", post(live_rules::restore))
        .route("/rules/pause", post(live_rules::pause))
        .route("/rules/resume", post(live_rules::resume))
        .route("/changes", get(changes::show))
        .route("/changes/export", get(changes::download))
}

/// Pages with the filter bar, which reject unknown parameters.
fn traffic_pages() -> Router<AdminState> {
    let of_robot = |route| with_parameters(traffic::ROBOT, route);
    Router::new()
        .route("/", with_parameters(traffic::FIGURES, get(traffic::top)))
        .route(
            "/paths",
            with_parameters(traffic::PATHS, get(traffic::paths)),
        )
        .route(
            "/paths/export",
            with_parameters(traffic::PATHS, get(traffic::paths_csv)),
        )
        .route(
            "/overview",
            with_parameters(traffic::FIGURES, get(traffic::now)),
        )
        .route(
            "/traffic",
            with_parameters(traffic::FIGURES, get(traffic::explore)),
        )
        .route(
            "/traffic/export",
            with_parameters(traffic::FIGURES, get(traffic::download)),
        )
        .route(
            "/robots",
            with_parameters(traffic::ROBOTS, get(traffic::robots)),
        )
        .route("/sites", with_parameters(traffic::SITES, get(sites::list)))
        .route(
            "/robots/{robot_source}",
            of_robot(get(robots::show_by_query)),
        )
        .route(
            "/robots/{robot_source}/{robot_id}",
            of_robot(get(robots::show)),
        )
}

fn site_robot_pages() -> Router<AdminState> {
    Router::new()
        .route("/site-robot/run", post(site_robot::run))
        .route("/site-robot/pause", post(site_robot::pause))
        .route("/site-robot/resume", post(site_robot::resume))
        .route("/site-robot/stop", post(site_robot::stop))
        .route("/site-robot/accept", post(site_robot::accept))
        .route(
            "/site-robot/clear",
            get(site_robot::confirm).post(site_robot::clear),
        )
        .route("/site-robot/descriptions", get(site_robot::list))
        .route("/site-robot/description", get(site_robot::one))
        .route("/site-robot/explain", get(site_robot::explain))
}

fn login_pages() -> Router<AdminState> {
    Router::new()
        .route("/login", get(login::form).post(login::submit))
        .route("/logout", post(login::leave))
        .route("/account", get(account::form).post(account::submit))
        .route("/access", get(credentials::show))
        .route("/access/tokens", post(credentials::make_token))
        .route("/access/tokens/end", post(credentials::end_token))
        .route("/access/sessions/end", post(credentials::end_session))
        .route(
            "/access/sessions/end-others",
            post(credentials::end_sessions),
        )
}

/// Returns the routes below `/api`; token and session routes exist only if there is a login.
fn api(has_login: bool) -> Api {
    let api = instance_routes(ban_routes(rule_routes(Api::new(words))));
    let api = traffic_routes(site_robot_routes(verification_routes(refresh_routes(
        registry_routes(api),
    ))))
    .add(
        Operation::get(
            "/status",
            "State of the database, the registry and filtering",
        )
        .answer::<api::Status>()
        .takes(SITE),
        api::status,
    )
    .add(
        Operation::get("/settings", "Settings, rules and headers in force")
            .answer::<api::SettingsAnswer>()
            .takes(SITE),
        api::settings,
    )
    .add(
        Operation::get("/identify", "Identify a robot and explain the decision")
            .answer::<Explanation>()
            .takes(IDENTIFY),
        api::identify,
    )
    .add(
        Operation::get("/alerts", "Alerts and their recent messages").answer::<AlertStatuses>(),
        alerts::json,
    )
    .add(
        Operation::get("/robots-txt", "The robots.txt in force")
            .answer::<robots_txt::RobotsTxtState>()
            .takes(SITE),
        robots_txt::json,
    )
    .add(
        Operation::get("/robots-txt/check", "Check whether robots.txt allows a URL")
            .answer::<robots_txt::CheckResult>()
            .takes(CHECK),
        robots_txt::check_json,
    );
    if has_login { login_routes(api) } else { api }
}

/// Returns the allowed words of a parameter.
fn words(path: &str, name: &str) -> Vec<&'static str> {
    match (path, name) {
        (_, "dir") => vec!["asc", "desc"],
        ("/robots", "sort") => ListRobots::SORTS.to_vec(),
        ("/robots", "status") => ListRobots::STATUSES.to_vec(),
        ("/verification", "sort") => verification::sort_words(),
        ("/evidence", "event") => EVIDENCE_EVENTS.to_vec(),
        ("/evidence", "suspect") => evidence::reason_words(),
        (_, "decision") => decision_words(),
        (_, "verdict") => verdict_words(),
        ("/traffic/names", "of") => vec!["robot", "operator", "visitor"],
        ("/traffic/series", "by") => By::ALL.iter().map(|by| by.as_str()).collect(),
        _ if path.starts_with("/traffic") => traffic::words(name),
        _ => Vec::new(),
    }
}

fn traffic_routes(api: Api) -> Api {
    api.add(
        Operation::get("/traffic", "Traffic figures")
            .answer::<TrafficFigures>()
            .takes(traffic::FIGURES),
        traffic::figures_json,
    )
    .add(
        Operation::get("/traffic/series", "Traffic over time")
            .answer::<traffic::TrafficSeries>()
            .takes(traffic::FIGURES),
        traffic::series_json,
    )
    .add(
        Operation::get(
            "/traffic/names",
            "Filter values that begin with a given text",
        )
        .answer::<traffic::NamesAnswer>()
        .takes(&["of", "q"]),
        traffic::names,
    )
    .add(
        Operation::get("/traffic/paths", "Approximate request counts by path")
            .answer::<traffic::PathsAnswer>()
            .takes(traffic::PATHS),
        traffic::paths_json,
    )
    .add(
        Operation::get("/evidence", "Stored requests that did not simply pass")
            .answer::<evidence::EvidencePage>()
            .takes(evidence::PARAMETERS),
        evidence::json,
    )
    .add(
        Operation::get("/suspects", "Fleets and clients that claim to be browsers")
            .answer::<suspects::SuspectsAnswer>(),
        suspects::json,
    )
}

fn instance_routes(api: Api) -> Api {
    api.add(
        Operation::get("/instances", "Instances that share the database").answer::<Instances>(),
        settings_page::instances_json,
    )
    .add(
        Operation::get("/sites", "Sites with their upstreams and request counts")
            .answer::<sites::Sites>(),
        sites::json,
    )
    .add(
        Operation::post("/reload", "Reload the configuration")
            .answer::<sites::Reload>()
            .takes(&["accept"]),
        sites::reload_json,
    )
}

fn rule_routes(api: Api) -> Api {
    let save = |operation: Operation| {
        operation
            .body::<RuleFields>()
            .answer::<AddedRule>()
            .takes(DRY_RUN)
            .status(StatusCode::CREATED)
            .or_ok()
    };
    let add = "Add a live rule, or preview the affected requests";
    let put = "Create or replace a live rule by name";
    api.add(
        Operation::get("/rules", "Live rules, configured rules and the pause")
            .answer::<Rules>()
            .takes(&["site"]),
        live_rules::list_json,
    )
    .add(save(Operation::post("/rules", add)), live_rules::add_json)
    .add(
        save(Operation::put("/rules/{rule}", put)),
        live_rules::put_json,
    )
    .add(
        Operation::delete("/rules/{rule}", "Remove a live rule by ID or name"),
        live_rules::remove_json,
    )
    .add(
        Operation::post("/rules/{rule_id}/restore", "Restore a removed live rule")
            .status(StatusCode::NO_CONTENT),
        live_rules::restore_json,
    )
    .add(
        Operation::get("/pause", "State of the pause").answer::<PauseState>(),
        live_rules::pause_state_json,
    )
    .add(
        Operation::post("/pause", "Pause all enforcement")
            .body::<NewPause>()
            .answer::<PauseState>(),
        live_rules::pause_json,
    )
    .add(
        Operation::delete("/pause", "Resume enforcement"),
        live_rules::resume_json,
    )
    .add(
        Operation::get("/changes", "Audit log of changes, newest first")
            .answer::<changes::Changes>()
            .takes(CHANGES),
        changes::json,
    )
}

fn registry_routes(api: Api) -> Api {
    api.add(
        Operation::get("/robots", "Robots of the registry")
            .answer::<RobotViews>()
            .takes(LIST),
        api::list,
    )
    .add(
        Operation::post("/robots", "Add a robot by hand")
            .body::<NewRobot>()
            .answer::<api::OneRobot>()
            .status(StatusCode::CREATED),
        api::add,
    )
    .add(
        Operation::get("/robots/{robot_source}/{robot_id}", "A robot").answer::<api::OneRobot>(),
        api::robot,
    )
    .add(
        Operation::put(
            "/robots/{robot_source}/{robot_id}",
            "Create or replace a robot by ID",
        )
        .body::<NewRobot>()
        .answer::<api::OneRobot>()
        .status(StatusCode::CREATED)
        .or_ok(),
        api::put,
    )
    .add(
        Operation::delete(
            "/robots/{robot_source}/{robot_id}",
            "Remove a robot that was added by hand",
        ),
        api::remove,
    )
}

fn refresh_routes(api: Api) -> Api {
    api.add(
        Operation::get("/refreshes", "Recent refreshes of all sources")
            .answer::<api::RefreshList>(),
        api::history,
    )
    .add(
        Operation::get("/refreshes/{refresh_id}", "A refresh").answer::<api::OneRefresh>(),
        api::record,
    )
    .add(
        Operation::get("/refresh", "Current or last refresh").answer::<refresh_job::JobView>(),
        api::progress,
    )
    .add(
        Operation::post("/refresh", "Refresh one or all sources")
            .body::<api::StartBody>()
            .answer::<refresh_job::JobView>()
            .status(StatusCode::ACCEPTED),
        api::start,
    )
    .add(
        Operation::post("/refresh/accept", "Accept a download held for review")
            .body::<api::AcceptBody>()
            .answer::<refresh_job::JobView>()
            .status(StatusCode::ACCEPTED),
        api::accept,
    )
}

fn verification_routes(api: Api) -> Api {
    api.add(
        Operation::get("/verification", "Verdicts in the last 24 hours")
            .answer::<verification::View>()
            .takes(VERIFICATION),
        verification::json,
    )
    .add(
        Operation::get(
            "/verification/ranges/refresh",
            "Current or last fetch of address lists",
        )
        .answer::<Option<verification::FetchView>>(),
        verification::progress,
    )
    .add(
        Operation::post("/verification/ranges/refresh", "Fetch address lists")
            .body::<verification::FetchBody>()
            .answer::<verification::View>()
            .status(StatusCode::ACCEPTED),
        verification::fetch_json,
    )
}

fn login_routes(api: Api) -> Api {
    api.add(
        Operation::get("/tokens", "Tokens without their secrets").answer::<Tokens>(),
        credentials::tokens,
    )
    .add(
        Operation::post(
            "/tokens",
            "Create a token; only this response contains its secret",
        )
        .body::<NewToken>()
        .answer::<CreatedToken>()
        .status(StatusCode::CREATED),
        credentials::make_json,
    )
    .add(
        Operation::put(
            "/tokens/{token_name}",
            "Create a token, or change one by name and keep its secret",
        )
        .body::<NewToken>()
        .answer::<CreatedToken>()
        .status(StatusCode::CREATED)
        .or_ok(),
        credentials::put_token_json,
    )
    .add(
        Operation::delete("/tokens/{token_name}", "Revoke a token"),
        credentials::end_token_json,
    )
    .add(
        Operation::get("/sessions", "Active login sessions").answer::<Sessions>(),
        credentials::sessions,
    )
    .add(
        Operation::post(
            "/sessions/end-others",
            "End all sessions except the current one",
        )
        .answer::<EndedSessions>(),
        credentials::end_other_sessions,
    )
    .add(
        Operation::delete("/sessions/{session_key}", "End a session"),
        credentials::end_session_json,
    )
}

fn ban_routes(api: Api) -> Api {
    api.add(
        Operation::get("/bans", "Clients banned for repeated refusals").answer::<BanViews>(),
        bans::json,
    )
    .add(
        Operation::delete("/bans/{network}", "End a ban"),
        bans::remove_json,
    )
}

fn changed() -> Operation {
    let summary = "Fetch changed pages again";
    let operation = Operation::post("/site-robot/changed", summary);
    operation
        .body::<site_robot::ChangedPages>()
        .answer::<site_robot::QueuedPages>()
        .status(StatusCode::ACCEPTED)
}

fn site_robot_routes(api: Api) -> Api {
    let get = |path, summary| Operation::get(path, summary).takes(ROBOT_SITE);
    let post = |path, summary| {
        let operation = Operation::post(path, summary).takes(ROBOT_SITE);
        operation
            .answer::<site_robot::StatusView>()
            .status(StatusCode::ACCEPTED)
    };
    let api = api
        .add(
            get("/site-robot", "Status of the site robot").answer::<site_robot::StatusView>(),
            site_robot::json,
        )
        .add(
            get("/site-robot/runs", "Recent runs of the site robot").answer::<site_robot::Runs>(),
            site_robot::runs_json,
        )
        .add(
            post("/site-robot/run", "Start a run of the site robot"),
            site_robot::run_json,
        )
        .add(
            post("/site-robot/pause", "Pause the run"),
            site_robot::pause_json,
        )
        .add(
            post("/site-robot/resume", "Resume the paused run"),
            site_robot::resume_json,
        )
        .add(
            post("/site-robot/stop", "Stop the run"),
            site_robot::stop_json,
        )
        .add(
            post("/site-robot/accept", "Publish results held for review"),
            site_robot::accept_json,
        )
        .add(changed(), site_robot::changed_json)
        .add(
            post("/site-robot/clear", "Reset the site robot")
                .answer::<site_robot::Cleared>()
                .status(StatusCode::OK),
            site_robot::clear_json,
        );
    description_routes(api)
}

fn description_routes(api: Api) -> Api {
    api.add(
        Operation::get(
            "/site-robot/descriptions",
            "Resource descriptions, paginated by cursor",
        )
        .answer::<site_robot::DescriptionList>()
        .takes(DESCRIPTIONS),
        site_robot::list_json,
    )
    .add(
        Operation::get("/site-robot/description", "A resource description")
            .answer::<site_robot::OneDescription>()
            .takes(ROBOT_URL),
        site_robot::one_json,
    )
    .add(
        Operation::get(
            "/site-robot/explain",
            "Explain why a URL is described or not",
        )
        .answer::<site_robot::Explained>()
        .takes(ROBOT_URL),
        site_robot::explain_json,
    )
}
