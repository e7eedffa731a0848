//! Resource descriptions: what the site robot says about a resource.
//!
//! A [`ResourceDescription`] is a URL and attributes in the order in which they
//! were generated, as in a SOIF object (RFC 2655). An attribute's name is in
//! lower case, its value is text; names that others read are in [`name`].
//! They are written and read as SOIF, and as lines of JSON.
//!
//! # Example
//!
//! ```
//! use robot_detection_store::description::{ResourceDescription, name};
//!
//! let mut description = ResourceDescription::new("https://www.example.com/a");
//! description.set(name::TITLE, "A page");
//! assert_eq!(description.value("Title"), Some("A page"));
//! assert_eq!(description.title(), "A page");
//! ```

mod error;
mod json;
mod json_lines;
pub mod name;
mod resource_description;
mod soif;

pub use error::ReadError;
#[doc(hidden)]
pub(crate) use json::{TEXTS, attributes_from_json, attributes_to_json, stored_texts};
pub use json_lines::{JsonLinesReader, write_json_line};
pub use resource_description::{Attribute, MAX_ATTRIBUTES, MAX_VALUE_BYTES, ResourceDescription};
pub use soif::{SoifReader, write_soif};
