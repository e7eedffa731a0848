//! A Tower layer that decides about each request and applies the decision.
//!
//! [`RobotDetectionLayer`] wraps any HTTP service, such as an axum router. For each request, the
//! detector identifies the robot from the User-Agent, and the policy decides the action:
//!
//! - The layer sends redirects itself: with the status of the redirect, `Location`, `Vary:
//!   User-Agent`, `Cache-Control: no-store` and an empty body.
//! - The layer also responds to requests that a [rule](crate::policy#rules) refuses or slows down:
//!   with the status, a text, the same headers, and `Retry-After` for 429 and 503. Response bodies
//!   that are not `From<String>` require a [function](RobotDetectionLayer::refusal_body).
//! - If a rule serves heaven directly, the request is forwarded as a request for the heaven page
//!   and carries [`ServedDirectly`]. The response gets `Vary: User-Agent`, and `Cache-Control:
//!   no-store` unless the response already has a `Cache-Control` header.
//! - Any other request passes. A robot's request carries an [`Identification`] in its extensions
//!   and, if [configured](RobotDetectionLayer::identification_header), a header for the upstream.
//!   Responses on a filtered path get `Vary: User-Agent`, so that no cache serves a human visitor's
//!   page to a robot.
//! - A robot that requests a path disallowed by [robots.txt](crate::policy#robots-txt), or that
//!   returns sooner than its `Crawl-delay` allows, is refused if
//!   [configured](LayerBuilder::enforce_robots_txt): with the status, a text that states the rule,
//!   `Vary: User-Agent` and `Cache-Control: no-store`.
//!
//! A User-Agent is only a claim. [`RobotDetectionLayer::verdicts`] sets the source of verdicts,
//! which is queried for each request that claims to be from a listed robot.
//! [Rules](crate::policy#verdicts) and the handling of spoofed claims depend on the verdict, which
//! is also reported by [`Identification`], [`Outcome`] and the header for the upstream. The source
//! must answer immediately, from memory. The layer itself never waits for a pending verdict,
//! because it does not clone the inner service; `robot-detection serve` waits if a rule requires
//! it.
//!
//! Responses to passing requests get the `X-Robots-Tag` headers that the policy's
//! [rules](crate::policy::TagRule) add.
//!
//! In a [dry run](crate::policy::PolicyBuilder::dry_run), every request passes; the action that
//! would have been taken is counted in [`Stats`] and reported in [`Outcome`].
//!
//! All errors come from the inner service; the layer itself returns no errors. The detector and the
//! policy can be replaced while requests are being served.
//!
//! Place the layer outside any login, around the whole application. Inside a nested router, rules
//! match the originally requested path if the feature `axum` is enabled; without that feature, and
//! with other routers, rules match the path without the prefix.
//!
//! # Pages served in place
//!
//! A page is served directly by rewriting the URL of the request, so the layer must be *around the
//! router*: use [`RobotDetectionLayer::around`]. With axum's `Router::layer`, the layer runs after
//! routing, so that the robot would get the requested page; such requests are refused with 403.
//!
//! # Cost
//!
//! A request that neither comes from a robot nor is for a filtered path acquires no lock and
//! allocates nothing, except for the first request of each thread. On a filtered path, adding
//! `Vary` to the response may allocate memory. For a robot's passing request, the `Identification`
//! is allocated; redirects, refusals and responses with `X-Robots-Tag` allocate their headers.
//! Checking robots.txt adds neither a lock nor an allocation, except for a robot's first request,
//! URLs with escapes, and violations. A rule that slows robots down holds a lock briefly. The cost
//! of a verdict depends on its source; requests from human visitors have no extra cost.
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
//!         None => "Welcome, visitor.".to_owned(),
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
    reason = "Tower crates call the file of a layer `layer`, next to `service` and `future`"
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
pub use future::{Additions, LayerReply};
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
pub use stages::NotARobot;
#[cfg(feature = "verify")]
#[doc(hidden)]
pub use stages::SiteRobotKey;
#[doc(hidden)]
pub use stages::{
    CanonicalRedirects, ClaimFinding, ClaimedRequest, ConfirmedRelease, ListedRobot, MarkdownPages,
    PersonRequest, ServedDirectly, VerdictFuture, prefers_markdown,
};
#[doc(hidden)]
pub use stages::{
    Client, INTERNAL_PAGE, NoCopies, PERSON_HEADER_DURATION, Pending, add_direct_page_headers,
    asks_for_markdown, is_navigation, rewrite_to_heaven,
};
pub use stages::{Identification, People, Traps, Verdicts};
#[doc(hidden)]
pub use stats::Front;
pub use stats::Stats;
#[doc(hidden)]
pub use visit::{ClaimProof, Noteworthy, Visit, VisitSwitch};
