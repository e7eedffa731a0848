//! Names of attributes that rooms agree on.

/// Title of the resource.
pub const TITLE: &str = "title";
/// Summary, by its author or cut from its text.
pub const DESCRIPTION: &str = "description";
/// Words that describe the resource, with commas between them.
pub const KEYWORDS: &str = "keywords";
/// Author.
pub const AUTHOR: &str = "author";
/// Language tag (BCP 47).
pub const LANGUAGE: &str = "language";
/// Media type, without parameters.
pub const CONTENT_TYPE: &str = "content-type";
/// Bytes as received, decompressed.
pub const CONTENT_LENGTH: &str = "content-length";
/// Character set that the text was read in.
pub const CONTENT_CHARSET: &str = "content-charset";
/// When the resource was changed, as the server says (an HTTP date).
pub const LAST_MODIFIED: &str = "last-modified";
/// When the resource was published, as it says itself (RFC 3339, or a day).
pub const PUBLISHED: &str = "published";
/// When the resource was changed, as it says itself (RFC 3339, or a day).
pub const MODIFIED: &str = "modified";
/// When the resource ends, as the server says (an HTTP date).
pub const EXPIRES: &str = "expires";
/// MD5 of the bytes, in hexadecimal.
pub const MD5: &str = "md5";
/// First part of the text.
pub const PARTIAL_TEXT: &str = "partial-text";
/// All of the text.
pub const FULL_TEXT: &str = "full-text";
/// Headings: a line each, with two spaces before it for each level below the first.
pub const TABLE_OF_CONTENTS: &str = "table-of-contents";
/// What stands in the full text: lists, tables, links; only with that text they mean anything.
pub const MARKS: &str = "full-text-marks";
/// Class, with `:` between the parts of its path.
pub const CLASSIFICATION: &str = "classification";
/// Links followed from a starting point.
pub const DEPTH: &str = "depth";
/// When the description ends (an HTTP date).
pub const RD_EXPIRES: &str = "rd-expires";
/// When the description was made (an HTTP date).
pub const RD_LAST_MODIFIED: &str = "rd-last-modified";
/// URLs that the resource links to, a line each.
pub const LINKS: &str = "links";
/// URL that the resource calls its own.
pub const CANONICAL: &str = "canonical";
/// What robots may do with it: directives of META tags and `X-Robots-Tag` that hold for all.
pub const ROBOTS: &str = "robots";
/// Address of the server.
pub const IP: &str = "ip";
/// Version that the server names.
pub const ETAG: &str = "etag";
