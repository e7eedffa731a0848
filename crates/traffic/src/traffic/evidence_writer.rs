//! The task that writes evidence to the database.

use robot_detection_store::store::{EVIDENCE_EVENTS, Evidence, EvidenceBatch, OutageLogger, Store};

use super::notes::{EvidenceQueue, Note};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Maximum number of notes per event that are buffered while the database is unavailable.
const MAX_HELD: usize = 1_000;

/// Number of new notes after which surplus evidence is deleted.
const PRUNE_AFTER: usize = 500;

/// The writer of the evidence that one process collects.
#[derive(Debug)]
pub(super) struct EvidenceWriter {
    store: Store,
    /// Name of the writer, generated at each startup, because each batch number must be used only
    /// once.
    name: String,
    days: u32,
    /// Notes on requests whose verification is still running.
    unsettled: Vec<Note>,
    held: Vec<Evidence>,
    /// A batch that may not have reached the database yet; the batch is retried unchanged until it
    /// has been added.
    batch: Option<(i64, Vec<Evidence>)>,
    /// Number of the most recent batch.
    number: i64,
    /// Number of notes added since surplus evidence was last deleted.
    added: usize,
    pruned: Option<i64>,
    outage: OutageLogger,
}

impl EvidenceWriter {
    /// Creates an evidence writer; `name` is the name of the traffic writer.
    pub(super) fn new(store: Store, days: u32, name: &str) -> Self {
        Self {
            store,
            name: format!("{name}-evidence"),
            days,
            unsettled: Vec::new(),
            held: Vec::new(),
            batch: None,
            number: 0,
            added: 0,
            pruned: None,
            outage: OutageLogger::new(
                "database unavailable, buffering evidence in memory",
                "database available again, writing buffered evidence",
            ),
        }
    }

    /// Collects the notes added since the previous call.
    pub(super) fn collect(&mut self, notes: &EvidenceQueue, now_ms: i64) {
        let unsettled = std::mem::take(&mut self.unsettled).into_iter();
        for note in unsettled.chain(notes.take()) {
            match notes.settle(note, now_ms) {
                Ok(evidence) => self.held.extend(evidence),
                Err(note) => self.unsettled.push(*note),
            }
        }
        notes.count_lost(self.drop_oldest());
    }

    /// Writes the collected evidence, and deletes old and surplus evidence.
    pub(super) async fn write(&mut self, now_ms: i64) {
        // After a failure, the failed batch is written first, followed by newer notes.
        while let Some((number, noted)) = self.batch.take().or_else(|| self.next_batch()) {
            let batch = EvidenceBatch {
                writer: &self.name,
                number,
                noted: &noted,
            };
            if let Err(error) = self.store.evidence().add(&batch, now_ms).await {
                self.batch = Some((number, noted));
                return self.outage.log_failure(&error);
            }
            self.added += noted.len();
            self.outage.log_success();
        }
        let hour = now_ms.div_euclid(HOUR_MS);
        if self.pruned == Some(hour) && self.added < PRUNE_AFTER {
            return;
        }
        let before_ms = now_ms.saturating_sub(i64::from(self.days) * DAY_MS);
        match self.store.evidence().prune(before_ms).await {
            Ok(()) => (self.pruned, self.added) = (Some(hour), 0),
            Err(error) => self.outage.log_failure(&error),
        }
    }

    /// Returns the number of requests whose evidence is lost if the process ends now.
    pub(super) fn unwritten(&self) -> usize {
        let batch = self.batch.as_ref().map_or(0, |(_, noted)| noted.len());
        batch + self.held.len()
    }

    fn next_batch(&mut self) -> Option<(i64, Vec<Evidence>)> {
        if self.held.is_empty() {
            return None;
        }
        self.number += 1;
        Some((self.number, std::mem::take(&mut self.held)))
    }

    /// Drops the oldest notes beyond the limit of each event. Returns the number of dropped notes.
    fn drop_oldest(&mut self) -> u64 {
        let mut dropped = 0;
        for event in EVIDENCE_EVENTS {
            let of_event = self.held.iter().filter(|held| held.event == event);
            let mut surplus = of_event.count().saturating_sub(MAX_HELD);
            dropped += surplus as u64;
            self.held.retain(|held| {
                let goes = surplus > 0 && held.event == event;
                surplus -= usize::from(goes);
                !goes
            });
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_database_outage_drops_the_oldest_notes_of_the_most_frequent_event() {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        let mut writer = EvidenceWriter::new(store, 30, "one");
        let noted = |event: &str, at_ms| Evidence {
            event: event.to_owned(),
            at_ms,
            ..Evidence::default()
        };
        writer.held.push(noted("slow", 0));
        let many = (0..1_010).map(|at_ms| noted("refuse", at_ms));
        writer.held.extend(many);
        assert_eq!(writer.drop_oldest(), 10);
        assert_eq!(writer.unwritten(), MAX_HELD + 1);
        assert_eq!(writer.held[0], noted("slow", 0));
        assert_eq!(writer.held[1], noted("refuse", 10));
        assert_eq!(writer.drop_oldest(), 0);
    }
}
