//! An axum application inside the layer, over loopback.

use std::net::SocketAddr;

use axum::{
    Extension, Router, body::Body, extract::Request, http::Uri, response::Response, routing::any,
};
use robot_detection::{
    clock::Clock,
    detect::{Detector, SharedDetector},
    layer::{RobotDetectionLayer, ServedDirectly},
    policy::{PolicyBuilder, SharedPolicy},
    registry::{Pattern, PatternKind, Purpose, Robot, Source},
};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::support::program::{Answer, request};

/// Returns a layer with two known robots and a fixed clock.
pub(super) fn layer(policy: PolicyBuilder, clock: &Clock) -> RobotDetectionLayer {
    let robot = |id: &str, token: &str| {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
        robot.purpose = Purpose::Search;
        Arc::new(robot)
    };
    let robots = [robot("googlebot", "Googlebot"), robot("bingbot", "bingbot")];
    let detector = SharedDetector::new(Detector::new(robots).unwrap().recognise_unlisted(true));
    RobotDetectionLayer::new(detector, SharedPolicy::new(policy.build().unwrap()))
        .clock(clock.clone())
}

/// Returns an application whose pages report their name and the visitor's identity.
pub(super) fn router() -> Router {
    Router::new()
        .route("/robot-heaven/", any(heaven))
        .fallback(any(async |uri: Uri| format!("page {uri}")))
}

async fn heaven(uri: Uri, served: Option<Extension<ServedDirectly>>) -> String {
    match served {
        Some(Extension(served)) => format!("heaven {uri} for {}", served.uri()),
        None => format!("heaven {uri}"),
    }
}

/// Serves the application wrapped in the layer.
pub(super) async fn serve(layer: &RobotDetectionLayer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let service = layer.around(router());
    let service = axum::ServiceExt::<Request>::into_make_service(service);
    TaskTracker::new().spawn(axum::serve(listener, service).into_future());
    addr
}

/// Sends a request from a separate thread.
pub(super) async fn visit(
    addr: SocketAddr,
    method: &'static str,
    path: &'static str,
    user_agent: &'static str,
) -> Answer {
    tokio::task::spawn_blocking(move || request(addr, method, path, &[("User-Agent", user_agent)]))
        .await
        .unwrap()
}

/// Calls the application without a network.
pub(super) async fn ask(
    layer: &RobotDetectionLayer,
    path: &str,
    user_agent: &str,
) -> Response<Body> {
    let request = Request::get(path).header("user-agent", user_agent);
    let request = request.body(Body::empty()).unwrap();
    layer.around(router()).oneshot(request).await.unwrap()
}
