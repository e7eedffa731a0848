//! Requests as nearly all clients send them, served without hyper.
//!
//! A request is *plain* when it has no body, asks for nothing but a response, and keeps to
//! the strict grammar of RFC 9112. Parsing its head into a map and writing the response is
//! all that it takes; hyper's connection, which handles everything that HTTP/1 allows, costs
//! several times as much. Whatever is not plain, or not clearly so, is left to hyper together
//! with the connection and the bytes read from it. So one parser alone judges malformed
//! requests, and nothing is refused here.

mod connection;
mod date;
mod encode;
mod head;
mod head_reader;
mod header;
mod io;
mod line_cache;
mod reader;
mod scratch;
#[cfg(test)]
mod tests;

pub(super) use connection::{End, Plain};
pub(super) use io::PlainIo;
pub(super) use line_cache::RequestNotes;
pub use reader::{PlainHead, PlainReader};
