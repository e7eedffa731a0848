//! Listeners with TLS.

use std::{convert::Infallible, fs, path::Path, sync::Arc, time::Duration};

use http::{Request, Response, Version};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use robot_detection::listen::{CertificateFiles, ListenSettings, Tls};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_util::task::TaskTracker;

use crate::support::{
    eventually::eventually_async,
    front::{ProxyServer, listen_settings, proxy},
    raw::{LONG, RawServer, body, header, soon, status},
};

use super::{GET, ask, serve_echo, trusting};

/// Writes a certificate for the names and its key.
pub(super) fn write(directory: &Path, name: &str, names: &[&str]) -> CertificateFiles {
    let names = names
        .iter()
        .map(|name| (*name).to_owned())
        .collect::<Vec<_>>();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(names)
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let files = CertificateFiles {
        certificate_file: directory.join(format!("{name}.pem")),
        key_file: directory.join(format!("{name}.key")),
    };
    fs::write(&files.certificate_file, certificate.pem()).unwrap();
    fs::write(&files.key_file, key.serialize_pem()).unwrap();
    files
}

/// Connects as a client that trusts only these certificates.
pub(super) async fn connect(
    stream: TcpStream,
    trusted: &[&CertificateFiles],
    name: &str,
    alpn: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for files in trusted {
        let certificate = CertificateDer::from_pem_file(&files.certificate_file).unwrap();
        roots.add(certificate).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

async fn client(
    front: &ProxyServer,
    trusted: &[&CertificateFiles],
    name: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(front.addr).await.unwrap();
    connect(stream, trusted, name, &[]).await
}

pub(super) fn settings(tls: &Tls) -> ListenSettings {
    ListenSettings {
        tls: Some(tls.clone()),
        ..listen_settings()
    }
}

#[tokio::test]
async fn requests_arrive_by_https() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let upstream = RawServer::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let front = serve_echo(settings(&tls)).await;
    let stream = client(&front, &[&files], "site.example").await.unwrap();
    let answer = ask(stream, GET).await;
    let expected = "client=127.0.0.1 direct=true https=true trusted=false";
    assert_eq!(body(&answer), expected);

    let front = ProxyServer::serve_proxy(settings(&tls), proxy(upstream.addr)).await;
    let stream = client(&front, &[&files], "site.example").await.unwrap();
    assert_eq!(body(&ask(stream, GET).await), "ok");
    let request = upstream.last_request();
    assert_eq!(header(&request, "x-forwarded-proto"), ["https"]);
    assert_eq!(
        header(&request, "forwarded"),
        ["for=127.0.0.1;proto=https;host=a"]
    );
}

#[tokio::test]
async fn a_trusted_proxys_scheme_takes_precedence() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let front = serve_echo(ListenSettings {
        tls: Some(tls),
        ..trusting(&["127.0.0.1"])
    })
    .await;
    for (line, https) in [
        ("X-Forwarded-Proto: http", false),
        ("X-Forwarded-Proto: https", true),
        ("Forwarded: for=192.0.2.1;proto=http", false),
        ("X-Forwarded-For: 192.0.2.1", true),
    ] {
        let stream = client(&front, &[&files], "site.example").await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{line}\r\n\r\n");
        let answer = ask(stream, request).await;
        assert!(
            body(&answer).contains(&format!("https={https}")),
            "{line}: {answer}"
        );
    }
}

#[tokio::test]
async fn alpn_selects_the_protocol() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let front = serve_echo(settings(&Tls::load(vec![files.clone()]).unwrap())).await;
    for (offered, chosen) in [
        (&["h2", "http/1.1"][..], Some(&b"h2"[..])),
        (&["http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        let stream = connect(stream, &[&files], "site.example", offered)
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
        if chosen != Some(b"h2") {
            assert_eq!(status(&ask(stream, GET).await), 200);
            continue;
        }
        let io = TokioIo::new(stream);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                .await
                .unwrap();
        TaskTracker::new().spawn(connection);
        let request = Request::get("https://site.example/").body(Empty::<Bytes>::new());
        let response = soon(sender.send_request(request.unwrap())).await.unwrap();
        assert_eq!(response.version(), Version::HTTP_2);
        let told = response.into_body().collect().await.unwrap().to_bytes();
        assert!(told.ends_with(b"https=true trusted=false"), "{told:?}");
    }
}

#[tokio::test]
async fn each_name_gets_its_certificate_and_unknown_names_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let first = write(
        directory.path(),
        "first",
        &["first.example", "unlisted.example"],
    );
    let second = write(directory.path(), "second", &["*.second.example"]);
    let tls = Tls::load(vec![first.clone(), second.clone()]).unwrap();
    let front = serve_echo(settings(&tls)).await;
    for (name, files, is_right) in [
        ("first.example", &first, true),
        ("www.second.example", &second, true),
        ("unlisted.example", &first, true),
        ("www.second.example", &first, false),
        ("third.example", &first, false),
    ] {
        let connected = client(&front, &[files], name).await;
        assert_eq!(connected.is_ok(), is_right, "{name}");
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_used_for_new_connections_and_old_ones_continue() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["old.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let front = serve_echo(settings(&tls)).await;
    let old = client(&front, &[&files], "old.example").await.unwrap();

    let renewed = write(directory.path(), "renewed", &["new.example"]);
    fs::copy(&renewed.certificate_file, &files.certificate_file).unwrap();
    fs::copy(&renewed.key_file, &files.key_file).unwrap();
    // The listener notices the new files without a reload.
    let new = eventually_async("the renewed certificate is served", async || {
        client(&front, &[&renewed], "new.example").await.ok()
    })
    .await;
    assert_eq!(status(&ask(new, GET).await), 200);
    assert_eq!(status(&ask(old, GET).await), 200);

    fs::write(&files.certificate_file, "rubbish").unwrap();
    tls.reload();
    assert!(client(&front, &[&renewed], "new.example").await.is_ok());
}

#[tokio::test]
async fn a_missing_handshake_times_out_and_an_invalid_one_closes() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let front = serve_echo(ListenSettings {
        header_timeout: Duration::from_millis(50),
        ..settings(&tls)
    })
    .await;
    for bytes in [&b""[..], b"\x16\x03\x01\x02", GET.as_bytes()] {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        let answer = ask(stream, bytes).await;
        assert!(!answer.starts_with("HTTP/"), "{answer}");
    }
    // A silent client is disconnected after the handshake too.
    let stream = client(&front, &[&files], "site.example").await.unwrap();
    assert_eq!(ask(stream, "GET / HT").await, "");
}

#[tokio::test]
async fn a_proxy_protocol_header_comes_before_the_handshake() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let front = serve_echo(ListenSettings {
        tls: Some(Tls::load(vec![files.clone()]).unwrap()),
        proxy_protocol: true,
        ..trusting(&["127.0.0.1"])
    })
    .await;
    let mut stream = TcpStream::connect(front.addr).await.unwrap();
    stream
        .write_all(b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n")
        .await
        .unwrap();
    let stream = connect(stream, &[&files], "site.example", &[])
        .await
        .unwrap();
    let expected = "client=192.0.2.1 direct=true https=true trusted=false";
    assert_eq!(body(&ask(stream, GET).await), expected);
}

async fn serve_bytes(settings: ListenSettings, len: usize) -> ProxyServer {
    let large = Bytes::from(vec![b'x'; len]);
    let service = tower::service_fn(move |_: Request<Incoming>| {
        let large = large.clone();
        async move { Ok::<_, Infallible>(Response::new(Full::new(large))) }
    });
    ProxyServer::serve(settings, service).await
}

#[tokio::test]
async fn a_large_response_passes() {
    const LEN: usize = 2 * 1024 * 1024;
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let front = serve_bytes(settings(&tls), LEN).await;
    let stream = client(&front, &[&files], "site.example").await.unwrap();
    assert_eq!(body(&ask(stream, GET).await).len(), LEN);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected() {
    let directory = tempfile::tempdir().unwrap();
    let files = write(directory.path(), "site", &["site.example"]);
    let tls = Tls::load(vec![files.clone()]).unwrap();
    let settings = ListenSettings {
        idle_timeout: Duration::from_millis(100),
        // Longer than this test waits.
        drain_timeout: 10 * LONG,
        ..settings(&tls)
    };
    // More than the system buffers for a connection.
    let mut front = serve_bytes(settings, 64 * 1024 * 1024).await;
    let mut lazy = client(&front, &[&files], "site.example").await.unwrap();
    lazy.write_all(GET.as_bytes()).await.unwrap();
    lazy.flush().await.unwrap();
    // The response has begun, and is not read.
    lazy.read_u8().await.unwrap();
    front.stop.cancel();
    soon(&mut front.done).await.unwrap();
}
