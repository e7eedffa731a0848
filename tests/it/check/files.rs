//! `proxy-config`: the configuration files that connect other proxies.

use crate::support::program::{run, succeed};

const CONFIG: &str = "[server]\nlisten = '0.0.0.0:8080'\nupstream = 'http://127.0.0.1:3000'\n\
    trusted_proxies = ['127.0.0.1']\n[check]\nlisten = 'unix:/run/robot-detection/check.sock'\n";

fn printed(config: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
    let output = run(directory.path(), &[&["proxy-config"], arguments].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn each_proxy_has_a_file_for_this_configuration() {
    for (proxy, telling) in [
        ("nginx", "server 127.0.0.1:3000;"),
        ("caddy", "reverse_proxy http://127.0.0.1:3000"),
        ("haproxy", "server server_1 127.0.0.1:3000"),
        ("haproxy-lua", "unix@/run/robot-detection/check.sock"),
        ("envoy", "port_value: 3000"),
    ] {
        let (code, file, error) = printed(CONFIG, &[proxy, "--standalone"]);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{proxy}");
        assert!(file.contains(telling), "{proxy}: {file}");
        assert!(
            proxy == "haproxy-lua" || file.contains("127.0.0.1") && file.contains("8080"),
            "{file}"
        );
        assert!(
            !file.contains("  \n") && file.ends_with('\n'),
            "{proxy}: {file}"
        );
    }
    let tcp = CONFIG.replace("unix:/run/robot-detection/check.sock", "127.0.0.1:9000")
        + "token = '0123456789abcdef'\n";
    let (code, file, _) = printed(&tcp, &["traefik", "--standalone"]);
    assert_eq!(code, Some(0));
    assert!(
        file.contains("address: \"http://127.0.0.1:9000/check/traefik\""),
        "{file}"
    );
}

#[test]
fn trap_paths_are_routed_to_this_program() {
    let directory = tempfile::tempdir().unwrap();
    let config = format!("{CONFIG}[database]\nurl = 'sqlite://traps.db'\n[traps]\nactive = true\n");
    std::fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
    let early = run(directory.path(), &["traps"]);
    assert_eq!(early.status.code(), Some(1));
    let without = run(
        directory.path(),
        &["proxy-config", "nginx", "--part", "server"],
    );
    assert!(without.status.success());
    for output in [early, without] {
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("start robot-detection serve once"),
            "{error}"
        );
    }
    // This command creates the database, as a server does.
    succeed(directory.path(), &["admin", "token", "test"]);
    let told = succeed(directory.path(), &["traps", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let paths = told[0]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 3);
    for (proxy, own) in [
        ("nginx", "location = PATH {"),
        ("caddy", "PATH"),
        ("haproxy", "-m str PATH"),
        ("envoy", "path: \"PATH\""),
    ] {
        let file = succeed(directory.path(), &["proxy-config", proxy, "--standalone"]);
        for path in paths {
            let line = own.replace("PATH", path.as_str().unwrap());
            assert!(file.contains(&line), "{proxy}: {line}\n{file}");
        }
    }
}

#[test]
fn a_file_states_what_happens_to_visitors_during_an_outage() {
    for proxy in ["nginx", "caddy", "haproxy", "envoy"] {
        let open = format!("{CONFIG}fails = 'open'\n");
        let (_, closed, _) = printed(CONFIG, &[proxy, "--standalone"]);
        let (_, open, _) = printed(&open, &[proxy, "--standalone"]);
        assert!(
            closed.contains("unavailable or slow: visitors are refused"),
            "{closed}"
        );
        assert!(
            open.contains("unavailable or slow: visitors pass"),
            "{open}"
        );
    }
}

#[test]
fn settings_missing_for_a_file_are_reported() {
    for (config, arguments, told) in [
        ("", &["nginx", "--standalone"][..], "set check.listen"),
        (
            "[check]\nlisten = 'unix:/run/check.sock'\n",
            &["nginx", "--standalone"],
            "set server.upstream",
        ),
        (CONFIG, &["nginx"], "add --part http, server"),
        (CONFIG, &["caddy", "--part", "http"], "for nginx only"),
        (
            CONFIG,
            &["nginx", "--part", "http", "--standalone"],
            "--part",
        ),
        (CONFIG, &["caddy", "--listen", "80"], "--standalone"),
        (
            &format!("{CONFIG}fails = 'shut'\n"),
            &["caddy"],
            "check.fails",
        ),
        (CONFIG, &["traefik", "--standalone"], "use TCP addresses"),
        (
            CONFIG,
            &["nginx", "--standalone", "--listen", "80; }"],
            "--listen",
        ),
        (
            &CONFIG.replace("/run/robot", "/run/\"; }"),
            &["nginx", "--standalone"],
            "cannot be written",
        ),
        (
            &CONFIG.replace("unix:/run/robot-detection/", "unix:"),
            &["nginx", "--standalone"],
            "an absolute path",
        ),
    ] {
        let (code, file, error) = printed(config, arguments);
        assert_eq!((code, file.as_str()), (Some(2), ""), "{error}");
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_missing_trusted_proxy_is_warned_about() {
    let (code, _, error) = printed(&CONFIG.replace("['127.0.0.1']", "[]"), &["caddy"]);
    assert_eq!(code, Some(0));
    assert!(error.contains("server.trusted_proxies"), "{error}");
    succeed(
        tempfile::tempdir().unwrap().path(),
        &["proxy-config", "--help"],
    );
}

#[test]
fn the_headers_of_the_configured_rules_are_forwarded() {
    let config = format!(
        "{CONFIG}[[rule]]\naction = 'pass'\nheaders = {{ 'Content-Usage' = 'train-ai=n' }}\n\
         [[site]]\nhosts = 'a.example'\nupstream = 'http://127.0.0.1:3001'\n\
         [[site.rule]]\naction = 'refuse'\nheaders = {{ Link = '</l.xml>; rel=license' }}\n"
    );
    for proxy in ["nginx", "caddy", "haproxy", "envoy"] {
        let (code, file, error) = printed(&config, &[proxy, "--standalone"]);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{proxy}");
        assert!(file.contains("content-usage"), "{proxy}: {file}");
        assert!(file.to_lowercase().contains("link"), "{proxy}: {file}");
        let (_, without, _) = printed(CONFIG, &[proxy, "--standalone"]);
        assert!(!without.contains("_given"), "{proxy}: {without}");
    }
}

#[test]
fn apaches_files_name_the_program_and_the_headers_that_rules_read() {
    let config = CONFIG.replacen(
        "[server]\n",
        "[server]\nclient_address_header = 'CF-Connecting-IP'\n",
        1,
    ) + "[[rule]]\nname = 'monitor'\naction = 'refuse'\nrequest_headers = ['!X-Monitor']\n\
         verdicts = ['verified']\nwait_milliseconds = 500\n";
    let (code, file, error) = printed(&config, &["apache"]);
    assert_eq!((code, error.as_str()), (Some(0), ""));
    for part in [
        "# The rule \"monitor\" does not wait for its verdict here",
        "robot-detection.toml apache-map\" robot-detection:robot-detection",
        "\tx-monitor: %{HTTP:x-monitor}\t",
        "cf[^a-z0-9]connecting[^a-z0-9]ip$",
        "/robot-heaven/",
        "visitors are refused (503)",
    ] {
        assert!(file.contains(part), "{part}: {file}");
    }
    let open = CONFIG.replacen("[check]\n", "[check]\nfails = 'open'\n", 1);
    let (_, file, _) = printed(&open, &["apache"]);
    assert!(
        file.contains("unavailable or slow: visitors pass"),
        "{file}"
    );
    assert!(
        !file.contains("R=503,L]\nRewriteCond %{ENV:ROBOT_DETECTION_STATUS} ."),
        "{file}"
    );
    let (_, file, _) = printed(CONFIG, &["apache", "--standalone", "--listen", "443"]);
    assert!(
        file.contains("ProxyPass \"/\" \"http://127.0.0.1:8080/\" nocanon"),
        "{file}"
    );
}

#[test]
fn files_for_kubernetes_need_addresses() {
    let tcp = CONFIG.replace("unix:/run/robot-detection/check.sock", "0.0.0.0:9000")
        + "token = '0123456789abcdef'\n";
    for (proxy, part) in [
        (
            "ingress-nginx",
            ".svc.cluster.local:9000/check/ingress-nginx\"",
        ),
        ("envoy-gateway", "path: /check/envoy"),
        ("istio", "x-robot-detection-token: \"0123456789abcdef\""),
    ] {
        let (code, file, error) = printed(&tcp, &[proxy]);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{proxy}");
        assert!(file.contains(part), "{proxy}: {file}");
        let (code, _, error) = printed(CONFIG, &[proxy]);
        assert_eq!(code, Some(2), "{proxy}");
        assert!(error.contains("does not support Unix sockets"), "{error}");
    }
}
