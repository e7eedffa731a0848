//! Handles the requests that a page makes while it is being rendered.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
};
use url::Url;

use super::{
    Answer, RenderError, Resources,
    connection::{Connection, Event},
    interception::{RequestHandling, handling_for, headers},
};

/// Maximum number of requests per page; a page that exceeds this limit is aborted.
const MAX_REQUESTS: usize = 500;

/// Maximum number of parallel requests to servers per page.
const MAX_AT_ONCE: usize = 4;

/// Loading progress of a page.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Stage {
    /// Whether the browser has received the server's response.
    pub(super) is_given: bool,
    /// Whether all resources that the page itself references are loaded.
    pub(super) is_loaded: bool,
    /// Number of pending requests.
    pub(super) asked: usize,
    /// Number of requests so far.
    pub(super) seen: usize,
}

/// Handles the requests that the browser makes for one page.
pub(super) struct Requests<'a> {
    connection: &'a Connection,
    session: &'a str,
    page: Answer,
    resources: Arc<dyn Resources>,
    stage: watch::Sender<Stage>,
    turns: Arc<Semaphore>,
    asked: JoinSet<()>,
}

impl<'a> Requests<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        session: &'a str,
        page: Answer,
        resources: Arc<dyn Resources>,
        stage: watch::Sender<Stage>,
    ) -> Self {
        Self {
            connection,
            session,
            page,
            resources,
            stage,
            turns: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            asked: JoinSet::new(),
        }
    }

    /// Answers the requests that the page makes; returns the reason if the page must be aborted.
    pub(super) async fn serve(mut self, events: &mut mpsc::Receiver<Event>) -> RenderError {
        loop {
            let done = tokio::select! {
                Some(_) = self.asked.join_next() => {
                    self.stage.send_modify(|stage| stage.asked = stage.asked.saturating_sub(1));
                    continue;
                }
                event = events.recv() => match event {
                    Some(event) => self.take(event).await,
                    None => Err(if self.connection.has_ended() {
                        RenderError::Ended { reason: "connection closed".to_owned() }
                    } else {
                        RenderError::Cut { did: "sent too many events" }
                    }),
                },
            };
            if let Err(error) = done {
                return error;
            }
        }
    }

    async fn take(&mut self, event: Event) -> Result<(), RenderError> {
        match event.method.as_str() {
            "Fetch.requestPaused" => self.request(&event.params).await,
            "Page.loadEventFired" => {
                self.stage.send_modify(|stage| stage.is_loaded = true);
                Ok(())
            }
            // The page is blocked until the dialog is answered.
            "Page.javascriptDialogOpening" => {
                let no = json!({ "accept": false });
                self.tell("Page.handleJavaScriptDialog", no).await
            }
            "Inspector.targetCrashed" => Err(RenderError::Cut {
                did: "used too much memory",
            }),
            _ => Ok(()),
        }
    }

    async fn request(&mut self, params: &Value) -> Result<(), RenderError> {
        let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str);
        let id = text("/requestId").unwrap_or_default().to_owned();
        let method = text("/request/method").unwrap_or_default();
        let url = text("/request/url").and_then(|url| Url::parse(url).ok());
        let kind = text("/resourceType").unwrap_or_default();
        let is_first = !self.stage.borrow().is_given;
        self.stage.send_modify(|stage| stage.seen += 1);
        if self.stage.borrow().seen > MAX_REQUESTS {
            return Err(RenderError::Cut {
                did: "requested more than 500 files",
            });
        }
        match (handling_for(kind, method, is_first), url) {
            (RequestHandling::Page, _) => {
                self.stage.send_modify(|stage| stage.is_given = true);
                let answer = fulfilled(&id, &self.page);
                self.page.body.clear();
                self.tell("Fetch.fulfillRequest", answer).await
            }
            (RequestHandling::Ask { is_head }, Some(url)) => {
                self.ask(id, url, is_head);
                Ok(())
            }
            (RequestHandling::Stays, _) => self.refuse(&id, "Aborted").await,
            _ => self.refuse(&id, "BlockedByClient").await,
        }
    }

    /// Requests a URL from a server on behalf of the browser.
    fn ask(&mut self, id: String, url: Url, is_head: bool) {
        self.stage.send_modify(|stage| stage.asked += 1);
        let (resources, turns) = (Arc::clone(&self.resources), Arc::clone(&self.turns));
        let (connection, session) = (self.connection.clone(), self.session.to_owned());
        self.asked.spawn(async move {
            // The semaphore is never closed, so the error is ignored.
            let _turn = turns.acquire().await;
            let session = Some(session.as_str());
            let told = match resources.ask(url, is_head).await {
                Some(answer) => {
                    let answer = fulfilled(&id, &answer);
                    connection
                        .call(session, "Fetch.fulfillRequest", answer)
                        .await
                }
                None => {
                    connection
                        .call(
                            session,
                            "Fetch.failRequest",
                            refused(&id, "BlockedByClient"),
                        )
                        .await
                }
            };
            // The page may have cancelled the request, so errors are ignored.
            drop(told);
        });
    }

    async fn refuse(&self, id: &str, reason: &str) -> Result<(), RenderError> {
        self.tell("Fetch.failRequest", refused(id, reason)).await
    }

    async fn tell(&self, command: &'static str, params: Value) -> Result<(), RenderError> {
        self.connection
            .notify(Some(self.session), command, params)
            .await
    }
}

/// Returns the command that answers a request while the tab leaves a page: an empty page for a
/// document request, or else a failure.
pub(super) fn empty_response(params: &Value) -> (&'static str, Value) {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let id = text("requestId").unwrap_or_default();
    if text("resourceType") == Some("Document") {
        let html = HeaderValue::from_static("text/html");
        let nothing = Answer {
            status: 200,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, html)]),
            body: Bytes::new(),
        };
        ("Fetch.fulfillRequest", fulfilled(id, &nothing))
    } else {
        ("Fetch.failRequest", refused(id, "Aborted"))
    }
}

fn refused(id: &str, reason: &str) -> Value {
    json!({ "requestId": id, "errorReason": reason })
}

fn fulfilled(id: &str, answer: &Answer) -> Value {
    json!({
        "requestId": id,
        "responseCode": answer.status,
        "responseHeaders": headers(answer),
        "body": STANDARD.encode(&answer.body),
    })
}
