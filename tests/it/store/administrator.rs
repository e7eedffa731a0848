//! The administrator's password, tokens and sessions.

use robot_detection::store::{AdminToken, StoreErrorKind, TokenScope};
use tokio::task::JoinSet;

use super::{TestDatabase, on_each_engine, on_shared_engines};

const HOUR_MS: i64 = 3_600_000;

on_each_engine! {
    the_first_password_is_set_once,
    a_new_password_ends_all_sessions,
    a_token_is_found_by_its_hash,
    a_token_has_a_scope_an_expiry_and_an_hour_of_last_use,
    sessions_are_listed_and_ended_by_their_keys,
    a_session_lasts_until_it_ends,
}

mod shared {
    use super::*;
    on_shared_engines! {
        only_one_of_sixteen_first_passwords_is_stored,
        the_id_of_a_session_is_not_stored,
        a_token_older_than_scopes_has_full_access,
    }
}

async fn the_first_password_is_set_once(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.access().password_hash().await.unwrap(), None);
    assert!(store.access().init_password_hash("first", 1).await.unwrap());
    assert!(
        !store
            .access()
            .init_password_hash("second", 2)
            .await
            .unwrap()
    );
    let hash = store.access().password_hash().await.unwrap();
    assert_eq!(hash.as_deref(), Some("first"));
    store.access().set_password_hash("third", 3).await.unwrap();
    let hash = store.access().password_hash().await.unwrap();
    assert_eq!(hash.as_deref(), Some("third"));
}

async fn a_new_password_ends_all_sessions(database: TestDatabase) {
    let store = database.store().await;
    store
        .access()
        .save_session("id", "data", 1_000)
        .await
        .unwrap();
    store.access().set_password_hash("hash", 1).await.unwrap();
    assert_eq!(store.access().load_session("id", 1).await.unwrap(), None);
}

async fn a_token_is_found_by_its_hash(database: TestDatabase) {
    let store = database.store().await;
    let token = AdminToken::new("deploy", 1);
    store.access().add_token(&token, "aa").await.unwrap();
    let found = store.access().use_token("aa", 2).await.unwrap().unwrap();
    assert_eq!((&*found.name, found.scope), ("deploy", TokenScope::Write));
    assert_eq!(store.access().use_token("AA", 2).await.unwrap(), None);

    for (name, hash) in [("deploy", "bb"), ("other", "aa")] {
        let token = AdminToken::new(name, 1);
        let error = store.access().add_token(&token, hash).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Conflict);
        assert!(error.to_string().contains(name), "{error}");
    }
    store.access().remove_token("deploy").await.unwrap();
    assert_eq!(store.access().use_token("aa", 2).await.unwrap(), None);
    let error = store.access().remove_token("deploy").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
}

async fn a_token_has_a_scope_an_expiry_and_an_hour_of_last_use(database: TestDatabase) {
    let store = database.store().await;
    let token = AdminToken::new("b", 1)
        .scope(TokenScope::Read)
        .ends_ms(Some(3 * HOUR_MS));
    store.access().add_token(&token, "bb").await.unwrap();
    store
        .access()
        .add_token(&AdminToken::new("a", 1), "aa")
        .await
        .unwrap();
    let used = async |now_ms| store.access().use_token("bb", now_ms).await.unwrap();
    assert_eq!(used(HOUR_MS + 5).await, Some(token.clone()));
    assert_eq!(used(HOUR_MS + 9).await.unwrap().used_ms, Some(HOUR_MS));
    used(2 * HOUR_MS + 5).await;
    assert_eq!(used(3 * HOUR_MS).await, None, "the token has expired");
    let listed = store.access().tokens().await.unwrap();
    assert_eq!(listed[0].name, "a");
    assert_eq!(listed[0].used_ms, None);
    assert_eq!(listed[1].used_ms, Some(2 * HOUR_MS));
    assert_eq!(listed[1].ends_ms, Some(3 * HOUR_MS));
}

async fn a_token_older_than_scopes_has_full_access(database: TestDatabase) {
    let store = database.store().await;
    let mut raw = database.raw().await;
    raw.execute("INSERT INTO admin_tokens (name, sha256, created_ms) VALUES ('old', 'aa', 1)")
        .await;
    let token = store.access().use_token("aa", 2).await.unwrap().unwrap();
    assert_eq!((token.scope, token.ends_ms), (TokenScope::Write, None));
}

async fn sessions_are_listed_and_ended_by_their_keys(database: TestDatabase) {
    let store = database.store().await;
    for id in ["one", "two", "three"] {
        store
            .access()
            .save_session(id, id, 10 * HOUR_MS)
            .await
            .unwrap();
    }
    store
        .access()
        .save_session("over", "over", 1)
        .await
        .unwrap();
    store.access().load_session("two", HOUR_MS).await.unwrap();
    store
        .access()
        .load_session("two", HOUR_MS + 1_000)
        .await
        .unwrap();
    let listed = store.access().sessions(HOUR_MS).await.unwrap();
    assert_eq!(listed.len(), 3);
    assert_eq!((&*listed[0].data, listed[0].seen_ms), ("two", HOUR_MS));
    let key = robot_detection::store::Access::session_key("one");
    assert!(listed.iter().any(|session| session.key == key));
    store.access().end_session(&key, HOUR_MS).await.unwrap();
    let error = store.access().end_session(&key, HOUR_MS).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
    assert_eq!(
        store.access().load_session("one", HOUR_MS).await.unwrap(),
        None
    );
    assert_eq!(
        store
            .access()
            .end_other_sessions(Some("two"))
            .await
            .unwrap(),
        2
    );
    assert_eq!(store.access().sessions(HOUR_MS).await.unwrap().len(), 1);
    assert_eq!(store.access().end_other_sessions(None).await.unwrap(), 1);
}

async fn a_session_lasts_until_it_ends(database: TestDatabase) {
    let store = database.store().await;
    store
        .access()
        .save_session("short", "1", 1_000)
        .await
        .unwrap();
    store
        .access()
        .save_session("long", "2", 2_000)
        .await
        .unwrap();
    store
        .access()
        .save_session("long", "3", 3_000)
        .await
        .unwrap();
    assert_eq!(store.access().load_session("none", 0).await.unwrap(), None);
    let data = store.access().load_session("short", 999).await.unwrap();
    assert_eq!(data.as_deref(), Some("1"));
    assert_eq!(
        store.access().load_session("short", 1_000).await.unwrap(),
        None
    );
    let data = store.access().load_session("long", 2_999).await.unwrap();
    assert_eq!(data.as_deref(), Some("3"));

    assert_eq!(store.access().prune_sessions(1_000).await.unwrap(), 1);
    assert_eq!(store.access().prune_sessions(1_000).await.unwrap(), 0);
    assert!(
        store
            .access()
            .load_session("long", 0)
            .await
            .unwrap()
            .is_some()
    );
    store.access().delete_session("long").await.unwrap();
    store.access().delete_session("long").await.unwrap();
    assert_eq!(store.access().load_session("long", 0).await.unwrap(), None);
}

async fn only_one_of_sixteen_first_passwords_is_stored(database: TestDatabase) {
    let mut race = JoinSet::new();
    for racer in 0..16 {
        let store = database.store().await;
        race.spawn(async move {
            let hash = racer.to_string();
            let won = store.access().init_password_hash(&hash, 1).await.unwrap();
            won.then_some(hash)
        });
    }
    let winners: Vec<String> = race.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let kept = database
        .store()
        .await
        .access()
        .password_hash()
        .await
        .unwrap();
    assert_eq!(kept.as_ref(), winners.first());
}

async fn the_id_of_a_session_is_not_stored(database: TestDatabase) {
    let store = database.store().await;
    store
        .access()
        .save_session("secret id", "{}", 1_000)
        .await
        .unwrap();
    let mut raw = database.raw().await;
    let id = raw.text("SELECT id_sha256 FROM admin_sessions").await;
    assert_eq!(id.len(), 64);
    assert!(!id.contains("secret"));
}
