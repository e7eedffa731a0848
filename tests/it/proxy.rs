//! The proxy behind its listener, in front of servers that record requests.

mod bodies;
mod extended_connect;
mod forwarding;
mod http1;
mod limits;
mod protocols;
mod servers;
mod upstreams;
