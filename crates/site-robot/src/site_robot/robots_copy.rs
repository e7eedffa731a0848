//! Stored copies of robots.txt files, which are used for conditional requests in the next run.
//!
//! Copies are only an optimization: if a copy cannot be read or stored, the file is requested
//! unconditionally.

use url::Url;

use robot_detection_robots_txt::Access;
use robot_detection_store::fetch::Conditions;
use robot_detection_store::store::{RobotsTxtCopy, StoreError};

use super::{settings::Settings, source::PageResponse};

/// Change to the stored copy of a robots.txt file that results from a response.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum CopyChange {
    /// The copy is kept because it is current or because its state is unknown.
    None,
    /// The copy is replaced with the current file.
    Copy(RobotsTxtCopy),
    /// The file no longer exists or cannot be stored.
    Gone,
}

impl CopyChange {
    /// Returns the change that results from a response for the file's own URL.
    pub(super) fn from_response(file: &Url, access: Access, answer: &PageResponse) -> Self {
        if let Access::DenyAll { retry: true } = access {
            return Self::None;
        }
        Self::copy(file, access, answer).map_or(Self::Gone, Self::Copy)
    }

    fn copy(file: &Url, access: Access, answer: &PageResponse) -> Option<RobotsTxtCopy> {
        let Conditions {
            etag,
            last_modified,
        } = answer.conditions();
        let has_version = etag.is_some() || last_modified.is_some();
        // `PostgreSQL` does not accept NUL, and if NUL was removed, the copy would differ from the
        // file.
        if access != Access::Rules || !has_version || answer.body.contains(&0) {
            return None;
        }
        Some(RobotsTxtCopy {
            url: file.as_str().to_owned(),
            etag,
            last_modified,
            body: String::from_utf8(answer.body.to_vec()).ok()?,
        })
    }

    /// Applies the change to the stored copy.
    pub(super) async fn apply(self, settings: &Settings, copy: Option<&RobotsTxtCopy>) {
        let Settings { store, site, .. } = settings;
        let done = match (self, copy) {
            (Self::Copy(copy), _) => store.frontier().save_robots_txt_copy(site, &copy).await,
            (Self::Gone, Some(copy)) => {
                store
                    .frontier()
                    .remove_robots_txt_copy(site, &copy.url)
                    .await
            }
            (Self::None, _) | (Self::Gone, None) => Ok(()),
        };
        done.unwrap_or_else(|error| tell(&error));
    }
}

/// Returns the stored copy of a file, if there is one.
pub(super) async fn stored_copy(settings: &Settings, file: &Url) -> Option<RobotsTxtCopy> {
    let Settings { store, site, .. } = settings;
    let copy = store.frontier().robots_txt_copy(site, file.as_str()).await;
    copy.unwrap_or_else(|error| {
        tell(&error);
        None
    })
}

/// Returns the conditions for a request that returns the file only if it is newer than the copy.
pub(super) fn conditions(copy: Option<&RobotsTxtCopy>) -> Conditions {
    copy.map_or_else(Conditions::default, |copy| Conditions {
        etag: copy.etag.clone(),
        last_modified: copy.last_modified.clone(),
    })
}

fn tell(error: &StoreError) {
    tracing::warn!("{error}; requesting the complete robots.txt");
}
