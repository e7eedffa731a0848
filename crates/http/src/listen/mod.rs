//! Listeners, which accept connections, enforce limits, determine client addresses and drain;
//! independent of robot detection.
//!
//! A [`Listener`] serves HTTP/1.1 and HTTP/2 on one address or Unix socket with any Tower service:
//! unencrypted (HTTP/2 by prior knowledge) or with [`Tls`], optionally behind the PROXY protocol,
//! on the current runtime or on the threads of [`Workers`]. Each request has a [`ClientAddr`] in
//! its extensions, which is the address that logs, rules and verification use. Only forwarding
//! headers from [`TrustedProxies`] are trusted.
//!
//! # Example
//!
//! ```
//! use std::{convert::Infallible, time::Duration};
//!
//! use http::{Request, Response};
//! use hyper::body::Incoming;
//! use robot_detection_http::listen::{ClientAddr, ListenSettings, Listener, TrustedProxies};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = Listener::bind(ListenSettings {
//!     addr: "127.0.0.1:0".parse()?,
//!     trusted_proxies: TrustedProxies::parse(["10.0.0.0/8", "::1"])?,
//!     drain_timeout: Duration::from_secs(10),
//!     ..ListenSettings::default()
//! })
//! .await?;
//!
//! let service = tower::service_fn(async |request: Request<Incoming>| {
//!     let client = request.extensions().get::<ClientAddr>().map(|addr| addr.client);
//!     Ok::<_, Infallible>(Response::new(format!("{client:?}")))
//! });
//! let stop = CancellationToken::new();
//! # stop.cancel();
//! listener.serve(service, stop).await;
//! # Ok(())
//! # }
//! ```

mod accept;
#[cfg(feature = "acme")]
mod acme;
#[cfg(not(feature = "acme"))]
#[path = "no_acme.rs"]
mod acme;
mod address;
mod certificate;
mod client_addr;
mod connection;
mod connection_permit;
mod counts;
mod eager_read;
pub(crate) mod fast_path;
mod fields;
mod forwarded;
mod framing;
mod gathered_io;
mod guard;
mod head_tap;
mod http_service;
mod hyper_connection;
mod idle;
mod io;
mod listener;
mod open_files;
mod peer_table;
mod poll_on_wake;
mod proxy_protocol;
mod proxy_set;
mod request_context;
mod service;
mod settings;
mod socket;
mod stream;
mod tls;
mod workers;

#[cfg(feature = "acme")]
pub use acme::{Acme, AcmeError, AcmeSettings};
pub use address::{ListenAddr, ListenAddrError};
pub use certificate::{CertificateError, CertificateFiles, CertificateState, Validity};
pub(crate) use certificate::{UnusableAuthorities, default_authorities, read_authorities};
pub(crate) use client_addr::is_forwarding;
pub use client_addr::{ClientAddr, TrustedProxies, TrustedProxyError};
#[doc(hidden)]
pub use connection::{RefusalObserver, RefusedRequest};
pub use counts::ConnectionCounts;
#[doc(hidden)]
pub use fast_path::{PlainHead, PlainReader};
pub use fields::{clean_headers, hides_identity, is_misspelt_identity};
pub(crate) use fields::{is_guarded, is_variant_of, starts_with_variant, trim_values};
pub use framing::{RequestFraming, read_target};
pub use guard::{BodyError, BodyGuard, GuardedBody};
#[doc(hidden)]
pub use http_service::{HttpService, ReadyHead, ServiceResponse, TowerAdapter};
pub(crate) use hyper_connection::TrackedExecutor;
pub use listener::Listener;
#[doc(hidden)]
pub use open_files::{ADMIN_CLIENTS, ClientCapacity, ClientPermits, OpenFileLimit};
#[doc(hidden)]
pub use peer_table::PeerTable;
pub use proxy_protocol::{ProxyHeader, ProxySource};
pub use proxy_set::ProxySet;
#[doc(hidden)]
pub use request_context::{OptionalBody, RequestContext};
pub use settings::ListenSettings;
pub use tls::Tls;
pub use workers::Workers;
