//! What a page asks for while it is made.

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
    filling::{Fate, fate, headers},
};

/// Requests of one page; of more, it is cut off.
const MAX_REQUESTS: usize = 500;

/// Servers' answers that one page waits for at a time.
const MAX_AT_ONCE: usize = 4;

/// How far a page has come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Stage {
    /// Whether the browser has the server's answer.
    pub(super) is_given: bool,
    /// Whether all is there that the page itself names.
    pub(super) is_loaded: bool,
    /// Requests that wait for an answer.
    pub(super) asked: usize,
    /// Requests so far.
    pub(super) seen: usize,
}

/// Requests of one page.
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

    /// Answers what the page asks for; returns why it is not to go on.
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
                        RenderError::Ended { reason: "it answers no more".to_owned() }
                    } else {
                        RenderError::Cut { did: "did more at once than can be looked at" }
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
            // Until somebody answers, the page stands still.
            "Page.javascriptDialogOpening" => {
                let no = json!({ "accept": false });
                self.tell("Page.handleJavaScriptDialog", no).await
            }
            "Inspector.targetCrashed" => Err(RenderError::Cut {
                did: "took too much memory",
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
                did: "asked for more than 500 files",
            });
        }
        match (fate(kind, method, is_first), url) {
            (Fate::Page, _) => {
                self.stage.send_modify(|stage| stage.is_given = true);
                let answer = fulfilled(&id, &self.page);
                self.page.body.clear();
                self.tell("Fetch.fulfillRequest", answer).await
            }
            (Fate::Ask { is_head }, Some(url)) => {
                self.ask(id, url, is_head);
                Ok(())
            }
            (Fate::Stays, _) => self.refuse(&id, "Aborted").await,
            _ => self.refuse(&id, "BlockedByClient").await,
        }
    }

    /// Asks a server in the browser's place.
    fn ask(&mut self, id: String, url: Url, is_head: bool) {
        self.stage.send_modify(|stage| stage.asked += 1);
        let (resources, turns) = (Arc::clone(&self.resources), Arc::clone(&self.turns));
        let (connection, session) = (self.connection.clone(), self.session.to_owned());
        self.asked.spawn(async move {
            // Nobody closes the semaphore: there is no error to answer.
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
            // A page that has given its request up has no use for the answer.
            drop(told);
        });
    }

    async fn refuse(&self, id: &str, reason: &str) -> Result<(), RenderError> {
        self.tell("Fetch.failRequest", refused(id, reason)).await
    }

    async fn tell(&self, command: &'static str, params: Value) -> Result<(), RenderError> {
        self.connection
            .tell(Some(self.session), command, params)
            .await
    }
}

/// Returns the command that answers a request of a page that is left: with nothing, where it is for a
/// page in its place.
pub(super) fn emptied(params: &Value) -> (&'static str, Value) {
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
