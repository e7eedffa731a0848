//! Headers removed by front proxies, as reported by `doctor`.

use super::*;

/// Returns the checks of `doctor` about suspects while the server runs.
fn told(house: &House) -> Vec<String> {
    let listen = house.server.addr.to_string();
    let arguments = ["doctor", "--offline", "--listen", &listen];
    let output = house.server.run(house.directory.path(), &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| line.contains("suspects:"));
    lines.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_the_proxy_that_removes_browser_headers() {
    const ENOUGH: u32 = 500;
    let settings = "server.trusted_proxies = ['127.0.0.1']\nsuspects.action = 'report'\n";
    let house = House::new(settings).await;
    let ask = |number: u32| {
        let address = format!("2001:db8:{number:x}::1");
        let brought = [
            ("X-Forwarded-For", &*address),
            ("X-Forwarded-Proto", "https"),
            ("Sec-Fetch-Site", "none"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ];
        let headers = [&PERSON[..4], &brought].concat();
        assert_eq!(house.ask("/a", &headers).status, 200);
    };
    (1..ENOUGH).for_each(ask);
    assert_eq!(told(&house), [""; 0], "no report with few requests");
    ask(ENOUGH);
    let lines = told(&house);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains(
            "the proxy at 127.0.0.1 never forwards Upgrade-Insecure-Requests, Referer, Sec-CH-UA, so"
        ),
        "{lines:?}"
    );
}
