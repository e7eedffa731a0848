//! The handle on what is counted.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::store::Store;

use super::{
    counters::{Counted, Counters, SiteCounters},
    writer::Writer,
};

/// Counters of all requests, and what keeps them; clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    counters: Counters,
    /// `None` where nothing is kept: then the numbers of `/metrics` are all there is.
    writer: Option<tokio::sync::Mutex<Writer>>,
    clock: Clock,
}

impl Traffic {
    /// Creates counters, which are kept where there is a database for them.
    pub(crate) fn new(store: Option<Store>, clock: &Clock) -> Self {
        let writer = store.map(|store| Writer::new(store, clock.now_ms()));
        Self {
            inner: Arc::new(Inner {
                counters: Counters::default(),
                writer: writer.map(tokio::sync::Mutex::new),
                clock: clock.clone(),
            }),
        }
    }

    /// Returns the counters of a site, the same ones for the same name.
    pub(crate) fn site(&self, name: &str) -> Arc<SiteCounters> {
        self.inner.counters.site(name)
    }

    /// Returns all requests since the start, those of what came first first.
    pub(crate) fn counted(&self) -> Vec<Counted> {
        self.inner.counters.counted()
    }

    /// Keeps what is counted until `stop` is cancelled.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let Some(writer) = &self.inner.writer else {
            return;
        };
        loop {
            let now_ms = self.inner.clock.now_ms();
            let next = tokio::time::sleep(Writer::until_next(now_ms));
            if stop.run_until_cancelled(next).await.is_none() {
                return;
            }
            self.write(&mut *writer.lock().await).await;
        }
    }

    /// Keeps what was counted since the last time; for the end, when nothing is served any more.
    pub(crate) async fn flush(&self) {
        if let Some(writer) = &self.inner.writer {
            let mut writer = writer.lock().await;
            self.write(&mut writer).await;
            writer.tell_lost();
        }
    }

    async fn write(&self, writer: &mut Writer) {
        writer.collect(&self.inner.counters, self.inner.clock.now_ms());
        writer.write().await;
    }
}
