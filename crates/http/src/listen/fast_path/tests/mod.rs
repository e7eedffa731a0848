//! Tests of the loop for plain requests, from the client's side.

mod answers;
mod client;
mod drain;
mod heads;
mod site;
mod talk;

use std::time::Duration;

/// A request after which the connection ends.
const LAST: &str = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
/// A timeout that is longer than any test.
const PATIENCE: Duration = Duration::from_mins(1);
