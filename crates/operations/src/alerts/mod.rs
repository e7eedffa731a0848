//! Alerts: conditions are evaluated once a minute, and webhooks are notified.
//!
//! One message at the start of an alert, one at its end, one a day in between. The database has the
//! state, so instances send each message once; database alerts keep it in memory.

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
pub use list::{AlertStatus, AlertStatuses, SentMessage, list};
pub use message::{Event, Message};
pub use watcher::{SharedAlerts, Watcher};
pub use webhook::{Receipt, Webhook};
