//! Evidence of single requests is stored once, limited, and deleted on demand.

use robot_detection::store::{
    AuditEntry, BrokenRule, DeletionFilter, Evidence, EvidenceBatch, EvidenceQuery, Store,
};

use super::{TestDatabase, on_each_engine, on_shared_engines};

on_each_engine! {
    evidence_is_found_by_its_properties,
    a_batch_of_evidence_is_added_once,
    a_noisy_visitor_displaces_only_its_own_evidence,
    violations_are_grouped_by_rule,
    an_address_is_deleted_with_its_network_and_nothing_else,
    hostile_text_is_stored_as_text,
}

fn evidence(event: &str, robot: &str, at_ms: i64) -> Evidence {
    Evidence {
        at_ms,
        event: event.to_owned(),
        site: "shop".to_owned(),
        kind: "listed".to_owned(),
        robot: robot.to_owned(),
        verdict: "unverifiable".to_owned(),
        decision: event.to_owned(),
        cause: "rule 1".to_owned(),
        status: 302,
        method: "GET".to_owned(),
        host: "shop.example".to_owned(),
        path: "/members/a".to_owned(),
        address: "203.0.113.7".to_owned(),
        user_agent: format!("{robot}/1.0"),
        ..Evidence::default()
    }
}

async fn add(store: &Store, number: i64, noted: &[Evidence]) {
    let batch = EvidenceBatch {
        writer: "one-evidence",
        number,
        noted,
    };
    store.evidence().add(&batch, 1_000).await.unwrap();
}

async fn times(store: &Store, query: &EvidenceQuery) -> Vec<i64> {
    let found = store.evidence().list(query).await.unwrap().into_iter();
    found.map(|found| found.evidence.at_ms).collect()
}

#[expect(clippy::too_many_lines, reason = "a table of queries")]
async fn evidence_is_found_by_its_properties(database: TestDatabase) {
    let store = database.store().await;
    let impostor = Evidence {
        event: "violation".to_owned(),
        verdict: "spoofed".to_owned(),
        proof: "203.0.113.7 is elsewhere".to_owned(),
        site: "blog".to_owned(),
        broken: Some(BrokenRule::Rule {
            line: 3,
            rule: "Disallow: /private/".to_owned(),
            group_line: 2,
            group: "googlebot".to_owned(),
        }),
        ..evidence("refuse", "googlebot", 4)
    };
    let slow = Evidence {
        broken: Some(BrokenRule::Delay {
            delay_ms: 10_000,
            gap_ms: 1_500,
        }),
        suspect: "accept-missing,header-order".to_owned(),
        ..evidence("slow", "bingbot", 3)
    };
    let noted = [
        evidence("redirect", "gptbot", 1),
        evidence("redirect", "bingbot", 2),
        slow,
        impostor.clone(),
    ];
    add(&store, 1, &noted).await;
    let all = EvidenceQuery::default();
    let found = store.evidence().list(&all).await.unwrap();
    assert_eq!(found[0].evidence, impostor);
    let found: Vec<_> = found.into_iter().rev().map(|one| one.evidence).collect();
    assert_eq!(found, noted);
    for (query, expected) in [
        (
            EvidenceQuery {
                times_ms: 2..4,
                ..all.clone()
            },
            vec![3, 2],
        ),
        (
            EvidenceQuery {
                site: "blog".to_owned(),
                ..all.clone()
            },
            vec![4],
        ),
        (
            EvidenceQuery {
                robot: "bingbot".to_owned(),
                ..all.clone()
            },
            vec![3, 2],
        ),
        (
            EvidenceQuery {
                decision: "redirect".to_owned(),
                ..all.clone()
            },
            vec![2, 1],
        ),
        (
            EvidenceQuery {
                verdict: "spoofed".to_owned(),
                ..all.clone()
            },
            vec![4],
        ),
        (
            EvidenceQuery {
                event: "violation".to_owned(),
                ..all.clone()
            },
            vec![4],
        ),
        (
            EvidenceQuery {
                event: "impostor".to_owned(),
                ..all.clone()
            },
            vec![4],
        ),
        (
            EvidenceQuery {
                suspect: "any".to_owned(),
                ..all.clone()
            },
            vec![3],
        ),
        (
            EvidenceQuery {
                suspect: "header-order".to_owned(),
                ..all.clone()
            },
            vec![3],
        ),
        (
            EvidenceQuery {
                suspect: "header".to_owned(),
                ..all.clone()
            },
            vec![],
        ),
        (
            EvidenceQuery {
                limit: 2,
                ..all.clone()
            },
            vec![4, 3],
        ),
    ] {
        assert_eq!(times(&store, &query).await, expected, "{query:?}");
    }
    let first = store
        .evidence()
        .list(&EvidenceQuery {
            limit: 2,
            ..all.clone()
        })
        .await
        .unwrap();
    let rest = EvidenceQuery {
        before: Some(first[1].id),
        ..all
    };
    assert_eq!(times(&store, &rest).await, [2, 1]);
}

async fn a_batch_of_evidence_is_added_once(database: TestDatabase) {
    let store = database.store().await;
    let noted = [evidence("refuse", "gptbot", 1)];
    for number in [1, 1, 2, 1] {
        add(&store, number, &noted).await;
    }
    assert_eq!(times(&store, &EvidenceQuery::default()).await, [1, 1]);
}

async fn a_noisy_visitor_displaces_only_its_own_evidence(database: TestDatabase) {
    let store = database.store().await;
    let mut noted = vec![evidence("refuse", "quiet", 1), evidence("slow", "noisy", 2)];
    noted.extend((10..4_010).map(|at_ms| evidence("refuse", "noisy", at_ms)));
    add(&store, 1, &noted).await;
    store.evidence().prune(0).await.unwrap();
    let all = EvidenceQuery {
        limit: 10_000,
        ..EvidenceQuery::default()
    };
    let found = times(&store, &all).await;
    assert_eq!(found.len(), 502);
    assert_eq!((found[0], &found[499..]), (4_009, &[3_510, 2, 1][..]));
    store.evidence().prune(2).await.unwrap();
    assert_eq!(times(&store, &all).await.len(), 501);
    let person = |user_agent: &str, at_ms| Evidence {
        robot: String::new(),
        user_agent: user_agent.to_owned(),
        ..evidence("suspect", "", at_ms)
    };
    let mut noted = vec![person("quiet", 5_000)];
    noted.extend((5_001..5_801).map(|at_ms| person("noisy", at_ms)));
    add(&store, 2, &noted).await;
    store.evidence().prune(2).await.unwrap();
    let people = EvidenceQuery {
        event: "suspect".to_owned(),
        ..all
    };
    let found = times(&store, &people).await;
    assert_eq!((found.len(), found[500]), (501, 5_000));
}

async fn violations_are_grouped_by_rule(database: TestDatabase) {
    let store = database.store().await;
    let broke = |line: u64, at_ms, decision: &str, cause: &str| Evidence {
        event: "violation".to_owned(),
        decision: decision.to_owned(),
        cause: cause.to_owned(),
        path: format!("/private/{at_ms}"),
        broken: Some(BrokenRule::Rule {
            line,
            rule: format!("Disallow: /{line}"),
            group_line: 1,
            group: "*".to_owned(),
        }),
        ..evidence("refuse", "gptbot", at_ms)
    };
    let noted = [
        broke(3, 1, "pass", "not-filtered"),
        broke(3, 2, "refuse", "robots.txt"),
        broke(3, 3, "would-refuse", "robots.txt"),
        broke(4, 4, "serve", "rule 1"),
        evidence("refuse", "gptbot", 5),
    ];
    add(&store, 1, &noted).await;
    let found = store.evidence().violations("shop", 10).await.unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|one| (one.hits, one.refused, one.first_ms))
        .collect();
    assert_eq!(told, [(1, 0, 4), (3, 1, 1)]);
    assert_eq!(found[1].last.path, "/private/3");
    assert!(
        store
            .evidence()
            .violations("blog", 10)
            .await
            .unwrap()
            .is_empty()
    );
    let later = [broke(3, 86_400_000, "pass", "not-filtered")];
    add(&store, 2, &later).await;
    let days = async |since_ms| {
        let days = store
            .evidence()
            .violation_days("shop", since_ms)
            .await
            .unwrap();
        let told = days.iter().map(|day| (day.day, day.hits, day.refused));
        told.collect::<Vec<_>>()
    };
    assert_eq!(days(0).await, [(0, 4, 1), (1, 1, 0)]);
    assert_eq!(days(3).await, [(0, 2, 0), (1, 1, 0)]);
    assert!(
        store
            .evidence()
            .violation_days("blog", 0)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn an_address_is_deleted_with_its_network_and_nothing_else(database: TestDatabase) {
    let store = database.store().await;
    let kept = store.evidence();
    let at = |address: &str, at_ms| Evidence {
        address: address.to_owned(),
        ..evidence("refuse", "gptbot", at_ms)
    };
    let noted = [
        at("203.0.113.7", 1),
        at("203.0.113.8", 2),
        at("203.0.113.0/24", 3),
        at("2001:db8::1", 4),
        at("", 5),
        Evidence {
            robot: "bingbot".to_owned(),
            ..at("203.0.113.7", 6)
        },
    ];
    add(&store, 1, &noted).await;
    let of = |address: &str| DeletionFilter {
        address: Some(address.parse().unwrap()),
        ..DeletionFilter::default()
    };
    let counted = kept.count_matching(&of("203.0.113.7")).await.unwrap();
    assert_eq!((counted.evidence, counted.of_networks), (3, 1));
    assert_eq!(times(&store, &EvidenceQuery::default()).await.len(), 6);
    let of_bingbot = DeletionFilter {
        robot: Some("bingbot".to_owned()),
        ..of("203.0.113.0/24")
    };
    let forgotten = kept.delete(&of_bingbot, "command line", 9).await.unwrap();
    assert_eq!(forgotten.evidence, 1);
    kept.delete(&of("203.0.113.7"), "command line", 10)
        .await
        .unwrap();
    assert_eq!(times(&store, &EvidenceQuery::default()).await, [5, 4, 2]);
    let before = DeletionFilter {
        before_ms: Some(5),
        ..DeletionFilter::default()
    };
    kept.delete(&before, "command line", 11).await.unwrap();
    assert_eq!(times(&store, &EvidenceQuery::default()).await, [5]);
    let log = store.audit().list(0..99, 9).await.unwrap();
    assert_eq!(
        log[1],
        AuditEntry {
            at_ms: 10,
            actor: "command line".to_owned(),
            event: "visitors-forgotten".to_owned(),
            subject: "address in 203.0.113.0/24".to_owned(),
            detail: "2 evidence requests, 0 path count rows".to_owned(),
        }
    );
    assert!(
        !format!("{log:?}").contains("203.0.113.7"),
        "the audit log contains no deleted address"
    );
}

async fn hostile_text_is_stored_as_text(database: TestDatabase) {
    let store = database.store().await;
    let hostile = "'; DROP TABLE evidence;-- <b>\u{202e}%_$1";
    let noted = Evidence {
        path: hostile.to_owned(),
        user_agent: hostile.to_owned(),
        robot: hostile.to_owned(),
        ..evidence("refuse", "", 1)
    };
    add(&store, 1, std::slice::from_ref(&noted)).await;
    let query = EvidenceQuery {
        robot: hostile.to_owned(),
        ..EvidenceQuery::default()
    };
    assert_eq!(
        store.evidence().list(&query).await.unwrap()[0].evidence,
        noted
    );
    let forgetting = DeletionFilter {
        robot: Some(hostile.to_owned()),
        ..DeletionFilter::default()
    };
    assert_eq!(
        store
            .evidence()
            .delete(&forgetting, hostile, 1)
            .await
            .unwrap()
            .evidence,
        1
    );
}
