//! What a command prints with `--json` is what the API answers.

use std::fs;

use serde_json::Value;

use crate::support::program::{Server, admin_json, eventually, succeed};

/// Commands, each with the address that tells the same.
const SAME: &[(&[&str], &str)] = &[
    (&["admin", "sessions", "--json"], "sessions"),
    (&["admin", "tokens", "--json"], "tokens"),
    (&["alerts", "list", "--json"], "alerts"),
    (&["instances", "--json"], "instances"),
];

#[test]
fn commands_and_api_give_the_same_answers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let config = "web_robots_db = ''\n[server]\nupstream = 'http://127.0.0.1:9'\n\
                  [admin]\nlisten = '127.0.0.1:0'\n\
                  [[alert]]\nname = 'all'\non = 'impostor'\nurl = 'http://127.0.0.1:9/'\n";
    fs::write(path.join("robot-detection.toml"), config).unwrap();
    let server = Server::start(path, &["serve"]);
    let admin = server.admin.unwrap();
    let token = succeed(path, &["admin", "token", "monitoring", "--ends", "30d"]);
    let told = |address: &str| -> Value {
        let answer = admin_json(admin, token.trim(), ("GET", address), "");
        assert_eq!(answer.status, 200, "{address}: {}", answer.text());
        serde_json::from_str(&answer.text()).unwrap()
    };
    eventually("the instance is listed", || {
        told("instances")["instances"][0]["leads"][0] == "alerts"
    });
    for (command, address) in SAME {
        let mut both = (Value::Null, Value::Null);
        // Seconds pass between one and the other.
        eventually(address, || {
            let printed = succeed(path, command);
            both = (serde_json::from_str(&printed).unwrap(), told(address));
            both.0 == both.1
        });
        let (printed, _) = both;
        let lists = printed.as_object().unwrap().values();
        let is_list = |list: &Value| list.is_array();
        assert!(lists.clone().all(is_list), "{address}: {printed}");
    }
    assert_eq!(told("tokens")["tokens"][0]["name"], "monitoring");
}
