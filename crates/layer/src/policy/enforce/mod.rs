//! Holding robots to the robots.txt in force.

mod answer;
mod enforcer;
mod pace;
mod records;
mod resolved;
mod sentences;
mod settings;

pub use answer::{Answer, Breach, Outcome};
pub use enforcer::{Enforcer, Finding, Visit};
pub use records::{Broken, RobotCount, Violation, Violations};
pub use settings::{Enforce, Enforcement, Refusal};
