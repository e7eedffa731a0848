//! A plain tower service with the layer on hyper's server, without a framework.
//!
//! ```console
//! $ cargo run --example tower_hyper
//! $ curl -si -A 'Googlebot/2.1' http://127.0.0.1:3000/members-only-stuff/a    # 302 to heaven
//! $ curl -si -A 'Firefox/140.0' http://127.0.0.1:3000/members-only-stuff/a    # 200, the page
//! ```
//!
//! To listen on another address, pass it as the first argument.

use std::{convert::Infallible, error::Error, sync::Arc};

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use robot_detection::layer::{Identification, RobotDetectionLayer};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::{ServiceBuilder, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let detection = RobotDetectionLayer::builder()
        .filter_patterns(["/members-only-stuff/*"])
        .redirect_url("/robot-heaven/")
        .build()?;
    let stats = Arc::clone(detection.stats());
    let service = ServiceBuilder::new()
        .layer(detection)
        .service(service_fn(answer));

    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:3000")).await?;
    say(&format!("listening on http://{}", listener.local_addr()?));
    let connections = TaskTracker::new();
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        let stats = Arc::clone(&stats);
        connections.spawn(async move {
            let served = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
            match served {
                Ok(()) => say(&format!("{stats:?}")),
                Err(error) => say(&format!("connection: {error}")),
            }
        });
    }
}

/// Responds to every path; the layer redirects robots before.
async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let visitor = match request.extensions().get::<Identification>() {
        Some(found) => found.id(),
        None => "somebody",
    };
    let mut response = Response::new(String::new());
    match request.uri().path() {
        "/" | "/members-only-stuff/a" => *response.body_mut() = format!("A page for {visitor}.\n"),
        "/robot-heaven/" => *response.body_mut() = format!("Heaven, {visitor}.\n"),
        _ => *response.status_mut() = StatusCode::NOT_FOUND,
    }
    Ok(response)
}

#[expect(clippy::print_stdout, reason = "prints the address for the user")]
fn say(line: &str) {
    println!("{line}");
}
