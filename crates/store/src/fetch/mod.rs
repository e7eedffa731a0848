//! Outbound HTTP client with limits and conditional requests.
//!
//! A [`Fetcher`] fetches one resource at a time within time and memory limits, regardless of the
//! server's behaviour: the body size is checked after decompression, redirects are limited in
//! number and cannot lead to other protocols or from HTTPS to HTTP, and every wait has a timeout.
//! Proxies are configured by the usual environment variables (`HTTP_PROXY`, `HTTPS_PROXY`,
//! `NO_PROXY`).
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
//!     FetchResponse::NotModified => println!("not modified"),
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
pub use ask::{AnyStatusRequest, AnyStatusResponse};
pub use client::{UnzipError, bundled_authorities, gunzip, is_gzip};
pub use direct::{DirectClient, DirectResponse, DirectSettings};
pub use error::FetchError;
pub use fetcher::{Conditions, FetchLimits, FetchResponse, Fetcher};
pub use origin::Origin;
pub use origin::shown_url;
