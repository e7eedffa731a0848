//! HTTP/1.1 byte by byte: valid and invalid messages from clients and upstreams.
//!
//! The cases are in `tests/data/raw_http/*.txt`; the README there describes their format. For each
//! case the upstream must see well-formed requests or none, the client the right response, and a
//! second request on the connection must get its own response.

mod case;
mod client;
mod ours;
mod peers;
mod play;
mod strict;
mod upstream;
mod whole;
