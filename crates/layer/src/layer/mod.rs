//! Tower layer that carries decisions out.
//!
//! [`RobotDetectionLayer`] wraps any service of HTTP requests, such as an axum
//! router. For each request it asks the detector which robot the User-Agent
//! names and the policy what to do:
//!
//! - a hit is answered here: the redirect's status, `Location`,
//!   `Vary: User-Agent` and `Cache-Control: no-store`, and no body;
//! - what a [rule](crate::policy#rules) refuses or slows down is answered here too:
//!   the status, a text, the same headers, and `Retry-After` with 429 and 503.
//!   A body that is not `From<String>` needs a [function](RobotDetectionLayer::refusal_body);
//! - what a rule serves in place goes on, as a request for the page of heaven that
//!   carries [`ServedInPlace`]. Its response gets `Vary: User-Agent`, and
//!   `Cache-Control: no-store` unless it sets that header itself;
//! - any other request passes. One that comes from a robot carries an
//!   [`Identification`] in its extensions, and, if
//!   [so configured](RobotDetectionLayer::identification_header), a header for
//!   an upstream. What passes on a filtered path gets `Vary: User-Agent` added
//!   to the response, so that no cache serves a person's page to a robot;
//! - a robot that asks for what the [robots.txt in force](crate::policy#robots-txt)
//!   disallows, or that comes sooner than its `Crawl-delay` allows, is refused if
//!   [so configured](LayerBuilder::enforce_robots_txt): the status, a text that names
//!   the rule, `Vary: User-Agent` and `Cache-Control: no-store`.
//!
//! A User-Agent is a claim. [`RobotDetectionLayer::verdicts`] sets the source of verdicts on
//! it, which is asked about each request that names a listed robot.
//! [Rules](crate::policy#verdicts) and the treatment of impostors depend on the verdict;
//! [`Identification`], [`Outcome`] and a header for an upstream report it. The answer has to
//! come at once, from memory; the layer alone never waits for a verdict that is pending, as
//! it does not clone the inner service: `robot-detection serve` waits where a rule asks for
//! it.
//!
//! Responses of what passes get the `X-Robots-Tag` headers that
//! [rules](crate::policy::TagRule) of the policy add.
//!
//! In a [dry run](crate::policy::PolicyBuilder::dry_run) everything passes as people's
//! requests do; what would be done is counted in [`Stats`] and reported in [`Outcome`].
//!
//! Errors are those of the inner service; the layer adds none. Detector and
//! policy can be exchanged while requests are served.
//!
//! Put it outside of the login, around the whole application. Inside a router that is nested in another
//! one, rules are about the requested path with the feature `axum`; otherwise, and with other
//! routers, they are about the path without the prefix.
//!
//! # Pages served in place
//!
//! A page is served in place by another URL within the application, so the layer has to be *around the
//! router*: use [`RobotDetectionLayer::around`]. axum's `Router::layer` adds it behind the choice of the
//! route, where the robot would get the page that it must not see; such requests are refused with 403.
//!
//! # Cost
//!
//! A request that names no robot and is not on a filtered path takes no lock
//! and allocates nothing, the very first of a thread apart. On a filtered path
//! its response may have to make room for `Vary`. A robot's request that passes
//! allocates for its `Identification`; a redirect or refusal for its headers, and so does
//! a response that gets an `X-Robots-Tag`. Asking robots.txt adds neither lock nor
//! allocation, but for the first request of a robot, a URL with escapes, and what
//! breaks a rule. A robot that a rule slows down costs a short lock of that rule. A verdict
//! costs what its source takes; people's requests cost nothing more.
//!
//! # Example
//!
//! ```
//! use axum::{Extension, Router, http::HeaderName, routing::get};
//! use robot_detection_layer::{
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
//!     .add_robots([robot])
//!     .build()?;
//! let app: Router = Router::new()
//!     .route("/robot-heaven/", get(heaven))
//!     .route("/members-only-stuff/", get(async || "for members"))
//!     .layer(detection);
//! # Ok::<(), robot_detection_layer::layer::LayerError>(())
//! ```

mod answers;
mod builder;
mod decide;
mod future;
mod head;
mod header;
#[expect(
    clippy::module_inception,
    reason = "the file of a Tower layer is named for it, beside service and future"
)]
mod layer;
mod outcome;
mod service;
mod stages;
mod stats;
mod visit;

pub use builder::{LayerBuilder, LayerError};
#[doc(hidden)]
pub use decide::Decided;
pub use future::ResponseFuture;
#[doc(hidden)]
pub use future::{Additions, Reply};
pub use head::FromText;
#[doc(hidden)]
pub use head::ReadyHead;
#[doc(hidden)]
pub use head::RefusalBody;
#[doc(hidden)]
pub use header::host;
#[doc(hidden)]
pub use header::signed_claim;
pub use layer::RobotDetectionLayer;
pub use outcome::Outcome;
pub use service::RobotDetectionService;
#[cfg(feature = "axum")]
#[doc(hidden)]
pub use stages::NoRobot;
#[cfg(feature = "verify")]
#[doc(hidden)]
pub use stages::OwnRobot;
#[doc(hidden)]
pub use stages::{
    CanonicalRedirects, ClaimFinding, ClaimedRequest, ListedRobot, MarkdownPages, PersonRequest,
    Release, ServedInPlace, Settling, prefers_markdown,
};
#[doc(hidden)]
pub use stages::{
    Client, NoCopies, OWN_PAGE, PERSON_WORD_LASTS, Pending, ask_for, asks_for_markdown,
    mark_in_place, opens_page,
};
pub use stages::{Identification, People, Traps, Verdicts};
#[doc(hidden)]
pub use stats::Front;
pub use stats::Stats;
#[doc(hidden)]
pub use visit::{ClaimProof, Noteworthy, Visit, VisitSwitch};
