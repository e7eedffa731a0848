//! A fast path for common requests, which are served without hyper.
//!
//! [`ListenSettings::fast_path`] can turn the fast path off; hyper then serves all requests, with
//! the same responses. The savings of each part were measured in instructions for a redirect and
//! for a proxied page (`benches/proxy/run --instructions`): the loop with its parser and writer
//! saves 65 and 48 %, the cache of header lines 25 and 18 %, the pool of header maps 12 and 16 %,
//! and cached response heads 27 % of a redirect.
//!
//! A request is *plain* if it has no body, asks for nothing but a response, and follows the strict
//! grammar of RFC 9112. Serving it only requires parsing its head into a map and writing the
//! response; hyper's connection, which supports all of HTTP/1, costs several times as much. All
//! other requests are left to hyper, together with the connection and the bytes read from it. All
//! malformed requests are thus handled by a single parser, and the fast path refuses no requests.
//!
//! [`ListenSettings::fast_path`]: super::ListenSettings::fast_path

mod cacheable_values;
mod connection;
mod encode;
mod head;
mod header;
mod io;
mod line_cache;
mod reader;
pub(crate) mod reuse;
#[cfg(test)]
mod tests;

pub(crate) use cacheable_values::is_cacheable;
pub(super) use connection::{End, Plain};
pub(super) use io::PlainIo;
pub(super) use line_cache::RequestNotes;
pub use reader::{PlainHead, PlainReader};
