//! Listeners behind balancers that use the PROXY protocol.

use std::time::Duration;

use robot_detection::listen::ListenSettings;
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::support::{
    front::ProxyServer,
    log,
    raw::{RawClient, body, status},
};

use super::{GET, ask, serve_echo, trusting};

const V1: &str = "PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n";

fn v2(command: u8, family: u8, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [
        b"\r\n\r\n\0\r\nQUIT\n",
        &[command, family][..],
        &len,
        payload,
    ]
    .concat()
}

async fn front(trusted: &[&str]) -> ProxyServer {
    serve_echo(ListenSettings {
        proxy_protocol: true,
        ..trusting(trusted)
    })
    .await
}

async fn answer(front: &ProxyServer, bytes: impl AsRef<[u8]>) -> String {
    ask(TcpStream::connect(front.addr).await.unwrap(), bytes).await
}

#[tokio::test]
async fn the_header_names_the_client() {
    let front = front(&["127.0.0.1"]).await;
    let mut v6 = [0; 36];
    v6[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    let mut mapped = [0; 36];
    mapped[10..16].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 7]);
    let with_tlv = [&[192, 0, 2, 9, 10, 0, 0, 1, 1, 2, 3, 4][..], &[4, 0, 1, 0]].concat();
    for (header, client) in [
        (V1.as_bytes().to_vec(), "192.0.2.1"),
        (
            b"PROXY TCP6 2001:db8::7 ::1 1 2\r\n".to_vec(),
            "2001:db8::7",
        ),
        (v2(0x21, 0x21, &v6), "2001:db8::"),
        (v2(0x21, 0x21, &mapped), "192.0.2.7"),
        (v2(0x21, 0x11, &with_tlv), "192.0.2.9"),
        // The balancer names no client, or itself.
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (v2(0x21, 0x00, &[]), "127.0.0.1"),
        (v2(0x20, 0x00, &[]), "127.0.0.1"),
    ] {
        let answer = answer(&front, [&header, GET.as_bytes()].concat()).await;
        assert_eq!(status(&answer), 200);
        let expected = format!("client={client} direct=true https=false trusted=false");
        assert_eq!(body(&answer), expected);
    }
}

#[tokio::test]
async fn a_header_may_arrive_byte_by_byte() {
    let front = front(&["127.0.0.1"]).await;
    for header in [V1.as_bytes().to_vec(), v2(0x20, 0, &[0; 8])] {
        let mut client = RawClient::connect(front.addr).await;
        client.stream.set_nodelay(true).unwrap();
        for byte in header {
            client.stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        client.send(GET).await;
        assert_eq!(status(&client.response().await), 200);
    }
}

#[tokio::test]
async fn forwarding_headers_count_only_where_the_client_is_a_trusted_proxy() {
    let front = front(&["127.0.0.1", "10.0.0.0/8"]).await;
    let request =
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
    for (header, expected) in [
        (
            V1,
            "client=192.0.2.1 direct=false https=false trusted=false",
        ),
        (
            "PROXY TCP4 10.0.0.5 10.0.0.1 1 2\r\n",
            "client=203.0.113.9 direct=false https=false trusted=true",
        ),
        // A client behind an untrusted proxy cannot claim another address.
        (
            "PROXY UNKNOWN\r\n",
            "client=127.0.0.1 direct=false https=false trusted=false",
        ),
    ] {
        let answer = answer(&front, format!("{header}{request}")).await;
        assert_eq!(body(&answer), expected, "{header:?}");
    }
}

#[tokio::test]
async fn an_untrusted_peer_is_closed_and_logged_once() {
    log::keep();
    let front = front(&["192.0.2.0/24"]).await;
    let mut told = 0;
    for _ in 0..3 {
        let stream = TcpStream::connect(front.addr).await.unwrap();
        let peer = stream.local_addr().unwrap();
        assert_eq!(ask(stream, format!("{V1}{GET}")).await, "");
        told += log::lines_with(&format!("from {peer}, whose PROXY header")).len();
    }
    assert_eq!(told, 1);
}

#[tokio::test]
async fn a_connection_with_a_missing_or_broken_header_is_closed() {
    let front = front(&["127.0.0.1"]).await;
    let endless = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 500]].concat();
    for bytes in [
        GET.as_bytes().to_vec(),
        format!("PROXY TCP4 evil 10.0.0.1 1 2\r\n{GET}").into_bytes(),
        [v2(0x21, 0x12, &[0; 12]), GET.into()].concat(),
        [v2(0x21, 0x11, &[0; 5000]), GET.into()].concat(),
        endless,
    ] {
        assert_eq!(answer(&front, bytes).await, "");
    }
    assert_eq!(status(&answer(&front, format!("{V1}{GET}")).await), 200);
}

#[tokio::test]
async fn an_unfinished_header_is_closed_after_the_header_timeout() {
    let front = serve_echo(ListenSettings {
        proxy_protocol: true,
        header_timeout: Duration::from_millis(50),
        ..trusting(&["127.0.0.1"])
    })
    .await;
    assert_eq!(answer(&front, "PROXY TCP4 192.0.2.1").await, "");
}

#[tokio::test]
async fn without_the_setting_a_header_is_invalid_http() {
    let front = serve_echo(trusting(&["127.0.0.1"])).await;
    let answer = answer(&front, format!("{V1}{GET}")).await;
    assert_eq!(status(&answer), 400);
}
