//! Parses fetched resources: character encoding, text, links, headings and META tags.
//!
//! Input comes from arbitrary servers, so parsing takes time proportional to the size, never fails,
//! and handles errors as browsers do. [`decode`] decodes bytes, [`Page`] parses HTML, [`Sitemap`]
//! and [`Feed`] parse XML, [`urls_in_text`] finds URLs in plain text, and [`resolve`] normalizes
//! links.
//!
//! # Example
//!
//! ```
//! use robot_detection_site_robot::document::{Page, decode, resolve};
//!
//! let bytes = b"<title>Caf\xE9</title><p>Fish <b>&amp;</b> chips<a href=../menu>Menu</a>";
//! let decoded = decode(bytes, Some("text/html; charset=iso-8859-1"), None);
//! let page = Page::read(&decoded.text);
//! assert_eq!(page.title.as_deref(), Some("Café"));
//! assert_eq!(page.text(), "Fish & chipsMenu");
//!
//! let base = page.base_url(&"http://h.example/a/b".parse().unwrap());
//! let url = resolve(&base, &page.links[0].url).unwrap();
//! assert_eq!(url.as_str(), "http://h.example/menu");
//! ```

mod address;
mod around;
mod attributes;
mod build;
mod charset;
mod dates;
mod elements;
mod feed;
mod fold;
mod main_text;
mod open;
mod page;
mod prescan;
mod reader;
mod session;
mod sitemap;
mod structure;
mod tags;
#[cfg(test)]
mod tests;
mod tracking;
#[cfg(test)]
mod trees;
pub(crate) mod xml;

pub use address::urls_in_text;
pub use address::{MAX_URL_BYTES, normalise, resolve};
pub use charset::{DecodedText, decode};
pub use dates::Moment;
pub use feed::{Feed, FeedEntry};
pub use fold::{shorten, shorten_bytes};
pub use main_text::ContentSelection;
pub use page::{Block, BlockKind, Link, LinkKind, Meta, Page, PagePart};
pub use session::{has_session, without_session};
pub use sitemap::{Sitemap, SitemapEntry};
pub use tracking::TrackingParameters;
