//! The roles of a response's headers, and the framing that results from the headers together.

use http::{
    HeaderMap, HeaderName, StatusCode, Version,
    header::{CONNECTION, CONTENT_LENGTH},
};

use super::{super::headers, Http1Error, framing::Framing, head::Head};

/// The maximum number of headers in a response.
pub(super) const MAX_HEADERS: usize = 100;
/// The maximum length of a body. Clients that use signed numbers would treat a larger length as
/// negative.
const MAX_LENGTH: u64 = i64::MAX as u64;

/// The role of a header in framing the message and on the current hop.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HeaderRole {
    /// An end-to-end header, which is passed to the client.
    EndToEnd,
    /// A `Content-Length` header; `None` if the value is not a single number.
    Length(Option<u64>),
    /// A `Transfer-Encoding` header; `true` if the only coding is `chunked`.
    Coding(bool),
    KeepAlive,
    Close,
    /// Another hop-by-hop header, which has to be examined.
    HopByHop,
    /// A hop-by-hop header that is irrelevant to the proxy.
    Dropped,
}

impl HeaderRole {
    pub(super) fn classify(name: &HeaderName, value: &[u8]) -> Self {
        let name = name.as_str();
        // RFC 9110 §7.6.1, RFC 9112 §6.1, §6.2. The length is compared first, so that most names
        // cost only one comparison.
        match name.len() {
            14 if name == "content-length" => Self::Length(headers::decimal(value)),
            17 if name == "transfer-encoding" => {
                Self::Coding(value.eq_ignore_ascii_case(b"chunked"))
            }
            10 if name == "connection" => {
                if value.eq_ignore_ascii_case(b"keep-alive") {
                    Self::KeepAlive
                } else if value.eq_ignore_ascii_case(b"close") {
                    Self::Close
                } else {
                    Self::HopByHop
                }
            }
            7 if name == "upgrade" => Self::HopByHop,
            10 if name == "keep-alive" => Self::Dropped,
            16 if name == "proxy-connection" => Self::Dropped,
            2 if name == "te" => Self::Dropped,
            _ => Self::EndToEnd,
        }
    }
}

/// The properties of a response that follow from its headers.
#[derive(Default)]
pub(super) struct ResponseFacts {
    coding: Coding,
    lengths: usize,
    /// The body length, if a `Content-Length` line contains a single number.
    length: Option<u64>,
    closes: bool,
    keeps: bool,
    has_hop_headers: bool,
}

#[derive(Clone, Copy, Default, Eq, PartialEq)]
enum Coding {
    #[default]
    None,
    Chunked,
    Other,
}

impl ResponseFacts {
    /// Records a header; returns `false` if the header must be removed, like the usual hop-by-hop
    /// headers (RFC 9110 §7.6.1).
    pub(super) fn add(&mut self, role: HeaderRole) -> bool {
        match role {
            HeaderRole::EndToEnd => {}
            HeaderRole::Length(length) => {
                self.lengths += 1;
                self.length = length;
            }
            HeaderRole::HopByHop => self.has_hop_headers = true,
            HeaderRole::Coding(is_chunked) => {
                // Exactly one `chunked` is accepted, because applying the coding twice is forbidden
                // (RFC 9112 §6.1, §7.1).
                self.coding = if is_chunked && self.coding == Coding::None {
                    Coding::Chunked
                } else {
                    Coding::Other
                };
                return false;
            }
            HeaderRole::KeepAlive => {
                self.keeps = true;
                return false;
            }
            HeaderRole::Close => {
                self.closes = true;
                return false;
            }
            HeaderRole::Dropped => return false,
        }
        true
    }

    /// Determines the framing of the response and the persistence of the connection; `headers`
    /// contains the headers that were not removed.
    pub(super) fn head(
        mut self,
        headers: &mut HeaderMap,
        status: StatusCode,
        version: Version,
        is_head: bool,
    ) -> Result<Head, Http1Error> {
        // If there are both a length and chunks, the chunks apply and the connection ends, because
        // this may be request smuggling (RFC 9112 §6.3, rule 3).
        self.closes |= self.coding == Coding::Chunked && self.lengths > 0;
        if self.has_hop_headers {
            self.closes |= headers::has_token(headers, &CONNECTION, "close");
            self.keeps |= headers::has_token(headers, &CONNECTION, "keep-alive");
        }
        let framing = self.framing(headers, status, version, is_head)?;
        Ok(Head {
            status,
            framing,
            // RFC 9112 §9.3: the connection closes after `close`, after a body that ends with the
            // connection, or after HTTP/1.0 without `keep-alive`.
            closes: self.closes
                || framing == Framing::Close
                || (version == Version::HTTP_10 && !self.keeps),
            has_hop_headers: self.has_hop_headers,
        })
    }

    fn framing(
        &mut self,
        headers: &mut HeaderMap,
        status: StatusCode,
        version: Version,
        is_head: bool,
    ) -> Result<Framing, Http1Error> {
        let is_coded = self.coding != Coding::None;
        if self.coding == Coding::Other {
            // RFC 9112 §7.4: without `TE`, a server may send only `chunked`.
            return Err(Http1Error::Head("the transfer coding was not requested"));
        }
        if is_coded && version == Version::HTTP_10 {
            // RFC 9112 §6.1: the framing is faulty.
            return Err(Http1Error::Head("HTTP/1.0 does not support chunks"));
        }
        // RFC 9112 §6.3, rule 1.
        let is_bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        // The chunks determine the end of the body (RFC 9112 §6.3). Without a body, no length is
        // needed (RFC 9110 §8.6).
        if self.lengths > 0 && (is_bodiless || is_coded) {
            headers.remove(CONTENT_LENGTH);
        } else if self.lengths > 0 {
            self.length = Some(self.one_length(headers)?);
        }
        Ok(match (self.coding, self.length) {
            _ if is_head || is_bodiless || status == StatusCode::SWITCHING_PROTOCOLS => {
                Framing::None
            }
            // RFC 9112 §6.3, rules 4, 6 and 8, in this order.
            (Coding::Chunked, _) => Framing::Chunked,
            (_, Some(length)) => Framing::Length(length),
            (_, None) => Framing::Close,
        })
    }

    /// Returns the length on which all `Content-Length` lines agree (RFC 9110 §8.6, RFC 9112 §6.3,
    /// rule 5).
    fn one_length(&self, headers: &mut HeaderMap) -> Result<u64, Http1Error> {
        let wrong = Http1Error::Head("the Content-Length is not a single number");
        let length = match self.length {
            Some(length) if self.lengths == 1 => Some(length),
            _ if headers::merge_content_lengths(headers) => headers
                .get(CONTENT_LENGTH)
                .and_then(|length| headers::decimal(length.as_bytes())),
            _ => None,
        };
        length.filter(|length| *length <= MAX_LENGTH).ok_or(wrong)
    }
}
