//! The services of the process, which answer on every site: admin pages and operations.

use axum::{Router, http::Request};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use crate::listen::RequestContext;
use crate::observe::Observer;

use super::{operation_requests::is_operation, table::is_below};

/// What is of the process, and answers on every site.
///
/// Database and jobs live on the runtime that it was made on, so requests are
/// answered there, wherever their connections are served.
#[derive(Debug)]
pub(super) struct ProcessServices {
    /// Path without a slash at its end, and the router that is nested there.
    pub(super) admin: Option<(String, Router)>,
    /// `None` where they have a listener of their own, as the admin page then has.
    pub(super) operations: Option<Router>,
    pub(super) observer: Observer,
    pub(super) runtime: Handle,
    pub(super) tasks: TaskTracker,
}

impl ProcessServices {
    /// Returns the router that answers the request, if it is for the process.
    pub(super) fn router(&self, request: &Request<RequestContext>) -> Option<&Router> {
        if let Some(router) = &self.operations
            && is_operation(request, request.body().client())
        {
            return Some(router);
        }
        let (prefix, router) = self.admin.as_ref()?;
        let path = request.uri().path().as_bytes();
        is_below(path, prefix.as_bytes()).then_some(router)
    }
}
