//! A reverse proxy that forwards requests to an upstream, independent of robot detection.
//!
//! A [`Proxy`] is a Tower service that forwards requests over persistent connections and streams
//! bodies in both directions. The path and query are forwarded byte for byte, and hop-by-hop
//! headers are removed. Forwarding headers (`Forwarded`, `X-Forwarded-*`) are rebuilt from the
//! [`ClientAddr`], so that clients cannot forge them. A failure becomes an error page: 502 if the
//! upstream does not respond, does not use HTTP, or closes the connection before the first byte of
//! an announced body; 504 if the upstream takes too long.
//!
//! An upstream has one or more servers. With several servers, a request goes to the less busy of
//! two servers picked at random. A server that fails three times in a row is excluded for one
//! second, then for two seconds, and so on up to a minute; after each exclusion, one request tries
//! the server. The last remaining server is never excluded. If a server does not accept a
//! connection, no request is lost, because nothing was sent.
//!
//! The proxy itself answers `Expect: 100-continue`: the client receives the 100 response once there
//! is a connection to a server. Of a server's interim responses (1xx), only protocol switches are
//! forwarded; interim responses do not extend the response timeout.
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
