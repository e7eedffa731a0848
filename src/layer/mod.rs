//! Tower layer that carries decisions out.
//!
//! [`RobotDetectionLayer`] wraps any service of HTTP requests, such as an axum
//! router. For each request it asks the detector which robot the User-Agent
//! names and the policy what to do:
//!
//! - a hit is answered here: the redirect's status, `Location`,
//!   `Vary: User-Agent` and `Cache-Control: no-store`, and no body;
//! - any other request passes. One that comes from a robot carries an
//!   [`Identification`] in its extensions, and, if
//!   [so configured](RobotDetectionLayer::identification_header), a header for
//!   an upstream. What passes on a filtered path gets `Vary: User-Agent` added
//!   to the response, so that no cache serves a person's page to a robot;
//! - a robot that asks for what the [robots.txt in force](crate::policy#robots-txt)
//!   disallows, or that comes faster than its `Crawl-delay`, is refused if
//!   [so configured](LayerBuilder::enforce_robots_txt): the status, a text that names
//!   the rule (see [`RobotDetectionLayer::refusal_body`]), `Vary: User-Agent` and
//!   `Cache-Control: no-store`.
//!
//! Responses of what passes get the `X-Robots-Tag` headers that
//! [rules](crate::policy::TagRule) of the policy add.
//!
//! Errors are those of the inner service; the layer adds none. Detector and
//! policy can be exchanged while requests are served.
//!
//! Put it outside of the login, around the whole application: a router nested
//! in another sees a path without the prefix it is nested under.
//!
//! # Cost
//!
//! A request that names no robot and is not on a filtered path takes no lock
//! and allocates nothing, the very first of a thread apart. On a filtered path
//! its response may have to make room for `Vary`. A robot's request that passes
//! allocates for its `Identification`; a redirect for its headers, and so does
//! a response that gets an `X-Robots-Tag`. Asking robots.txt adds neither lock nor
//! allocation, but for the first request of a robot, a URL with escapes, and what
//! breaks a rule.
//!
//! # Example
//!
//! ```
//! use axum::{Extension, Router, http::HeaderName, routing::get};
//! use robot_detection::{
//!     layer::{Identification, RobotDetectionLayer},
//!     registry::{Pattern, PatternKind, Robot, Source},
//! };
//!
//! async fn heaven(robot: Option<Extension<Identification>>) -> String {
//!     match robot {
//!         Some(Extension(found)) => format!("Welcome, {}.", found.id()),
//!         None => "Welcome, whoever you are.".to_owned(),
//!     }
//! }
//!
//! let mut robot = Robot::new("examplebot", Source::manual());
//! robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
//!
//! let detection = RobotDetectionLayer::builder()
//!     .filter_patterns(["/members-only-stuff/*"])
//!     .redirect_url("/robot-heaven/")
//!     .robots([robot])
//!     .build()?;
//! let app: Router = Router::new()
//!     .route("/robot-heaven/", get(heaven))
//!     .route("/members-only-stuff/", get(async || "for members"))
//!     .layer(detection);
//! # Ok::<(), robot_detection::layer::LayerError>(())
//! ```

mod builder;
mod future;
mod header;
mod identification;
#[expect(
    clippy::module_inception,
    reason = "the file of a Tower layer is named for it, beside service and future"
)]
mod layer;
mod redirect;
mod refusal;
mod service;
mod stats;

pub use builder::{LayerBuilder, LayerError};
pub use future::ResponseFuture;
pub use identification::{Identification, ListedRobot};
pub use layer::RobotDetectionLayer;
pub use service::RobotDetectionService;
pub use stats::Stats;
