//! Certificates that a listener obtains automatically from a test authority.

mod authority;
mod jws;
mod program;
mod validation;

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use robot_detection::listen::{Acme, AcmeSettings, CertificateState, Tls};
use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;

use crate::support::{eventually::eventually_async, raw::status};

use super::{
    GET, ask, serve_echo,
    tls::{connect, settings, write},
};

use authority::Authority;
use validation::connect_unverified;

fn ordering(authority: &Authority, cache: &Path, hosts: &[&str]) -> AcmeSettings {
    AcmeSettings {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        contacts: vec!["mailto:a@example.com".to_owned()],
        directory: authority.url.clone(),
        cache: cache.to_owned(),
        ca_file: Some(authority.ca_file.clone()),
        agree_to_terms: true,
        retry_wait: Duration::from_millis(20),
    }
}

fn tls(settings: AcmeSettings) -> Tls {
    let acme = Acme::new(vec![settings]).unwrap();
    Tls::load_with_acme(Vec::new(), acme).unwrap()
}

/// Returns the certificate of a host, if a client that trusts the authority accepts it.
async fn served(
    front: &super::ProxyServer,
    authority: &Authority,
    host: &str,
) -> io::Result<CertificateDer<'static>> {
    let stream = TcpStream::connect(front.addr).await?;
    let stream = connect(stream, &[&authority.files()], host, &["http/1.1"]).await?;
    let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    assert_eq!(status(&ask(stream, GET).await), 200);
    Ok(certificate.into_owned())
}

async fn first_served(
    front: &super::ProxyServer,
    authority: &Authority,
    host: &str,
) -> CertificateDer<'static> {
    let mut found = None;
    eventually_async("a certificate is served", async || {
        found = served(front, authority, host).await.ok();
        found.is_some()
    })
    .await;
    found.unwrap()
}

fn state(tls: &Tls, host: &str) -> CertificateState {
    let states = tls.states().into_iter();
    let mut of_host = states.filter(|state| state.names == [host]);
    of_host.next().unwrap()
}

#[tokio::test]
async fn each_host_gets_a_certificate_while_others_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    let files = write(
        directory.path(),
        "file",
        &["file.example", "*.wild.example"],
    );
    let hosts = ["a.example", "b.example", "c.wild.example"];
    let cache = directory.path().join("cache");
    let acme = Acme::new(vec![ordering(&authority, &cache, &hosts)]).unwrap();
    let tls = Tls::load_with_acme(vec![files.clone()], acme).unwrap();
    let front = serve_echo(settings(&tls)).await;

    // The authority has no address of the hosts yet, so it validates nothing.
    let connected = async |host| {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        connect(stream, &[&files], host, &[]).await
    };
    assert!(
        connect_unverified(front.addr, "a.example", &[])
            .await
            .is_err()
    );
    for host in ["file.example", "c.wild.example"] {
        let stream = connected(host).await.unwrap();
        assert_eq!(status(&ask(stream, GET).await), 200, "{host}");
    }
    assert_eq!(state(&tls, "a.example").validity, None);
    assert!(authority.issued().is_empty());

    authority.set_host_address(front.addr);
    for host in hosts {
        first_served(&front, &authority, host).await;
        assert!(state(&tls, host).validity.is_some());
    }
    assert_eq!(authority.issued(), hosts);
    assert!(connected("file.example").await.is_ok());
    assert!(connected("unknown.example").await.is_err());
    assert!(
        authority.problems().is_empty(),
        "{:?}",
        authority.problems()
    );
    assert_eq!(
        authority.contacts(0),
        serde_json::json!(["mailto:a@example.com"])
    );
}

#[tokio::test]
async fn an_issued_certificate_is_private_and_used_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    let cache = directory.path().join("cache");
    let ordered = || tls(ordering(&authority, &cache, &["a.example"]));
    let front = serve_echo(settings(&ordered())).await;
    authority.set_host_address(front.addr);
    let certificate = first_served(&front, &authority, "a.example").await;
    drop(front);

    let tls = ordered();
    assert!(state(&tls, "a.example").validity.is_some());
    let front = serve_echo(settings(&tls)).await;
    assert_eq!(
        served(&front, &authority, "a.example").await.unwrap(),
        certificate
    );
    assert_eq!((authority.accounts(), authority.issued().len()), (1, 1));

    let inner = fs::read_dir(&cache)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&cache), mode(&inner)), (0o700, 0o700));
    let mut kept: Vec<_> = fs::read_dir(&inner)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, ["a.example.pem", "account.json"]);
    for file in kept {
        assert_eq!(mode(&inner.join(&file)), 0o600, "{file}");
    }
}

#[tokio::test]
async fn a_certificate_is_renewed_when_a_third_of_its_lifetime_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    // One certificate just below a third, and one just above.
    authority.issue_next(2_010, 990);
    authority.issue_next(1_000, 2_000);
    let tls = tls(ordering(&authority, directory.path(), &["a.example"]));
    let front = serve_echo(settings(&tls)).await;
    authority.set_host_address(front.addr);
    eventually_async("two certificates are issued", async || {
        authority.issued().len() == 2
    })
    .await;
    eventually_async("the second is served", async || {
        let validity = state(&tls, "a.example").validity;
        validity.is_some_and(|validity| validity.not_after - validity.not_before == 3_000)
    })
    .await;
    served(&front, &authority, "a.example").await.unwrap();
    // The account is reused.
    assert_eq!((authority.accounts(), authority.issued().len()), (1, 2));
}

#[tokio::test]
async fn a_failed_order_is_retried() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    // At first, the host leads to another server.
    let files = write(directory.path(), "other", &["a.example"]);
    let other = serve_echo(settings(&Tls::load(vec![files]).unwrap())).await;
    authority.set_host_address(other.addr);
    authority.refuse_next("serverInternal");
    authority.refuse_nonces(1);
    let tls = tls(ordering(&authority, directory.path(), &["a.example"]));
    let front = serve_echo(settings(&tls)).await;
    eventually_async("some fail", async || state(&tls, "a.example").failures >= 2).await;
    assert!(authority.issued().is_empty());
    authority.set_host_address(front.addr);
    first_served(&front, &authority, "a.example").await;
    assert_eq!(state(&tls, "a.example").failures, 0);
    let problems = authority.problems();
    for problem in ["badNonce", "serverInternal"] {
        assert!(
            problems.iter().any(|found| found == problem),
            "{problems:?}"
        );
    }
}

#[tokio::test]
async fn a_new_account_is_opened_if_the_authority_has_forgotten_the_old_one() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    authority.issue_next(100, 1);
    let tls = tls(ordering(&authority, directory.path(), &["a.example"]));
    let front = serve_echo(settings(&tls)).await;
    authority.refuse_next("serverInternal");
    eventually_async("an account is opened", async || authority.accounts() == 1).await;
    authority.forget();
    authority.set_host_address(front.addr);
    eventually_async("another is opened", async || authority.accounts() == 2).await;
    first_served(&front, &authority, "a.example").await;
}

#[tokio::test]
async fn the_challenges_protocol_gets_only_the_proof() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::start(directory.path()).await;
    let tls = tls(ordering(&authority, directory.path(), &["a.example"]));
    let front = serve_echo(settings(&tls)).await;
    authority.set_host_address(front.addr);
    let certificate = first_served(&front, &authority, "a.example").await;
    // No proof is needed now.
    let proof = connect_unverified(front.addr, "a.example", &["acme-tls/1"]).await;
    assert!(proof.is_err());
    // A client that offers more protocols is no authority, and is treated as a visitor.
    let more = ["acme-tls/1", "http/1.1"];
    let visitor = connect_unverified(front.addr, "a.example", &more)
        .await
        .unwrap();
    assert_eq!(visitor.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(
        visitor.get_ref().1.peer_certificates().unwrap()[0],
        certificate
    );
    assert_eq!(status(&ask(visitor, GET).await), 200);
    let odd = ["acme-tls/1", "odd"];
    let odd = connect_unverified(front.addr, "a.example", &odd)
        .await
        .unwrap();
    assert_eq!(ask(odd, GET).await, "");
}
