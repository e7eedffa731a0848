//! Renders the configuration files with which front proxies query this program.
//!
//! The templates contain the text in each proxy's own language; this module provides the values. A
//! value that has a special meaning for any of the proxies is refused instead of escaped, because
//! each of these languages has different escape rules.

mod files;
mod front;
mod inspect;
mod nginx_text;
mod place;
mod rule_header;

pub use files::{FileOptions, NginxPart, ProxyFile, proxy_file};
pub use front::{Front, FrontSite, OwnPath};
pub use inspect::{Finding, Inspection, inspect};
pub use nginx_text::TextError;
pub use place::{Place, PlaceError};
pub use rule_header::RuleHeader;

#[cfg(test)]
mod tests;
