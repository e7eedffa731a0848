//! Enforcement of the active robots.txt.

mod answer;
mod enforcer;
mod records;
mod resolved;
mod sentences;
mod settings;

#[doc(hidden)]
pub use answer::visible;
pub use answer::{Answer, Breach, CountedViolation};
pub use enforcer::{Enforcer, Finding, RobotRequest};
pub use records::{RobotCount, ViolatedRule, Violation, Violations};
pub use settings::{Enforcement, EnforcementMode, Refusal};
