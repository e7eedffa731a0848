//! Commands to a browser and its answers, by the `DevTools` protocol over two pipes.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::unix::pipe::{Receiver, Sender},
    sync::{mpsc, oneshot},
    task::JoinSet,
};

use super::RenderError;

/// Bytes of one message of the browser at most; the largest holds a page.
const MAX_MESSAGE: u64 = 96 * 1024 * 1024;

/// Events of one page that wait to be looked at; of more, the page is cut off.
const MAX_EVENTS: usize = 4_096;

/// Commands that wait to be written.
const MAX_COMMANDS: usize = 64;

/// Connection to a browser; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Vec<u8>>,
}

/// Tasks that read and write; the connection ends with them.
#[derive(Debug)]
pub(super) struct Pumps(#[expect(dead_code, reason = "they end with it")] JoinSet<()>);

/// Event of a page.
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
    /// The one tab of each profile; what else opens in it is closed.
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
    /// Speaks with a browser over its pipes.
    pub(super) fn new(to: Sender, from: Receiver) -> (Self, Pumps) {
        let (commands, queued) = mpsc::channel(MAX_COMMANDS);
        let shared = Arc::<Shared>::default();
        let connection = Self { shared, commands };
        let mut pumps = JoinSet::new();
        pumps.spawn(write(to, queued));
        pumps.spawn(read(from, connection.clone()));
        (connection, Pumps(pumps))
    }

    /// Gives a command to the browser, or to a page; returns the answer.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        command: &'static str,
        params: Value,
    ) -> Result<Value, RenderError> {
        let (tell, told) = oneshot::channel();
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut state = self.state();
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

    /// Gives a command whose answer is of no interest.
    pub(super) async fn tell(
        &self,
        session: Option<&str>,
        command: &'static str,
        params: Value,
    ) -> Result<(), RenderError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        self.send(id, session, command, params).await
    }

    /// Listens to a page from now on.
    pub(super) fn listen(&self, session: &str) -> mpsc::Receiver<Event> {
        let (tell, told) = mpsc::channel(MAX_EVENTS);
        self.state().sessions.insert(session.to_owned(), tell);
        told
    }

    /// Lets one tab open in a profile, the first.
    pub(super) fn expect_tab(&self, profile: &str) {
        self.state().tabs.insert(profile.to_owned(), None);
    }

    /// Forgets a page and its profile.
    pub(super) fn forget(&self, session: &str, profile: &str) {
        let mut state = self.state();
        state.sessions.remove(session);
        state.tabs.remove(profile);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().has_ended
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

    /// Hands a message to who waits for it.
    fn hand_on(&self, message: Message) {
        let mut state = self.state();
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
        // Who hears no more events has a page that is cut off.
        if state.sessions.get(&session).is_some_and(is_full) {
            state.sessions.remove(&session);
        }
    }

    /// Closes what a page has opened.
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
        // Where so much waits to be written that it does not fit, what was opened reaches nothing.
        let _ = self.commands.try_send(text);
    }

    fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.waiting.clear();
        state.sessions.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What the lock guards is whole at any moment.
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn ended() -> RenderError {
    RenderError::Ended {
        reason: "it answers no more".to_owned(),
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
        // The end, or a message without one.
        if read.is_err() || text.pop() != Some(0) {
            connection.end();
            return;
        }
        if let Ok(message) = serde_json::from_slice(&text) {
            connection.hand_on(message);
        }
        text.shrink_to(1024 * 1024);
    }
}
