//! Terms of use for content, and documents that announce the terms to robots.
//!
//! [`Terms`] specify the permitted uses of the content below some paths, and the price.
//! [`Licensing`] converts all terms to a Really Simple Licensing (RSL 1.0) document and a TDM
//! Reservation Protocol file (W3C Community Group Report, 2024), both of which are ready to be
//! served.
//!
//! # Example
//!
//! ```
//! use robot_detection_site_robot::licensing::{Licensing, Payment, Terms, Usage};
//!
//! let terms = Terms::new()
//!     .permits([Usage::Search])
//!     .payment(Payment::Crawl)
//!     .amount("0.015", "USD")?;
//! let licensing = Licensing::new([terms])?.rsl("/license.xml")?.tdmrep(true);
//! assert!(licensing.rsl_document().contains("<permits type=\"usage\">search</permits>"));
//! let site: axum::Router = axum::Router::new().merge(licensing.router());
//! # Ok::<(), robot_detection_site_robot::licensing::TermsError>(())
//! ```

mod documents;
mod preferences;
mod terms;
mod words;

pub use documents::{Licensing, TDMREP_PATH};
pub use preferences::{PageSources, Preference, decisive};
pub use terms::{Terms, TermsError};
pub use words::{ContentUse, Payment, Usage};
