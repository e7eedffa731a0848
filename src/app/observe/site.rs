use std::sync::Arc;

use axum::http::Request;

use super::{ObserveFuture, Observer, SiteMetrics, observation::Observation};

/// Observer of the requests of one site.
#[derive(Clone, Debug)]
pub(in super::super) struct SiteObserver {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) observer: Observer,
    pub(super) site: Arc<SiteMetrics>,
}

impl SiteObserver {
    pub(super) fn new(observer: Observer, site: Arc<SiteMetrics>) -> Self {
        Self {
            shared: Arc::new(Shared { observer, site }),
        }
    }

    /// Counts and logs a request that `answer` answers, when its response has ended.
    pub(in super::super) fn observe<B, F>(
        &self,
        mut request: Request<B>,
        answer: impl FnOnce(Request<B>) -> F,
    ) -> ObserveFuture<F> {
        let observation = Observation::begin(self, &mut request);
        ObserveFuture::new(answer(request), observation)
    }
}
