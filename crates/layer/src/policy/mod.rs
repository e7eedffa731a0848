//! What to do with a request, and why.
//!
//! A [`Policy`] is plain data and plain functions: filter patterns, the
//! redirect target, the paths that are never redirected, and rules.
//!
//! # Filter patterns
//!
//! A filter pattern is a glob that has to match a path as a whole:
//!
//! | pattern | matches |
//! | --- | --- |
//! | `*` | any run of characters, slashes included, or nothing |
//! | `?` | one character |
//! | `[abc]`, `[a-z]` | one of these characters; `]` as itself comes first, `-` first or last |
//! | `[!abc]`, `[^abc]` | one character that is none of these |
//! | `\*` | the character after the backslash; in a list `\,` is a comma |
//! | `%C3%A9` | the bytes that the escapes stand for, so that a copied path is a pattern |
//! | anything else | itself; upper and lower case are different |
//!
//! The path is compared without its query, percent-decoded once (`%2F` is a
//! slash then), with doubled slashes merged and `.` and `..` resolved: what
//! `/a/%2e%2e/b` and `//b` name is `/b`. A backslash is a character like others.
//!
//! `/members-only-stuff/*` does not match `/members-only-stuff`, which has no
//! slash at the end; `/members-only-stuff*` does, and matches
//! `/members-only-stuffing` too. Name both paths where that matters.
//!
//! # Robot heaven
//!
//! A request for the redirect URL is never redirected, nor is one for a path
//! below it: `/robot-heaven/` covers `/robot-heaven` and `/robot-heaven/a/b`,
//! not `/robot-heavenly`. A page such as `/heaven/index.html` covers itself, not its
//! directory; where heaven has more pages under a pattern, name the directory.
//! The root `/` covers the root page alone.
//!
//! An absolute URL covers these paths on its own host, ports and case compared
//! as HTTP does, and on every host if its host is one of
//! [`own_hosts`](PolicyBuilder::own_hosts).
//!
//! Never redirected are also `/robots.txt`, sitemaps at the root, `/.well-known/`,
//! `/llms.txt`, `/ai.txt`, `/ads.txt`, `/app-ads.txt`, `/security.txt`, `/favicon.ico`,
//! and what [`never`](PolicyBuilder::never) adds; nor is what the `Sitemap` and `License`
//! lines of the robots.txt in force name, each by its very path and query.
//!
//! # Rules
//!
//! Rules say what is done with which robots, and on which paths. A person passes, unless a
//! rule names [people](crate::detect::Kind::PEOPLE). For a robot the first of these that
//! applies decides:
//!
//! 1. paths that are never redirected, and robot heaven: the robot passes;
//! 2. the rules of the [overlay](Overlay), which are made while the policy is in force;
//! 3. [`allow_robots`](PolicyBuilder::allow_robots): it passes, unless its claim is spoofed;
//! 4. [`deny_robots`](PolicyBuilder::deny_robots), on paths of the filter
//!    patterns: it is redirected;
//! 5. on the same paths, whether impostors are [redirected](PolicyBuilder::spoofed);
//! 6. the [rules](PolicyBuilder::rule) in their order: the first whose
//!    conditions all hold decides, unless it slows down;
//! 7. on paths of the filter patterns, its purpose: whether it is one of those
//!    [redirected](PolicyBuilder::purposes).
//!
//! A [`Rule`] without paths applies to those of the filter patterns; one with
//! paths applies to these alone, whether a filter pattern matches them or not. The
//! target of a rule's redirect counts as heaven for all rules: no robot is redirected
//! from there. Rules do not apply to paths that are never redirected.
//!
//! [`Action`] lists what a rule can do, and to which methods it applies without some of
//! its own. The lists and the purposes apply to the methods redirected alone.
//!
//! Whoever sends no User-Agent, or an empty one, is [nameless](crate::detect::Kind::Nameless):
//! it passes, unless a list or a rule names it. A rule about every robot does not. Whoever
//! sends a User-Agent that many people [share](crate::detect::Kind::Shared) passes likewise,
//! unless a rule names such visitors; no list does.
//!
//! A rule may ask where a request comes from as well: for [addresses](RuleBuilder::addresses),
//! [autonomous systems](RuleBuilder::asns), [countries](RuleBuilder::countries),
//! [headers](RuleBuilder::headers) and [User-Agents](RuleBuilder::user_agents). One that is
//! about people only notes what it would do, until it is [confirmed](RuleBuilder::people).
//!
//! A rule that slows down sets a rate limit and decides nothing else: within the limit,
//! the rules after it are asked. The first such rule that matches sets the limit, of those that
//! count requests and of those that count [errors](RuleBuilder::errors); a rule
//! before it that lets the robot pass exempts it. Each robot has a
//! [limit of its own](RateLimiter), or by [`RateKey`] each address and the like. A page that passes is the same for all, so a rate
//! limit adds no `Vary`.
//!
//! # Verdicts
//!
//! A User-Agent is a claim. Where claims are verified, each has a
//! [`Verdict`](crate::detect::Verdict), which its [`Visitor`] carries; elsewhere all are
//! unverifiable. By default a verdict changes nothing: a verified search
//! engine passes wherever people may go, and is redirected on the filter patterns as ever.
//!
//! Rules and headers may name [verdicts](When::verdicts): so that only the verified pass, or
//! the unverifiable are slowed down. What is done with impostors, whose claims are
//! spoofed, is one [setting](PolicyBuilder::spoofed):
//!
//! | [`Spoofed`] | the impostor |
//! | --- | --- |
//! | `Report` | is treated like the robot that it claims to be; rules may do more |
//! | `Redirect` | is redirected on the filter patterns, whatever its purpose |
//! | `Refuse` | gets 403 everywhere, heaven included, but on the paths that are never redirected |
//!
//! `Redirect` and `Refuse` come before the rules: to decide rule by rule, leave the
//! setting at `Report` and name `spoofed` in a rule.
//!
//! Whatever the setting, an impostor gains nothing by the name that it took. It does not
//! count among `allow_robots`, not for robots.txt either. A rule that lets robots pass and
//! has conditions on the robot, but not on verdicts, does not apply to it; one that lets
//! every robot pass does, and so does one that names the verdict. It has a rate limit of
//! its own under each `Slow` rule and each `Crawl-delay`, so that it cannot use up the
//! robot's.
//!
//! A proof may take a while, and until it ends the verdict is pending: the first request
//! from an address does not wait, unless a rule [asks it to](RuleBuilder::wait). Caches know
//! nothing of verdicts: a page that passes is the one that people get, and what an
//! impostor gets in its place is never stored.
//!
//! # Dry run
//!
//! In a [dry run](PolicyBuilder::dry_run) all of this is decided and reported, and
//! everybody gets what a person gets. So it is while an overlay [pauses](Overlay::paused)
//! enforcement.
//!
//! # robots.txt
//!
//! An [`Enforcer`] holds robots to the robots.txt in force on the host. It is asked
//! last, about what would pass: a robot that the steps above send to heaven is sent there,
//! whatever robots.txt says. For a page that is served in place it checks the URL that
//! the robot requested. Of what would pass, this is never refused:
//!
//! - anything to people or nameless visitors;
//! - heaven, and the paths that are never redirected: `/robots.txt` first of all, which
//!   robots have to read to keep to it;
//! - anything to one of [`allow_robots`](PolicyBuilder::allow_robots) that is no impostor.
//!
//! A rule that lets a robot pass exempts it from redirects; it does not lift
//! robots.txt. All methods count. The URL is compared as the robot sent it, query
//! included, and as a server resolves it, as filter patterns see it: what the file
//! forbids in either spelling is forbidden. Parameters (`;v=1`) are part of a name in
//! both, unless the [reading](PolicyBuilder::path_reading) removes them. A path with empty or dot segments is none of those that are never refused.
//!
//! A listed robot is looked up in the file by its product token; one without a
//! token by its name, its id and the tokens of its patterns, of which the first
//! that the file names counts. Robots that the site refuses by purpose or id
//! ([`RefusedRobots`]) are refused by whatever name the file has for them, if any. For an
//! unlisted robot the names of the file are looked for in its User-Agent. A robot that the
//! file does not name has the rules of `*`.
//!
//! `Crawl-delay` is held against a robot, not an address: a fleet shares one limit, on
//! all hosts that share a file; an unlisted robot by its name, in which no number counts,
//! and by its network (/24 of IPv4, /48 of IPv6). Two requests at once after a pause are
//! no violation; delays beyond a day count as a day. Requests that are redirected, exempt
//! or disallowed do not count.
//!
//! Violations are counted in memory, until a restart: by robot, host and rule, the
//! last thousand; the outcome of each request tells its own. A response that passes carries no `Vary` on account of robots.txt;
//! refusals are never stored, so a cache in front may give a robot a person's page, not
//! the other way round.
//!
//! # Headers
//!
//! The rule that decides gives its [headers](RuleBuilder::response_header): to the answer, where
//! it redirects, refuses or slows down, else to the response of the application or of heaven.
//! `Link`, `WWW-Authenticate` and `X-Robots-Tag` are added to those of the application, any other
//! header replaces its own ([`ResponseHeaders`]). A page that passes with headers needs `Vary`,
//! unless everybody gets them.
//!
//! A [`TagRule`] adds an `X-Robots-Tag` header to responses, by path and, if
//! wanted, by robot; it neither redirects nor lets pass.
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
//! let request = Request { method: "GET", host: None, path: "/members-only-stuff/a" };
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
mod fleet_pace;
mod glob;
mod heaven;
mod host;
mod judge;
mod judgement;
mod key_table;
mod load;
mod named_pages;
mod path;
#[expect(
    clippy::module_inception,
    reason = "the file is named for the type, beside its rules and their judge"
)]
mod policy;
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
mod subtree;
mod tag_rule;
mod text_pattern;
mod unlisted_name;
mod visitor;
mod when;

pub use action::Action;
#[doc(hidden)]
pub use action::ActionWords;
#[doc(hidden)]
pub use action::ByAction;
pub use builder::PolicyBuilder;
#[doc(hidden)]
pub use decision::Step;
pub use decision::{Decision, PassReason, Request};
#[doc(hidden)]
pub use enforce::visible;
pub use enforce::{Answer, Enforce, Enforcement, Enforcer, Refusal};
#[doc(hidden)]
pub use enforce::{
    Breach, Broken, CountedBreach, Finding, RobotCount, RobotRequest, Violation, Violations,
};
pub use error::PolicyError;
#[doc(hidden)]
pub use error::{LeftOutRule, UnknownRobot};
#[doc(hidden)]
pub use fleet_pace::{BucketDebt, FleetPace};
#[doc(hidden)]
pub use judgement::{Explanation, Judgement};
#[doc(hidden)]
pub use load::AnswerTime;
#[doc(hidden)]
pub use path::PathReading;
#[doc(hidden)]
pub use path::{is_below, is_own_path, with_normal_path};
pub use policy::Policy;
pub use rate_key::RateKey;
#[doc(hidden)]
pub use rate_key::one_sender;
#[doc(hidden)]
pub use rate_limiter::{ErrorCounter, PacedRequest, RateLimiter};
pub use redirect::Redirect;
pub use refuse::Refuse;
#[doc(hidden)]
pub use refuse::Spoofed;
#[doc(hidden)]
pub use refused_robots::{RefusedFor, RefusedRobots};
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
pub use tag_rule::Tags;
pub use tag_rule::{TagRule, TagRuleBuilder};
pub use visitor::Visitor;
pub use when::When;
