//! Robot heaven: pages, indexes, sitemaps and feeds that are generated from resource descriptions.
//!
//! Each description that robots may index gets a [`page()`] with the words of the original, and a
//! [`markdown()`] rendition. Indexes list the pages by title, subject, author, date and depth, with
//! a hundred links per page. [`publish`] writes everything to a directory, and [`ServedHeaven`]
//! answers requests from the database. Both generate the same pages, and only from existing
//! descriptions: if a description is removed or becomes `noindex`, its page disappears.
//!
//! # Example
//!
//! ```
//! use robot_detection_site_robot::heaven::{self, CatalogueBuilder, HeavenSettings};
//! use robot_detection_store::description::{ResourceDescription, name};
//!
//! let settings = HeavenSettings::new("https://www.example.com")?;
//! let mut description = ResourceDescription::new("https://www.example.com/members/a");
//! description.set(name::TITLE, "Salt & pepper");
//!
//! let mut pages = CatalogueBuilder::default();
//! pages.add(&description);
//! let html = heaven::page(&description, &pages.build(&settings), &settings);
//! assert!(html.contains("<h1 dir=\"auto\">Salt &#38; pepper</h1>"));
//! assert_eq!(settings.link(description.url()), "/robot-heaven/members/a.htm");
//! # Ok::<(), heaven::HeavenError>(())
//! ```

mod access;
mod catalogue;
mod content;
mod crumbs;
mod date;
mod entry;
mod error;
mod export;
mod feed;
mod files;
mod frame;
mod html;
mod index;
mod json_ld;
mod layout;
mod library;
mod markdown;
mod markdown_line;
mod page;
mod path;
mod publish;
mod served;
mod settings;
mod sitemap;
mod text;
mod view;

pub use access::PageAccess;
pub use catalogue::{Catalogue, CatalogueBuilder};
pub use error::HeavenError;
pub use library::Library;
pub use markdown::markdown;
pub use page::page;
pub use path::HeavenPath;
pub use publish::{PublishReport, PublishedPages, count_published, is_published, publish};
pub use served::ServedHeaven;
pub use settings::HeavenSettings;
pub use text::xml;

#[cfg(test)]
mod tests;
