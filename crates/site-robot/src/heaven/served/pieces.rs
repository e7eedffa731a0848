//! Long files, which are generated in parts while they are being sent.

use std::{io, ops::Range, sync::Arc};

use axum::body::Body;
use futures_util::stream::try_unfold;

use crate::heaven::{
    Catalogue, HeavenSettings, entry::Entry, export::Export, library::DescriptionReader, sitemap,
};

/// Number of sitemap URLs written per part.
const URLS: usize = 1_000;

/// Part of a response body that is still to be sent.
#[derive(Debug)]
pub(super) enum Pieces {
    /// Descriptions that are read from the database.
    Export(Export, DescriptionReader),
    /// URLs of a sitemap.
    Sitemap {
        catalogue: Arc<Catalogue>,
        settings: Arc<HeavenSettings>,
        number: usize,
        /// Range of entries that are still to be sent.
        left: Range<usize>,
        is_first: bool,
    },
}

impl Pieces {
    /// Returns a body that generates each part after the previous part has been sent.
    pub(super) fn into_body(self) -> Body {
        Body::from_stream(try_unfold(Some(self), async |rest| match rest {
            Some(rest) => rest.step().await,
            None => Ok(None),
        }))
    }

    /// Generates the next part, and returns it together with the remaining parts.
    async fn step(self) -> io::Result<Option<(Vec<u8>, Option<Self>)>> {
        let mut out = Vec::new();
        match self {
            Self::Export(export, mut reading) => {
                while out.is_empty() {
                    let piece = reading.next().await.map_err(io::Error::other)?;
                    let Some(descriptions) = piece else {
                        return Ok(None);
                    };
                    for description in &descriptions {
                        export.write(description, &mut out)?;
                    }
                }
                Ok(Some((out, Some(Self::Export(export, reading)))))
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
                    return Ok(Some((out, None)));
                }
                let next = Self::Sitemap {
                    catalogue,
                    settings,
                    number,
                    left: now.end..left.end,
                    is_first: false,
                };
                Ok(Some((out, Some(next))))
            }
        }
    }
}
