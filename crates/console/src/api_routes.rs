//! The table of the JSON's addresses: each with what it does, takes and answers.

use axum::http::StatusCode;

use super::{
    alerts, api, bans, changes, credentials, evidence, live_rules,
    openapi::{Api, Field, Operation},
    robots_txt, settings_page, site_robot, sites, suspects, traffic, verification,
};

/// Parameters of requests about a site.
const SITE: &[&str] = &["site", "host"];
const DRY_RUN: &[&str] = &["dry_run"];
const CHANGES: &[&str] = &["event", "since", "until"];
const LIST: &[&str] = &["q", "source", "status", "sort", "dir", "page"];
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
/// Parameters of requests about a site's robot.
const ROBOT_SITE: &[&str] = &["site"];
const ROBOT_URL: &[&str] = &["site", "url"];
const DESCRIPTIONS: &[&str] = &["site", "q", "after_key", "after_url"];

/// Fields of a robot that is added by hand.
const ROBOT: &[Field] = &[
    Field::required("id", "string"),
    Field::required("useragent", "string"),
    Field::new("name", "string"),
    Field::new("purpose", "string"),
    Field::new("operator", "string"),
    Field::new("product_token", "string"),
    Field::new("details_url", "string"),
    Field::new("host_suffixes", "array"),
    Field::new("ranges_url", "string"),
    Field::new("signature_agents", "array"),
    Field::new("accept_browser_hits", "boolean"),
];
/// Fields of a live rule.
const RULE: &[Field] = &[
    Field::required("action", "string"),
    Field::new("robot", "string"),
    Field::new("operator", "string"),
    Field::new("purpose", "string"),
    Field::new("visitors", "string"),
    Field::new("addresses", "string"),
    Field::new("user_agent", "string"),
    Field::new("people", "boolean"),
    Field::new("path", "string"),
    Field::new("site", "string"),
    Field::new("status", "integer"),
    Field::new("requests", "integer"),
    Field::new("per_seconds", "integer"),
    Field::new("ends", "string"),
];
const PAUSE: &[Field] = &[Field::new("for", "string")];
const REFRESH: &[Field] = &[
    Field::new("source", "string"),
    Field::new("force", "boolean"),
];
const ACCEPTED: &[Field] = &[
    Field::required("source", "string"),
    Field::new("document", "string"),
];
const CHANGED: &[Field] = &[
    Field::required("urls", "array"),
    Field::new("site", "string"),
];
const LISTS: &[Field] = &[Field::new("url", "string")];
const TOKEN: &[Field] = &[
    Field::required("name", "string"),
    Field::new("scope", "string"),
    Field::new("ends", "string"),
];

/// Returns what stands below `/api`; tokens and sessions only where the pages have a login.
pub(super) fn routes(has_login: bool) -> Api {
    let api = instance_routes(ban_routes(rule_routes(Api::default())));
    let api = site_robot_routes(verification_routes(registry_routes(api)))
        .add(
            Operation::get("/status", "State of database, registry and filtering").takes(SITE),
            api::status,
        )
        .add(
            Operation::get("/settings", "Settings, rules and headers in force").takes(SITE),
            api::settings,
        )
        .add(
            Operation::get("/identify", "Robot and decision for a request").takes(IDENTIFY),
            api::identify,
        )
        .add(
            Operation::get("/alerts", "Alerts, and their last messages"),
            alerts::json,
        )
        .add(
            Operation::get("/traffic", "Figures of traffic").takes(traffic::FIGURES),
            traffic::figures_json,
        )
        .add(
            Operation::get("/traffic/series", "Traffic over time").takes(traffic::FIGURES),
            traffic::series_json,
        )
        .add(
            Operation::get("/traffic/names", "Names for filters that begin with a text")
                .takes(&["of", "q"]),
            traffic::names,
        )
        .add(
            Operation::get("/traffic/paths", "Which paths are asked for, about")
                .takes(traffic::PATHS),
            traffic::paths_json,
        )
        .add(
            Operation::get("/evidence", "Requests that did not simply pass, one by one")
                .takes(evidence::PARAMETERS),
            evidence::json,
        )
        .add(
            Operation::get("/suspects", "Fleets of robots that say they are browsers"),
            suspects::json,
        )
        .add(
            Operation::get("/robots-txt", "The robots.txt in force").takes(SITE),
            robots_txt::json,
        )
        .add(
            Operation::get("/robots-txt/check", "What robots.txt says of a URL").takes(CHECK),
            robots_txt::check_json,
        );
    if has_login { login_routes(api) } else { api }
}

fn instance_routes(api: Api) -> Api {
    api.add(
        Operation::get("/fleet", "Instances that serve from the database"),
        settings_page::instances_json,
    )
    .add(
        Operation::get("/sites", "Sites, with their upstreams and counts"),
        sites::json,
    )
    .add(
        Operation::post("/reload", "Reloads the configuration").takes(&["accept"]),
        sites::reload_json,
    )
}

fn rule_routes(api: Api) -> Api {
    api.add(
        Operation::get("/rules", "Live rules, rules of a site, and the pause").takes(SITE),
        live_rules::list_json,
    )
    .add(
        Operation::post(
            "/rules",
            "Puts a live rule in force, or counts what it would touch",
        )
        .takes(DRY_RUN)
        .body(RULE)
        .answers(StatusCode::CREATED),
        live_rules::add_json,
    )
    .add(
        Operation::delete("/rules/{rule_id}", "Removes a live rule"),
        live_rules::remove_json,
    )
    .add(
        Operation::post("/rules/{rule_id}/restore", "Brings a live rule back")
            .answers(StatusCode::NO_CONTENT),
        live_rules::restore_json,
    )
    .add(
        Operation::get("/pause", "The pause of all enforcement"),
        live_rules::pause_state_json,
    )
    .add(
        Operation::post("/pause", "Pauses all enforcement").body(PAUSE),
        live_rules::pause_json,
    )
    .add(
        Operation::delete("/pause", "Ends the pause"),
        live_rules::resume_json,
    )
    .add(
        Operation::get("/changes", "Who changed what, newest first").takes(CHANGES),
        changes::json,
    )
}

fn registry_routes(api: Api) -> Api {
    api.add(
        Operation::get("/robots", "Robots of the registry, by page").takes(LIST),
        api::list,
    )
    .add(
        Operation::post("/robots", "Adds a robot by hand")
            .body(ROBOT)
            .answers(StatusCode::CREATED),
        api::add,
    )
    .add(
        Operation::get("/robots/{robot_source}/{robot_id}", "A robot"),
        api::robot,
    )
    .add(
        Operation::delete(
            "/robots/{robot_source}/{robot_id}",
            "Removes a robot that was added by hand",
        ),
        api::remove,
    )
    .add(
        Operation::get("/refreshes", "The last refreshes of all sources"),
        api::history,
    )
    .add(
        Operation::get("/refreshes/{refresh_id}", "A refresh"),
        api::record,
    )
    .add(
        Operation::get("/refresh", "The refresh under way, or the last one"),
        api::progress,
    )
    .add(
        Operation::post("/refresh", "Refreshes a source, or all")
            .body(REFRESH)
            .answers(StatusCode::ACCEPTED),
        api::start,
    )
    .add(
        Operation::post("/refresh/accept", "Accepts a document that is held back")
            .body(ACCEPTED)
            .answers(StatusCode::ACCEPTED),
        api::accept,
    )
}

fn verification_routes(api: Api) -> Api {
    api.add(
        Operation::get("/verification", "Verdicts of the last 24 hours").takes(VERIFICATION),
        verification::json,
    )
    .add(
        Operation::get(
            "/verification/ranges/refresh",
            "The fetch of lists of addresses under way, or the last one",
        ),
        verification::progress,
    )
    .add(
        Operation::post("/verification/ranges/refresh", "Fetches lists of addresses")
            .body(LISTS)
            .answers(StatusCode::ACCEPTED),
        verification::fetch_json,
    )
}

fn login_routes(api: Api) -> Api {
    api.add(
        Operation::get("/tokens", "Tokens, without their secrets"),
        credentials::tokens,
    )
    .add(
        Operation::post(
            "/tokens",
            "Makes a token; its secret is in this response alone",
        )
        .body(TOKEN)
        .answers(StatusCode::CREATED),
        credentials::make_json,
    )
    .add(
        Operation::delete("/tokens/{token_name}", "Ends a token"),
        credentials::end_token_json,
    )
    .add(
        Operation::get("/sessions", "Who is logged in"),
        credentials::sessions,
    )
    .add(
        Operation::post(
            "/sessions/end-others",
            "Ends all sessions but that of the request",
        ),
        credentials::end_other_sessions,
    )
    .add(
        Operation::delete("/sessions/{session_key}", "Ends a session"),
        credentials::end_session_json,
    )
}

fn ban_routes(api: Api) -> Api {
    api.add(
        Operation::get("/bans", "Who is refused so often that a firewall is told"),
        bans::json,
    )
    .add(
        Operation::delete("/bans/{network}", "Ends a ban in this list"),
        bans::remove_json,
    )
}

fn changed() -> Operation {
    let summary = "Asks for pages again that have changed";
    let operation = Operation::post("/site-robot/changed", summary);
    operation.body(CHANGED).answers(StatusCode::ACCEPTED)
}

fn site_robot_routes(api: Api) -> Api {
    let get = |path, summary| Operation::get(path, summary).takes(ROBOT_SITE);
    let post = |path, summary| {
        let operation = Operation::post(path, summary).takes(ROBOT_SITE);
        operation.answers(StatusCode::ACCEPTED)
    };
    api.add(
        get("/site-robot", "How the site robot stands"),
        site_robot::json,
    )
    .add(
        get("/site-robot/runs", "Its last runs"),
        site_robot::runs_json,
    )
    .add(
        post("/site-robot/run", "Starts a run"),
        site_robot::run_json,
    )
    .add(
        post("/site-robot/pause", "Pauses the run"),
        site_robot::pause_json,
    )
    .add(
        post("/site-robot/resume", "Resumes the run"),
        site_robot::resume_json,
    )
    .add(
        post("/site-robot/stop", "Stops the run; the next one resumes it"),
        site_robot::stop_json,
    )
    .add(
        post("/site-robot/accept", "Publishes results that are held back"),
        site_robot::accept_json,
    )
    .add(changed(), site_robot::changed_json)
    .add(
        post("/site-robot/clear", "Forgets all that it described").answers(StatusCode::OK),
        site_robot::clear_json,
    )
    .add(
        Operation::get(
            "/site-robot/descriptions",
            "Resource descriptions, by cursor",
        )
        .takes(DESCRIPTIONS),
        site_robot::list_json,
    )
    .add(
        Operation::get("/site-robot/description", "A resource description").takes(ROBOT_URL),
        site_robot::one_json,
    )
    .add(
        Operation::get("/site-robot/explain", "Why a URL is described, or not").takes(ROBOT_URL),
        site_robot::explain_json,
    )
}
