//! The HTTP server and the reverse proxy of `robot-detection`.
//!
//! [`listen`] takes requests in, [`proxy`] passes them on to the servers behind. What stands
//! between is a service that this crate knows nothing of: it has never heard of robots.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod listen;
pub mod proxy;
