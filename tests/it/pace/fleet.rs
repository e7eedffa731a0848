//! Instances of one database share a pace.

use super::house::{EVERYBODY, House};
use crate::support::{postgres::database_url, program::eventually};

/// A day's requests, sent in one burst, so that none is allowed again during a test.
const BURST: usize = 30;

/// Instances that share a database.
struct Fleet(Vec<House>);

impl Fleet {
    async fn start(database: &str, instances: usize) -> Self {
        let rule = format!("{EVERYBODY}requests = {BURST}\nburst = {BURST}\nper = 'address'\n");
        let settings = format!("{rule}[database]\nurl = '{database}'\n");
        let mut houses = Vec::new();
        for _ in 0..instances {
            houses.push(House::new(&settings).await);
        }
        let fleet = Self(houses);
        fleet.wait_until_they_are(instances);
        fleet
    }

    fn wait_until_they_are(&self, instances: usize) {
        let told = format!("{instances} instances share the rate limits");
        for house in &self.0 {
            eventually(&told, || {
                let log = house.log();
                let mut counts = log
                    .lines()
                    .filter(|line| line.contains("share the rate limits"));
                counts.next_back().is_some_and(|line| line.contains(&told))
            });
        }
    }

    /// Sends requests until these instances have refused 200 times; returns how often they served.
    /// Instances exchange counts once a second, twice while they refuse.
    fn served(&self, instances: &[usize], address: &str) -> usize {
        let (mut served, mut refused) = (0, 0);
        eventually("all requests are refused", || {
            refused += 1;
            for house in instances.iter().map(|&number| &self.0[number]) {
                while house.from("/", &[address]) == [200] {
                    served += 1;
                    refused = 0;
                }
            }
            refused == 200
        });
        served
    }
}

async fn share_a_pace(database: &str, instances: usize) {
    let mut fleet = Fleet::start(database, instances).await;
    // An instance gives its own share immediately, and the rest once it knows the others have none.
    assert_eq!(fleet.served(&[0], "192.0.2.1"), BURST);
    let others: Vec<_> = (1..instances).collect();
    assert_eq!(fleet.served(&others, "192.0.2.1"), 0);
    let all: Vec<_> = (0..instances).collect();
    let served = fleet.served(&all, "192.0.2.2");
    let most = BURST + BURST / 2 + 2 * (instances - 1);
    assert!((BURST..=most).contains(&served), "{served}");
    // An instance that stops leaves the fleet.
    let mut gone = fleet.0.pop().unwrap();
    gone.server.stop();
    fleet.wait_until_they_are(instances - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_instances_on_postgres_share_a_pace() {
    share_a_pace(&database_url().await, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_on_a_file_share_a_pace() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("robots.db");
    share_a_pace(&format!("sqlite://{}", file.display()), 2).await;
}
