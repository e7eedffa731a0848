//! Attribute names used by several modules.

/// Title of the resource.
pub const TITLE: &str = "title";
/// Summary, written by the author or derived from the text.
pub const DESCRIPTION: &str = "description";
/// Keywords of the resource, comma-separated.
pub const KEYWORDS: &str = "keywords";
/// Author of the resource.
pub const AUTHOR: &str = "author";
/// Language tag of the resource (BCP 47).
pub const LANGUAGE: &str = "language";
/// Media type of the resource, without parameters.
pub const CONTENT_TYPE: &str = "content-type";
/// Size of the received body in bytes, after decompression.
pub const CONTENT_LENGTH: &str = "content-length";
/// Character set used to decode the resource's text.
pub const CONTENT_CHARSET: &str = "content-charset";
/// Modification time reported by the server (HTTP date).
pub const LAST_MODIFIED: &str = "last-modified";
/// Publication time stated in the resource (RFC 3339, or a date).
pub const PUBLISHED: &str = "published";
/// Modification time stated in the resource (RFC 3339, or a date).
pub const MODIFIED: &str = "modified";
/// Expiry time reported by the server (HTTP date).
pub const EXPIRES: &str = "expires";
/// MD5 hash of the received bytes, in hexadecimal.
pub const MD5: &str = "md5";
/// Beginning of the resource's text.
pub const PARTIAL_TEXT: &str = "partial-text";
/// Complete text of the resource.
pub const FULL_TEXT: &str = "full-text";
/// Headings, one per line, indented by two spaces for each level below the top.
pub const TABLE_OF_CONTENTS: &str = "table-of-contents";
/// Structure of the full text: lists, tables and links; meaningless without the full text.
pub const MARKS: &str = "full-text-marks";
/// Classification of the resource as a path; its parts are separated by `:`.
pub const CLASSIFICATION: &str = "classification";
/// Number of links to follow from a starting point to the resource.
pub const DEPTH: &str = "depth";
/// Expiry time of the description (HTTP date).
pub const RD_EXPIRES: &str = "rd-expires";
/// Creation time of the description (HTTP date).
pub const RD_LAST_MODIFIED: &str = "rd-last-modified";
/// URLs that the resource links to, one per line.
pub const LINKS: &str = "links";
/// Canonical URL stated in the resource.
pub const CANONICAL: &str = "canonical";
/// Directives for all robots from META tags and `X-Robots-Tag`.
pub const ROBOTS: &str = "robots";
/// IP address of the server that provides the resource.
pub const IP: &str = "ip";
/// Entity tag of the resource.
pub const ETAG: &str = "etag";
