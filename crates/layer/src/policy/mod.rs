//! Decisions about requests, with the reasons for these decisions.
//!
//! A [`Policy`] is immutable data without I/O. It contains filter patterns, the redirect target,
//! the paths that are never redirected, and rules.
//!
//! # Filter patterns
//!
//! A filter pattern is a glob that must match the whole path:
//!
//! | pattern | matches |
//! | --- | --- |
//! | `*` | any run of characters, including slashes, or nothing |
//! | `?` | one character |
//! | `[abc]`, `[a-z]` | one of these characters; place `]` first and `-` first or last |
//! | `[!abc]`, `[^abc]` | one character except these |
//! | `\*` | the character after the backslash; in a list, `\,` is a comma |
//! | `%C3%A9` | the decoded bytes, so that a copied path is a valid pattern |
//! | anything else | itself; patterns are case-sensitive |
//!
//! Patterns are compared with the path without its query, percent-decoded once (`%2F` becomes
//! a slash), with doubled slashes merged and `.` and `..` resolved: `/a/%2e%2e/b` and `//b`
//! both become `/b`. A backslash is an ordinary character.
//!
//! `/members-only-stuff/*` does not match `/members-only-stuff`, which has no trailing slash;
//! `/members-only-stuff*` does, but also matches `/members-only-stuffing`. If this matters, list
//! both paths.
//!
//! # Robot heaven
//!
//! A request for the redirect URL or a path below it is never redirected: `/robot-heaven/` covers
//! `/robot-heaven` and `/robot-heaven/a/b`, but not `/robot-heavenly`. A page such as
//! `/heaven/index.html` covers itself, not its directory; if heaven has more pages that match a
//! filter pattern, use the directory. The root `/` covers only the root page.
//!
//! An absolute redirect URL covers these paths on its own host (compared with the port and
//! regardless of case, as in HTTP), and on every host if its host is one of
//! [`own_hosts`](PolicyBuilder::own_hosts).
//!
//! `/robots.txt`, sitemaps at the root, `/.well-known/`, `/llms.txt`, `/ai.txt`, `/ads.txt`,
//! `/app-ads.txt`, `/security.txt`, `/favicon.ico` and paths added by
//! [`never`](PolicyBuilder::never) are never redirected either, nor are the exact URLs in the
//! `Sitemap` and `License` lines of the active robots.txt.
//!
//! # Rules
//!
//! Rules determine the action for certain robots on certain paths. Human visitors pass, unless a
//! rule applies to [people](crate::detect::Kind::PEOPLE). For a robot, the first applicable step
//! decides:
//!
//! 1. Paths that are never redirected, and robot heaven: the robot passes.
//! 2. The rules of the [overlay](Overlay), which are added at run time.
//! 3. [`allow_robots`](PolicyBuilder::allow_robots): the robot passes, unless its claim is spoofed.
//! 4. [`deny_robots`](PolicyBuilder::deny_robots), on filtered paths: the robot is redirected.
//! 5. On filtered paths, robots with a spoofed claim may be [redirected](PolicyBuilder::spoofed).
//! 6. The [rules](PolicyBuilder::rule) in order: the first rule whose conditions all hold decides,
//!    unless its action is to slow down.
//! 7. On filtered paths, the robot is redirected if its purpose is one of the
//!    [redirected purposes](PolicyBuilder::purposes).
//!
//! A [`Rule`] without paths applies to filtered paths. A rule with paths applies only to these
//! paths, filtered or not. The redirect target of a rule counts as heaven for all rules, so robots
//! are not redirected from this target. Rules do not apply to paths that are never redirected.
//!
//! [`Action`] lists the actions, and the methods to which a rule without methods applies. The lists
//! and purposes apply only to the redirected methods.
//!
//! A request without a User-Agent is [nameless](crate::detect::Kind::Nameless) and passes, unless a
//! list or a rule contains `nameless`; a rule for all robots does not apply. A User-Agent that many
//! visitors [share](crate::detect::Kind::Shared) passes too, unless a rule contains `shared`.
//!
//! Rules may also have conditions on the sender: [addresses](RuleBuilder::addresses), [autonomous
//! systems](RuleBuilder::asns), [countries](RuleBuilder::countries),
//! [headers](RuleBuilder::headers) and [User-Agents](RuleBuilder::user_agents). The action of a
//! rule for people is only reported until the rule is [confirmed](RuleBuilder::people).
//!
//! A rule with the action [`Slow`](Action::Slow) only sets a rate limit: within the limit, the
//! rules after it are evaluated. The first such rule that matches sets the limit for requests, and
//! the first such rule with [errors](RuleBuilder::errors) sets the limit for errors; an earlier
//! rule that allows the robot to pass exempts the robot from the limit. Each robot (or each
//! address, network, etc., depending on [`RateKey`]) has a [separate limit](RateLimiter). A page
//! that passes is the same for all visitors, so a rate limit does not add `Vary`.
//!
//! # Verdicts
//!
//! A User-Agent is only a claim. If claims are verified, each claim has a
//! [`Verdict`](crate::detect::Verdict), which the [`Visitor`] contains; otherwise, all claims are
//! unverifiable. By default, a verdict changes nothing: a verified search engine passes where human
//! visitors do, and is redirected on filtered paths.
//!
//! Rules and headers may have conditions on [verdicts](When::verdicts), for example to let only
//! verified robots pass, or to slow unverifiable robots down. A [setting](PolicyBuilder::spoofed)
//! determines the action for impostors, which are robots with a spoofed claim:
//!
//! | [`Spoofed`] | An impostor |
//! | --- | --- |
//! | `Report` | is treated like the claimed robot; rules may have further effects |
//! | `Redirect` | is redirected on filtered paths, regardless of its purpose |
//! | `Refuse` | gets 403 everywhere, including heaven, except on paths that are never redirected |
//!
//! `Redirect` and `Refuse` are evaluated before the rules. To let rules decide instead, leave the
//! setting at `Report` and add `spoofed` to the verdicts of a rule.
//!
//! Regardless of the setting, a spoofed claim gives an impostor no advantage. `allow_robots` does
//! not apply to impostors, and does not exempt impostors from robots.txt. A rule that lets robots
//! pass and has conditions on the robot but not on verdicts does not apply either; a rule that lets
//! every robot pass or that lists the verdict does apply. Impostors have a separate rate limit
//! under each `Slow` rule and each `Crawl-delay`, so that impostors cannot use up the robot's
//! limit.
//!
//! Verification may take a while, during which the verdict is pending: the first request from an
//! address does not wait, unless a rule [waits](RuleBuilder::wait). Caches do not consider
//! verdicts: a page that passes is the same as for human visitors, and the response to an impostor
//! is never stored.
//!
//! # Dry run
//!
//! In a [dry run](PolicyBuilder::dry_run), all decisions are made and reported, but every request
//! passes. The same applies while an overlay [pauses](Overlay::paused) enforcement.
//!
//! # robots.txt
//!
//! An [`Enforcer`] enforces the active robots.txt of the host. It is called last, for requests that
//! would pass: a robot that is redirected to heaven by the steps above is redirected regardless of
//! robots.txt. If a page is served directly, without a redirect, the requested URL is checked. The
//! following are never refused:
//!
//! - requests from people or nameless visitors;
//! - heaven, and the paths that are never redirected, in particular `/robots.txt`, which robots
//!   must read to obey it;
//! - requests from an [allowed](PolicyBuilder::allow_robots) robot, unless its claim is spoofed.
//!
//! A rule that allows a robot to pass exempts the robot from redirects, not from robots.txt.
//! Requests with all methods are checked. The URL is compared both as received, including the
//! query, and as a server resolves it (as for filter patterns); the URL is disallowed if either
//! form is disallowed. Parameters (`;v=1`) are part of a name in both forms, unless the [path
//! reading](PolicyBuilder::path_reading) removes them. A path with empty or dot segments is never
//! exempt.
//!
//! A listed robot is looked up in the file by its product token. For a robot without a product
//! token, the first of its name, its ID and its patterns' tokens that occurs in the file is used.
//! Robots that the site refuses by purpose or ID ([`RefusedRobots`]) are refused regardless of the
//! file. For an unlisted robot, its User-Agent is searched for the names in the file. The group `*`
//! applies to robots that do not occur in the file.
//!
//! `Crawl-delay` applies to a robot, not to an address: all addresses of a robot share one limit,
//! on all hosts that share a file. An unlisted robot is identified by its name without numbers, and
//! by its network (/24 for IPv4, /48 for IPv6). Two requests at once after a pause are allowed;
//! delays of more than a day are treated as a day. Redirected, exempt and disallowed requests are
//! not counted.
//!
//! Violations are counted in memory until a restart, by robot, host and rule, up to a thousand; the
//! outcome of each request contains its violation. A passing response does not get a `Vary` header
//! because of robots.txt, and refusals are never stored. A cache may therefore serve a human
//! visitor's page to a robot, but not the other way round.
//!
//! # Headers
//!
//! The deciding rule adds its [headers](RuleBuilder::response_header) to the response that
//! redirects, refuses or slows down, or else to the response from the application or from heaven.
//! `Link`, `WWW-Authenticate` and `X-Robots-Tag` are added to the application's headers; other
//! headers replace the application's headers ([`ResponseHeaders`]). A page that passes with
//! additional headers needs `Vary`, unless all visitors get these headers.
//!
//! A [`TagRule`] adds an `X-Robots-Tag` header to responses, by path and optionally by robot; it
//! does not affect the decision.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use robot_detection_layer::{
//!     detect::Detector,
//!     policy::{Decision, Policy, Request, Visitor},
//!     registry::{Pattern, PatternKind, Robot, Source},
//! };
//!
//! let mut robot = Robot::new("examplebot", Source::manual());
//! robot.patterns = vec![Pattern::new(PatternKind::Token, "ExampleBot")];
//! let detector = Detector::new([Arc::new(robot)])?;
//! let policy = Policy::builder().build()?;
//!
//! let request = Request { method: "GET", host: None, path: "/members-only-stuff/a", query: None };
//! let claim = detector.identify(b"ExampleBot/1.0");
//! let visitor = claim.as_ref().map(Visitor::from);
//! let Decision::Redirect(redirect) = policy.decide(&request, visitor) else {
//!     panic!("a robot is redirected");
//! };
//! assert_eq!((redirect.status, redirect.location.as_str()), (302, "/robot-heaven/"));
//! for step in policy.explain(&request, visitor).steps {
//!     println!("{}: {}", step.name, step.text);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod action;
mod bucket;
mod buckets;
mod builder;
mod condition;
mod decision;
mod enforce;
mod error;
mod glob;
mod heaven;
mod host;
mod judge;
mod judgement;
mod key_table;
mod load;
mod named_pages;
mod path;
#[expect(clippy::module_inception, reason = "the file is named after the type")]
mod policy;
mod query;
mod rate_key;
mod rate_limiter;
mod reach;
mod redirect;
mod refuse;
mod refused_robots;
mod request_explanation;
mod response_headers;
mod robots_files;
mod rule;
mod rule_builder;
mod scope;
mod sender;
mod shared;
mod shared_limit;
mod subtree;
mod tag_rule;
mod text_pattern;
mod unlisted_name;
mod visitor;
mod when;

pub use action::Action;
#[doc(hidden)]
pub use action::ActionTexts;
#[doc(hidden)]
pub use action::ByAction;
pub use builder::PolicyBuilder;
#[doc(hidden)]
pub use decision::Step;
pub use decision::{Decision, PassReason, Request};
#[doc(hidden)]
pub use enforce::visible;
pub use enforce::{Answer, Enforcement, EnforcementMode, Enforcer, Refusal};
#[doc(hidden)]
pub use enforce::{
    Breach, CountedViolation, Finding, RobotCount, RobotRequest, ViolatedRule, Violation,
    Violations,
};
pub use error::PolicyError;
#[doc(hidden)]
pub use error::{OmittedRule, UnknownRobot};
#[doc(hidden)]
pub use judgement::{Explanation, Judgement};
#[doc(hidden)]
pub use load::ResponseTimer;
#[doc(hidden)]
pub use path::PathReading;
#[doc(hidden)]
pub use path::{is_below, is_own_path, with_normal_path};
pub use policy::Policy;
pub use query::QueryReading;
pub use rate_key::RateKey;
#[doc(hidden)]
pub use rate_key::sender_address;
#[doc(hidden)]
pub use rate_limiter::{ErrorCounter, LimitedRequest, RateLimiter};
pub use redirect::Redirect;
pub use refuse::Refuse;
#[doc(hidden)]
pub use refuse::Spoofed;
#[doc(hidden)]
pub use refused_robots::{RefusalReason, RefusedRobots};
#[doc(hidden)]
pub use request_explanation::RequestExplanation;
#[doc(hidden)]
pub use response_headers::ResponseHeaders;
#[doc(hidden)]
pub use robots_files::{HostMap, LoadedRobotsFiles};
pub use robots_files::{HostName, RobotsFiles, SharedRobotsFiles};
pub use rule::Rule;
pub use rule_builder::RuleBuilder;
pub use sender::Addresses;
#[doc(hidden)]
pub use sender::{Place, Places, Sender};
#[doc(hidden)]
pub use shared::Overlay;
pub use shared::SharedPolicy;
#[doc(hidden)]
pub use shared::WeakPolicy;
#[doc(hidden)]
pub use shared_limit::{BucketDebt, SharedLimit};
#[doc(hidden)]
pub use tag_rule::Tags;
pub use tag_rule::{TagRule, TagRuleBuilder};
pub use visitor::Visitor;
pub use when::When;
