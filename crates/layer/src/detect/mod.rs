//! Detection of the robot that a request's User-Agent claims to be.
//!
//! A [`Detector`] is an immutable index of a registry's patterns; a [`SharedDetector`] allows
//! replacing the detector while requests are being served. `self_test` quarantines robots whose
//! patterns would match browsers of human visitors.
//!
//! # How a User-Agent is matched
//!
//! All literals are compiled into one automaton of the `aho-corasick` crate, which scans a
//! User-Agent once, regardless of the number of robots, and reports every literal, including
//! overlapping literals. At each occurrence, the detector checks that the rule of the pattern's
//! [`PatternKind`](crate::registry::PatternKind) is satisfied, and that the name is not part of a
//! comparison such as `like Googlebot`. A regular expression that is equivalent to literals is
//! compiled to literals; any other expression runs only if a literal that it requires occurs.
//!
//! Only ASCII letters and digits count as such: every other byte, including all bytes from 0x80, is
//! a boundary. Literals are compared without regard to ASCII case. Matches must end within the
//! first [`MAX_USER_AGENT_BYTES`]; the rest is not scanned.
//!
//! # Unlisted robots
//!
//! A User-Agent that no pattern matches may still belong to a robot. The generic rule, enabled by
//! [`Detector::recognise_unlisted`], detects robots by a [`Sign`]: a word that robots use in their
//! names (`bot` at the end of a word, `crawler`, `monitor`), a URL or an e-mail address,
//! `compatible;` in a place where no browser uses it, an attack on the server, a library's name at
//! the start, or a program's name without any sign of a browser or a device: a name with a version
//! or a comment, words alone, or `Mozilla/5.0` followed by nothing or by a name. A word counts only
//! where a program's name would be: device names in the first comment of an Android browser
//! (`CUBOT`, `M bot 54`, `Spider 8`), phone apps (`CamScanner`), browsers named after sites
//! (`Battle.net/1.3`), random letters, and the URLs used by old browsers, companies and phone
//! profiles do not count.
//!
//! Robots that the generic rule detects are reported as [`Claim::Unlisted`] with the ID
//! [`UNLISTED`], so that a site can treat these robots differently. Their marks are found in the
//! same pass.
//!
//! # Signed requests
//!
//! A client that signs its requests as robots do (Web Bot Auth) is a robot, whatever its
//! User-Agent: [`Detector::claim_signed`] looks up the agent in `Signature-Agent`. An agent that is
//! not in the registry yields a [`Claim::Signed`], which is identified by its host once the
//! signature is verified.
//!
//! # Shared User-Agents
//!
//! A record with the purpose [`Shared`](crate::registry::Purpose::Shared) is not a robot: its
//! User-Agent is sent on behalf of many human visitors, for example by a CDN or a translation
//! service. A robot's name in the same User-Agent, or a word that robots use in their names, takes
//! precedence. Otherwise [`Detector::claim`] returns [`Claim::Shared`], and [`Detector::identify`]
//! returns `None`.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use robot_detection_layer::{detect::Detector, registry::{Pattern, PatternKind, Robot, Source}};
//!
//! let mut robot = Robot::new("example", Source::manual());
//! robot.patterns.push(Pattern::new(PatternKind::Token, "ExampleBot"));
//! let detector = Detector::new([Arc::new(robot)])?;
//!
//! let claim = detector.identify(b"Mozilla/5.0 (compatible; examplebot/2.1)");
//! assert_eq!(claim.map(|claim| claim.range()), Some(25..35));
//! assert_eq!(detector.identify(b"Mozilla/5.0 (X11; Linux x86_64)"), None);
//! # Ok::<(), robot_detection_layer::detect::BuildError>(())
//! ```

mod agent;
mod claim;
mod detector;
mod duplicates;
#[cfg(feature = "formats")]
mod export;
mod known_agents;
mod literals;
mod matcher;
mod regexes;
mod rules;
mod self_test;
mod shared;
mod signed;
mod specificity;
mod unlisted;
mod visitors;

#[doc(hidden)]
pub use agent::{Part, PartKind, parts};
pub use claim::{Claim, Kind, Listed, Verdict};
#[doc(hidden)]
pub use claim::{NAMELESS, SHARED, UNLISTED};
#[doc(hidden)]
pub use detector::RejectedPattern;
pub use detector::{BuildError, Detector};
#[doc(hidden)]
pub use duplicates::Duplicates;
#[cfg(feature = "formats")]
pub use export::export;
#[doc(hidden)]
pub use matcher::MAX_USER_AGENT_BYTES;
pub use self_test::browsers;
#[doc(hidden)]
pub use self_test::{BrowserHit, browser_hits, self_test};
pub use shared::SharedDetector;
pub use signed::Signed;
#[doc(hidden)]
pub use signed::SigningHost;
#[doc(hidden)]
pub use unlisted::Sign;
pub use unlisted::Unlisted;
