//! Live decisions, sent as server-sent events (HTML Standard §9.2).

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http_body::Frame;
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::mpsc, time};
use tower_sessions::Session;

use super::{filter::EvidenceFilter, row::EvidenceView};
use crate::{fields::Params, problem::Problem, session, state::AdminState};
use robot_detection_traffic::traffic::LiveViewer;

/// Interval between two checks for new decisions.
const EVERY: Duration = Duration::from_millis(500);

/// Number of checks after which an event is sent even without decisions, because proxies close idle
/// connections.
const HEARTBEAT: u32 = 20;

/// Number of checks for decisions between two checks whether the session has ended.
const SESSION: u32 = 10;

/// Maximum number of rows per event; if there are more, only the last rows and the total number are
/// sent.
const MAX_ROWS: usize = 60;

/// The query parameters of the event stream that are not part of [`EvidenceFilter`].
#[derive(Debug, Deserialize)]
pub(crate) struct StreamParams {
    /// Number of the decision after which the stream starts.
    #[serde(default)]
    after: u64,
}

/// The event stream for one viewer of the live page.
struct Stream {
    state: AdminState,
    filter: EvidenceFilter,
    session: Option<Session>,
    after: u64,
    people: Option<u64>,
    sender: mpsc::Sender<Bytes>,
    _viewing: LiveViewer,
}

/// A response body whose data comes from a channel.
struct EventBody {
    parts: mpsc::Receiver<Bytes>,
}

/// Sends decisions until the viewer disconnects, the session ends or the server stops.
pub(crate) async fn events(
    State(state): State<AdminState>,
    Params(params): Params<StreamParams>,
    Params(filter): Params<EvidenceFilter>,
    headers: HeaderMap,
    session: Option<axum::Extension<Session>>,
) -> Result<Response, Problem> {
    let filter = filter.validated()?;
    let viewing = state.operations().traffic.view().ok_or_else(|| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too_many_viewers",
            "Too many live pages are open. Close one of them.",
        )
    })?;
    let (sender, parts) = mpsc::channel(1);
    let stream = Stream {
        // After a restart, decisions are numbered from the beginning again.
        after: resumed(&headers)
            .unwrap_or(params.after)
            .min(state.operations().traffic.last_decision()),
        filter,
        session: session.map(|axum::Extension(session)| session),
        people: None,
        sender,
        _viewing: viewing,
        state: state.clone(),
    };
    state.operations().tasks.spawn(stream.run());
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // Without this header, nginx would buffer the events.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((kind, Body::new(EventBody { parts })).into_response())
}

impl Stream {
    async fn run(mut self) {
        let stop = self.state.admin().stop.clone();
        stop.run_until_cancelled(async {
            let mut every = time::interval(EVERY);
            // A slow viewer gets all missed rows in a single event instead of a series of events.
            every.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
            let mut silent = HEARTBEAT;
            for look in 1_u32.. {
                every.tick().await;
                if look.is_multiple_of(SESSION) && !self.is_allowed().await {
                    let _ = self.sender.send("event: ended\ndata: {}\n\n".into()).await;
                    return;
                }
                silent += 1;
                let part = match self.look() {
                    Some(part) => part,
                    None if silent < HEARTBEAT => continue,
                    None => ":\n\n".to_owned(),
                };
                silent = 0;
                // The viewer has disconnected.
                if self.sender.send(part.into()).await.is_err() {
                    return;
                }
            }
        })
        .await;
    }

    /// Returns the new decisions as a single event.
    fn look(&mut self) -> Option<String> {
        let traffic = &self.state.operations().traffic;
        let (rows, _) = traffic.rows_after(self.after);
        self.after = rows.last().map_or(self.after, |row| row.number);
        let mut rows: Vec<_> = rows.into_iter().map(|row| row.decided).collect();
        rows.retain(|decided| self.filter.matches(decided));
        let skipped = rows.len().saturating_sub(MAX_ROWS);
        let people = traffic.people();
        if rows.is_empty() && self.people == Some(people) {
            return None;
        }
        self.people = Some(people);
        let now_ms = self.state.now_ms();
        let rows = rows.iter().skip(skipped);
        let rows: Vec<_> = rows.map(|row| EvidenceView::new(row, now_ms)).collect();
        let lost = traffic.lost_evidence();
        let data = json!({ "rows": rows, "skipped": skipped, "people": people, "lost": lost });
        // The JSON contains no line breaks.
        Some(format!("id: {}\nevent: rows\ndata: {data}\n\n", self.after))
    }

    async fn is_allowed(&self) -> bool {
        match &self.session {
            Some(session) => session::is_open(&self.state, session).await,
            // The embedding application has granted access.
            None => true,
        }
    }
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.parts.poll_recv(cx);
        part.map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// Returns the last event ID that a reconnecting browser sends.
fn resumed(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}
