//! Long files, made piece by piece as they are sent.

use std::{
    io,
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::io::ReaderStream;

use crate::heaven::{
    Catalogue, HeavenSettings, entry::Entry, export::Export, library::DescriptionReader, sitemap,
};

/// URLs of a sitemap that are written at once.
const URLS: usize = 1_000;

/// Rest of a body that is still to be sent.
#[derive(Debug)]
pub(super) enum Pieces {
    /// Descriptions, from the database.
    Export(Export, DescriptionReader),
    /// URLs of a sitemap.
    Sitemap {
        catalogue: Arc<Catalogue>,
        settings: Arc<HeavenSettings>,
        number: usize,
        /// Of all entries.
        left: Range<usize>,
        is_first: bool,
    },
    /// Nothing.
    End,
}

type Next = Pin<Box<dyn Future<Output = io::Result<(Vec<u8>, Pieces)>> + Send>>;

/// Reader of what is made piece by piece.
struct Reader {
    piece: Vec<u8>,
    read: usize,
    /// None at the end.
    next: Option<Next>,
}

impl Pieces {
    /// Returns a body that makes each piece when the one before has been sent.
    pub(super) fn into_body(self) -> Body {
        Body::from_stream(ReaderStream::new(Reader {
            piece: Vec::new(),
            read: 0,
            next: Some(Box::pin(self.step())),
        }))
    }

    /// Makes the next piece; at the end it is empty.
    async fn step(self) -> io::Result<(Vec<u8>, Self)> {
        let mut out = Vec::new();
        match self {
            Self::Export(export, mut reading) => {
                while out.is_empty() {
                    let piece = reading.next().await.map_err(io::Error::other)?;
                    let Some(descriptions) = piece else {
                        return Ok((out, Self::End));
                    };
                    for description in &descriptions {
                        export.write(description, &mut out)?;
                    }
                }
                Ok((out, Self::Export(export, reading)))
            }
            Self::Sitemap {
                catalogue,
                settings,
                number,
                left,
                is_first,
            } => {
                if is_first {
                    sitemap::write_start(number, &settings, &mut out)?;
                }
                let now = left.start..left.end.min(left.start + URLS);
                let entries: &[Entry] = catalogue.entries().get(now.clone()).unwrap_or_default();
                sitemap::write_urls(entries, &settings, &mut out)?;
                if now.end == left.end {
                    sitemap::write_end(&mut out)?;
                    return Ok((out, Self::End));
                }
                let next = Self::Sitemap {
                    catalogue,
                    settings,
                    number,
                    left: now.end..left.end,
                    is_first: false,
                };
                Ok((out, next))
            }
            Self::End => Ok((out, Self::End)),
        }
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let rest = self.piece.get(self.read..).unwrap_or_default();
            if !rest.is_empty() {
                let length = rest.len().min(buffer.remaining());
                buffer.put_slice(rest.get(..length).unwrap_or_default());
                self.read += length;
                return Poll::Ready(Ok(()));
            }
            // A reader that adds nothing to the buffer has come to its end.
            let Some(next) = &mut self.next else {
                return Poll::Ready(Ok(()));
            };
            let made = ready!(next.as_mut().poll(cx));
            // Before an error is returned: a future that has ended must not be polled again.
            self.next = None;
            let (piece, rest) = made?;
            (self.piece, self.read) = (piece, 0);
            if !matches!(rest, Pieces::End) {
                self.next = Some(Box::pin(rest.step()));
            }
        }
    }
}
