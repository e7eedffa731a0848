//! Only the layer in front of an axum application: no database, no admin page, one registry.
//!
//! ```console
//! $ cargo run --no-default-features --features axum,layer --example axum_layer
//! $ curl -si -A 'Googlebot/2.1' http://127.0.0.1:3000/members-only-stuff/     # 302 to heaven
//! $ curl -si -A 'Firefox/140.0' http://127.0.0.1:3000/members-only-stuff/     # the members' page
//! $ curl -s  -A 'Googlebot/2.1' http://127.0.0.1:3000/robot-heaven/           # Welcome, googlebot.
//! ```
//!
//! To listen on another address, pass it as the first argument.

use std::error::Error;

use axum::{Router, routing::get};
use robot_detection::{Identification, RobotDetectionLayer};
use tokio::net::TcpListener;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "prints the address for the user")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:3000");
    let detection = RobotDetectionLayer::builder()
        .filter_patterns(["/members-only-stuff/*"])
        .redirect_url("/robot-heaven/")
        .build()?;
    let app = Router::new()
        .route("/members-only-stuff/", get(async || "For members.\n"))
        .route("/robot-heaven/", get(heaven))
        .layer(detection);
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

/// Greets the robot that the layer has identified.
async fn heaven(robot: Option<Identification>) -> String {
    match robot {
        Some(robot) => format!("Welcome, {}.\n", robot.id()),
        None => "Robots find here what members read.\n".to_owned(),
    }
}
