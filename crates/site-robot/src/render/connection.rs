//! Connection to a browser over two pipes, using the `DevTools` protocol.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::unix::pipe::{Receiver, Sender},
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::RenderError;

/// Maximum size of a message from the browser, in bytes; the largest messages contain a page.
const MAX_MESSAGE: u64 = 96 * 1024 * 1024;

/// Maximum number of unprocessed events per page; a page that exceeds this limit is aborted.
const MAX_EVENTS: usize = 4_096;

/// Maximum number of commands waiting to be written.
const MAX_COMMANDS: usize = 64;

/// Connection to a browser; clones share the connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Vec<u8>>,
}

/// Tasks that read and write; they stop on drop, which closes the connection.
#[derive(Debug)]
pub(super) struct IoTasks(#[expect(dead_code, reason = "aborts the tasks on drop")] JoinSet<()>);

/// An event that concerns a page.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) method: String,
    pub(super) params: Value,
}

#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    sessions: HashMap<String, mpsc::Sender<Event>>,
    /// First tab of each profile; any other tabs that open in the profile are closed.
    tabs: HashMap<String, Option<String>>,
    has_ended: bool,
}

#[derive(Deserialize)]
struct Message {
    id: Option<u64>,
    method: Option<String>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

impl Connection {
    /// Opens a connection over the pipes of a browser.
    pub(super) fn new(to: Sender, from: Receiver) -> (Self, IoTasks) {
        let (commands, queued) = mpsc::channel(MAX_COMMANDS);
        let shared = Arc::<Shared>::default();
        let connection = Self { shared, commands };
        let mut pumps = JoinSet::new();
        pumps.spawn(write(to, queued));
        pumps.spawn(read(from, connection.clone()));
        (connection, IoTasks(pumps))
    }

    /// Sends a command to the browser or a page and returns the response.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        command: &'static str,
        params: Value,
    ) -> Result<Value, RenderError> {
        let (tell, told) = oneshot::channel();
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut state = self.shared.state.lock();
            if state.has_ended {
                return Err(ended());
            }
            state.waiting.insert(id, tell);
        }
        self.send(id, session, command, params).await?;
        match told.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(reason)) => Err(RenderError::Command { command, reason }),
            Err(_) => Err(ended()),
        }
    }

    /// Sends a command and ignores the response.
    pub(super) async fn notify(
        &self,
        session: Option<&str>,
        command: &'static str,
        params: Value,
    ) -> Result<(), RenderError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.send(id, session, command, params).await
    }

    /// Subscribes to the events that concern a page.
    pub(super) fn listen(&self, session: &str) -> mpsc::Receiver<Event> {
        let (tell, told) = mpsc::channel(MAX_EVENTS);
        self.shared
            .state
            .lock()
            .sessions
            .insert(session.to_owned(), tell);
        told
    }

    /// Allows only one tab in a profile, which is the first tab that is opened.
    pub(super) fn expect_tab(&self, profile: &str) {
        self.shared
            .state
            .lock()
            .tabs
            .insert(profile.to_owned(), None);
    }

    /// Removes a page and its profile from the connection's state.
    pub(super) fn remove_tab(&self, session: &str, profile: &str) {
        let mut state = self.shared.state.lock();
        state.sessions.remove(session);
        state.tabs.remove(profile);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.shared.state.lock().has_ended
    }

    async fn send(
        &self,
        id: u64,
        session: Option<&str>,
        command: &str,
        params: Value,
    ) -> Result<(), RenderError> {
        let mut message = json!({ "id": id, "method": command, "params": params });
        if let (Some(session), Some(message)) = (session, message.as_object_mut()) {
            message.insert("sessionId".to_owned(), session.into());
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.commands.send(text).await.map_err(|_| ended())
    }

    /// Passes a message to its receiver.
    fn dispatch(&self, message: Message) {
        let mut state = self.shared.state.lock();
        if let Some(id) = message.id {
            if let Some(waiting) = state.waiting.remove(&id) {
                let answer = message
                    .error
                    .map_or(Ok(message.result), |it| Err(it.message));
                let _ = waiting.send(answer);
            }
            return;
        }
        let Some(method) = message.method else { return };
        let Some(session) = message.session else {
            if method == "Target.targetCreated" {
                self.target(&mut state, &message.params);
            }
            return;
        };
        let event = Event {
            method,
            params: message.params,
        };
        let is_full = |to: &mpsc::Sender<Event>| to.try_send(event).is_err();
        // A page with too many events is aborted by removing its receiver.
        if state.sessions.get(&session).is_some_and(is_full) {
            state.sessions.remove(&session);
        }
    }

    /// Closes additional tabs that a page opens.
    fn target(&self, state: &mut State, params: &Value) {
        let info = params.get("targetInfo").unwrap_or(&Value::Null);
        let text = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("type") != "page" {
            return;
        }
        let Some(tab) = state.tabs.get_mut(text("browserContextId")) else {
            return;
        };
        if tab.is_none() {
            *tab = Some(text("targetId").to_owned());
            return;
        }
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let params = json!({ "targetId": text("targetId") });
        let command = json!({ "id": id, "method": "Target.closeTarget", "params": params });
        let mut text = command.to_string().into_bytes();
        text.push(0);
        // If the queue is full, the command is dropped; the new tab has no access to anything.
        let _ = self.commands.try_send(text);
    }

    fn end(&self) {
        let mut state = self.shared.state.lock();
        state.has_ended = true;
        state.waiting.clear();
        state.sessions.clear();
    }
}

fn ended() -> RenderError {
    RenderError::Ended {
        reason: "connection closed".to_owned(),
    }
}

async fn write(mut to: Sender, mut queued: mpsc::Receiver<Vec<u8>>) {
    while let Some(command) = queued.recv().await {
        if to.write_all(&command).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

async fn read(from: Receiver, connection: Connection) {
    let mut from = BufReader::with_capacity(64 * 1024, from);
    let mut text = Vec::new();
    loop {
        text.clear();
        let read = (&mut from).take(MAX_MESSAGE).read_until(0, &mut text).await;
        // The input has ended, or a message exceeds the size limit.
        if read.is_err() || text.pop() != Some(0) {
            connection.end();
            return;
        }
        if let Ok(message) = serde_json::from_slice(&text) {
            connection.dispatch(message);
        }
        text.shrink_to(1024 * 1024);
    }
}
