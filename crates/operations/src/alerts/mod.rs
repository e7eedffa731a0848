//! Alerts: what is watched is judged once a minute, and webhooks are told of it.
//!
//! One message when something begins, one when it ends, one a day while it lasts. The state is in
//! the database, so that a fleet sends each once; of a database that is away memory knows.

mod alert;
mod body;
mod judge;
mod list;
mod message;
mod report;
mod state;
mod watcher;
mod webhook;

pub use alert::{Alert, AlertFormat, Secret, Trigger, Watch, WebhookUrl};
pub use body::Template;
pub use judge::{Figures, judge};
pub use list::{AlertStanding, AlertStandings, SentMessage, list};
pub use message::{Event, Message};
pub use watcher::{SharedAlerts, Watcher};
pub use webhook::{Receipt, Webhook};
