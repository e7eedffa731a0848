//! Forwards requests to the upstream. Knows no robots.
//!
//! A [`Proxy`] is a Tower service that passes requests on and streams both
//! ways, over kept connections. Path and query are forwarded byte for byte;
//! what is meant for one hop is removed; forwarding headers (`Forwarded`,
//! `X-Forwarded-*`) are made anew from the [`ClientAddr`], so that none is forged.
//! What fails becomes a page that says so: 502 when the upstream does not
//! answer or not in HTTP, 504 when it takes too long.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//!
//! use robot_detection::proxy::{Proxy, ProxySettings};
//!
//! # fn main() -> Result<(), robot_detection::proxy::ProxyError> {
//! let proxy = Proxy::new(ProxySettings {
//!     upstream: "http://127.0.0.1:3000".to_owned(),
//!     connect_timeout: Duration::from_secs(5),
//!     response_timeout: Duration::from_secs(60),
//!     preserve_host: true,
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! [`ClientAddr`]: crate::listen::ClientAddr

mod body;
mod connect;
mod error;
mod exchange;
mod forwarding;
mod headers;
mod page;
mod pool;
mod request;
mod response;
mod service;
mod tunnel;
mod upstream;

pub use body::{ProxyBody, ProxyBodyError};
pub use error::ProxyError;
pub use service::{Proxy, ProxyFuture, ProxySettings};
