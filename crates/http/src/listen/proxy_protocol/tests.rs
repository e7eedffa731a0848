use proptest::prelude::*;

use super::*;

/// Returns a PROXY header of version 2 with the given version and command, family, and payload.
fn v2(version_and_command: u8, family: u8, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [V2_SIGNATURE, &[version_and_command, family], &len, payload].concat()
}

const V4: [u8; 12] = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x67, 0x01, 0xbb];

fn client(addr: &str) -> ProxySource {
    ProxySource::Client(addr.parse().unwrap())
}

#[test]
fn version_1_headers_are_parsed() {
    for (line, source) in [
        (
            "PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n",
            client("192.0.2.1:4711"),
        ),
        (
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            client("255.255.255.255:65535"),
        ),
        (
            "PROXY TCP6 2001:db8::1 ::1 4711 443\r\n",
            client("[2001:db8::1]:4711"),
        ),
        (
            "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            client("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
        ),
        (
            "PROXY TCP4 192.0.2.1 10.0.0.1 0 0\r\n",
            client("192.0.2.1:0"),
        ),
        ("PROXY UNKNOWN\r\n", ProxySource::Unknown),
        (
            "PROXY UNKNOWN ffff::1 whatever this is\r\n",
            ProxySource::Unknown,
        ),
    ] {
        let bytes = [line.as_bytes(), b"GET / HTTP/1.1\r\n"].concat();
        let len = line.len();
        assert_eq!(
            ProxyHeader::parse(&bytes),
            ProxyHeader::Complete { source, len },
            "{line}"
        );
        for cut in 0..len {
            assert_eq!(
                ProxyHeader::parse(&bytes[..cut]),
                ProxyHeader::Incomplete,
                "{line} at {cut}"
            );
        }
    }
}

#[test]
fn malformed_version_1_headers_are_refused() {
    for line in [
        "GET / HTTP/1.1\r\n",
        "proxy TCP4 192.0.2.1 10.0.0.1 1 2\r\n",
        "PROXY  TCP4 192.0.2.1 10.0.0.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 1 2\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 1 2 \r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 1 2 3\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 1\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 01 2\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 +1 2\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0.1 65536 2\r\n",
        "PROXY TCP4 192.0.2.01 10.0.0.1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 10.0.0 1 2\r\n",
        "PROXY TCP4 2001:db8::1 ::1 1 2\r\n",
        "PROXY TCP6 192.0.2.1 10.0.0.1 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n",
        "PROXY UDP4 192.0.2.1 10.0.0.1 1 2\r\n",
        "PROXY \r\n",
        "PROXY\r\n",
        "PROXY TCP4 192.0.2.1\0 10.0.0.1 1 2\r\n",
    ] {
        assert_eq!(
            ProxyHeader::parse(line.as_bytes()),
            ProxyHeader::Invalid,
            "{line:?}"
        );
    }
}

#[test]
fn unterminated_line_is_refused_at_107_bytes() {
    let mut line = b"PROXY UNKNOWN ".to_vec();
    line.resize(106, b'x');
    assert_eq!(ProxyHeader::parse(&line), ProxyHeader::Incomplete);
    line.push(b'x');
    assert_eq!(ProxyHeader::parse(&line), ProxyHeader::Invalid);
    line.extend(b"\r\n");
    assert_eq!(ProxyHeader::parse(&line), ProxyHeader::Invalid);
}

#[test]
fn version_2_headers_are_parsed() {
    let mut v6 = [0; 36];
    v6[..16].copy_from_slice(&"2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
    v6[32..].copy_from_slice(&[0x12, 0x67, 0x01, 0xbb]);
    let with_tlvs = [&V4[..], &[0x02, 0, 3, b'a', b'.', b'b', 0x20, 0xff]].concat();
    for (bytes, source) in [
        (v2(0x21, 0x11, &V4), client("192.0.2.1:4711")),
        (v2(0x21, 0x11, &with_tlvs), client("192.0.2.1:4711")),
        (v2(0x21, 0x21, &v6), client("[2001:db8::1]:4711")),
        (v2(0x21, 0x00, &[]), ProxySource::Unknown),
        (v2(0x21, 0x00, b"ignored"), ProxySource::Unknown),
        (v2(0x21, 0x31, &[0; 216]), ProxySource::Unknown),
        (v2(0x20, 0x00, &[]), ProxySource::Local),
        (v2(0x20, 0x11, &V4), ProxySource::Local),
        (v2(0x20, 0x99, b"ignored"), ProxySource::Local),
        (v2(0x21, 0x11, &[0; 4096]), client("0.0.0.0:0")),
    ] {
        let len = bytes.len();
        for cut in 0..len {
            assert_eq!(ProxyHeader::parse(&bytes[..cut]), ProxyHeader::Incomplete);
        }
        let bytes = [&bytes[..], b"GET"].concat();
        assert_eq!(
            ProxyHeader::parse(&bytes),
            ProxyHeader::Complete { source, len }
        );
    }
}

#[test]
fn malformed_version_2_headers_are_refused() {
    for bytes in [
        v2(0x11, 0x11, &V4),
        v2(0x31, 0x11, &V4),
        v2(0x22, 0x11, &V4),
        v2(0x21, 0x12, &V4),
        v2(0x21, 0x22, &[0; 36]),
        v2(0x21, 0x11, &V4[..11]),
        v2(0x21, 0x21, &V4),
        v2(0x21, 0x31, &[0; 215]),
        v2(0x21, 0x41, &V4),
        v2(0x21, 0x11, &[0; 4097]),
        b"\r\n\r\n\0\r\nQUIT\r".to_vec(),
    ] {
        assert_eq!(
            ProxyHeader::parse(&bytes),
            ProxyHeader::Invalid,
            "{bytes:?}"
        );
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic_or_wrong_length(
        version in 0..3_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let signature = [&b""[..], V1_SIGNATURE, V2_SIGNATURE][version];
        let bytes = [signature, &bytes].concat();
        match ProxyHeader::parse(&bytes) {
            ProxyHeader::Complete { len, .. } => {
                prop_assert!(len <= bytes.len());
                // The bytes after the header change nothing, and every byte of the header is
                // needed.
                prop_assert_eq!(ProxyHeader::parse(&bytes[..len]), ProxyHeader::parse(&bytes));
                prop_assert_eq!(ProxyHeader::parse(&bytes[..len - 1]), ProxyHeader::Incomplete);
            }
            ProxyHeader::Incomplete => prop_assert!(bytes.len() < MAX_V2),
            ProxyHeader::Invalid => {
                let longer = [&bytes[..], b"\r\n"].concat();
                prop_assert_eq!(ProxyHeader::parse(&longer), ProxyHeader::Invalid);
            }
        }
    }

    #[test]
    fn header_written_by_a_proxy_is_parsed(ip in any::<[u8; 16]>(), port in any::<u16>()) {
        let addr = SocketAddr::new(Ipv6Addr::from(ip).into(), port);
        let line = format!("PROXY TCP6 {} ::1 {port} 1\r\n", addr.ip());
        let payload = [&ip[..], &[0; 16], &port.to_be_bytes(), &[0, 1]].concat();
        for bytes in [line.into_bytes(), v2(0x21, 0x21, &payload)] {
            let len = bytes.len();
            prop_assert_eq!(
                ProxyHeader::parse(&bytes),
                ProxyHeader::Complete { source: ProxySource::Client(addr), len }
            );
        }
    }
}

#[tokio::test]
async fn bytes_after_the_header_are_returned() {
    let mut bytes = &b"PROXY UNKNOWN\r\nGET / HTTP/1.1\r\n"[..];
    let (source, rest) = read(&mut bytes).await.unwrap();
    assert_eq!(source, ProxySource::Unknown);
    assert_eq!(rest, "GET / HTTP/1.1\r\n");
    let error = read(&mut &b"PROXY TCP4"[..]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let error = read(&mut &b"GET / HTTP/1.1\r\n"[..]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}
