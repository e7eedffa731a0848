//! Copies of robots.txt files, so that the next run asks for another version only.
//!
//! They save requests and nothing else: where one cannot be read or kept, the
//! file is asked for whole.

use url::Url;

use robot_detection_robots_txt::Access;
use robot_detection_store::fetch::Conditions;
use robot_detection_store::store::{RobotsTxtCopy, StoreError};

use super::{settings::Settings, source::PageResponse};

/// Change of the copy that follows from an answer.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum CopyChange {
    /// It stays: it is the file of now, or nobody can tell.
    None,
    /// The file of now takes its place.
    Copy(RobotsTxtCopy),
    /// There is no such file any more, or none that can be kept.
    Gone,
}

impl CopyChange {
    /// Returns the change that follows from an answer of the file's own URL.
    pub(super) fn of(file: &Url, access: Access, answer: &PageResponse) -> Self {
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
        // `PostgreSQL` takes no NUL, and without it the copy would be of another file.
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

    /// Does to the copy what is to be done.
    pub(super) async fn apply(self, settings: &Settings, copy: Option<&RobotsTxtCopy>) {
        let Settings { store, site, .. } = settings;
        let done = match (self, copy) {
            (Self::Copy(copy), _) => store.frontier().keep_robots_txt(site, &copy).await,
            (Self::Gone, Some(copy)) => store.frontier().forget_robots_txt(site, &copy.url).await,
            (Self::None, _) | (Self::Gone, None) => Ok(()),
        };
        done.unwrap_or_else(|error| tell(&error));
    }
}

/// Returns the copy of a file, if there is one.
pub(super) async fn copy_of(settings: &Settings, file: &Url) -> Option<RobotsTxtCopy> {
    let Settings { store, site, .. } = settings;
    let copy = store.frontier().robots_txt_copy(site, file.as_str()).await;
    copy.unwrap_or_else(|error| {
        tell(&error);
        None
    })
}

/// Returns what to ask with, to get another version only.
pub(super) fn conditions(copy: Option<&RobotsTxtCopy>) -> Conditions {
    copy.map_or_else(Conditions::default, |copy| Conditions {
        etag: copy.etag.clone(),
        last_modified: copy.last_modified.clone(),
    })
}

fn tell(error: &StoreError) {
    tracing::warn!("{error}; robots.txt is asked for whole");
}
