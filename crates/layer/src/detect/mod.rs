//! Which robot does a User-Agent claim to be?
//!
//! A [`Detector`] is one immutable index of the patterns of a registry;
//! a [`SharedDetector`] lets it be exchanged while requests go on reading.
//! [`self_test`] keeps out patterns that would match people's browsers.
//!
//! # How a User-Agent is read
//!
//! All literals stand in one automaton of the `aho-corasick` crate, which reads a
//! User-Agent once, however many robots there are, and reports every literal in it,
//! overlapping ones too, so that none hides another. At each occurrence the rule of
//! the pattern's [`PatternKind`](crate::registry::PatternKind) is checked, and that
//! the name is not there for comparison, as in `like Googlebot`. A
//! regular expression that says no more than a literal becomes one; any other runs
//! only when a literal that it cannot match without has occurred.
//!
//! Letters and digits are those of ASCII: every other byte, so every byte from
//! 0x80 on, is a boundary. Literals are compared without regard to ASCII case.
//! Hits end within the first [`MAX_USER_AGENT_BYTES`]; what follows is not read.
//!
//! # Unlisted robots
//!
//! A User-Agent that no pattern matches may still be a robot's. The generic
//! rule, which [`Detector::recognise_unlisted`] switches, takes it for one by
//! a [`Sign`]: a word that robots call themselves (`bot` at the end of a word,
//! `crawler`, `monitor`), a URL or an e-mail address, `compatible;` where no
//! browser says it, an attack on the server, a library's name at the start, or
//! a program's name with nothing of a browser or a device beside it: a name with
//! a version or a comment, words alone, or nothing or a name where only
//! `Mozilla/5.0` is said.
//! A word must stand where a program's name stands: what the first comment of an
//! Android browser says (`CUBOT`, `M bot 54`, `Spider 8`) does not count, nor do
//! apps on telephones (`CamScanner`), browsers named after sites (`Battle.net/1.3`),
//! random letters, and the URLs that old browsers, companies and telephones'
//! profiles carry.
//!
//! The answer is [`Claim::Unlisted`], with the id [`UNLISTED`], so that a site
//! can treat these robots apart. The marks of it are found in the same pass.
//!
//! # Signed requests
//!
//! A client that signs its requests as robots do (Web Bot Auth) is a robot, whatever its
//! User-Agent says: [`Detector::claim_signed`] looks for the agent that `Signature-Agent` names. One
//! that no registry knows is a [`Claim::Signed`], named by its host once the signature holds.
//!
//! # What many people share
//!
//! A record of the purpose [`Shared`](crate::registry::Purpose::Shared) is no robot's: its
//! User-Agent stands for many people, as that of a CDN or a translator does. Any robot's
//! name goes before it, also a word that robots call themselves. What is left is
//! [`Claim::Shared`], which [`Detector::claim`] tells; to [`Detector::identify`] it is
//! nobody's.
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
