use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};

use super::{
    Http1Error,
    framing::{Decoder, Piece},
    head::{self, ParseResult},
};

/// A reader that parses a response in the same way as the proxy, without I/O.
///
/// The reader accepts bytes as they arrive and returns parts of the response. It makes no
/// difference how the bytes are divided into pieces.
///
/// # Example
///
/// ```
/// use http::Method;
/// use robot_detection_http::proxy::{ResponsePart, ResponseReader};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut reader = ResponseReader::new(&Method::GET);
/// reader.push(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more");
/// assert!(matches!(reader.part()?, Some(ResponsePart::Head(status, _)) if status == 200));
/// assert!(matches!(reader.part()?, Some(ResponsePart::Data(data)) if data == "ok"));
/// assert!(reader.is_done());
/// assert_eq!(reader.rest(), b", and more");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ResponseReader {
    input: BytesMut,
    seen: usize,
    is_head: bool,
    /// The decoder of the body; `None` until the head is complete.
    decoder: Option<Decoder>,
}

/// A part of a response.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResponsePart {
    /// The status and headers, without the usual hop-by-hop headers.
    Head(StatusCode, HeaderMap),
    /// A piece of the response body.
    Data(Bytes),
    /// Trailers after the response body.
    Trailers(HeaderMap),
}

impl ResponseReader {
    /// Creates a reader for the response to a request with the given method.
    pub fn new(method: &Method) -> Self {
        Self {
            input: BytesMut::new(),
            seen: 0,
            is_head: *method == Method::HEAD,
            decoder: None,
        }
    }

    /// Adds bytes received from the server.
    pub fn push(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Returns the next part of the response, or `None` at the end of the response or if more bytes
    /// are needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a response, or if the response's end is ambiguous.
    pub fn part(&mut self) -> Result<Option<ResponsePart>, Http1Error> {
        let Some(decoder) = &mut self.decoder else {
            return self.head();
        };
        Ok(decoder.decode(&mut self.input)?.map(|piece| match piece {
            Piece::Data(data) => ResponsePart::Data(data),
            Piece::Trailers(trailers) => ResponsePart::Trailers(*trailers),
        }))
    }

    /// Ends the response because the connection to the server has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the response is incomplete.
    pub fn end(&mut self) -> Result<(), Http1Error> {
        match &mut self.decoder {
            None => Err(Http1Error::NoHead),
            Some(decoder) => decoder.end(),
        }
    }

    /// Returns `true` if the response has been read completely.
    pub fn is_done(&self) -> bool {
        self.decoder.as_ref().is_some_and(Decoder::is_done)
    }

    /// Returns the bytes that do not belong to a part returned so far.
    pub fn rest(&self) -> &[u8] {
        &self.input
    }

    fn head(&mut self) -> Result<Option<ResponsePart>, Http1Error> {
        let mut headers = HeaderMap::new();
        let Self {
            input,
            seen,
            is_head,
            ..
        } = self;
        while !input.is_empty() {
            match head::parse(input, seen, *is_head, None, &mut headers)? {
                ParseResult::Partial => break,
                ParseResult::Interim => {}
                ParseResult::Final(head) => {
                    self.decoder = Some(Decoder::new(head.framing));
                    return Ok(Some(ResponsePart::Head(head.status, headers)));
                }
            }
        }
        Ok(None)
    }
}
