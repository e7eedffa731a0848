//! `SQLite`'s log is carried over to its file while others write.
//!
//! Left alone, whoever writes when it is long carries it over and waits for the disk, and with him all
//! who are to write next. Where it is carried over beside them, little is left to be done then.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::runtime::Handle;

use super::{database::Database, error::Engine};

/// Descriptions after whose writing the log is carried over: some 3 MB of it, of the 16 after which
/// whoever writes does it.
const DESCRIPTIONS: usize = 250;

/// How much was written since the log was carried over.
#[derive(Debug, Default)]
pub(super) struct CarryOver {
    written: AtomicUsize,
    is_under_way: AtomicBool,
}

/// Task that carries the log over; there is another one only after its end.
struct UnderWay(Arc<Database>);

impl Database {
    /// Notes that descriptions were written; once there are many, a task carries the log over.
    pub(super) fn note_written(self: &Arc<Self>, descriptions: usize) {
        if self.place.engine == Engine::Postgres {
            return;
        }
        let log = &self.log;
        let before = log.written.fetch_add(descriptions, Ordering::Relaxed);
        if before + descriptions < DESCRIPTIONS || log.is_under_way.swap(true, Ordering::Relaxed) {
            return;
        }
        log.written.store(0, Ordering::Relaxed);
        let task = UnderWay(Arc::clone(self));
        // Closing the database waits for it.
        Handle::current().spawn(async move {
            // The log stays then, and whoever writes carries it over.
            if let Err(error) = task.0.checkpoint().await {
                tracing::debug!("{error}");
            }
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.log.is_under_way.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::description::{ResourceDescription, name};
    use crate::store::Store;

    fn descriptions(of: &str) -> Vec<ResourceDescription> {
        let described = (0..50).map(|number| {
            let url = format!("http://a.example/{of}/{number}");
            let mut description = ResourceDescription::new(url);
            description.set(name::FULL_TEXT, "word ".repeat(4_000));
            description
        });
        described.collect()
    }

    #[tokio::test]
    async fn what_was_written_reaches_the_file_while_others_have_it_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let store = Store::connect(&format!("sqlite://{}", path.display())).await;
        let store = store.unwrap();
        let length = || std::fs::metadata(&path).unwrap().len();
        for round in ["one", "two"] {
            let before = length();
            let written = descriptions(round);
            store
                .descriptions()
                .save("a", 1, &written, 1)
                .await
                .unwrap();
            assert_eq!(length(), before, "it is in the log");
            store.database.note_written(DESCRIPTIONS);
            let is_under_way = || store.database.log.is_under_way.load(Ordering::Relaxed);
            let carried = async {
                while is_under_way() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let carried = tokio::time::timeout(Duration::from_secs(20), carried).await;
            carried.expect("the log is carried over");
            assert!(length() > before + 1_000_000);
        }
        store.close().await;
    }

    #[tokio::test]
    async fn a_database_in_memory_has_no_log() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let writing = store.database.begin("write").await.unwrap();
        store.checkpoint().await.unwrap();
        drop(writing);
    }
}
