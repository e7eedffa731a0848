//! META tags and `X-Robots-Tag`: what robots may do with a page they have.
//!
//! robots.txt says what may be fetched; these say what may be done with it
//! then. [`RobotsMeta`] collects what is said, to everybody and by robot, and
//! answers for one robot with reasons; [`RobotsDirectives`] is what holds in
//! the end. [`XRobotsTag`] is a header that we send ourselves. With the feature
//! `html`, `PageMeta` reads the tags of a page.
//!
//! | directive | keeps a robot from | by |
//! | --- | --- | --- |
//! | `noindex`, `nofollow`, `none` | showing the page, following its links, both | TDG 9.4.7, Google, Bing |
//! | `index`, `follow`, `all` | nothing | TDG 9.4.7, Google, Bing |
//! | `noarchive`, `nocache` | showing a stored copy; see [`ChatUse`] | TDG 9.4.7, Bing |
//! | `nosnippet`, `max-snippet:N` | showing text | Google, Bing |
//! | `max-image-preview:SIZE`, `max-video-preview:N` | showing images, videos | Google, Bing |
//! | `notranslate`, `noimageindex` | translating, indexing images | Google |
//! | `indexifembedded` | with `noindex`: nothing inside of other pages | Google |
//! | `unavailable_after:DATE` | showing the page after a moment | Google |
//!
//! TDG is HTTP: The Definitive Guide; Google and Bing say theirs in their
//! documentation for site owners.
//!
//! Names and values are the same in upper and lower case; what is not known,
//! a date or a number that is none included, is skipped. Of what contradicts
//! itself the stricter holds.
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
pub use page::{MAX_HTML_BYTES, PageMeta};
pub use robots_meta::{DirectiveSource, MetaAnswer, RobotsMeta, Statement};
pub use unavailable_after::UnavailableAfter;
pub use x_robots_tag::{XRobotsTag, XRobotsTagError};
