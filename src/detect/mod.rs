//! Which robot does a User-Agent claim to be?
//!
//! A [`Detector`] is one immutable automaton over the patterns of a registry;
//! a [`SharedDetector`] lets it be exchanged while requests go on reading.
//! [`self_test`] keeps patterns out that would hit people's browsers.
//!
//! # How a User-Agent is read
//!
//! All literals of all robots stand in one Aho-Corasick automaton that reports
//! every occurrence of every literal, overlapping ones too, so that no literal
//! hides another. At each occurrence the rule of the pattern's
//! [`PatternKind`](crate::registry::PatternKind) is checked. A regular
//! expression that says no more than a literal becomes one; any other runs
//! only when a literal that it cannot match without has occurred.
//!
//! Letters and digits are those of ASCII: every other byte, so every byte from
//! 0x80 on, is a boundary. Literals are compared without regard to ASCII case.
//! Hits end within the first [`MAX_USER_AGENT_BYTES`]; what follows is unread.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use robot_detection::{
//!     detect::Detector,
//!     registry::{Pattern, PatternKind, Robot, Source},
//! };
//!
//! let mut robot = Robot::new("example", Source::manual());
//! robot.patterns.push(Pattern::new(PatternKind::Token, "ExampleBot"));
//! let detector = Detector::new([Arc::new(robot)])?;
//!
//! let claim = detector.identify(b"Mozilla/5.0 (compatible; examplebot/2.1)");
//! assert_eq!(claim.map(|claim| claim.range), Some(25..35));
//! assert_eq!(detector.identify(b"Mozilla/5.0 (X11; Linux x86_64)"), None);
//! # Ok::<(), robot_detection::detect::BuildError>(())
//! ```

mod automaton;
mod detector;
mod literals;
mod matcher;
mod regexes;
mod rules;
mod self_test;
mod shared;
mod specificity;

pub use detector::{BuildError, Claim, Detector, Rejected};
pub use matcher::MAX_USER_AGENT_BYTES;
pub use self_test::{BrowserHit, browser_hits, browsers, self_test};
pub use shared::SharedDetector;
