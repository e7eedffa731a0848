//! HTTP/1.1 byte by byte: what a client or an upstream may send, right or wrong.
//!
//! The cases are in `tests/data/raw_http/*.txt`, whose README tells their form.
//! For each the upstream must see well-formed requests or none, the client the
//! right answer, and a second request on the connection must get its own answer.

mod case;
mod client;
mod ours;
mod peers;
mod play;
mod strict;
mod upstream;
mod whole;
