//! Terms of use for content, and the documents that tell robots of them.
//!
//! [`Terms`] say for some paths what content may be used for and what it costs. [`Licensing`]
//! makes of all of them a document of Really Simple Licensing (RSL 1.0) and the file of the
//! TDM Reservation Protocol (W3C Community Group Report, 2024), and keeps both ready to be served.
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
//! # Ok::<(), robot_detection_site_robot::licensing::WrongTerms>(())
//! ```

mod documents;
mod terms;
mod words;

pub use documents::{Licensing, TDMREP_PATH};
pub use terms::{Terms, WrongTerms};
pub use words::{Payment, Usage};
