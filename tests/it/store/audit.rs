//! The audit log.

use robot_detection::store::AuditEntry;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    changes_are_listed_newest_first,
    entries_are_stored_as_text_of_limited_length,
}

async fn changes_are_listed_newest_first(database: TestDatabase) {
    let store = database.store().await;
    for at_ms in 1..=5 {
        store
            .audit()
            .record(&entry(at_ms, "rule-added"))
            .await
            .unwrap();
    }
    let told = store.audit().list(2..5, 2).await.unwrap();
    let times: Vec<_> = told.iter().map(|entry| entry.at_ms).collect();
    assert_eq!(times, [4, 3]);
    assert_eq!(told[0], entry(4, "rule-added"));
    assert_eq!(store.audit().list(6..9, 10).await.unwrap(), []);
}

async fn entries_are_stored_as_text_of_limited_length(database: TestDatabase) {
    let store = database.store().await;
    let long = AuditEntry {
        subject: format!(
            "<b>'; DROP TABLE audit_log;--\0\u{202e}{}",
            "é".repeat(1_000)
        ),
        ..entry(1, "forgotten")
    };
    store.audit().record(&long).await.unwrap();
    let told = store.audit().list(0..9, 10).await.unwrap();
    // A NUL is dropped, because PostgreSQL cannot store it in text.
    assert_eq!(told[0].subject.chars().count(), 499);
    assert!(told[0].subject.starts_with("<b>'; DROP TABLE audit_log;--"));
}

fn entry(at_ms: i64, event: &str) -> AuditEntry {
    AuditEntry {
        at_ms,
        actor: "admin".to_owned(),
        event: event.to_owned(),
        subject: "gptbot".to_owned(),
        detail: String::new(),
    }
}
