//! The real nginx, with a user's configuration changed only by the printed includes.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use super::house::{House, TOKEN};
use crate::support::{
    program::{Answer, FIREFOX, GOOGLEBOT, command, eventually, request, run},
    raw::{RawServer, header},
};

const GPTBOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";

/// A typical site configuration without our includes; words in capitals are replaced.
const SITE: &str = "
server {
    listen ADDRESS; server_name example.org; root DIRECTORY/html; index index.html;
    # include robot-detection-server.conf;
    error_page 404 /404.html;
    add_header Strict-Transport-Security max-age=60 always;
    # include robot-detection-response.conf;
    location / { try_files $uri $uri/ @application; }
    location @application {
        proxy_pass http://APPLICATION; proxy_set_header Host $host;
        # include robot-detection-location.conf;
    }
    location /old/ { rewrite ^/old/(.*)$ /new/$1 last; }
    location /files/ { try_files $uri =404; }
    location /locked/ { auth_basic site; auth_basic_user_file DIRECTORY/users; try_files $uri =404; }
    location /denied/ { deny all; }
    location /empty/ { try_files $uri $uri/ =404; }
    location /strict/ { error_page 403 = /index.html; try_files $uri /index.html; }
    # MORE
}
";

/// An nginx in a single process; killed when dropped.
struct Nginx {
    child: Child,
    addr: SocketAddr,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Starts nginx with the includes that the program prints for its settings.
    fn start(
        directory: &Path,
        application: SocketAddr,
        settings: &[(&str, &str)],
        site: &str,
    ) -> Self {
        for part in ["http", "server", "location", "response"] {
            let mut printing = command(directory);
            printing.args(["proxy-config", "nginx", "--part", part]);
            let output = printing.envs(settings.iter().copied()).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{error}");
            let name = format!("robot-detection-{part}.conf");
            fs::write(directory.join(name), output.stdout).unwrap();
        }
        for path in ["html/files", "html/locked", "html/denied", "html/empty"] {
            fs::create_dir_all(directory.join(path)).unwrap();
        }
        for (name, text) in [
            ("html/index.html", "index"),
            ("html/404.html", "the site's own 404"),
            ("html/files/a.css", "css"),
            ("html/locked/a", "locked"),
            ("users", "user:{PLAIN}password\n"),
        ] {
            fs::write(directory.join(name), text).unwrap();
        }
        let addr = free_addr();
        let site = site
            .replace("# include", "include")
            .replace("ADDRESS", &addr.to_string())
            .replace("APPLICATION", &application.to_string());
        write(directory, &site);
        let child = nginx(directory)
            .stderr(fs::File::create(directory.join("nginx.err")).unwrap())
            .spawn();
        let child = child.expect("nginx is not installed");
        eventually("nginx listens", || TcpStream::connect(addr).is_ok());
        Self { child, addr }
    }

    fn get(&self, path: &str, user_agent: &str) -> Answer {
        request(self.addr, "GET", path, &[("User-Agent", user_agent)])
    }
}

fn free_addr() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Writes the main configuration file.
fn write(directory: &Path, site: &str) {
    let at = directory.display();
    let site = site.replace("DIRECTORY", &at.to_string());
    let text = format!(
        "daemon off;\nmaster_process off;\nerror_log {at}/nginx.log;\npid {at}/nginx.pid;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n access_log off;\n client_body_temp_path {at}/body;\n proxy_temp_path {at}/proxy;\n\
         fastcgi_temp_path {at}/fastcgi;\n uwsgi_temp_path {at}/uwsgi;\n scgi_temp_path {at}/scgi;\n\
         include robot-detection-http.conf;\n{site}}}\n"
    );
    fs::write(directory.join("nginx.conf"), text).unwrap();
}

/// Returns the command of nginx; Debian installs it outside of some `PATH`s.
fn nginx(directory: &Path) -> Command {
    let debian = "/usr/sbin/nginx";
    let is_there = Path::new(debian).exists();
    let mut nginx = Command::new(if is_there { debian } else { "nginx" });
    nginx.args([
        "-p".as_ref(),
        directory,
        "-c".as_ref(),
        &directory.join("nginx.conf"),
    ]);
    nginx.stdin(Stdio::null()).stdout(Stdio::null());
    nginx
}

/// Starts nginx in front of a house's site.
fn in_front_of(house: &House, fails: &str) -> Nginx {
    in_front_of_site(house, fails, SITE)
}

fn in_front_of_site(house: &House, fails: &str, site: &str) -> Nginx {
    let check = format!("unix:{}/check.sock", house.directory.path().display());
    let upstream = format!("http://{}", house.site.addr);
    let settings = [
        ("ROBOT_DETECTION_CHECK_LISTEN", check.as_str()),
        ("ROBOT_DETECTION_CHECK_FAILS", fails),
        (
            "ROBOT_DETECTION_SERVER_LISTEN",
            &house.server.addr.to_string(),
        ),
        ("ROBOT_DETECTION_SERVER_UPSTREAM", &upstream),
    ];
    Nginx::start(house.directory.path(), house.site.addr, &settings, site)
}

/// Returns the number of queries that the endpoint has counted.
fn counted(house: &House) -> u64 {
    let text = house.server.metrics();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("robot_detection_requests_total{"));
    lines
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
        .sum()
}

/// Stops the program, which answers until each of its threads has stopped.
fn stop(house: &House) {
    house.server.signal("STOP");
    let tasks = format!("/proc/{}/task", house.server.pid());
    let has_stopped = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_none_or(|(_, state)| state.starts_with('T'))
    };
    eventually("the program has stopped", || {
        let mut tasks = fs::read_dir(&tasks).unwrap().map(Result::unwrap);
        tasks.all(has_stopped)
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_is_one_query_and_the_site_is_unaffected() {
    let house = House::new().await;
    let nginx = in_front_of(&house, "closed");
    for (path, statuses, questions) in [
        // `index`, `try_files`, `rewrite … last` and 404 redirect within nginx.
        ("/", [200, 200, 200], 1),
        ("/page", [200, 200, 200], 1),
        ("/old/a", [200, 200, 200], 1),
        ("/files/a.css", [200, 200, 200], 1),
        ("/files/none", [404, 404, 404], 1),
        ("/members-only-stuff/a", [302, 302, 200], 1),
        ("/x/../members-only-stuff/a", [302, 302, 200], 1),
        ("/closed/a", [403, 403, 200], 1),
        ("/paid/1", [200, 402, 200], 1),
        // The site's own responses: before the query and after it.
        ("/locked/a", [401, 401, 401], 0),
        ("/denied/a", [403, 403, 403], 0),
        ("/empty/", [403, 403, 403], 1),
    ] {
        for (user_agent, status) in [GOOGLEBOT, GPTBOT, FIREFOX].into_iter().zip(statuses) {
            let before = counted(&house);
            let answer = nginx.get(path, user_agent);
            let what = format!("{path} {user_agent}: {answer:?}");
            assert_eq!(answer.status, status, "{what}");
            assert_eq!(counted(&house) - before, questions, "{what}");
            if answer.status == 200 {
                let kept = answer.header("strict-transport-security");
                assert_eq!(kept, "max-age=60", "{what}");
            }
        }
    }
    assert_eq!(
        nginx.get("/files/none", FIREFOX).text(),
        "the site's own 404"
    );
    assert_eq!(nginx.get("/paid/1", GPTBOT).text(), "Pay first.\n");
    let led = nginx.get("/members-only-stuff/a", GPTBOT);
    assert_eq!(led.header("location"), "/robot-heaven/");
    assert_eq!(
        nginx.get("/tagged/1", FIREFOX).header("x-robots-tag"),
        "noindex"
    );
    assert!(nginx.get("/robots.txt", GPTBOT).text().contains("/closed/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_site_gets_the_true_identity_and_no_forged_one() {
    let house = House::new().await;
    let nginx = in_front_of(&house, "closed");
    nginx.get("/page", GPTBOT);
    let sent = house.site.last_request();
    assert_eq!(header(&sent, "x-robot-detection"), ["gptbot"]);
    let forged = [
        ("User-Agent", FIREFOX),
        ("X-Robot-Detection-Own", "x"),
        ("X-Robot-Detection-Answer", "200"),
        ("X-Original-URL", "/other"),
        ("X-Forwarded-Prefix", "/other"),
        ("Forwarded", "for=203.0.113.9"),
    ];
    let answer = request(nginx.addr, "GET", "/page", &forged);
    assert_eq!(answer.status, 200, "{answer:?}");
    let sent = house.site.last_request();
    for (name, _) in &forged[1..] {
        assert!(header(&sent, name).is_empty(), "{name}: {sent}");
    }
    let before = house.site.requests().len();
    let identity = [("User-Agent", FIREFOX), ("X-Robot-Detection", "googlebot")];
    request(nginx.addr, "GET", "/page", &identity);
    for sent in &house.site.requests()[before..] {
        assert!(header(sent, "x-robot-detection").is_empty(), "{sent}");
    }
}

/// Starts a server that imitates the endpoint, with responses chosen by the User-Agent.
async fn endpoint() -> RawServer {
    RawServer::start(|mut connection| async move {
        while let Some(question) = connection.request().await {
            let answer = match header(&question, "user-agent").concat().as_str() {
                "large" => "431 X\r\nX-Robot-Detection-Decision: refuse\r\n",
                "broken" => "503 X\r\nX-Robot-Detection-Decision: refuse\r\n",
                "away" => "503 X\r\n",
                "refused" => "403 X\r\nX-Robot-Detection-Answer: 451\tdecision=refuse\tcause=rule\ttext=No.\r\n",
                _ if question.starts_with("GET /check/page") => {
                    assert_eq!(header(&question, "x-robot-detection-page"), ["/heaven/a"]);
                    "200 X\r\nX-Page: heaven\r\n"
                }
                _ => "403 X\r\nX-Robot-Detection-Answer: 200\tdecision=serve\tcause=rule\tpage=/heaven/a\r\n",
            };
            let answer = format!("HTTP/1.1 {answer}Content-Length: 0\r\n\r\n");
            connection.send(answer).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn parser_errors_and_directly_served_pages_are_not_failures() {
    let endpoint = endpoint().await;
    let application =
        RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsite").await;
    let settings = |fails| {
        [
            ("ROBOT_DETECTION_CHECK_LISTEN", endpoint.addr.to_string()),
            ("ROBOT_DETECTION_CHECK_TOKEN", TOKEN.to_owned()),
            ("ROBOT_DETECTION_CHECK_FAILS", String::from(fails)),
            ("ROBOT_DETECTION_SERVER_LISTEN", "127.0.0.1:9".to_owned()),
            (
                "ROBOT_DETECTION_SERVER_UPSTREAM",
                "http://127.0.0.1:9".to_owned(),
            ),
        ]
    };
    for (fails, broken, away) in [("closed", 500, 500), ("open", 403, 200)] {
        let directory = tempfile::tempdir().unwrap();
        let settings = settings(fails);
        let settings = settings.each_ref();
        let settings = settings.map(|(name, value)| (*name, value.as_str()));
        let nginx = Nginx::start(directory.path(), application.addr, &settings, SITE);
        for (user_agent, status) in [
            ("large", 431),
            ("broken", broken),
            ("away", away),
            ("refused", 451),
        ] {
            let before = endpoint.requests().len();
            let answer = nginx.get("/page", user_agent);
            assert_eq!(answer.status, status, "{fails} {user_agent}: {answer:?}");
            let asked = endpoint.requests().len() - before;
            assert!(asked == 1, "{fails} {user_agent}: {asked} questions");
        }
        let served = nginx.get("/page", "in place");
        assert_eq!(
            (served.status, served.header("x-page").as_str()),
            (200, "heaven")
        );
        // The page that the site shows for its own 403 is not sent to refused robots.
        let refused = nginx.get("/strict/a", "refused");
        assert_eq!(
            (refused.status, refused.text().contains("index")),
            (403, false)
        );
        let question = endpoint.requests().pop().unwrap();
        assert_eq!(header(&question, "x-robot-detection-token"), [TOKEN]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_endpoint_hangs_requests_follow_the_configured_mode() {
    for (fails, expected) in [("open", 200), ("closed", 500)] {
        let more = format!("[check]\nlisten = 'unix:check.sock'\nfails = '{fails}'\n");
        let house = House::with(&more).await;
        let nginx = in_front_of(&house, fails);
        assert_eq!(nginx.get("/members-only-stuff/a", GPTBOT).status, 302);
        stop(&house);
        for path in ["/", "/members-only-stuff/a"] {
            let answer = nginx.get(path, GPTBOT);
            assert_eq!(answer.status, expected, "{fails} {path}: {answer:?}");
        }
        house.server.signal("CONT");
        eventually("the endpoint works again", || {
            nginx.get("/members-only-stuff/a", GPTBOT).status == 302
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unprotected_locations_are_found_in_nginxs_configuration_dump() {
    let house = House::new().await;
    let _nginx = in_front_of(&house, "closed");
    let directory = house.directory.path();
    let inspected = |site: &str| {
        write(
            directory,
            &site
                .replace("ADDRESS", "127.0.0.1:9")
                .replace("APPLICATION", "127.0.0.1:9"),
        );
        let printed = nginx(directory)
            .arg("-T")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .output()
            .unwrap();
        assert!(printed.status.success());
        fs::write(directory.join("printed"), printed.stdout).unwrap();
        let output = run(
            directory,
            &["proxy-config", "nginx", "--inspect", "printed"],
        );
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let site = SITE.replace("# include", "include");
    let (code, findings) = inspected(&site);
    assert_eq!(code, Some(0), "{findings}");
    assert!(
        findings.contains("servers that query robot-detection: 1; locations that bypass it: 0"),
        "{findings}"
    );
    for (more, expected) in [
        (
            "location /api/ { auth_request off; }",
            "nginx.conf:32 location /api/: escapes",
        ),
        ("location /any/ { satisfy any; deny all; }", "satisfy any"),
        (
            "location /own/ { auth_request /files/; }",
            "auth_request /files/ replaces",
        ),
    ] {
        let (code, findings) = inspected(&site.replace("# MORE", more));
        assert_eq!(code, Some(1), "{findings}");
        assert!(findings.contains(expected), "{findings}");
    }
    let forgotten = site.replace("include robot-detection-location.conf;", "");
    let (code, findings) = inspected(&forgotten);
    assert_eq!(code, Some(0), "{findings}");
    assert!(
        findings
            .contains("location @application: note: the site does not get the robot's identity"),
        "{findings}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_requests_that_bypass_the_endpoint() {
    let house = House::new().await;
    let more = "location /api/ { auth_request off; proxy_pass http://APPLICATION; }";
    let nginx = in_front_of_site(&house, "closed", &SITE.replace("# MORE", more));
    let front = format!("http://{}", nginx.addr);
    let doctor = |arguments: &[&str]| {
        let arguments = [&["doctor", "--front", &front], arguments].concat();
        let output = run(house.directory.path(), &arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let before = counted(&house);
    let (code, text) = doctor(&["--failing"]);
    assert_eq!(code, Some(0), "{text}");
    for expected in [
        "ok    front: robot-detection is queried about 4 paths",
        "ok    front: the responses to visitors match the decisions",
        "ok    address: the server receives 127.0.0.1",
        "as check.fails = \"closed\" requires",
        "302 /robot-heaven/ redirect",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The requests that `doctor` sends are not counted as visits.
    assert_eq!(counted(&house), before);
    let (code, text) = doctor(&["--path", "/api/x"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("FAIL  front: /api/x: robot-detection is not queried"),
        "{text}"
    );
    let sent = house.site.requests().concat().to_lowercase();
    assert!(!sent.contains("x-robot-detection-probe"), "{sent}");
}
