//! Each key of robot.conf, and its effect here.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::Stdio,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use robot_detection::site_robot::ROBOT_KEYS;
use socket2::{Domain, Socket, Type};
use sqlx::{Connection as _, SqliteConnection};
use tokio::time::Instant;

use crate::seeds::sun::{
    check, convert, is_refused, reply, reply_to_absolute_url, settings, visit, visit_at, visit_by,
    visit_in, write,
};
use crate::support::{
    eventually::eventually,
    http::{Reply, TestServer},
    program,
};

/// Generates a test for each row: its name, the key, and a check of the key's effect.
macro_rules! keys {
    ($($test:ident: $key:literal => $does:block)*) => {
        const TESTED: &[&str] = &[$($key),*];

        $(
            #[test]
            fn $test() {
                let does = || -> bool { $does };
                assert!(does(), $key);
            }
        )*
    };
}

keys! {
    auto_proxy: "auto-proxy" => {
        let (proxy, site) = (TestServer::with(reply_to_absolute_url), "http://site.example/");
        let line = format!("auto-proxy={}", proxy.url(""));
        let ran = visit_at(Some(site), proxy, &[&line], "");
        ran.server
            .seen()
            .iter()
            .any(|it| it.path == "http://site.example/one")
    }
    bindir: "bindir" => {
        convert("mine", &[]).soif().contains("mine in")
    }
    cmd_hook: "cmd-hook" => {
        visit(&["cmd-hook=touch hooked"])
            .path()
            .join("hooked")
            .exists()
    }
    command_port: "command-port" => {
        is_refused("command-port=21445")
    }
    connect_timeout: "connect-timeout" => {
        // The listener accepts no connections, and its queue is full.
        let full = FullListener::new();
        let start = format!("http://{}/", full.address);
        let keys = ["command-timeout=1", "enable-robots-txt=false"];
        let began = Instant::now();
        let ran = visit_at(Some(&start), TestServer::with(reply), &keys, "");
        // The connection is tried three times; without the key each attempt takes two minutes.
        ran.err.contains("took too long") && began.elapsed() < Duration::from_mins(1)
    }
    convert_timeout: "convert-timeout" => {
        !convert("slow", &["convert-timeout=1"])
            .soif()
            .contains("/doc\n")
    }
    depth: "depth" => {
        let ran = visit_at(None, TestServer::with(reply), &["depth=1"], "");
        ran.seen("/one").is_some() && ran.seen("/two").is_none()
    }
    email: "email" => {
        visit(&["email=me@h.example"]).sent("from").as_deref() == Some("me@h.example")
    }
    enable_ip: "enable-ip" => {
        let told = |line| visit(&[line]).soif().contains("127.0.0.1\n");
        told("enable-ip=true") && !told("enable-ip=false")
    }
    enable_rdm_probe: "enable-rdm-probe" => {
        let server = TestServer::with(|seen| match seen.path.as_str() {
            "/rd.soif" => {
                let host = seen.header("host").unwrap();
                let (mine, others) = (format!("http://{host}/far"), "http://other.example/");
                let object = |url: &str| format!("@DOCUMENT {{ {url}\ntitle{{6}}:\tTold A\n}}\n");
                Reply::text(object(&mine) + &object(others))
            }
            _ => reply(seen),
        });
        let ran = visit_at(None, server, &["enable-rdm-probe=true"], "");
        let soif = ran.soif();
        soif.contains("/far") && !soif.contains("other.example") && ran.seen("/one").is_none()
    }
    enable_robots_txt: "enable-robots-txt" => {
        let ran = visit(&["enable-robots-txt=false"]);
        ran.seen("/shut").is_some() && ran.seen("/robots.txt").is_none()
    }
    engine_concurrent: "engine-concurrent" => {
        let met = |key| two_documents(key).contains("two at once");
        met("engine-concurrent=2") && !met("engine-concurrent=1")
    }
    enumeration_filter: "enumeration-filter" => {
        visit_by("enumeration").seen("/one").is_none()
    }
    generation_filter: "generation-filter" => {
        let soif = visit_by("generation").soif();
        soif.contains("Two") && !soif.contains("Start")
    }
    index_after_ngenerated: "index-after-ngenerated" => {
        // A page responds only after heaven is published, which happens during the run.
        let directory = tempfile::tempdir().unwrap();
        let heaven = directory.path().join("heaven").join("sitemap.xml");
        let published = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&published);
        let server = TestServer::with(move |seen| {
            if seen.path == "/two" {
                eventually("heaven is published", || heaven.exists());
                noted.store(true, Ordering::SeqCst);
            }
            reply(seen)
        });
        let more = format!("publish = '{}'", directory.path().join("heaven").display());
        visit_at(None, server, &["index-after-ngenerated=1"], &more);
        published.load(Ordering::SeqCst)
    }
    loglevel: "loglevel" => {
        let told = |line| visit(&[line]).err;
        let (one, three) = (told("loglevel=1"), told("loglevel=3"));
        one.contains("described") && !one.contains("/shut") && three.contains("/shut")
    }
    max_connections: "max-connections" => {
        let most = |key| peak_concurrency(&[key, "site-max-connections=8"]);
        most("max-connections=1") == 1 && most("max-connections=2") == 2
    }
    max_filesize_kb: "max-filesize-kb" => {
        let (small, large) = (visit(&["max-filesize-kb=80"]), visit(&["max-filesize-kb=100"]));
        let (of_small, of_large) = (small.soif(), large.soif());
        of_large.contains("/large\n")
            && of_small.contains("/one\n")
            && !of_small.contains("/large\n")
            && small.explain("/large").contains("larger than the maximum of 81920 bytes")
    }
    max_memory_per_url: "max-memory-per-url" => {
        // Every page exceeds the limit, and none can be written to disk: all are read anyway.
        let ran = visit(&["max-memory=1", "tmpdir=/nowhere", "loglevel=1"]);
        ran.soif().contains("/large")
            && ran.err.contains("cannot store a page on disk")
            && !visit(&["max-memory=1", "loglevel=1"])
                .err
                .contains("keeping it in memory")
    }
    max_working: "max-working" => {
        let taken = |key| most_taken(key);
        taken("max-working=2") <= 10 && taken("max-working=1024") > 50
    }
    on_completion: "onCompletion" => {
        assert!(prints("oncompletion=loop", "the next round starts in 60 min"));
        // Without the key the command exits.
        !visit(&["oncompletion=quit"]).err.contains("next round")
    }
    password: "password" => {
        visit(&["password=open"]).sent("authorization").as_deref()
            == Some("Basic YW5vbnltb3VzOm9wZW4=")
    }
    referer: "referer" => {
        visit(&["referer=http://h.example/"])
            .sent("referer")
            .as_deref()
            == Some("http://h.example/")
    }
    remote_access: "remote-access" => {
        is_refused("remote-access=true") && check("remote-access=false").0 == 0
    }
    robot_state_dir: "robot-state-dir" => {
        let directory = tempfile::tempdir().unwrap();
        let (path, server) = (directory.path(), TestServer::with(reply));
        fs::write(path.join("robot.conf"), "robot-state-dir=\"state\"").unwrap();
        fs::create_dir(path.join("state")).unwrap();
        let text = "web_robots_db = ''\nsite_robot.robot_conf = 'robot.conf'";
        fs::write(path.join("robot-detection.toml"), text).unwrap();
        program::succeed(path, &["site-robot", "run", &server.url("/")]);
        path.join("state/robot-detection.db").exists() && !path.join("robot-detection.db").exists()
    }
    server_delay: "server-delay" => {
        let times = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&times);
        let server = TestServer::with(move |seen| {
            noted.lock().unwrap().push(Instant::now());
            reply(seen)
        });
        visit_at(None, server, &["server-delay=0.5"], "");
        let times = times.lock().unwrap();
        let half = Duration::from_millis(500);
        times.len() > 4 && times.windows(2).all(|two| two[1] - two[0] >= half)
    }
    site_max_connections: "site-max-connections" => {
        let most = |key| peak_concurrency(&[key]);
        most("site-max-connections=1") == 1 && most("site-max-connections=2") == 2
    }
    smart_host_heuristics: "smart-host-heuristics" => {
        let asked = |value: &str| {
            let proxy = TestServer::with(|seen| match seen.path.as_str() {
                "http://www.site.example/" => Reply::typed(
                    "text/html",
                    "<title>A</title><a href=http://www7.site.example/one>1</a>",
                ),
                _ => Reply::typed("text/html", "<title>B</title>Words"),
            });
            let lines = [
                format!("auto-proxy={}", proxy.url("")),
                format!("smart-host-heuristics={value}"),
            ];
            let keys = lines.each_ref().map(String::as_str);
            let ran = visit_at(Some("http://www.site.example/"), proxy, &keys, "");
            ran.seen("http://www.site.example/one").is_some()
        };
        asked("true") && !asked("false")
    }
    tmpdir: "tmpdir" => {
        convert("mine", &["tmpdir=/var/tmp"])
            .soif()
            .contains("in /var/tmp")
    }
    user_agent: "user-agent" => {
        visit(&["user-agent=ours/1"])
            .sent("user-agent")
            .is_some_and(|it| it.starts_with("ours/1"))
    }
    username: "username" => {
        let sent = visit(&["username=me", "password=open"]).sent("authorization");
        sent.as_deref() == Some("Basic bWU6b3Blbg==")
    }
}

#[test]
fn every_key_of_robot_conf_has_a_test_of_its_name() {
    let tested: BTreeSet<&str> = TESTED.iter().copied().collect();
    let all: BTreeSet<&str> = ROBOT_KEYS.iter().map(|key| key.name).collect();
    assert_eq!((tested.len(), &tested), (31, &all));
}

/// Address at which connection attempts wait for ever.
struct FullListener {
    address: SocketAddr,
    _listener: Socket,
    _waiting: Vec<Socket>,
}

/// Counts concurrent requests.
#[derive(Default)]
struct Concurrency {
    now_and_most: Mutex<(usize, usize)>,
    came: Condvar,
}

impl Concurrency {
    /// Holds a request until a second arrives or the time limit passes.
    fn hold(&self, patience: Duration) {
        let mut counts = self.now_and_most.lock().unwrap();
        counts.0 += 1;
        counts.1 = counts.1.max(counts.0);
        self.came.notify_all();
        let waited = self
            .came
            .wait_timeout_while(counts, patience, |it| it.1 < 2);
        waited.unwrap_or_else(PoisonError::into_inner).0.0 -= 1;
    }
}

impl FullListener {
    fn new() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        listener.bind(&any.into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let mut waiting = Vec::new();
        loop {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            let is_taken = socket.connect_timeout(&address.into(), Duration::from_millis(500));
            waiting.push(socket);
            if is_taken.is_err() {
                break;
            }
        }
        Self {
            address,
            _listener: listener,
            _waiting: waiting,
        }
    }
}

/// Returns how many of two pages a run requests concurrently.
fn peak_concurrency(keys: &[&str]) -> usize {
    let patience = Duration::from_millis(if keys[0].ends_with("=1") { 200 } else { 10_000 });
    let at_once = Arc::new(Concurrency::default());
    let counting = Arc::clone(&at_once);
    let server = TestServer::with(move |seen| {
        if ["/one", "/doc", "/large"].contains(&seen.path.as_str()) {
            counting.hold(patience);
        }
        reply(seen)
    });
    visit_at(None, server, keys, "");
    at_once.now_and_most.lock().unwrap().1
}

/// Describes two documents with a converter that reports whether it runs twice concurrently.
fn two_documents(key: &str) -> String {
    let server = TestServer::with(|seen| match seen.path.as_str() {
        "/" => Reply::typed(
            "text/html",
            "<title>A</title><a href=/1>1</a><a href=/2>2</a>Words",
        ),
        "/1" | "/2" => Reply::typed("application/pdf", "a document"),
        _ => Reply::status(404),
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let tries = if key.ends_with("=1") { 5 } else { 200 };
    let script = format!(
        "touch at.$$; for i in $(seq {tries}); do\n\
         if [ $(ls at.* | wc -l) = 2 ]; then echo '<p>two at once'; sleep 1; exit; fi\n\
         sleep 0.05; done; rm at.$$; echo '<p>alone'"
    );
    write(path, "meet", &script);
    let more = "converters = ['application/pdf=meet']";
    visit_in(path, None, &server, &[key, "bindir=."], more);
    let arguments = ["--database", "sqlite://robot.db", "site-robot", "export"];
    program::succeed(path, &arguments)
}

/// Returns how many of a hundred links are in progress when the third is requested.
fn most_taken(key: &str) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let url = format!("sqlite://{}", path.join("robot.db").display());
    let taken = Arc::new(AtomicUsize::new(usize::MAX));
    let noted = Arc::clone(&taken);
    let server = TestServer::with(move |seen| match seen.path.as_str() {
        "/" => {
            let links = (0..100).map(|number| format!("<a href=/{number}>x</a>"));
            Reply::typed("text/html", links.collect::<String>())
        }
        "/2" => {
            noted.store(taken_in(&url), Ordering::SeqCst);
            Reply::typed("text/html", "<title>C</title>Words")
        }
        _ => Reply::status(404),
    });
    visit_in(path, None, &server, &[key], "");
    taken.load(Ordering::SeqCst)
}

fn taken_in(url: &str) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let count = runtime.unwrap().block_on(async {
        let mut database = SqliteConnection::connect(url).await.unwrap();
        let query = "SELECT COUNT(*) FROM site_robot_urls WHERE state = 1";
        sqlx::query_scalar::<_, i64>(query)
            .fetch_one(&mut database)
            .await
    });
    usize::try_from(count.unwrap()).unwrap()
}

/// Runs the site robot until it prints a text; returns whether the text was printed.
fn prints(key: &str, text: &str) -> bool {
    let (directory, server) = (tempfile::tempdir().unwrap(), TestServer::with(reply));
    settings(directory.path(), &server.url("/"), &[key], "");
    let mut child = program::command(directory.path())
        .args(["--database", "sqlite://robot.db", "site-robot", "run"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_said = lines.map_while(Result::ok).any(|line| line.contains(text));
    child.kill().unwrap();
    child.wait().unwrap();
    is_said
}
