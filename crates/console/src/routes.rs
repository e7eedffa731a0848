//! The routes of the pages and of the JSON API, each with its summary, parameters and response.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{Method, StatusCode},
    middleware::{from_fn, from_fn_with_state},
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
use tower_http::{catch_panic::CatchPanicLayer, compression::CompressionLayer};

use super::{
    access, account, alerts, api, assets, bans, changes, credentials, evidence, guard,
    handlers::{form, get, post},
    identify, listing, live_rules, login, manual,
    openapi::{Api, Operation},
    parameters::with_parameters,
    problem::Problem,
    refresh_job, refreshes, robots, robots_txt, session,
    settings::{Access, Admin},
    settings_page, site_robot, sites, sources,
    state::AdminState,
    suspects, traffic, verification,
};

/// Maximum size of the body of a form or JSON request.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The query parameters that select the site whose decisions are shown.
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
/// The query parameter that selects the site of a site robot.
const ROBOT_SITE: &[&str] = &["site"];
const ROBOT_URL: &[&str] = &["site", "url"];
const DESCRIPTIONS: &[&str] = &["site", "q", "limit", "cursor"];

/// Creates the router, with the pages at `/` and the JSON API under `/api`.
///
/// Links are relative, so the router can be nested at any path. Prefer `nest_service`, which
/// responds both with and without a trailing slash.
pub fn router(admin: Admin) -> Router {
    let has_login = matches!(admin.access, Access::Login { .. });
    let state = AdminState::new(admin);
    let mut routes = pages().merge(api(has_login).into_router());
    if has_login {
        routes = routes.merge(login_pages());
    }
    // The last layer sees a request first, so requests with an unknown host or from another site
    // are refused before the session is loaded from the database.
    routes
        .fallback(async || Problem::not_found("This page does not exist."))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(state.clone(), access::require_access))
        .layer(from_fn_with_state(state.clone(), session::load_session))
        .layer(from_fn(guard::require_same_site))
        .layer(from_fn_with_state(state.clone(), guard::require_known_host))
        .layer(CatchPanicLayer::custom(guard::panicked))
        .layer(from_fn(guard::finish_response))
        .layer(CompressionLayer::new())
        .with_state(state)
}

fn pages() -> Router<AdminState> {
    Router::new()
        .merge(traffic_pages())
        .route("/registry", get(robots::list))
        .route("/evidence", get(evidence::show))
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
        .route("/robots/new", form(manual::form, manual::add))
        .route("/robots/remove", post(manual::remove))
        .route("/verification/ranges/refresh", post(verification::fetch))
        .route("/sites/reload", post(sites::reload))
        .merge(rule_pages())
        .merge(site_robot_pages())
        .route("/refresh", form(refreshes::progress, refreshes::start))
        .route("/refresh/accept", post(refreshes::accept))
        .route("/refreshes/{refresh_id}", get(refreshes::record))
        .route("/assets/{asset_name}", get(assets::serve))
}

fn rule_pages() -> Router<AdminState> {
    Router::new()
        .route("/rules", form(live_rules::list, live_rules::add))
        .route("/rules/new", get(live_rules::form))
        .route("/rules/confirm", get(live_rules::confirm))
        .route("/rules/remove", post(live_rules::remove))
        .route("/rules/restore", post(live_rules::restore))
        .route("/rules/pause", post(live_rules::pause))
        .route("/rules/resume", post(live_rules::resume))
        .route("/changes", get(changes::show))
        .route("/changes/export", get(changes::download))
}

/// Returns the routes of the pages with the filter bar, which reject unknown parameters.
fn traffic_pages() -> Router<AdminState> {
    use traffic::{FIGURES, PATHS, ROBOT, ROBOTS, SITES};
    let with = with_parameters;
    Router::new()
        .route("/", with(FIGURES, get(traffic::top)))
        .route("/paths", with(PATHS, get(traffic::paths)))
        .route("/paths/export", with(PATHS, get(traffic::paths_csv)))
        .route("/overview", with(FIGURES, get(traffic::now)))
        .route("/traffic", with(FIGURES, get(traffic::explore)))
        .route("/traffic/export", with(FIGURES, get(traffic::download)))
        .route("/robots", with(ROBOTS, get(traffic::robots)))
        .route("/sites", with(SITES, get(sites::list)))
        .route(
            "/robots/{robot_source}",
            with(ROBOT, get(robots::show_by_query)),
        )
        .route(
            "/robots/{robot_source}/{robot_id}",
            with(ROBOT, get(robots::show)),
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
            form(site_robot::confirm, site_robot::clear),
        )
        .route("/site-robot/descriptions", get(site_robot::list))
        .route("/site-robot/description", get(site_robot::show_description))
        .route("/site-robot/explain", get(site_robot::explain))
}

fn login_pages() -> Router<AdminState> {
    Router::new()
        .route("/login", form(login::form, login::submit))
        .route("/logout", post(login::log_out))
        .route("/account", form(account::form, account::submit))
        .route("/access", get(credentials::show))
        .route("/access/tokens", post(credentials::make_token))
        .route("/access/tokens/end", post(credentials::end_token))
        .route("/access/sessions/end", post(credentials::end_session))
        .route(
            "/access/sessions/end-others",
            post(credentials::end_sessions),
        )
}

const CREATED: StatusCode = StatusCode::CREATED;
const ACCEPTED: StatusCode = StatusCode::ACCEPTED;
const NO_CONTENT: StatusCode = StatusCode::NO_CONTENT;

/// Adds operations to an API; each line contains the method, path, summary, handler and other
/// details.
macro_rules! operations {
    ($api:expr; $($method:ident $path:literal $summary:literal, $handler:path [$($rest:tt)*];)*) => {
        $api$(.add(Operation::new(Method::$method, $path, $summary)$($rest)*, $handler))*
    };
}

/// Returns the routes below `/api`; the routes for tokens and sessions exist only if there is a
/// login.
fn api(has_login: bool) -> Api {
    let api = traffic_routes(rule_routes(Api::new(words)));
    let api = site_robot_routes(registry_routes(api));
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
    operations! { api;
        GET "/status" "State of the database, the registry and filtering",
            api::status [.answer::<api::Status>().with_parameters(SITE)];
        GET "/settings" "Settings, rules and headers in force",
            api::settings [.answer::<api::SettingsAnswer>().with_parameters(SITE)];
        GET "/identify" "Identify a robot and explain the decision",
            api::identify [.answer::<Explanation>().with_parameters(IDENTIFY)];
        GET "/alerts" "Alerts and their recent messages", alerts::json [.answer::<AlertStatuses>()];
        GET "/robots-txt" "The robots.txt in force",
            robots_txt::json [.answer::<robots_txt::RobotsTxtState>().with_parameters(SITE)];
        GET "/robots-txt/check" "Check whether robots.txt allows a URL",
            robots_txt::check_json [.answer::<robots_txt::CheckResult>().with_parameters(CHECK)];
        GET "/traffic" "Traffic figures",
            traffic::figures_json [.answer::<TrafficFigures>().with_parameters(traffic::FIGURES)];
        GET "/traffic/series" "Traffic over time",
            traffic::series_json [.answer::<traffic::TrafficSeries>().with_parameters(traffic::FIGURES)];
        GET "/traffic/names" "Filter values that start with a given text",
            traffic::names [.answer::<traffic::NamesAnswer>().with_parameters(&["of","q"])];
        GET "/traffic/paths" "Approximate request counts by path",
            traffic::paths_json [.answer::<traffic::PathsAnswer>().with_parameters(traffic::PATHS)];
        GET "/evidence" "Stored requests that did not simply pass",
            evidence::json [.answer::<evidence::EvidencePage>().with_parameters(evidence::PARAMETERS)];
        GET "/suspects" "Fleets and clients that claim to be browsers",
            suspects::json [.answer::<suspects::SuspectsAnswer>()];
        GET "/instances" "Instances that share the database",
            settings_page::instances_json [.answer::<Instances>()];
        GET "/sites" "Sites with their upstreams and request counts",
            sites::json [.answer::<sites::Sites>()];
        POST "/reload" "Reload the configuration",
            sites::reload_json [.answer::<sites::Reload>().with_parameters(&["accept"])];
        GET "/bans" "Clients banned after repeated refusals", bans::json [.answer::<BanViews>()];
        DELETE "/bans/{network}" "End a ban", bans::remove_json [];
    }
}

fn rule_routes(api: Api) -> Api {
    operations! { api;
        GET "/rules" "Live rules, configured rules and the pause",
            live_rules::list_json [.answer::<Rules>().with_parameters(&["site"])];
        POST "/rules" "Add a live rule, or preview the affected requests",
            live_rules::add_json [
                .body::<RuleFields>().answer::<AddedRule>().with_parameters(DRY_RUN).status(CREATED).or_ok()
            ];
        PUT "/rules/{rule}" "Create or replace a live rule by name",
            live_rules::put_json [
                .body::<RuleFields>().answer::<AddedRule>().with_parameters(DRY_RUN).status(CREATED).or_ok()
            ];
        DELETE "/rules/{rule}" "Remove a live rule by ID or name", live_rules::remove_json [];
        POST "/rules/{rule_id}/restore" "Restore a live rule that was removed",
            live_rules::restore_json [.status(NO_CONTENT)];
        GET "/pause" "The current pause", live_rules::pause_state_json [.answer::<PauseState>()];
        POST "/pause" "Pause all enforcement",
            live_rules::pause_json [.body::<NewPause>().answer::<PauseState>()];
        DELETE "/pause" "Resume enforcement", live_rules::resume_json [];
        GET "/changes" "Audit log of changes, newest first",
            changes::json [.answer::<changes::Changes>().with_parameters(CHANGES)];
    }
}

fn registry_routes(api: Api) -> Api {
    operations! { api;
        GET "/robots" "Robots in the registry", api::list [.answer::<RobotViews>().with_parameters(LIST)];
        POST "/robots" "Add a robot by hand",
            api::add [.body::<NewRobot>().answer::<api::OneRobot>().status(CREATED)];
        GET "/robots/{robot_source}/{robot_id}" "A robot", api::robot [.answer::<api::OneRobot>()];
        PUT "/robots/{robot_source}/{robot_id}" "Create or replace a robot by ID",
            api::put [.body::<NewRobot>().answer::<api::OneRobot>().status(CREATED).or_ok()];
        DELETE "/robots/{robot_source}/{robot_id}" "Remove a robot that was added by hand",
            api::remove [];
        GET "/refreshes" "Recent refreshes of all sources",
            api::history [.answer::<api::RefreshList>()];
        GET "/refreshes/{refresh_id}" "A refresh", api::record [.answer::<api::OneRefresh>()];
        GET "/refresh" "Current or last refresh", api::progress [.answer::<refresh_job::JobView>()];
        POST "/refresh" "Refresh one or all sources",
            api::start [
                .body::<api::StartBody>().answer::<refresh_job::JobView>().status(ACCEPTED)
            ];
        POST "/refresh/accept" "Accept a download held for review",
            api::accept [
                .body::<api::AcceptBody>().answer::<refresh_job::JobView>().status(ACCEPTED)
            ];
        GET "/verification" "Verdicts in the last 24 hours",
            verification::json [.answer::<verification::View>().with_parameters(VERIFICATION)];
        GET "/verification/ranges/refresh" "Current or last fetch of address lists",
            verification::progress [.answer::<Option<verification::FetchView>>()];
        POST "/verification/ranges/refresh" "Fetch address lists",
            verification::fetch_json [
                .body::<verification::FetchBody>().answer::<verification::View>().status(ACCEPTED)
            ];
    }
}

fn site_robot_routes(api: Api) -> Api {
    operations! { api;
        GET "/site-robot/descriptions" "Resource descriptions, paginated by cursor",
            site_robot::list_json [.answer::<site_robot::DescriptionList>().with_parameters(DESCRIPTIONS)];
        GET "/site-robot/description" "A resource description",
            site_robot::show_description_json [.answer::<site_robot::OneDescription>().with_parameters(ROBOT_URL)];
        GET "/site-robot/explain" "Explain why a URL is described or not",
            site_robot::explain_json [.answer::<site_robot::Explained>().with_parameters(ROBOT_URL)];
        GET "/site-robot" "Status of the site robot",
            site_robot::json [.with_parameters(ROBOT_SITE).answer::<site_robot::StatusView>()];
        GET "/site-robot/runs" "Recent runs of the site robot",
            site_robot::runs_json [.with_parameters(ROBOT_SITE).answer::<site_robot::Runs>()];
        POST "/site-robot/run" "Start a run of the site robot",
            site_robot::run_json [
                .with_parameters(ROBOT_SITE).answer::<site_robot::StatusView>().status(ACCEPTED)
            ];
        POST "/site-robot/pause" "Pause the run",
            site_robot::pause_json [
                .with_parameters(ROBOT_SITE).answer::<site_robot::StatusView>().status(ACCEPTED)
            ];
        POST "/site-robot/resume" "Resume the paused run",
            site_robot::resume_json [
                .with_parameters(ROBOT_SITE).answer::<site_robot::StatusView>().status(ACCEPTED)
            ];
        POST "/site-robot/stop" "Stop the run",
            site_robot::stop_json [
                .with_parameters(ROBOT_SITE).answer::<site_robot::StatusView>().status(ACCEPTED)
            ];
        POST "/site-robot/accept" "Publish results held for review",
            site_robot::accept_json [
                .with_parameters(ROBOT_SITE).answer::<site_robot::StatusView>().status(ACCEPTED)
            ];
        POST "/site-robot/clear" "Reset the site robot",
            site_robot::clear_json [.with_parameters(ROBOT_SITE).answer::<site_robot::Cleared>()];
        POST "/site-robot/changed" "Fetch changed pages again",
            site_robot::changed_json [
                .body::<site_robot::ChangedPages>().answer::<site_robot::QueuedPages>()
                .status(ACCEPTED)
            ];
    }
}

fn login_routes(api: Api) -> Api {
    operations! { api;
        GET "/tokens" "API tokens without their secrets", credentials::tokens [.answer::<Tokens>()];
        POST "/tokens" "Create a token; only this response contains its secret",
            credentials::make_json [.body::<NewToken>().answer::<CreatedToken>().status(CREATED)];
        PUT "/tokens/{token_name}" "Create a token, or change one by name and keep its secret",
            credentials::put_token_json [
                .body::<NewToken>().answer::<CreatedToken>().status(CREATED).or_ok()
            ];
        DELETE "/tokens/{token_name}" "Revoke a token", credentials::end_token_json [];
        GET "/sessions" "Active login sessions", credentials::sessions [.answer::<Sessions>()];
        POST "/sessions/end-others" "End all sessions except the current one",
            credentials::end_other_sessions [.answer::<EndedSessions>()];
        DELETE "/sessions/{session_key}" "End a session", credentials::end_session_json [];
    }
}
