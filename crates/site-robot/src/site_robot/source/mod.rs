//! Sources of pages: HTTP, the application itself, or files.
//!
//! A [`PageSource`] answers a [`PageRequest`] (GET or HEAD) within time and size limits. No status
//! is treated as an error, and redirects are not followed: both are left to the caller. All sources
//! read a [`PageResponse`] from its headers in the same way.
//!
//! # Example
//!
//! ```
//! use axum::{Router, extract::Extension, routing::get};
//! use robot_detection_site_robot::site_robot::source::{ApplicationSource, PageRequest, PageSource};
//!
//! #[derive(Clone)]
//! struct Member(&'static str);
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let app = Router::new().route("/a", get(|Extension(it): Extension<Member>| async move { it.0 }));
//! let source = ApplicationSource::new(app, |request| {
//!     request.extensions_mut().insert(Member("site robot"));
//! });
//! let source = PageSource::from(source);
//! let url = "http://h.example/a".parse().unwrap();
//! let answer = source.fetch(&PageRequest::get(&url)).await.unwrap();
//! assert_eq!((answer.status, &answer.body[..]), (200, &b"site robot"[..]));
//! # }
//! ```

mod access;
mod answer;
mod application;
mod error;
mod files;
mod form;
mod http;
mod login;
mod page_source;
mod session;

pub use access::{Credentials, SiteAccess};
pub use answer::PageResponse;
pub use answer::SourceLimits;
#[doc(hidden)]
pub use answer::canonical_in;
pub use application::ApplicationSource;
pub use error::SourceError;
pub use files::FileSource;
pub use http::{HttpSettings, HttpSource, RequestSigner};
pub use login::FormLogin;
pub use page_source::{PageRequest, PageSource};
