//! A browser that runs, and is ended where it takes too much memory.

use std::{
    path::Path,
    sync::{self, Arc, PoisonError},
    time::Duration,
};

use serde_json::json;
use tokio::{sync::Mutex, task::JoinSet, time::timeout};

use super::{
    RenderError,
    connection::{Connection, Pumps},
    memory,
    process::Process,
    tab::Tab,
};

/// Time in which a browser has to say who it is.
const START: Duration = Duration::from_secs(30);

/// How often its memory is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Browser that runs; it ends with this.
#[derive(Debug)]
pub(super) struct Browser {
    pub(super) connection: Connection,
    process: Arc<Mutex<Option<Process>>>,
    /// Tabs that wait for a page.
    tabs: sync::Mutex<Vec<Tab>>,
    _pumps: Pumps,
    _guard: JoinSet<()>,
}

impl Browser {
    /// Starts a browser; it ends where it takes more than so many bytes.
    pub(super) async fn start(program: &Path, max_memory: u64) -> Result<Self, RenderError> {
        let (process, to, from) = Process::start(program).await?;
        let (connection, pumps) = Connection::new(to, from);
        let hello = timeout(
            START,
            connection.call(None, "Browser.getVersion", json!({})),
        )
        .await;
        if !matches!(hello, Ok(Ok(_))) {
            // What it says at its end is read beside this.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let why = process.why();
            return Err(RenderError::refused(format!(
                "the browser does not start: {why}"
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

    /// Returns a tab that is kept for another page, if there is one.
    pub(super) fn kept_tab(&self) -> Option<Tab> {
        self.tabs().pop()
    }

    /// Keeps a tab for another page.
    pub(super) fn keep(&self, tab: Tab) {
        self.tabs().push(tab);
    }

    fn tabs(&self) -> sync::MutexGuard<'_, Vec<Tab>> {
        // What the lock guards is whole at any moment.
        self.tabs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it now, also for who still uses it.
    pub(super) async fn end(&self) {
        self.process.lock().await.take();
    }

    /// Returns the bytes of memory that it takes.
    pub(super) async fn memory(&self) -> Option<u64> {
        let process = self.process.lock().await;
        memory::of_tree(process.as_ref()?.id())
    }
}

/// Ends a browser that takes too much memory.
async fn watch(process: Arc<Mutex<Option<Process>>>, max_memory: u64) {
    loop {
        tokio::time::sleep(LOOK).await;
        let mut process = process.lock().await;
        let Some(id) = process.as_ref().map(Process::id) else {
            return;
        };
        if let Some(bytes) = memory::of_tree(id)
            && bytes > max_memory
        {
            let mib = bytes / 1024 / 1024;
            tracing::warn!("the browser that renders pages took {mib} MiB, and was ended");
            process.take();
            return;
        }
    }
}
