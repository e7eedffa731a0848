//! What carries notes over to the database.

use robot_detection_store::store::{EVIDENCE_EVENTS, Evidence, EvidenceBatch, Outage, Store};

use super::notes::{Note, Notes};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// Notes of one event that are held while the database is away.
const MAX_HELD: usize = 1_000;

/// Notes after which it is looked for what there is too much of.
const PRUNE_AFTER: usize = 500;

/// Writer of the evidence of one process.
#[derive(Debug)]
pub(super) struct EvidenceWriter {
    store: Store,
    /// Another one for each start, as a number below is used once.
    name: String,
    days: u32,
    /// Whose proofs are under way.
    unsettled: Vec<Note>,
    held: Vec<Evidence>,
    /// Batch that has not been added, as far as is known; it stays as it is until it has.
    batch: Option<(i64, Vec<Evidence>)>,
    /// Number of the last batch.
    number: i64,
    /// What was added since it was last looked for what there is too much of.
    added: usize,
    pruned: Option<i64>,
    outage: Outage,
}

impl EvidenceWriter {
    /// Creates a writer of another name than the traffic's.
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
            outage: Outage::new(
                "evidence is held in memory until the database takes it",
                "the database takes evidence again",
            ),
        }
    }

    /// Takes over what was noted since the last time.
    pub(super) fn collect(&mut self, notes: &Notes, now_ms: i64) {
        let unsettled = std::mem::take(&mut self.unsettled).into_iter();
        for note in unsettled.chain(notes.take()) {
            match notes.settle(note, now_ms) {
                Ok(evidence) => self.held.extend(evidence),
                Err(note) => self.unsettled.push(*note),
            }
        }
        notes.lose(self.drop_oldest());
    }

    /// Adds what was collected, and removes what is too old or too much.
    pub(super) async fn write(&mut self, now_ms: i64) {
        // After a failure there are two: the batch that failed, and what has come since.
        while let Some((number, noted)) = self.batch.take().or_else(|| self.next_batch()) {
            let batch = EvidenceBatch {
                writer: &self.name,
                number,
                noted: &noted,
            };
            if let Err(error) = self.store.evidence().add(&batch, now_ms).await {
                self.batch = Some((number, noted));
                return self.outage.failed(&error);
            }
            self.added += noted.len();
            self.outage.succeeded();
        }
        let hour = now_ms.div_euclid(HOUR_MS);
        if self.pruned == Some(hour) && self.added < PRUNE_AFTER {
            return;
        }
        let before_ms = now_ms.saturating_sub(i64::from(self.days) * DAY_MS);
        match self.store.evidence().prune(before_ms).await {
            Ok(()) => (self.pruned, self.added) = (Some(hour), 0),
            Err(error) => self.outage.failed(&error),
        }
    }

    /// Returns how many requests are lost if nothing is written any more.
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

    /// Drops the oldest of what there is too much of; returns how many.
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
    async fn a_database_that_is_away_for_long_costs_the_oldest_of_what_there_is_most() {
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
