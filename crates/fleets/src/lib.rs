//! Finds fleets of robots that say they are browsers.
//!
//! One request of such a fleet looks like a person's; what its thousands of addresses do alike does
//! not. [`Fleets`] takes in an [`Observation`] of each request, keeps sketches of them by User-Agent
//! and fingerprint in windows of ten minutes, and judges these by plain functions with named
//! thresholds. The result is an immutable set of [`Flags`]: who is a fleet, since when, and for which
//! [`Reason`]s. Beside them stands [`Conduct`]: addresses and networks that behave as no person does.
//!
//! Memory is bounded whatever comes: 3.5 MiB at most, what other instances have told among it; a
//! judgement takes another one for a moment. Nothing here does I/O, reads a clock or knows
//! of HTTP.
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
//! // Nobody else was there: without anybody to compare with nothing is said.
//! assert!(flags.fleets().is_empty());
//! ```

mod agents;
mod conduct;
mod counts;
mod distinct;
mod flags;
mod fleets;
mod judge;
mod observation;
mod reason;
mod released;
mod seen;
mod sketch;
mod table;

pub use flags::{Conduct, Figures, Flags, Fleet};
pub use fleets::Fleets;
pub use observation::{Closed, MAX_TARGET_BYTES, MAX_USER_AGENT_BYTES, Observation, PathKind};
pub use reason::{Reason, Reasons};
pub use sketch::{InvalidSketch, Sketch};
