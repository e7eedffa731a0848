//! A real browser.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use fantoccini::{Client, ClientBuilder, Locator, elements::Element};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use super::eventually::eventually_async;

/// Time limit for starting a browser, which takes 20 seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// Number of attempts to start a driver.
const STARTS: usize = 5;

/// Headless browser; stops with the test.
pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Child,
    driver_url: String,
    screen: Screen,
    _profile: tempfile::TempDir,
}

/// Size of a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    width: u64,
    height: u64,
    is_phone: bool,
}

impl Screen {
    pub(crate) const DESK: Self = Self {
        width: 1280,
        height: 900,
        is_phone: false,
    };
    pub(crate) const LAPTOP: Self = Self {
        width: 1440,
        height: 900,
        is_phone: false,
    };
    pub(crate) const TABLET: Self = Self {
        width: 768,
        height: 1024,
        is_phone: false,
    };
    pub(crate) const PHONE: Self = Self {
        width: 390,
        height: 844,
        is_phone: true,
    };

    pub(crate) fn width(self) -> u64 {
        self.width
    }
}

impl Browser {
    /// Starts Chromium by its driver, both found on the PATH.
    pub(crate) async fn start() -> Self {
        // Another test may have installed the provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (driver, port) = driver().await;
        let driver_url = format!("http://127.0.0.1:{port}");
        let profile = tempfile::tempdir().expect("failed to create a temporary directory");
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities(profile.path()))
            .connect(&driver_url)
            .await
            .unwrap_or_else(|error| {
                panic!("cannot start the browser ({error}): tests/run installs chromium")
            });
        Self {
            client,
            driver,
            driver_url,
            screen: Screen::DESK,
            _profile: profile,
        }
    }

    /// Sets the size of a window or a phone, and the light or dark colour scheme.
    pub(crate) async fn look(&mut self, screen: Screen, scheme: &str) {
        self.screen = screen;
        self.resize(screen.height).await;
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// Shows pages in their print layout from now on.
    pub(crate) async fn print(&self) {
        let media = json!({ "media": "print" });
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// Disables scripts from now on.
    pub(crate) async fn disable_scripts(&self) {
        let value = json!({ "value": true });
        self.devtools("Emulation.setScriptExecutionDisabled", value)
            .await;
    }

    /// Sets another User-Agent from now on.
    pub(crate) async fn set_user_agent(&self, user_agent: &str) {
        let value = json!({ "userAgent": user_agent });
        self.devtools("Emulation.setUserAgentOverride", value).await;
    }

    /// Saves a screenshot of the whole page among the test artefacts.
    pub(crate) async fn keep_screenshot(&self, name: &str) {
        let script = "return document.documentElement.scrollHeight;";
        let height = self.client.execute(script, Vec::new()).await;
        let height = height.ok().and_then(|height| height.as_u64());
        self.resize(height.unwrap_or(self.screen.height)).await;
        let picture = self.client.screenshot().await;
        self.resize(self.screen.height).await;
        let directory = artefacts();
        std::fs::create_dir_all(&directory).expect("failed to create the directory of artefacts");
        let path = directory.join(format!("{name}.png"));
        std::fs::write(path, picture.expect("no screenshot")).expect("cannot write it");
    }

    /// Waits for an element, long enough for a busy machine.
    pub(crate) async fn find(&self, css: &str) -> Element {
        self.client
            .wait()
            .at_most(PATIENCE)
            .for_element(Locator::Css(css))
            .await
            .unwrap_or_else(|error| panic!("{css} does not appear: {error}"))
    }

    /// Waits until an element contains a text.
    pub(crate) async fn wait_for_text(&self, css: &str, words: &str) -> String {
        eventually_async(&format!("{css} says {words:?}"), async || {
            // The element may be replaced between finding and reading it.
            let element = self.client.find(Locator::Css(css)).await.ok()?;
            let text = element.text().await.ok()?;
            text.contains(words).then_some(text)
        })
        .await
    }

    /// Tabs to an element, which must show its focus, and presses Enter.
    pub(crate) async fn press(&self, css: &str) {
        self.find(css).await;
        let look = format!(
            "const at = document.activeElement;
             return [at.matches(\"{css}\"), getComputedStyle(at).outlineStyle];"
        );
        for _ in 0..200 {
            let focused = self.client.active_element().await;
            let focused = focused.expect("no element has the focus");
            let found = self.client.execute(&look, Vec::new()).await;
            let found = found.expect("failed to run a script on the page");
            if found[0] == true {
                assert_ne!(found[1], "none", "the focus of {css} is not visible");
                focused.send_keys("\u{e007}").await.expect("Enter is typed");
                return;
            }
            focused.send_keys("\u{e004}").await.expect("Tab is typed");
        }
        panic!("{css} cannot be reached by the keyboard");
    }

    /// Logs in as the administrator.
    pub(crate) async fn log_in(&self, login: &str, password: &str) {
        self.client.goto(login).await.expect("the login page opens");
        let field = self.find("#password").await;
        field.send_keys(password).await.expect("typing works");
        let button = self.find("button.primary").await;
        button.click().await.expect("failed to click the button");
        self.wait_for_text("h1", "Now").await;
    }

    /// Closes the browser.
    pub(crate) async fn end(mut self) {
        self.client.clone().close().await.ok();
        self.driver.kill().await.ok();
    }

    async fn resize(&self, height: u64) {
        let metrics = json!({
            "width": self.screen.width,
            "height": height,
            "deviceScaleFactor": if self.screen.is_phone { 2 } else { 1 },
            "mobile": self.screen.is_phone,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// Returns the page's accessibility tree as JSON.
    pub(crate) async fn accessibility_tree(&self) -> String {
        self.devtools("Accessibility.getFullAXTree", json!({}))
            .await
    }

    async fn devtools(&self, command: &str, params: serde_json::Value) -> String {
        let session = self.client.session_id().await.ok().flatten();
        let url = format!(
            "{}/session/{}/goog/cdp/execute",
            self.driver_url,
            session.expect("the browser has no session")
        );
        let body = json!({ "cmd": command, "params": params }).to_string();
        let http = reqwest::Client::builder()
            .build()
            .expect("failed to build a client");
        let answer = http.post(url).body(body).send().await;
        let answer = answer.expect("the driver did not respond");
        assert!(answer.status().is_success(), "{command}: {answer:?}");
        answer.text().await.expect("the response is incomplete")
    }
}

fn capabilities(profile: &Path) -> serde_json::Map<String, serde_json::Value> {
    let arguments = [
        "--headless".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-quic".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--disable-sync".to_owned(),
        "--no-proxy-server".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    let options = json!({ "goog:chromeOptions": { "args": arguments } });
    options.as_object().cloned().unwrap_or_default()
}

/// Starts a driver, which chooses a free IPv4 port and exits if another program uses the same IPv6
/// port.
async fn driver() -> (Child, u16) {
    for _ in 0..STARTS {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "cannot start chromedriver ({error}): tests/run installs chromium and chromium-driver"
                )
            });
        if let Some(port) = port(&mut driver).await {
            return (driver, port);
        }
    }
    panic!("chromedriver exited {STARTS} times without printing its port");
}

/// Reads the driver's port from its output; returns `None` if the driver has exited.
async fn port(driver: &mut Child) -> Option<u16> {
    let output = driver.stdout.take().expect("the driver's output is piped");
    let mut lines = BufReader::new(output).lines();
    let found = tokio::time::timeout(PATIENCE, async {
        while let Ok(Some(line)) = lines.next_line().await {
            let port = line
                .split_once("on port ")
                .and_then(|(_, rest)| rest.trim_end_matches('.').parse().ok())
                .filter(|port| *port != 0);
            if port.is_some() {
                return port;
            }
        }
        None
    });
    found.await.expect("chromedriver printed no port in time")
}

fn artefacts() -> PathBuf {
    std::env::var_os("CI_ARTEFACTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/artefacts"),
        PathBuf::from,
    )
}
