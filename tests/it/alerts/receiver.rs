//! A webhook receiver on loopback that records messages, and a site that sends them.

use std::sync::{Arc, Mutex};

use axum::{
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use robot_detection::{
    alerts::{Alert, AlertFormat, Secret, SharedAlerts, Watch, Watcher, Webhook, WebhookUrl},
    clock::Clock,
    detect::SharedDetector,
    fetch::{FetchLimits, Fetcher},
    operations::Certificates,
    refresh::Refresher,
    store::{MinuteCounts, Store, TrafficBatch, TrafficCount, TrafficKey},
};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};

pub(super) const MINUTE_MS: i64 = 60_000;
/// 2026-03-01T12:00:00Z.
pub(super) const NOW_MS: i64 = 1_772_366_400_000;
pub(super) const KEY: &str = "signing-key-0123456789";
/// Part of the webhook's URL that only the receiver may see.
pub(super) const PATH: &str = "/services/T0SECRET/xyzzy";

/// Response of the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    Takes,
    Refuses,
    Redirects,
    Hangs,
}

#[derive(Clone, Debug)]
pub(super) struct ReceivedMessage {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Receiver that stops with the test's runtime.
#[derive(Clone)]
pub(super) struct Receiver {
    pub(super) url: String,
    inner: Arc<Inner>,
    /// Stops with the last of its copies.
    _serving: Arc<JoinSet<std::io::Result<()>>>,
}

struct Inner {
    manner: Mutex<Manner>,
    told: Mutex<Vec<ReceivedMessage>>,
}

impl ReceivedMessage {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Receiver {
    pub(super) async fn start(manner: Manner) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}{PATH}", listener.local_addr().unwrap());
        let inner = Arc::new(Inner {
            manner: Mutex::new(manner),
            told: Mutex::default(),
        });
        let app = axum::Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&inner));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await });
        Self {
            url,
            inner,
            _serving: Arc::new(serving),
        }
    }

    pub(super) fn set(&self, manner: Manner) {
        *self.inner.manner.lock().unwrap() = manner;
    }

    pub(super) fn told(&self) -> Vec<ReceivedMessage> {
        self.inner.told.lock().unwrap().clone()
    }

    /// Returns the reasons of the messages so far.
    pub(super) fn events(&self) -> Vec<String> {
        let told = self.told();
        let events = told.iter().map(|told| told.json()["event"].clone());
        events
            .map(|event| event.as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) fn alert(&self, watch: Watch) -> Alert {
        let secret = Some(Secret::new(KEY));
        Alert {
            name: "the alert".to_owned(),
            watch,
            webhook: Webhook::new(WebhookUrl::parse(&self.url).unwrap(), secret, true).unwrap(),
            format: AlertFormat::Json,
            template: None,
        }
    }
}

async fn answer(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let manner = *inner.manner.lock().unwrap();
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let told = ReceivedMessage {
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body,
    };
    inner.told.lock().unwrap().push(told);
    match manner {
        Manner::Takes => "ok".into_response(),
        // Like some real receivers, this response repeats the webhook's URL.
        Manner::Refuses => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("no: {PATH}")).into_response()
        }
        Manner::Redirects => (StatusCode::FOUND, [("location", "/elsewhere")]).into_response(),
        Manner::Hangs => std::future::pending().await,
    }
}

pub(super) fn watcher(store: &Store, clock: &Clock, alerts: Vec<Alert>) -> Watcher {
    let shared = SharedAlerts::default();
    shared.replace(alerts);
    let refresher = Refresher::new(
        store.clone(),
        Fetcher::new(FetchLimits::default()).unwrap(),
        SharedDetector::default(),
        clock.clone(),
        Vec::new(),
    );
    Watcher::new(
        store.clone(),
        clock.clone(),
        shared,
        refresher,
        Certificates::default(),
    )
}

pub(super) fn key(robot: &str, verdict: &str, decision: &str, cause: &str) -> TrafficKey {
    TrafficKey {
        site: "default".to_owned(),
        kind: "listed".to_owned(),
        robot: robot.to_owned(),
        verdict: verdict.to_owned(),
        decision: decision.to_owned(),
        cause: cause.to_owned(),
        status: 2,
    }
}

/// Counts requests some minutes before a time.
pub(super) async fn count(store: &Store, now_ms: i64, rows: &[(i64, TrafficKey, u64)]) {
    let counted: Vec<_> = rows
        .iter()
        .map(|(ago, key, requests)| MinuteCounts {
            minute: now_ms / MINUTE_MS - ago,
            key: key.clone(),
            count: TrafficCount {
                requests: *requests,
                ..TrafficCount::default()
            },
        })
        .collect();
    let writer = format!("{now_ms}-{}", rows.len());
    let batch = TrafficBatch {
        writer: &writer,
        number: 1,
        counted: &counted,
        paths: &[],
        live: &[],
    };
    store.traffic().add(&batch, now_ms).await.unwrap();
}
