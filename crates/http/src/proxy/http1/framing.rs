//! Where the body of a response ends (RFC 9112 §6.3).

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

use super::{chunks::Chunks, error::Http1Error};

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    /// There is no body.
    None,
    Length(u64),
    Chunked,
    /// The body ends with the connection.
    Close,
}

/// Reader of a body, of which bytes are there or not.
#[derive(Debug)]
pub(super) enum Decoder {
    Done,
    Length(u64),
    Chunked(Chunks),
    Close,
}

/// Part of a body.
#[derive(Debug)]
pub(super) enum Piece {
    Data(Bytes),
    /// In a box, as there are seldom any.
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

    /// Bytes that are left, where that is known.
    pub(super) fn left(&self) -> Option<u64> {
        match self {
            Self::Done => Some(0),
            Self::Length(left) => Some(*left),
            Self::Chunked(_) | Self::Close => None,
        }
    }

    /// Takes the next part out of what has come; nothing at the end, or when more is needed.
    ///
    /// # Errors
    ///
    /// Fails when what has come is no body of this kind.
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
                if chunks.are_done() {
                    *self = Self::Done;
                }
                Ok(piece)
            }
            Self::Close => Ok(Some(Piece::Data(input.split().freeze()))),
        }
    }

    /// Ends the body with the connection.
    ///
    /// # Errors
    ///
    /// Fails when it is not whole.
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

/// Takes what is there, and no more than is left.
pub(super) fn take(input: &mut BytesMut, left: &mut u64) -> Bytes {
    let len = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= len as u64;
    if len == input.len() {
        input.split().freeze()
    } else {
        input.split_to(len).freeze()
    }
}
