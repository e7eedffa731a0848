//! A fleet lists its instances, and continues without an instance that is killed.

use std::{fs, time::Duration};

use robot_detection::store::{Store, StoredInstance};
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

use crate::support::{
    eventually::eventually_async,
    postgres::database_url,
    program::{Server, admin_json, eventually, run, succeed},
};

/// Server with a separate directory.
struct Instance {
    directory: TempDir,
    server: Server,
}

impl Instance {
    fn start(database: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "web_robots_db = ''\n[database]\nurl = '{database}'\n\
             [server]\nupstream = 'http://127.0.0.1:9'\n[admin]\nlisten = '127.0.0.1:0'\n"
        );
        fs::write(directory.path().join("robot-detection.toml"), config).unwrap();
        let server = Server::start(directory.path(), &["serve"]);
        Self { directory, server }
    }

    /// Returns the output of the command `instances`.
    fn fleet(&self) -> Value {
        let told = succeed(self.directory.path(), &["instances", "--json"]);
        serde_json::from_str(&told).unwrap()
    }
}

/// Waits until the list of instances matches.
async fn wait(store: &Store, what: &str, is_so: impl Fn(&[StoredInstance]) -> bool) {
    // When the leader is killed, the other instance may next check only after a minute.
    let looking = eventually_async(what, async || {
        is_so(&store.instances().list().await.unwrap())
    });
    let seen = tokio::time::timeout(Duration::from_secs(30), looking).await;
    assert!(seen.is_ok(), "{what}: {:?}", store.instances().list().await);
}

fn leads(instances: &[StoredInstance], process: u32) -> bool {
    let led = |one: &StoredInstance| one.leads.iter().any(|name| name == "alerts");
    instances
        .iter()
        .any(|one| one.process == process && led(one))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_use_by_a_server_is_not_replaced() {
    let instance = Instance::start("sqlite://robots.db");
    let directory = instance.directory.path();
    let file = directory.join("robots.db");
    let store = Store::connect(&format!("sqlite://{}", file.display())).await;
    let store = store.unwrap();
    wait(&store, "it is listed", |all| all.len() == 1).await;
    store.close().await;
    succeed(directory, &["database", "backup", "whole"]);
    let restore = ["database", "restore", "whole", "--force"];
    let refused = run(directory, &restore);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("servers are still using the"), "{told}");
    instance.server.signal("TERM");
    assert!(instance.server.wait());
    succeed(directory, &restore);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_instance_takes_the_lead_of_a_killed_one() {
    let url = database_url().await;
    let [one, other] = [(); 2].map(|()| Instance::start(&url));
    let store = Store::connect(&url).await.unwrap();
    let [first, second] = [&one, &other].map(|instance| instance.server.pid());
    wait(&store, "both are listed and one leads", |listed| {
        listed.len() == 2 && (leads(listed, first) || leads(listed, second))
    })
    .await;
    let (leader, heir) = if leads(&store.instances().list().await.unwrap(), first) {
        (one, other)
    } else {
        (other, one)
    };
    let (killed, left) = (leader.server.pid(), heir.server.pid());
    leader.server.signal("KILL");
    wait(&store, "the other leads", |listed| leads(listed, left)).await;
    // The killed instance is listed until it has been silent for two minutes.
    let listed = store.instances().list().await.unwrap();
    assert!(listed.iter().any(|one| one.process == killed), "{listed:?}");
    let mut raw = PgConnection::connect(&url).await.unwrap();
    let silent = "UPDATE instances SET seen_ms = seen_ms - 120000 WHERE process = $1";
    let silent = sqlx::query(silent).bind(i64::from(killed));
    silent.execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let listed = heir.fleet();
    let listed = listed["instances"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["process"], left);
    store.close().await;
}

#[test]
fn an_instance_is_listed_until_it_stops() {
    let mut one = Instance::start("sqlite://robots.db");
    let path = one.directory.path().to_owned();
    let address = one.server.admin.unwrap();
    let operation = one.server.operation.unwrap();
    eventually("the server prints its address", || {
        one.fleet()["instances"][0]["address"] == operation.to_string()
    });
    let told = one.fleet();
    let listed = &told["instances"][0];
    assert_eq!(listed["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(listed["process"], one.server.pid());
    for time in ["since", "last_seen"] {
        assert!(listed[time].as_str().unwrap().ends_with('Z'), "{listed}");
    }
    let table = succeed(&path, &["instances"]);
    let address_cell = format!("  {operation}  ");
    assert!(table.contains(&address_cell), "{table}");
    let token = succeed(&path, &["admin", "token", "fleet", "--scope", "read"]);
    let answer = admin_json(address, token.trim(), ("GET", "instances"), "");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let same: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(same["instances"][0]["instance"], listed["instance"]);
    let stranger = admin_json(address, "not-a-token", ("GET", "instances"), "");
    assert_eq!(stranger.status, 401);
    one.server.stop();
    assert!(one.fleet()["instances"].as_array().unwrap().is_empty());
    assert_eq!(succeed(&path, &["instances"]), "");
}
