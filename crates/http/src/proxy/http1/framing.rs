//! Determination of the length of a response's body (RFC 9112 §6.3).

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

use super::{super::error::Http1Error, chunks::Chunks};

/// The framing of an HTTP/1 response body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    /// The response has no body (RFC 9112 §6.3, rule 1).
    None,
    Length(u64),
    Chunked,
    /// The response body ends when the connection is closed (RFC 9112 §6.3, rule 8).
    Close,
}

/// A decoder for a response body, without I/O.
#[derive(Debug)]
pub(super) enum Decoder {
    Done,
    Length(u64),
    Chunked(Chunks),
    Close,
}

/// A decoded piece of a response body.
#[derive(Debug)]
pub(super) enum Piece {
    Data(Bytes),
    /// The trailers after the body, boxed because they are rare.
    Trailers(Box<HeaderMap>),
}

impl Decoder {
    pub(super) fn new(framing: Framing) -> Self {
        match framing {
            Framing::None | Framing::Length(0) => Self::Done,
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Chunks::default()),
            Framing::Close => Self::Close,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Returns the number of remaining body bytes, if known.
    pub(super) fn remaining(&self) -> Option<u64> {
        match self {
            Self::Done => Some(0),
            Self::Length(left) => Some(*left),
            Self::Chunked(_) | Self::Close => None,
        }
    }

    /// Takes the next piece of the body out of the input. Returns `None` at the end of the body, or
    /// if more input is needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the input violates the framing.
    pub(super) fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Piece>, Http1Error> {
        match self {
            Self::Done => Ok(None),
            _ if input.is_empty() => Ok(None),
            Self::Length(left) => {
                let data = take(input, left);
                if *left == 0 {
                    *self = Self::Done;
                }
                Ok(Some(Piece::Data(data)))
            }
            Self::Chunked(chunks) => {
                let piece = chunks.decode(input)?;
                if chunks.is_done() {
                    *self = Self::Done;
                }
                Ok(piece)
            }
            Self::Close => Ok(Some(Piece::Data(input.split().freeze()))),
        }
    }

    /// Ends the response body because the connection has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the body is incomplete (RFC 9112 §8).
    pub(super) fn end(&mut self) -> Result<(), Http1Error> {
        match self {
            Self::Done => Ok(()),
            Self::Close => {
                *self = Self::Done;
                Ok(())
            }
            Self::Length(_) | Self::Chunked(_) => Err(Http1Error::Cut),
        }
    }
}

/// Takes the available bytes out of the input, but at most `left` bytes.
pub(super) fn take(input: &mut BytesMut, left: &mut u64) -> Bytes {
    let len = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= len as u64;
    // `split` leaves the remaining capacity with the connection.
    if len == input.len() {
        input.split().freeze()
    } else {
        input.split_to(len).freeze()
    }
}
