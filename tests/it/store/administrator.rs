//! The administrator's password, tokens and sessions.

use robot_detection::store::StoreErrorKind;
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    a_first_password_is_set_once,
    a_new_password_ends_all_sessions,
    a_token_is_known_by_its_hash,
    a_session_lasts_until_it_ends,
}

mod shared {
    use super::*;
    on_shared_engines! {
        of_sixteen_first_passwords_one_is_kept,
        the_id_of_a_session_is_not_stored,
    }
}

async fn a_first_password_is_set_once(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.admin_password_hash().await.unwrap(), None);
    assert!(store.init_admin_password_hash("first", 1).await.unwrap());
    assert!(!store.init_admin_password_hash("second", 2).await.unwrap());
    let hash = store.admin_password_hash().await.unwrap();
    assert_eq!(hash.as_deref(), Some("first"));
    store.set_admin_password_hash("third", 3).await.unwrap();
    let hash = store.admin_password_hash().await.unwrap();
    assert_eq!(hash.as_deref(), Some("third"));
}

async fn a_new_password_ends_all_sessions(database: TestDatabase) {
    let store = database.store().await;
    store.save_session("id", "data", 1_000).await.unwrap();
    store.set_admin_password_hash("hash", 1).await.unwrap();
    assert_eq!(store.load_session("id", 1).await.unwrap(), None);
}

async fn a_token_is_known_by_its_hash(database: TestDatabase) {
    let store = database.store().await;
    store.add_admin_token("deploy", "aa", 1).await.unwrap();
    let name = store.admin_token_name("aa").await.unwrap();
    assert_eq!(name.as_deref(), Some("deploy"));
    assert_eq!(store.admin_token_name("AA").await.unwrap(), None);

    for (name, hash) in [("deploy", "bb"), ("other", "aa")] {
        let error = store.add_admin_token(name, hash, 1).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Conflict);
        assert!(error.to_string().contains(name), "{error}");
    }
    store.remove_admin_token("deploy").await.unwrap();
    assert_eq!(store.admin_token_name("aa").await.unwrap(), None);
    let error = store.remove_admin_token("deploy").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
}

async fn a_session_lasts_until_it_ends(database: TestDatabase) {
    let store = database.store().await;
    store.save_session("short", "1", 1_000).await.unwrap();
    store.save_session("long", "2", 2_000).await.unwrap();
    store.save_session("long", "3", 3_000).await.unwrap();
    assert_eq!(store.load_session("none", 0).await.unwrap(), None);
    let data = store.load_session("short", 999).await.unwrap();
    assert_eq!(data.as_deref(), Some("1"));
    assert_eq!(store.load_session("short", 1_000).await.unwrap(), None);
    let data = store.load_session("long", 2_999).await.unwrap();
    assert_eq!(data.as_deref(), Some("3"));

    assert_eq!(store.prune_sessions(1_000).await.unwrap(), 1);
    assert_eq!(store.prune_sessions(1_000).await.unwrap(), 0);
    assert!(store.load_session("long", 0).await.unwrap().is_some());
    store.delete_session("long").await.unwrap();
    store.delete_session("long").await.unwrap();
    assert_eq!(store.load_session("long", 0).await.unwrap(), None);
}

async fn of_sixteen_first_passwords_one_is_kept(database: TestDatabase) {
    let mut race = JoinSet::new();
    for racer in 0..16 {
        let store = database.store().await;
        race.spawn(async move {
            let hash = racer.to_string();
            let won = store.init_admin_password_hash(&hash, 1).await.unwrap();
            won.then_some(hash)
        });
    }
    let winners: Vec<String> = race.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let kept = database.store().await.admin_password_hash().await.unwrap();
    assert_eq!(kept.as_ref(), winners.first());
}

async fn the_id_of_a_session_is_not_stored(database: TestDatabase) {
    let store = database.store().await;
    store.save_session("secret id", "{}", 1_000).await.unwrap();
    let mut raw = database.raw().await;
    let id = raw.text("SELECT id_sha256 FROM admin_sessions").await;
    assert_eq!(id.len(), 64);
    assert!(!id.contains("secret"));
}
