//! Reverse proxy that forwards requests to the upstream. Independent of robot detection.
//!
//! A [`Proxy`] is a Tower service that forwards requests over kept connections and streams both
//! ways. Path and query are forwarded byte for byte; hop-by-hop headers are removed; forwarding
//! headers (`Forwarded`, `X-Forwarded-*`) are rebuilt from the [`ClientAddr`], so they cannot be
//! forged. A failure becomes an error page: 502 if the upstream does not respond, does not use
//! HTTP, or closes the connection before the first byte of an announced body; 504 if it takes too
//! long.
//!
//! An upstream has one or more servers. With several, a request goes to the less busy of two that
//! are picked at random. A server that fails three times in a row is excluded for a second, then
//! for two, up to a minute; after each exclusion one request tries it. The last server is never
//! excluded. A server that does not accept a connection costs no request, because nothing was sent.
//!
//! `Expect: 100-continue` is answered here: the client receives the 100 response once there is a
//! connection to a server. Of a server's interim responses (1xx) only protocol switches are passed
//! on; they do not extend the response timeout.
//!
//! # Example
//!
//! ```
//! use robot_detection_http::proxy::{Proxy, ProxySettings};
//!
//! # fn main() -> Result<(), robot_detection_http::proxy::ProxyError> {
//! let proxy = Proxy::new(ProxySettings {
//!     servers: vec![
//!         "http://127.0.0.1:3000".to_owned(),
//!         "unix:/run/app.sock".to_owned(),
//!     ],
//!     ..ProxySettings::default()
//! })?;
//! assert_eq!(proxy.servers().len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! [`ClientAddr`]: crate::listen::ClientAddr

mod body;
mod check;
mod connect;
mod dispatch;
mod error;
mod error_page;
mod forward_future;
mod forwarded_headers;
mod header_kinds;
mod headers;
mod health;
mod http1;
mod http2;
mod inner;
mod pool;
mod proxy_body;
mod request;
mod round_trip;
mod sender;
mod server;
mod servers;
mod service;
mod settings;
mod tls;
mod trailers;
mod tunnel;
mod upstream;
mod websocket;

pub use error::{Http1Error, ProxyError};
#[doc(hidden)]
pub use forward_future::ForwardFuture;
pub use http1::{ResponsePart, ResponseReader};
pub use proxy_body::{ProxyBody, ProxyBodyError};
pub use request::refusal;
pub use service::{Proxy, ProxyFuture};
pub use settings::{HealthCheck, ProxySettings, ServerState};
