//! The application of the README, listening on the address in its argument.
//!
//! ```console
//! $ cargo run --no-default-features --features admin --example axum_app 127.0.0.1:3000
//! ```

use axum::{Router, routing::get};
use robot_detection::RobotDetection;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let robots = RobotDetection::builder()
        .filter_patterns(["/members-only-stuff/*"])
        .redirect_url("/robot-heaven/")
        .build()
        .await?;
    let site = Router::new()
        .route("/members-only-stuff/{page}", get(async || "for members"))
        .route("/robot-heaven/", get(async || "for search engines"));
    let address = std::env::args().nth(1).ok_or("missing address")?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    robots.serve(listener, site).await?;
    Ok(())
}
