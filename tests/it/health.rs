//! `health`, the command for containers' health checks.

use serde_json::Value;

use crate::support::program::{Server, run, succeed};

#[test]
fn health_reports_whether_the_server_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), &["serve", "--demo"]);
    let url = format!("http://{}/readyz", server.operation.unwrap());
    assert_eq!(
        succeed(directory.path(), &["health", "--url", &url]),
        "ready\n"
    );
    assert_eq!(server.run(directory.path(), &["health"]).stdout, b"ready\n");
    let report = server.run(directory.path(), &["health", "--json"]).stdout;
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(
        (&report["ready"], &report["status"]),
        (&true.into(), &200.into())
    );
    let nothing = format!("http://{}/no-such-page", server.addr);
    let output = run(directory.path(), &["health", "--url", &nothing]);
    assert_eq!(output.status.code(), Some(1));
    server.stop();
    let output = server.run(directory.path(), &["health"]);
    assert_eq!(output.status.code(), Some(1));
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(wrong.starts_with("not ready: "), "{wrong}");
}
