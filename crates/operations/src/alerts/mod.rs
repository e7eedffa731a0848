//! Alerts: conditions are evaluated once a minute, and messages are sent to webhooks.
//!
//! A message is sent when an alert starts, when it ends, and once a day in between. The state is
//! stored in the database, so several instances together send each message only once. The state of
//! alerts about the database itself is stored in memory.

mod alert;
mod body;
mod judge;
mod list;
mod message;
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
