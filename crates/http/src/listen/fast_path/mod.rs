//! Requests as nearly all clients send them, served without hyper.
//!
//! [`ListenSettings::fast_path`] turns it off: then hyper serves all, with the same answers. What
//! each piece saves was counted in instructions of a redirect and of a proxied page, without it
//! against with it (`benches/proxy/run --instructions`): the loop with its parser and writer 65
//! and 48 %, the cache of header lines 25 and 18 %, the pool of header maps 12 and 16 %, heads of
//! responses that are made once 27 % of a redirect.
//!
//! A request is *plain* when it has no body, asks for nothing but a response, and keeps to
//! the strict grammar of RFC 9112. Parsing its head into a map and writing the response is
//! all that it takes; hyper's connection, which handles everything that HTTP/1 allows, costs
//! several times as much. Whatever is not plain, or not clearly so, is left to hyper together
//! with the connection and the bytes read from it. So one parser alone judges malformed
//! requests, and nothing is refused here.
//!
//! [`ListenSettings::fast_path`]: super::ListenSettings::fast_path

mod connection;
mod encode;
mod head;
mod header;
mod io;
mod kept_values;
mod line_cache;
mod reader;
pub(crate) mod reuse;
#[cfg(test)]
mod tests;

pub(super) use connection::{End, Plain};
pub(super) use io::PlainIo;
pub(crate) use kept_values::may_be_kept;
pub(super) use line_cache::RequestNotes;
pub use reader::{PlainHead, PlainReader};
