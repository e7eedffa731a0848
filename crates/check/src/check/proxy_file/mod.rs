//! The files with which other proxies ask: printed from a configuration, one for each of them.
//!
//! What a file says in a proxy's own language stands in its template; here stands what it says it
//! of, and how each value is spelled there. A value that some proxy could read as more than
//! itself is refused: nothing is escaped, as each of these languages escapes otherwise.

mod files;
mod front;
mod given_header;
mod inspect;
mod nginx_text;
mod place;

pub use files::{FileOptions, NginxPart, ProxyFile, proxy_file};
pub use front::{Front, FrontSite, OwnPath};
pub use given_header::GivenHeader;
pub use inspect::{Finding, Inspection, inspect};
pub use nginx_text::TextError;
pub use place::{Place, PlaceError};

#[cfg(test)]
mod tests;
