//! META tags and `X-Robots-Tag` headers, which restrict what robots may do with a fetched page.
//!
//! robots.txt controls which pages are fetched; META tags and headers control how fetched pages are
//! used. [`RobotsMeta`] collects the statements for all robots and for individual robots, and
//! returns the directives for one robot with the reasons for them; [`RobotsDirectives`] contains
//! the resulting directives. [`XRobotsTag`] is the value of a header to send. With the feature
//! `html`, `PageMeta` parses the META tags of a page.
//!
//! | directive | prevents a robot from | defined by |
//! | --- | --- | --- |
//! | `noindex`, `nofollow`, `none` | showing the page, following its links, both | TDG 9.4.7, Google, Bing |
//! | `index`, `follow`, `all` | nothing | TDG 9.4.7, Google, Bing |
//! | `noarchive`, `nocache` | showing a stored copy; see [`ChatUse`] | TDG 9.4.7, Bing |
//! | `nosnippet`, `max-snippet:N` | showing text | Google, Bing |
//! | `max-image-preview:SIZE`, `max-video-preview:N` | showing images, videos | Google, Bing |
//! | `notranslate`, `noimageindex` | translating, indexing images | Google |
//! | `indexifembedded` | with `noindex`: nothing if embedded in other pages | Google |
//! | `unavailable_after:DATE` | showing the page after a point in time | Google |
//!
//! TDG stands for HTTP: The Definitive Guide. Google and Bing define their directives in their
//! documentation for site owners.
//!
//! Names and values are case-insensitive; unknown items, including invalid dates and numbers, are
//! skipped. If directives contradict each other, the stricter directive applies.
//!
//! # Example
//!
//! ```
//! use robot_detection_robots_txt::meta::RobotsMeta;
//!
//! let mut meta = RobotsMeta::default();
//! meta.add_headers([
//!     ("X-Robots-Tag", "googlebot: noindex, otherbot: nofollow"),
//!     ("x-robots-tag", "unavailable_after: 25 Jun 2010 15:00:00 PST"),
//! ]);
//! let it = meta.for_robot("Googlebot").directives;
//! assert!(!it.index() && it.follow());
//! assert_eq!(it.unavailable_after().unwrap().as_str(), "25 Jun 2010 15:00:00 PST");
//! ```

mod date;
mod directive;
mod directives;
mod items;
#[cfg(feature = "html")]
mod page;
mod robots_meta;
#[cfg(test)]
mod tests;
mod unavailable_after;
mod x_robots_tag;

pub use directive::{Directive, ImagePreview, Limit};
pub use directives::{ChatUse, RobotsDirectives};
#[cfg(feature = "html")]
pub use page::{MAX_HTML_BYTES, PageMeta, tags};
pub use robots_meta::{DirectiveSource, RobotMeta, RobotsMeta, Statement};
pub use unavailable_after::UnavailableAfter;
pub use x_robots_tag::{XRobotsTag, XRobotsTagError};
