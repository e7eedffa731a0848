use super::*;

fn front() -> Front {
    let mut site = FrontSite::new(1, &[], "/", &["http://127.0.0.1:3000".to_owned()]).unwrap();
    site.own = OwnPath::tree("/robot-heaven/", "Robot heaven")
        .unwrap()
        .into();
    site.own
        .push(OwnPath::exact("/robots.txt", "robots.txt").unwrap());
    Front {
        check: Place::parse("unix:/run/robot-detection/check.sock").unwrap(),
        token: None,
        own: Place::parse("http://127.0.0.1:8080").unwrap(),
        sites: vec![site],
        given: Vec::new(),
        read: vec!["x-monitor".to_owned()],
        unjudged: Vec::new(),
        client_header: None,
    }
}

fn printed(file: ProxyFile, front: &Front) -> String {
    proxy_file(file, front, standalone(false)).unwrap()
}

fn standalone(fails_open: bool) -> FileOptions<'static> {
    FileOptions {
        standalone: true,
        part: None,
        listen: "80",
        fails_open,
        map_command: "/usr/bin/robot-detection apache-map",
    }
}

#[test]
fn servers_are_spelled_for_each_proxy() {
    for (text, nginx, caddy, haproxy) in [
        (
            "http://127.0.0.1:3000",
            "127.0.0.1:3000",
            "http://127.0.0.1:3000",
            "127.0.0.1:3000",
        ),
        ("http://app", "app:80", "http://app:80", "app:80"),
        (
            "https://app/",
            "app:443",
            "https://app:443",
            "app:443 ssl verify required ca-file @system-ca",
        ),
        (
            "h2c://[::1]:81",
            "[::1]:81",
            "h2c://[::1]:81",
            "[::1]:81 proto h2",
        ),
        ("http://[::1]", "[::1]:80", "http://[::1]:80", "[::1]:80"),
        (
            "unix:/run/a.sock",
            "unix:/run/a.sock",
            "unix//run/a.sock",
            "unix@/run/a.sock",
        ),
    ] {
        let place = Place::parse(text).unwrap();
        assert_eq!(
            (place.nginx(), place.caddy(), place.haproxy()),
            (nginx.into(), caddy.into(), haproxy.into())
        );
    }
}

#[test]
fn text_with_a_special_meaning_is_refused() {
    for text in [
        "http://a.example/prefix",
        "http://a;b",
        "http://a b",
        "http://$host",
        "unix:run/a.sock",
        "unix:/run/a b",
        "unix:/run/a;",
        "unix:/run/\"",
        "ftp://a",
        "http://",
        "",
    ] {
        assert!(Place::parse(text).is_err(), "{text}");
    }
    assert!(OwnPath::exact("/a{b", "x").is_err());
    assert!(FrontSite::new(1, &["a;b".to_owned()], "/", &[]).is_err());
    assert!(FrontSite::new(1, &[], "/a`b", &[]).is_err());
}

#[test]
fn sites_of_a_host_are_sorted_deepest_first_before_the_default_site() {
    let hosts = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let mut front = front();
    front.sites = vec![
        FrontSite::new(1, &hosts(&["a.example", "*.a.example"]), "/shop/", &[]).unwrap(),
        FrontSite::new(2, &hosts(&["A.example"]), "/shop/old", &[]).unwrap(),
        FrontSite::new(3, &hosts(&["b.example", "c.example"]), "/", &[]).unwrap(),
        FrontSite::new(4, &[], "/", &[]).unwrap(),
    ];
    let groups: Vec<_> = front
        .hosts()
        .iter()
        .map(|group| {
            let sites: Vec<_> = group.sites.iter().map(|site| site.number).collect();
            (group.nginx(), sites)
        })
        .collect();
    assert_eq!(
        groups,
        [
            ("a.example".to_owned(), vec![2, 1, 4]),
            ("b.example c.example".to_owned(), vec![3]),
            ("*.a.example".to_owned(), vec![1, 4]),
            ("_".to_owned(), vec![4]),
        ]
    );
}

#[test]
fn each_file_queries_its_own_path_with_one_address() {
    let front = front();
    for (file, path, address) in [
        (
            ProxyFile::Nginx,
            "/check/nginx",
            "X-Robot-Detection-Request \"$remote_addr ",
        ),
        (
            ProxyFile::Caddy,
            "/check/caddy",
            "X-Robot-Detection-Request \"{client_ip} ",
        ),
        (
            ProxyFile::Envoy,
            "/check/envoy",
            "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
        ),
    ] {
        let text = printed(file, &front);
        assert!(text.contains(path), "{text}");
        assert!(text.contains(address), "{text}");
        assert!(text.contains("/run/robot-detection/check.sock"), "{text}");
        assert!(!text.contains("oken: "), "{text}");
    }
    let lua = printed(ProxyFile::HaproxyLua, &front);
    assert!(lua.contains("/check/haproxy"), "{lua}");
    assert!(lua.contains("local request = { txn.f:src() or"), "{lua}");
    let socket = "connect(\"unix@/run/robot-detection/check.sock\")";
    assert!(lua.contains(socket), "{lua}");
    let haproxy = printed(ProxyFile::Haproxy, &front);
    let server = "server check unix@/run/robot-detection/check.sock check ";
    assert!(haproxy.contains(server), "{haproxy}");
}

#[test]
fn forged_headers_do_not_reach_the_site() {
    let mut front = front();
    for (file, line) in [
        (ProxyFile::Caddy, "request_header -X-Robot-Detection*\n"),
        (
            ProxyFile::Haproxy,
            "del-header '^x[^a-z0-9]robot[^a-z0-9]detection' -m reg\n",
        ),
        (
            ProxyFile::Envoy,
            "{ regex: \"x-robot-detection-([op].*)?\" }",
        ),
    ] {
        let text = printed(file, &front);
        assert!(text.contains(line), "{text}");
    }
    front.check = Place::parse("http://127.0.0.1:9000").unwrap();
    let text = printed(ProxyFile::Traefik, &front);
    let regex = "'(?i)^(x[^a-z0-9]robot[^a-z0-9]detection.*|";
    assert!(text.contains(regex), "{text}");
}

/// Traefik rejects a file that contains a map with a duplicate key.
#[test]
fn header_occurs_once_in_each_traefik_map() {
    let mut front = front();
    front.check = Place::parse("http://127.0.0.1:9000").unwrap();
    for token in [None, Some("0123456789abcdef".to_owned())] {
        front.token = token;
        let text = printed(ProxyFile::Traefik, &front);
        for map in text.split("customRequestHeaders:\n").skip(1) {
            let keys = map
                .lines()
                .map_while(|line| line.strip_prefix("          "));
            let mut keys: Vec<_> = keys.filter_map(|line| line.split(':').next()).collect();
            let all = keys.len();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!((all > 1, keys.len()), (true, all), "{text}");
        }
    }
}

#[test]
fn included_file_defines_no_servers_or_sites() {
    let mut front = front();
    front.check = Place::parse("http://127.0.0.1:9000").unwrap();
    for (file, own, whole) in [
        (
            ProxyFile::Caddy,
            "(robot_detection) {",
            "import robot_detection\n\thandle",
        ),
        (ProxyFile::Haproxy, "\n#>    lua-load ", "bind :80"),
        (
            ProxyFile::Traefik,
            "robot-detection:\n      chain:",
            "robot-detection-site-1:",
        ),
        (
            ProxyFile::Envoy,
            "\n          http_filters:\n",
            "filter_chains:",
        ),
    ] {
        let text = printed(file, &front);
        assert!(text.contains(whole), "{text}");
        let options = FileOptions {
            standalone: false,
            ..standalone(false)
        };
        let text = proxy_file(file, &front, options).unwrap();
        assert!(text.contains(own), "{text}");
        assert!(!text.contains(whole) && !text.contains(":3000\""), "{text}");
        assert!(
            text.contains("127.0.0.1:8080") || text.contains("port_value: 8080"),
            "{text}"
        );
    }
}

#[test]
fn caddy_sites_on_the_https_port_have_no_port() {
    let mut front = front();
    front.sites[0].hosts = vec!["a.example".to_owned()];
    let at = |listen| {
        let options = FileOptions {
            listen,
            ..standalone(false)
        };
        proxy_file(ProxyFile::Caddy, &front, options)
    };
    let text = at("443").unwrap();
    assert!(text.contains("\nhttps://a.example {\n"), "{text}");
    let text = at("81").unwrap();
    let names = "\nhttp://a.example:81, http://a.example.:81 {\n";
    assert!(text.contains(names), "{text}");
    assert!(at("443 ssl").unwrap_err().to_string().contains("443 ssl"));
}

#[test]
fn each_query_contains_the_token() {
    let mut front = front();
    front.check = Place::parse("http://127.0.0.1:9000").unwrap();
    front.token = Some("0123456789abcdef".to_owned());
    for file in [
        ProxyFile::Nginx,
        ProxyFile::Caddy,
        ProxyFile::Traefik,
        ProxyFile::HaproxyLua,
        ProxyFile::Envoy,
    ] {
        let text = printed(file, &front);
        assert!(text.contains("0123456789abcdef"), "{text}");
    }
}

#[test]
fn headers_of_rules_are_in_each_file_that_supports_them() {
    let mut front = front();
    front.given = RuleHeader::from_names(
        ["Link", "content-usage", "X-Robots-Tag", "link", "a$b"].into_iter(),
    );
    for (file, lines) in [
        (
            ProxyFile::Nginx,
            &[
                "proxy_hide_header content-usage;",
                "add_header content-usage $robot_detection_kept_1 always;",
                "add_header link $robot_detection_given_2 always;",
                "'' $upstream_http_content_usage;",
            ][..],
        ),
        (
            ProxyFile::Caddy,
            &[
                "content-usage {http.vars.robot_detection_given_1}\n\t\t\tdefer",
                "header @robot_detection_given_2 +link {http.reverse_proxy.header.Link}",
                "@robot_detection_given_1 not vars {http.reverse_proxy.header.Content-Usage} \"\"",
            ],
        ),
        (
            ProxyFile::Haproxy,
            &[
                "http-response set-header content-usage %[var(txn.robot_detection_given_1)]",
                "http-response add-header link %[var(txn.robot_detection_given_2)]",
            ],
        ),
        (ProxyFile::HaproxyLua, &["given_1 = \"content-usage\","]),
        (
            ProxyFile::Envoy,
            &["{ exact: vary }, { exact: content-usage }, { exact: link }]"],
        ),
    ] {
        let text = printed(file, &front);
        for line in lines {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(!text.contains("a$b"), "{text}");
    }
    front.check = Place::parse("http://127.0.0.1:9000").unwrap();
    let text = printed(ProxyFile::Traefik, &front);
    let missing = "(X-Robots-Tag, content-usage, link)";
    assert!(text.contains(missing), "{text}");
}

#[test]
fn unsupported_options_are_reported() {
    let mut front = front();
    let error = proxy_file(ProxyFile::Traefik, &front, standalone(false)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("unix:/run/robot-detection/check.sock"),
        "{error}"
    );
    front.check = Place::parse("http://127.0.0.1:9000").unwrap();
    front.sites[0].servers = vec![Place::parse("h2c://127.0.0.1:1").unwrap()];
    assert!(proxy_file(ProxyFile::Nginx, &front, standalone(false)).is_err());
}

/// Caddy requires that all upstreams of a handler have the same scheme.
#[test]
fn caddy_fallback_upstream_has_the_endpoint_scheme() {
    let mut front = front();
    for (check, upstreams) in [
        ("unix:/a.sock", "unix//a.sock 127.0.0.1:9149 {"),
        (
            "http://127.0.0.1:9000",
            "http://127.0.0.1:9000 http://127.0.0.1:9149 {",
        ),
    ] {
        front.check = Place::parse(check).unwrap();
        let text = proxy_file(ProxyFile::Caddy, &front, standalone(true)).unwrap();
        assert!(text.contains(upstreams), "{text}");
    }
}
