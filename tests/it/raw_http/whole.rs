//! The cases, one after the other, against the whole program.

use crate::support::program::Server;

use super::{client::Place, ours, play, upstream::Upstream};

#[tokio::test]
async fn the_program_passes_every_case() {
    let upstream = Upstream::start().await;
    let directory = tempfile::tempdir().unwrap();
    let url = format!("http://{}", upstream.addr);
    let server = Server::start(directory.path(), &["serve", "--upstream", &url]);
    let place = Place::Tcp(server.addr);
    let mut faults = Vec::new();
    for case in ours::all() {
        faults.extend(play::check(&place, &upstream, &case).await.err());
    }
    assert!(
        faults.is_empty(),
        "{} cases failed:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
