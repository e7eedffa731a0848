//! Internal crate of `robot-detection`: the HTTP server and the reverse proxy.
//!
//! [`listen`] receives requests and [`proxy`] forwards them to upstream servers. The caller
//! provides the service in between; this crate contains no robot detection.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod listen;
pub mod proxy;
