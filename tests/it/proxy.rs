//! The proxy behind its listener, in front of servers that record what they see.

mod bodies;
mod forwarding;
mod limits;
mod protocols;
