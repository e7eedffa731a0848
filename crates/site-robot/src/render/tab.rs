//! A browser tab that renders pages one after the other.

use std::{pin::pin, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use url::Url;

use super::{
    Answer, RenderError, RenderLimits, RenderedPage, Resources,
    connection::{Connection, Event},
    requests::{Requests, Stage, empty_response},
};

/// Time without any changes after which a page is considered complete, in milliseconds.
const QUIET_MS: u64 = 200;

/// Maximum time to wait for text to appear on an empty page, in milliseconds.
const EMPTY_MS: u64 = 3_000;

/// Timeout for reading or closing a page that does not settle.
const HAND_OVER: Duration = Duration::from_secs(5);

/// Timeout for leaving a settled page.
const LEAVE: Duration = Duration::from_secs(1);

/// Maximum number of pages per tab. Opening a tab costs no more than rendering a page, and
/// replacing tabs limits memory leaks.
const MAX_PAGES: u32 = 8;

/// URL of an empty tab.
const BLANK: &str = "about:blank";

/// Script that clears the previous page's data that the browser stores with the tab.
const FORGET: &str = "try { sessionStorage.clear(); } catch {} window.name = '';";

/// A tab with a separate profile. Data stored by a page is cleared before the next page.
#[derive(Debug)]
pub(super) struct Tab {
    connection: Connection,
    /// Session that created the tab; a hidden tab exists as long as this session.
    maker: String,
    profile: String,
    target: String,
    session: String,
    events: mpsc::Receiver<Event>,
    /// Number of pages that the tab may still render.
    left: u32,
    /// Whether the most recent page has settled.
    is_at_rest: bool,
}

impl Tab {
    pub(super) async fn open(connection: &Connection) -> Result<Self, RenderError> {
        let call = |command, params| connection.call(None, command, params);
        let made = call(
            "Target.createBrowserContext",
            json!({ "disposeOnDetach": true }),
        )
        .await?;
        let profile = text(&made, "browserContextId");
        connection.expect_tab(&profile);
        let deny = json!({ "behavior": "deny", "browserContextId": profile });
        call("Browser.setDownloadBehavior", deny).await?;
        let maker = text(
            &call("Target.attachToBrowserTarget", json!({})).await?,
            "sessionId",
        );
        let target = blank(connection, &maker, &profile).await?;
        let attach = json!({ "targetId": target, "flatten": true });
        let session = text(&call("Target.attachToTarget", attach).await?, "sessionId");
        let tab = Self {
            events: connection.listen(&session),
            connection: connection.clone(),
            maker,
            profile,
            target,
            session,
            left: MAX_PAGES,
            is_at_rest: false,
        };
        // Web workers wait for a debugger that never attaches.
        let held = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        for (command, params) in [
            (
                "Fetch.enable",
                json!({ "patterns": [{ "urlPattern": "*" }] }),
            ),
            ("Page.enable", json!({})),
            ("Inspector.enable", json!({})),
            (
                "Page.addScriptToEvaluateOnNewDocument",
                json!({ "source": FORGET }),
            ),
            ("Target.setAutoAttach", held),
        ] {
            connection.call(Some(&tab.session), command, params).await?;
        }
        Ok(tab)
    }

    /// Prepares the tab for another page; returns `false` if the tab cannot be reused.
    pub(super) async fn navigate_away(&mut self, url: &Url) -> bool {
        self.left = self.left.saturating_sub(1);
        let is_fit = self.left > 0 && self.is_at_rest;
        is_fit && matches!(timeout(LEAVE, self.clear(url)).await, Ok(Ok(true)))
    }

    /// Leaves the page and clears its data; returns `false` if success cannot be confirmed.
    async fn clear(&mut self, url: &Url) -> Result<bool, RenderError> {
        let connection = &self.connection;
        let call = |command, params| connection.call(Some(&self.session), command, params);
        // Uses an empty page at the same URL, because another site would start a new process.
        let mut empty = url.clone();
        empty.set_fragment(None);
        let mut going = pin!(call("Page.navigate", json!({ "url": empty.as_str() })));
        let (mut wanted, mut shown, mut is_loaded) = (None, String::new(), false);
        while !(is_loaded && wanted.as_ref() == Some(&shown)) {
            let event = tokio::select! {
                gone = &mut going, if wanted.is_none() => {
                    wanted = Some(text(&gone?, "loaderId"));
                    continue;
                }
                Some(event) = self.events.recv() => event,
                else => return Ok(false),
            };
            match event.method.as_str() {
                "Fetch.requestPaused" => {
                    let (command, params) = empty_response(&event.params);
                    connection
                        .notify(Some(&self.session), command, params)
                        .await?;
                }
                "Page.frameNavigated" => {
                    let loader = event.params.pointer("/frame/loaderId");
                    loader
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .clone_into(&mut shown);
                    is_loaded = false;
                }
                "Page.loadEventFired" => is_loaded = true,
                _ => {}
            }
        }
        call("Page.resetNavigationHistory", json!({})).await?;
        let kept = json!({ "origin": url.origin().ascii_serialization(), "storageTypes": "all" });
        call("Storage.clearDataForOrigin", kept).await?;
        // This command also clears cookies for whole domains, which belong to no origin.
        call("Network.clearBrowserCookies", json!({})).await?;
        Ok(true)
    }

    /// Closes the tab regardless of what the page does; returns `false` if the browser fails to
    /// close it.
    pub(super) async fn close(self) -> bool {
        self.connection.remove_tab(&self.session, &self.profile);
        let end = json!({ "sessionId": self.maker });
        let ended = self
            .connection
            .notify(None, "Target.detachFromTarget", end)
            .await;
        let gone = json!({ "browserContextId": self.profile });
        let closed = self
            .connection
            .call(None, "Target.disposeBrowserContext", gone);
        ended.is_ok() && timeout(HAND_OVER, closed).await.is_ok()
    }

    /// Renders a page from its URL and the server's response.
    pub(super) async fn render(
        &mut self,
        url: &Url,
        page: Answer,
        resources: Arc<dyn Resources>,
        limits: &RenderLimits,
    ) -> Result<RenderedPage, RenderError> {
        let (tell, mut stage) = watch::channel(Stage::default());
        let maker = PageRenderer {
            connection: &self.connection,
            target: &self.target,
            session: &self.session,
        };
        let requests = Requests::new(&self.connection, &self.session, page, resources, tell);
        let is_at_rest = &mut self.is_at_rest;
        *is_at_rest = false;
        let made = async {
            let go = json!({ "url": url.as_str() });
            maker
                .connection
                .notify(Some(&self.session), "Page.navigate", go)
                .await?;
            // A page that never settles is used as it is when the timeout expires.
            if let Ok(made) = timeout(limits.timeout, maker.wait_until_settled(&mut stage)).await {
                made?;
                *is_at_rest = true;
            }
            if !stage.borrow().is_given {
                return Err(RenderError::Cut {
                    did: "did not load",
                });
            }
            let html = timeout(HAND_OVER, maker.html(limits.max_html_bytes)).await;
            html.unwrap_or(Err(RenderError::Cut {
                did: "took too long",
            }))
        };
        tokio::select! {
            error = requests.serve(&mut self.events) => Err(error),
            made = made => made,
        }
    }
}

/// Commands for a page that is being rendered.
struct PageRenderer<'a> {
    connection: &'a Connection,
    target: &'a str,
    session: &'a str,
}

impl PageRenderer<'_> {
    /// Waits until the page is loaded, all its requests are answered, and the page has settled.
    async fn wait_until_settled(
        &self,
        stage: &mut watch::Receiver<Stage>,
    ) -> Result<(), RenderError> {
        let quiet = until_quiet(QUIET_MS, EMPTY_MS);
        loop {
            let at_rest = stage.wait_for(|stage| stage.is_loaded && stage.asked == 0);
            // The sender exists as long as the page.
            let seen = at_rest.await.map(|stage| stage.seen).unwrap_or_default();
            self.run(&quiet).await?;
            let now = *stage.borrow();
            if now.asked == 0 && now.seen == seen {
                return Ok(());
            }
        }
    }

    async fn html(&self, max_bytes: u64) -> Result<RenderedPage, RenderError> {
        let value = self.run(&html_of(max_bytes)).await?;
        let html = value
            .get("html")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(RenderedPage {
            html: format!("<!DOCTYPE html>{html}").into(),
            is_whole: value.get("whole") == Some(&Value::Bool(true)),
        })
    }

    /// Runs a script in an isolated world, and returns the result.
    async fn run(&self, script: &str) -> Result<Value, RenderError> {
        // The scripts of the page share only the document with this world.
        let world = json!({ "frameId": self.target, "worldName": "reader" });
        let call = |command, params| self.connection.call(Some(self.session), command, params);
        let world = call("Page.createIsolatedWorld", world).await?;
        let evaluate = json!({
            "expression": script,
            "contextId": world.get("executionContextId"),
            "awaitPromise": true,
            "returnByValue": true,
        });
        let mut done = call("Runtime.evaluate", evaluate).await?;
        let value = done.pointer_mut("/result/value").map(Value::take);
        Ok(value.unwrap_or_default())
    }
}

/// Opens an empty tab and returns its id.
async fn blank(connection: &Connection, maker: &str, profile: &str) -> Result<String, RenderError> {
    let create = |params| connection.call(Some(maker), "Target.createTarget", params);
    let blank = json!({ "url": BLANK, "browserContextId": profile });
    let mut hidden = blank.clone();
    if let Some(hidden) = hidden.as_object_mut() {
        hidden.extend(
            [("hidden", true), ("background", true)].map(|(it, on)| (it.to_owned(), on.into())),
        );
    }
    // A tab that is not hidden has a window, which would use more memory than most pages; not all
    // browsers support hidden tabs.
    let made = match create(hidden).await {
        Err(RenderError::Command { .. }) => create(blank).await?,
        made => made?,
    };
    Ok(text(&made, "targetId"))
}

fn text(answer: &Value, name: &str) -> String {
    let text = answer.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Returns a script that resolves when the page has text and has not changed for a while, or when
/// it is still empty at the time limit.
fn until_quiet(quiet_ms: u64, empty_ms: u64) -> String {
    format!(
        "new Promise(done => {{
            const limit = Date.now() + {empty_ms};
            let timer;
            const wait = () => {{ clearTimeout(timer); timer = setTimeout(look, {quiet_ms}); }};
            const look = () => {{
                const words = document.body ? document.body.innerText.trim() : '';
                if (words || Date.now() > limit) {{ done(true); }} else {{ wait(); }}
            }};
            new MutationObserver(wait)
                .observe(document, {{ subtree: true, childList: true, characterData: true }});
            wait();
        }})"
    )
}

/// Returns a script that returns the page as HTML, up to a maximum number of characters.
///
/// `<noscript>` elements are removed because readers do not see them.
fn html_of(max: u64) -> String {
    format!(
        "(() => {{
            for (const it of document.querySelectorAll('noscript')) {{ it.remove(); }}
            const root = document.documentElement;
            const html = root ? root.outerHTML : '';
            return {{ html: html.slice(0, {max}), whole: html.length <= {max} }};
        }})()"
    )
}
