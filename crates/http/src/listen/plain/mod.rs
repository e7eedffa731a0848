//! Requests as nearly all clients send them, served without hyper.
//!
//! A request is *plain* when it has no body, asks for nothing but an answer, and is
//! formed as strictly as the standard has it. Reading its head into a map and writing
//! the answer is all that it takes: hyper's connection, which is made for everything
//! that HTTP/1 allows, costs several times as much. Whatever is not plain, or not
//! clearly so, is left to hyper, with the connection and all that has been read of it;
//! so there is one judge of what is odd, and nothing is refused here.

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
