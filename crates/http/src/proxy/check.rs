//! Health checks of servers, independent of requests.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use http::{
    HeaderValue, Request,
    header::{CONNECTION, HOST, USER_AGENT},
};
use http_body_util::Empty;
use tokio::time::{self, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    body::RequestBody,
    connect::ConnectError,
    dispatch::{Failure, Message, SendOptions, exchange},
    server::Server,
    settings::HealthCheck,
};

/// The maximum timeout for the response to a health check.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);

/// Runs the health check of a server periodically until `stop` is cancelled or the proxy is
/// dropped.
pub(super) async fn run(
    server: Weak<Server>,
    check: HealthCheck,
    response_timeout: Duration,
    stop: CancellationToken,
) {
    let mut ticks = time::interval(check.interval.max(Duration::from_millis(1)));
    // A check that takes longer than the interval does not cause a burst of checks.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        // While waiting, the task holds only a weak reference, so that dropping the proxy ends its
        // checks.
        let Some(server) = server.upgrade() else {
            return;
        };
        let checking = check_once(&server, &check.path, response_timeout.min(MAX_ANSWER_TIME));
        let result = tokio::select! {
            result = checking => result,
            () = stop.cancelled() => return,
        };
        server.health.record_check(result);
    }
}

/// Requests the health check's path over a new connection; the check succeeds if the status is from
/// 200 to 399.
pub(super) async fn check_once(
    server: &Arc<Server>,
    path: &str,
    response_timeout: Duration,
) -> Result<(), String> {
    let reason = |failure: &Failure| failure.reason().unwrap_or_else(|| "no response".to_owned());
    let sender = server
        .connect_alone()
        .await
        .map_err(|error: ConnectError| reason(&Failure::Connect(error)))?;
    let request = request(server, path).map_err(|error| error.to_string())?;
    let (parts, body) = request.into_parts();
    let message = Message {
        parts,
        body,
        added: None,
    };
    let options = SendOptions {
        response_timeout,
        sets_host: true,
        switches: false,
    };
    let status = exchange(sender, message, &options)
        .await
        .map_err(|failure| reason(&failure))?;
    if status.is_success() || status.is_redirection() {
        Ok(())
    } else {
        Err(format!("{path} returned {status}"))
    }
}

fn request(server: &Server, path: &str) -> http::Result<Request<RequestBody>> {
    Request::get(path)
        .header(HOST, server.upstream.host.clone())
        .header(
            USER_AGENT,
            HeaderValue::from_static("robot-detection (health check)"),
        )
        // Each check opens a new connection, because a kept connection would not show whether the
        // server accepts connections.
        .header(CONNECTION, HeaderValue::from_static("close"))
        .body(RequestBody::new(Empty::new()))
}
