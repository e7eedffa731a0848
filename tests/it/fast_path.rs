//! `server.fast_path = false`: the same responses without the fast path.

use std::{convert::Infallible, future::Ready, process::Command};

use http::{Request, Response};
use robot_detection::listen::{
    HttpService, ListenSettings, Listener, RequestContext, ServiceResponse,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::support::{
    front::listen_settings,
    program::FAST_PATH,
    raw::{body, exchange},
};

/// HTTP/1 suites that must pass with and without the fast path.
const SUITES: [&str; 4] = ["listen::", "proxy::", "raw_http::", "websocket::"];

#[test]
fn the_http1_suites_pass_without_the_fast_path() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(SUITES)
        .env(FAST_PATH, "false")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Responds with whether the request came by the fast path.
#[derive(Clone)]
struct ReportFastPath;

impl HttpService for ReportFastPath {
    type ResponseBody = String;
    type ReadyHead = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    const TAKES_BODILESS: bool = true;

    fn respond(
        &self,
        request: &mut Request<RequestContext>,
    ) -> ServiceResponse<String, Infallible, Self::Future> {
        ServiceResponse::Now(Response::new(request.body().is_plain().to_string()))
    }
}

#[tokio::test]
async fn the_fast_path_is_not_used_where_it_is_off() {
    for fast_path in [true, false] {
        let settings = ListenSettings {
            fast_path,
            ..listen_settings()
        };
        let listener = Listener::bind(settings).await.unwrap();
        let (addr, stop) = (listener.local_addr(), CancellationToken::new());
        let serving =
            TaskTracker::new().spawn(listener.serve_http(None, ReportFastPath, stop.clone()));
        let answer = exchange(
            addr,
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        );
        assert_eq!(body(&answer.await), fast_path.to_string());
        stop.cancel();
        serving.await.unwrap();
    }
}
