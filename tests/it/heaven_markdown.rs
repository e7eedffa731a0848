//! Markdown at the pages' own URLs: its readers, caching headers, and real nginx in front.

use std::{
    fs,
    io::Write as _,
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use flate2::{Compression, write::GzEncoder};
use robot_detection::{
    description::{ResourceDescription, name},
    heaven::{HeavenSettings, Library, ServedHeaven},
    store::Store,
};

use crate::support::{
    http::{Reply, TestServer},
    program::{Answer, FIREFOX, GOOGLEBOT, Server, eventually, exchange_on, request, run, succeed},
};

const SITE: &str = "http://www.example.com";
const MARKDOWN: &str = "text/markdown, text/html;q=0.9, */*;q=0.8";
const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";
const AGENT: &str = "curl/8.10";

/// Describes pages of a site, and serves them.
async fn site(directory: &Path, upstream: &TestServer, more: &str) -> Server {
    let store = Store::connect(&format!("sqlite://{}/r.db", directory.display()))
        .await
        .unwrap();
    let descriptions = [
        "/",
        "/salt",
        "/salt?grain=coarse",
        "/members/a",
        "/closed/a",
    ]
    .map(|path| {
        let mut description = ResourceDescription::new(format!("{SITE}{path}"));
        description.set(name::TITLE, format!("About {path}"));
        description.set(name::FULL_TEXT, "Salt is mined, or made from the sea.");
        description
    });
    store
        .descriptions()
        .save("default", 1, &descriptions, 1_790_000_000_000)
        .await
        .unwrap();
    store.close().await;
    let text = format!(
        "web_robots_db = ''\nfilter_pattern = '/members/*'\nredirect_url = '/robot-heaven/'\n\
         [server]\nhosts = 'www.example.com'\nlisten = '127.0.0.1:0'\nupstream = '{}'\n\
         [database]\nurl = 'sqlite://{}/r.db'\n[verify]\nenabled = false\n\
         [heaven]\nsource = 'database'\n{more}",
        upstream.url(""),
        directory.display()
    );
    fs::write(directory.join("robot-detection.toml"), text).unwrap();
    let server = Server::start(directory, &["serve"]);
    eventually("heaven has pages", || {
        server.get("/robot-heaven/salt.htm", GOOGLEBOT).status == 200
    });
    server
}

fn upstream() -> TestServer {
    TestServer::with(|seen| match &*seen.path {
        "/gone" => Reply::status(404),
        "/zipped" | "/salt" if seen.header("accept-encoding").is_some() => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(b"<p>zipped").unwrap();
            Reply::typed("text/html", encoder.finish().unwrap())
                .with("Content-Encoding", "gzip")
                .with("Vary", "Accept-Encoding")
        }
        "/salt" if seen.header("if-none-match").is_some() => Reply::status(304),
        _ => Reply::typed("text/html; charset=utf-8", "<h1>HTML</h1>").with("ETag", "\"h\""),
    })
}

fn ask(addr: SocketAddr, path: &str, agent: &str, headers: &[(&str, &str)]) -> Answer {
    let common = [("host", "www.example.com"), ("user-agent", agent)];
    request(addr, "GET", path, &[&common, headers].concat())
}

fn is_markdown(answer: &Answer) -> bool {
    answer.header("content-type") == "text/markdown; charset=utf-8"
}

#[tokio::test]
async fn clients_that_prefer_markdown_get_it_at_the_pages_own_url() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let more = "[robots_txt]\ncontent_signal = 'search=yes, ai-train=no'";
    let server = site(directory.path(), &upstream, more).await;
    let before = upstream.seen().len();
    let get = |accept: &str| ask(server.addr, "/salt", AGENT, &[("accept", accept)]);

    let answer = get(MARKDOWN);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(is_markdown(&answer), "{:?}", answer.headers);
    assert!(
        answer.text().starts_with("# About /salt\n"),
        "{}",
        answer.text()
    );
    assert!(answer.text().contains("made from the sea"));
    for (name, value) in [
        ("vary", "Accept"),
        ("cache-control", "private"),
        ("content-signal", "search=yes, ai-train=no"),
        (
            "link",
            "<http://www.example.com/salt>; rel=\"canonical\", \
             <http://www.example.com/salt>; rel=\"alternate\"; type=\"text/html\"",
        ),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    assert_eq!(upstream.seen().len(), before, "the site was requested");

    for accept in [
        BROWSER,
        "*/*",
        "text/*",
        "text/markdown;q=0",
        "text/markdown;q=0.5, text/html",
    ] {
        let answer = get(accept);
        assert_eq!(answer.text(), "<h1>HTML</h1>", "{accept}");
        assert_eq!(answer.header("vary"), "Accept", "{accept}");
    }
    assert_eq!(server.get("/salt", FIREFOX).text(), "<h1>HTML</h1>");
}

#[tokio::test]
async fn markdown_has_its_own_etag() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let server = site(directory.path(), &upstream, "").await;
    let answer = ask(server.addr, "/salt", AGENT, &[("accept", MARKDOWN)]);

    // Markdown has its own ETag, which revalidates; the ETag of the HTML does not.
    let etag = answer.header("etag");
    let known = |tag: &str| {
        let headers = [("accept", MARKDOWN), ("if-none-match", tag)];
        ask(server.addr, "/salt", AGENT, &headers)
    };
    let again = known(&format!("\"h\", {etag}"));
    assert_eq!((again.status, &*again.text()), (304, ""));
    assert_eq!(
        (again.header("etag"), &*again.header("vary")),
        (etag.clone(), "Accept")
    );
    assert_eq!(known("\"h\"").status, 200);
    // Ranges and dates apply to the HTML.
    let headers = [
        ("accept", MARKDOWN),
        ("range", "bytes=0-1"),
        ("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ];
    assert_eq!(ask(server.addr, "/salt", AGENT, &headers).status, 200);

    let common = [
        ("host", "www.example.com"),
        ("user-agent", AGENT),
        ("accept", MARKDOWN),
    ];
    let head = request(server.addr, "HEAD", "/salt", &common);
    assert_eq!((head.status, &*head.text()), (200, ""));
    assert_eq!(head.header("content-length"), answer.body.len().to_string());
    assert_eq!(head.header("etag"), etag);
    let query = ask(
        server.addr,
        "/salt?grain=coarse",
        AGENT,
        &[("accept", MARKDOWN)],
    );
    assert!(query.text().starts_with("# About /salt?grain=coarse\n"));
    assert!(is_markdown(&ask(
        server.addr,
        "/",
        GOOGLEBOT,
        &[("accept", MARKDOWN)]
    )));
}

#[tokio::test]
async fn markdown_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let _server = site(directory.path(), &upstream(), "").await;
    let explain = |accept: &str| {
        let head = directory.path().join("head.txt");
        let text =
            format!("GET /salt HTTP/1.1\r\nHost: www.example.com\r\nAccept: {accept}\r\n\r\n");
        fs::write(&head, text).unwrap();
        succeed(
            directory.path(),
            &["explain", "--request", &head.display().to_string()],
        )
    };
    assert!(
        explain(MARKDOWN).contains("the page's Markdown, which the Accept header prefers"),
        "{}",
        explain(MARKDOWN)
    );
    assert!(!explain(BROWSER).contains("Markdown"));
}

#[tokio::test]
async fn discovery_files_of_agents_are_requested_from_the_site() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let server = site(directory.path(), &upstream, "").await;
    let doctor = |flags: &[&str]| {
        let url = format!("--agents=http://{}/", server.addr);
        let output = run(directory.path(), &[&["doctor", &url], flags].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let told = doctor(&[]);
    for line in [
        "warn  Content-Signal: robots.txt does not specify how content may be used: set robots_txt.content_signal",
        "warn  sitemap: robots.txt does not list a sitemap: set robots_txt.serve = \"merge\"",
        "ok    Markdown: http://",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let report: serde_json::Value = serde_json::from_str(&doctor(&["--json"])).unwrap();
    assert_eq!(report["checks"].as_array().unwrap().len(), 6, "{report}");

    // Each line suggests a remedy for a missing file.
    let gone = TestServer::new(Reply::status(404));
    let flag = format!("--agents={}", gone.url("/"));
    let output = run(directory.path(), &["doctor", &flag]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains("404") && told.contains("robots_txt.serve = \"settings\""),
        "{told}"
    );
}

#[tokio::test]
async fn other_clients_and_pages_get_the_sites_response() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let more = "[robots_txt]\nserve = 'settings'\ndisallow = '/closed/*'\nenforce = 'on'\n\
                [[rule]]\npath = '/*'\nrobots = 'gptbot'\naction = 'refuse'";
    let server = site(directory.path(), &upstream, more).await;
    let get = |path: &str, agent: &str, header: (&str, &str)| {
        ask(server.addr, path, agent, &[("accept", MARKDOWN), header])
    };
    let none = ("x-none", "");

    // A cookie or a password may open a personal page.
    for header in [("cookie", "session=1"), ("authorization", "Basic YTpi")] {
        let answer = get("/salt", AGENT, header);
        assert_eq!(
            (&*answer.text(), &*answer.header("vary")),
            ("<h1>HTML</h1>", "User-Agent, Accept")
        );
    }
    let common = [("host", "www.example.com"), ("accept", MARKDOWN)];
    assert_eq!(
        request(server.addr, "POST", "/salt", &common).text(),
        "<h1>HTML</h1>"
    );
    // Pages without a description, or not open to all, have only one format.
    for path in ["/other", "/salt?grain=fine", "/members/a"] {
        let answer = get(path, AGENT, none);
        assert_eq!(
            (&*answer.text(), &*answer.header("vary")),
            ("<h1>HTML</h1>", "User-Agent"),
            "{path}"
        );
    }
    assert_eq!(get("/gone", AGENT, none).status, 404);
    let robot = get("/members/a", GOOGLEBOT, none);
    assert_eq!((robot.status, &*robot.header("vary")), (302, "User-Agent"));
    // Rules and robots.txt take precedence.
    assert_eq!(get("/salt", "GPTBot/1.2", none).status, 403);
    assert_eq!(get("/closed/a", GOOGLEBOT, none).status, 403);
    assert!(is_markdown(&get("/closed/a", FIREFOX, none)));

    // The site's caching headers stay.
    let zip = ("accept-encoding", "gzip");
    let zipped = ask(server.addr, "/salt", AGENT, &[("accept", BROWSER), zip]);
    assert_eq!(zipped.header("content-encoding"), "gzip");
    assert_eq!(zipped.header("vary"), "Accept-Encoding, User-Agent, Accept");
    let plain = get("/salt", AGENT, zip);
    assert!(is_markdown(&plain) && plain.header("content-encoding").is_empty());
    let other = ask(server.addr, "/zipped", AGENT, &[zip]);
    assert_eq!(other.header("vary"), "Accept-Encoding, User-Agent");
    let known = ask(server.addr, "/salt", AGENT, &[("if-none-match", "\"h\"")]);
    assert_eq!(
        (known.status, &*known.header("vary")),
        (304, "User-Agent, Accept")
    );
}

#[tokio::test]
async fn markdown_is_not_served_where_public_pages_are_unknown() {
    let directory = tempfile::tempdir().unwrap();
    for more in [
        "markdown_for_agents = false",
        "[site_robot]\nlogin = 'bearer t'\nstarting_points = 'http://www.example.com/'",
    ] {
        let upstream = upstream();
        let mut server = site(directory.path(), &upstream, more).await;
        let answer = ask(server.addr, "/salt", AGENT, &[("accept", MARKDOWN)]);
        assert_eq!(answer.text(), "<h1>HTML</h1>", "{more}");
        assert_eq!(answer.header("vary"), "", "{more}");
        server.stop();
    }
    let upstream = upstream();
    let server = site(directory.path(), &upstream, "").await;
    let config = directory.path().join("robot-detection.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("mode = 'report'\n{text}")).unwrap();
    server.signal("HUP");
    eventually("the dry run applies", || {
        let answer = ask(server.addr, "/salt", AGENT, &[("accept", MARKDOWN)]);
        answer.text() == "<h1>HTML</h1>"
    });
}

/// An nginx with a cache in front of a server; stops with the test.
struct Nginx {
    child: Child,
    addr: SocketAddr,
}

impl Nginx {
    fn start(directory: &Path, server: SocketAddr, of_cache: &str) -> Self {
        let program = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"]
            .into_iter()
            .find(|program| Path::new(program).exists())
            .expect("nginx is not installed; tests/run installs it");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let here = directory.display();
        let config = format!(
            "daemon off; pid {here}/nginx.pid; error_log {here}/error.log;\n\
             events {{}}\n\
             http {{\n\
               access_log off;\n\
               client_body_temp_path {here}/b; proxy_temp_path {here}/p; fastcgi_temp_path {here}/f;\n\
               uwsgi_temp_path {here}/u; scgi_temp_path {here}/s;\n\
               proxy_cache_path {here}/cache keys_zone=pages:1m;\n\
               server {{\n\
                 listen {port};\n\
                 location / {{\n\
                   proxy_pass http://{server}; proxy_set_header Host $host;\n\
                   proxy_cache pages; proxy_cache_key $host$uri; proxy_cache_valid 200 1h;\n\
                   {of_cache}\n\
                   add_header X-Cache $upstream_cache_status;\n\
                 }}\n\
               }}\n\
             }}\n"
        );
        let file = directory.join("nginx.conf");
        fs::write(&file, config).unwrap();
        let child = Command::new(program)
            .args(["-p", &here.to_string(), "-c", &file.display().to_string()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("nginx listens", || {
            std::net::TcpStream::connect(port).is_ok()
        });
        Self { child, addr: port }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers stop with it.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_cache_in_front_keeps_both_formats_apart() {
    // The second cache also stores private responses: there only `Vary` keeps the formats apart.
    for of_cache in ["", "proxy_ignore_headers Cache-Control;"] {
        let directory = tempfile::tempdir().unwrap();
        let upstream = upstream();
        let server = site(directory.path(), &upstream, "").await;
        let nginx = Nginx::start(directory.path(), server.addr, of_cache);
        let get = |accept: &str| ask(nginx.addr, "/salt", AGENT, &[("accept", accept)]);
        for first in [BROWSER, MARKDOWN] {
            for accept in [first, BROWSER, MARKDOWN, "*/*", MARKDOWN, BROWSER] {
                let answer = get(accept);
                assert_eq!(answer.status, 200);
                assert_eq!(
                    is_markdown(&answer),
                    accept == MARKDOWN,
                    "{of_cache} {accept}"
                );
            }
        }
        assert_eq!(get(BROWSER).header("x-cache"), "HIT", "{of_cache}");
        let is_kept = get(MARKDOWN).header("x-cache") == "HIT";
        assert_eq!(is_kept, !of_cache.is_empty());
    }
}

#[tokio::test]
async fn the_text_of_all_pages_is_in_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let server = site(directory.path(), &upstream, "name = 'Salt'").await;
    let full = server.get("/robot-heaven/llms-full.txt", AGENT);
    assert_eq!(
        (full.status, &*full.header("content-type")),
        (200, "text/plain; charset=utf-8")
    );
    let text = full.text();
    assert!(text.starts_with("# Salt\n\n---\n\n# About /"), "{text}");
    assert_eq!(text.matches("made from the sea").count(), 5);
    let short = server.get("/robot-heaven/llms.txt", AGENT).text();
    assert!(
        short.contains("http://www.example.com/robot-heaven/llms-full.txt"),
        "{short}"
    );
}

#[tokio::test]
async fn proxies_with_the_decision_endpoint_serve_markdown_where_they_can() {
    let directory = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let _server = site(
        directory.path(),
        &upstream,
        "[check]\nlisten = 'unix:check.sock'",
    )
    .await;
    let ask = |path: &str, of: &str, more: &str| {
        let stream = UnixStream::connect(directory.path().join("check.sock")).unwrap();
        let question = format!(
            "GET /check/{path} HTTP/1.1\r\nHost: www.example.com\r\nConnection: close\r\n\
             X-Robot-Detection-Request: 192.0.2.7 http GET www.example.com {of}\r\n\
             Accept: {MARKDOWN}\r\nUser-Agent: {FIREFOX}\r\n{more}\r\n"
        );
        exchange_on(stream, question.as_bytes())
    };
    let told = ask("nginx", "/salt", "");
    let answer = told.header("x-robot-detection-answer");
    let page = answer
        .split('\t')
        .find_map(|field| field.strip_prefix("page="));
    assert_eq!((told.status, page.is_some()), (403, true), "{answer}");
    let header = format!("X-Robot-Detection-Page: {}\r\n", page.unwrap());
    let served = ask("page", "/salt", &header);
    assert!(is_markdown(&served), "{:?}", served.headers);
    assert!(served.text().starts_with("# About /salt\n"));
    assert_eq!(served.header("cache-control"), "no-store");
    // The other proxies can only redirect; a page with one format passes everywhere.
    assert_eq!(ask("caddy", "/salt", "").status, 200);
    assert_eq!(ask("nginx", "/other", "").status, 200);
    assert_eq!(ask("nginx", "/salt", "Cookie: a=b\r\n").status, 200);
}

#[tokio::test]
async fn the_lookup_of_markdown_allocates_nothing() {
    let store = Store::connect("sqlite::memory:").await.unwrap();
    let described = ResourceDescription::new(format!("{SITE}/salt"));
    store
        .descriptions()
        .save("default", 1, &[described], 1_790_000_000_000)
        .await
        .unwrap();
    let settings = HeavenSettings::new(SITE).unwrap();
    let heaven = ServedHeaven::new(Library::new(store, "default"), settings);
    heaven.reload().await.unwrap();
    // The first lookup in a thread allocates for all later ones.
    assert!(heaven.has_open_page("/salt"));
    let measured = allocation_counter::measure(|| {
        assert!(heaven.has_open_page("/salt"));
        assert!(!heaven.has_open_page("/salt?grain=fine"));
    });
    assert_eq!(measured.count_total, 0);
}
