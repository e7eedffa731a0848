//! The only outbound HTTP client: limits, conditional requests.
//!
//! A [`Fetcher`] gets one resource at a time and ends in bounded time with
//! bounded memory, whatever the other side does: the body is counted after it
//! is decompressed, redirects are few and never lead away from HTTP or out of
//! TLS, and every wait has a limit. Proxies are taken from the usual
//! environment variables (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`).
//!
//! # Example
//!
//! ```no_run
//! use robot_detection_store::fetch::{Conditions, FetchError, FetchLimits, FetchResponse, Fetcher};
//!
//! # async fn example() -> Result<(), FetchError> {
//! let fetcher = Fetcher::new(FetchLimits::default())?;
//! let url = "http://www.robotstxt.org/db/all.txt";
//! match fetcher.fetch(url, &Conditions::default(), &|_, _| ()).await? {
//!     FetchResponse::Body { bytes, .. } => println!("{} bytes", bytes.len()),
//!     FetchResponse::NotModified => println!("the same as before"),
//! }
//! # Ok(())
//! # }
//! ```

mod address;
mod ask;
mod client;
mod direct;
mod error;
mod fetcher;
mod origin;

pub use address::{AddressKind, is_public};
#[doc(hidden)]
pub use ask::Poster;
pub use ask::{AnyStatusRequest, AnyStatusResponse};
pub use client::{UnzipError, gunzip, is_gzip};
pub use direct::{DirectClient, DirectResponse, DirectSettings};
pub use error::FetchError;
pub use fetcher::{Conditions, FetchLimits, FetchResponse, Fetcher};
pub use origin::Origin;
pub use origin::shown_url;
