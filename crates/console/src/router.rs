//! Routes of the pages and of the JSON API.

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};
use tower_http::compression::CompressionLayer;

use super::{
    access, account, alerts, api_routes, assets, bans, changes, credentials, evidence, guard,
    identify, listing, live_rules, login, manual,
    parameters::with_parameters,
    problem::Problem,
    refreshes, robots, robots_txt, session,
    settings::{Access, Admin},
    settings_page, site_robot, sites, sources,
    state::AdminState,
    suspects, traffic, verification,
};

/// Maximum size of a form or JSON body.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Creates the router with the pages at `/` and the JSON API under `/api`.
///
/// Links are relative, so the router can be nested at any path. Prefer `nest_service`, which
/// responds with and without a slash at the end.
pub fn router(admin: Admin) -> Router {
    let has_login = matches!(admin.access, Access::Login { .. });
    let state = AdminState::new(admin);
    let mut routes = pages().merge(api_routes::routes(has_login).into_router());
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
