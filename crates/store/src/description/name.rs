//! Attribute names used by several modules.

/// The title of the resource.
pub const TITLE: &str = "title";
/// A summary of the resource, written by the author or derived from the text.
pub const DESCRIPTION: &str = "description";
/// The keywords of the resource, separated by commas.
pub const KEYWORDS: &str = "keywords";
/// The author of the resource.
pub const AUTHOR: &str = "author";
/// The language tag of the resource (BCP 47).
pub const LANGUAGE: &str = "language";
/// The media type of the resource, without parameters.
pub const CONTENT_TYPE: &str = "content-type";
/// The size of the received body in bytes, after decompression.
pub const CONTENT_LENGTH: &str = "content-length";
/// The character set used to decode the resource's text.
pub const CONTENT_CHARSET: &str = "content-charset";
/// The modification time reported by the server (HTTP date).
pub const LAST_MODIFIED: &str = "last-modified";
/// The publication time stated in the resource (an RFC 3339 timestamp, or a date).
pub const PUBLISHED: &str = "published";
/// The modification time stated in the resource (an RFC 3339 timestamp, or a date).
pub const MODIFIED: &str = "modified";
/// The expiry time reported by the server (HTTP date).
pub const EXPIRES: &str = "expires";
/// The MD5 hash of the received bytes, in hexadecimal.
pub const MD5: &str = "md5";
/// The beginning of the resource's text.
pub const PARTIAL_TEXT: &str = "partial-text";
/// The complete text of the resource.
pub const FULL_TEXT: &str = "full-text";
/// The headings of the resource, one per line, indented by two spaces for each level below the top.
pub const TABLE_OF_CONTENTS: &str = "table-of-contents";
/// The structure of the full text (lists, tables and links), which is meaningless without the full
/// text.
pub const MARKS: &str = "full-text-marks";
/// The classification of the resource, as a path whose parts are separated by `:`.
pub const CLASSIFICATION: &str = "classification";
/// The number of links to follow from a starting point to reach the resource.
pub const DEPTH: &str = "depth";
/// The expiry time of the description (HTTP date).
pub const RD_EXPIRES: &str = "rd-expires";
/// The creation time of the description (HTTP date).
pub const RD_LAST_MODIFIED: &str = "rd-last-modified";
/// The URLs that the resource links to, one per line.
pub const LINKS: &str = "links";
/// The canonical URL stated in the resource.
pub const CANONICAL: &str = "canonical";
/// The directives for all robots from META tags and the `X-Robots-Tag` header.
pub const ROBOTS: &str = "robots";
/// The IP address of the server that provides the resource.
pub const IP: &str = "ip";
/// The entity tag of the resource.
pub const ETAG: &str = "etag";
