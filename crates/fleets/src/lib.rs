//! Detection of fleets of robots that claim to be browsers.
//!
//! A single request from such a fleet looks human; the common behaviour of thousands of addresses
//! does not. [`Fleets`] receives an [`Observation`] of each request, stores sketches by User-Agent
//! and fingerprint in windows of ten minutes, and evaluates the sketches with pure functions and
//! named thresholds. The result is an immutable set of [`Flags`]: fleets with their [`Reason`]s,
//! and [`Conduct`], which lists addresses and networks that behave unlike human visitors.
//!
//! Memory is bounded for any input: 3.5 MiB at most, including sketches from other instances; an
//! evaluation temporarily needs the same amount again. The crate does no I/O, reads no clock, and
//! does not depend on HTTP types.
//!
//! # Example
//!
//! ```
//! use robot_detection_fleets::{Fleets, Observation};
//!
//! let mut fleets = Fleets::new(1);
//! for number in 0..600_u32 {
//!     fleets.observe(&Observation {
//!         at_s: i64::from(number / 2),
//!         user_agent: b"Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0.0.0",
//!         address: std::net::Ipv6Addr::from_bits((0x2001_0db8 << 96) | u128::from(number) << 64).into(),
//!         target: format!("/repository/commit/{number}").as_bytes(),
//!         status: 200,
//!         ..Observation::default()
//!     });
//! }
//! let flags = fleets.judge(300);
//! // There are no other visitors to compare with, so nothing is flagged.
//! assert!(flags.fleets().is_empty());
//! ```

mod agents;
mod conduct;
mod counts;
mod distinct;
mod flags;
mod fleets;
mod judge;
mod non_members;
mod observation;
mod reason;
mod recent_paths;
mod sketch;
mod table;

pub use flags::{Conduct, Figures, Flags, Fleet};
pub use fleets::Fleets;
pub use observation::{Closed, MAX_TARGET_BYTES, MAX_USER_AGENT_BYTES, Observation, PathKind};
pub use reason::{Reason, Reasons};
pub use sketch::{InvalidSketch, Sketch};
