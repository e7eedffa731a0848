//! Internal crate of `robot-detection`: the HTTP server and the reverse proxy.
//!
//! [`listen`] receives requests, [`proxy`] forwards them to upstream servers. Between them
//! stands a service that is passed in: this crate knows no robots.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod listen;
pub mod proxy;
