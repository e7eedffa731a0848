//! The files that make front proxies query this program, rendered from a configuration.
//!
//! The templates contain the text in each proxy's own language; this module provides the values and
//! their spelling. A value with a special meaning for any proxy is refused, not escaped, because
//! each of these languages escapes differently.

mod files;
mod front;
mod given_header;
mod inspect;
mod nginx_text;
mod place;

pub use files::{FileOptions, NginxPart, ProxyFile, proxy_file};
pub use front::{Front, FrontSite, OwnPath};
pub use given_header::RuleHeader;
pub use inspect::{Finding, Inspection, inspect};
pub use nginx_text::TextError;
pub use place::{Place, PlaceError};

#[cfg(test)]
mod tests;
