//! Heaven is published after a run.

use std::path::PathBuf;

use crate::heaven::{HeavenError, HeavenSettings, Library, PublishReport, publish};

/// Where heaven is published to, and from what.
#[derive(Clone, Debug)]
pub(super) struct Publication {
    pub(super) library: Library,
    pub(super) settings: HeavenSettings,
    /// None: heaven is served from the database, which needs no publication.
    pub(super) directory: Option<PathBuf>,
}

impl Publication {
    /// Publishes what the database holds now; what did not change is left alone.
    pub(super) async fn publish(&self) -> Result<Option<PublishReport>, HeavenError> {
        let Some(directory) = &self.directory else {
            return Ok(None);
        };
        let published = publish(&self.library, directory, &self.settings).await?;
        if published.is_changed {
            let (pages, directory) = (published.catalogue.len(), directory.display());
            tracing::info!(pages, %directory, "published robot heaven, {pages} pages, in {directory}");
        }
        Ok(Some(published))
    }
}
