//! A running browser with a memory limit.

use std::{
    path::Path,
    sync::{self, Arc, PoisonError},
    time::Duration,
};

use serde_json::json;
use tokio::{sync::Mutex, task::JoinSet, time::timeout};

use super::{
    RenderError,
    connection::{Connection, IoTasks},
    memory,
    process::Process,
    tab::Tab,
};

/// Timeout for the first response of a browser.
const START: Duration = Duration::from_secs(30);

/// Interval at which the browser's memory use is checked.
const LOOK: Duration = Duration::from_millis(500);

/// A running browser, which is stopped on drop.
#[derive(Debug)]
pub(super) struct Browser {
    pub(super) connection: Connection,
    process: Arc<Mutex<Option<Process>>>,
    /// Idle tabs that can be reused for further pages.
    tabs: sync::Mutex<Vec<Tab>>,
    _pumps: IoTasks,
    _guard: JoinSet<()>,
}

impl Browser {
    /// Starts a browser, which is stopped if its memory use exceeds `max_memory` bytes.
    pub(super) async fn start(program: &Path, max_memory: u64) -> Result<Self, RenderError> {
        let (process, to, from) = Process::start(program).await?;
        let (connection, pumps) = Connection::new(to, from);
        let hello = timeout(
            START,
            connection.call(None, "Browser.getVersion", json!({})),
        )
        .await;
        if !matches!(hello, Ok(Ok(_))) {
            // Waits for the browser's final output, which is read in parallel.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let why = process.exit_reason();
            return Err(RenderError::refused(format!(
                "the browser did not start: {why}"
            )));
        }
        let tell = json!({ "discover": true });
        connection
            .call(None, "Target.setDiscoverTargets", tell)
            .await?;
        let process = Arc::new(Mutex::new(Some(process)));
        let mut guard = JoinSet::new();
        guard.spawn(watch(Arc::clone(&process), max_memory));
        Ok(Self {
            connection,
            process,
            tabs: sync::Mutex::default(),
            _pumps: pumps,
            _guard: guard,
        })
    }

    /// Returns an idle tab, if there is one.
    pub(super) fn kept_tab(&self) -> Option<Tab> {
        self.tabs().pop()
    }

    /// Stores an idle tab, so that it can be reused for another page.
    pub(super) fn keep(&self, tab: Tab) {
        self.tabs().push(tab);
    }

    fn tabs(&self) -> sync::MutexGuard<'_, Vec<Tab>> {
        // The guarded data is consistent at all times, so a poisoned lock is harmless.
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the browser immediately, even if other tasks are using it.
    pub(super) async fn end(&self) {
        self.process.lock().await.take();
    }

    /// Returns the memory used by the browser, in bytes.
    pub(super) async fn memory(&self) -> Option<u64> {
        let process = self.process.lock().await;
        memory::process_tree_bytes(process.as_ref()?.id())
    }
}

/// Stops the browser if it exceeds the memory limit.
async fn watch(process: Arc<Mutex<Option<Process>>>, max_memory: u64) {
    loop {
        tokio::time::sleep(LOOK).await;
        let mut process = process.lock().await;
        let Some(id) = process.as_ref().map(Process::id) else {
            return;
        };
        if let Some(bytes) = memory::process_tree_bytes(id)
            && bytes > max_memory
        {
            let mib = bytes / 1024 / 1024;
            tracing::warn!(
                "stopped the browser that renders pages because it used {mib} MiB of memory"
            );
            process.take();
            return;
        }
    }
}
