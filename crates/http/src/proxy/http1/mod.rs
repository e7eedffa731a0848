//! An HTTP/1.1 client (RFC 9112) whose connections need no tasks.
//!
//! The task of a request writes the request's head to the connection's output buffer and reads the
//! response from the connection's input buffer. This saves a third of the instructions compared
//! with hyper, where each connection is a task. The modules [`head`], [`framing`] and [`chunks`]
//! interpret the bytes and perform no I/O.

mod call;
mod chunks;
mod connection;
mod download;
mod framing;
mod head;
mod line_cache;
mod lines;
mod reader;
mod stream;
mod upload;

use super::error::Http1Error;
pub(super) use call::{Call, CallError, CallOutcome, call};
pub(super) use connection::Connection;
pub(super) use download::{Download, PendingBody};
pub(super) use head::{Head, MAX_HEAD_BYTES};
pub use reader::{ResponsePart, ResponseReader};
pub(super) use stream::Stream;

#[cfg(test)]
mod tests;
