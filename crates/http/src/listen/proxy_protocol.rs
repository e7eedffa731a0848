//! Parsing of the PROXY protocol, versions 1 and 2 (`HAProxy`'s `proxy-protocol.txt`, sections 2.1
//! and 2.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::BytesMut;
use tokio::io::{self, AsyncRead, AsyncReadExt as _, ErrorKind};

/// The size of the longest PROXY header of version 1, including its line end (section 2.1).
const MAX_V1: usize = 107;
/// The size of the longest accepted PROXY header of version 2, which has room for addresses and
/// some TLVs.
///
/// The protocol allows 64 KiB, which the listener would have to buffer for each connection.
const MAX_V2: usize = 16 + 4096;
const V2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const V1_SIGNATURE: &[u8] = b"PROXY ";

/// The source of a connection, according to the connection's PROXY header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProxySource {
    /// The proxy forwards a connection from the client with this address.
    Client(SocketAddr),
    /// The proxy forwards a connection from a client with an unknown address (`UNKNOWN`).
    Unknown,
    /// The proxy connects on its own behalf, as for health checks (`LOCAL`).
    Local,
}

/// The result of parsing the first bytes of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProxyHeader {
    /// More bytes of the PROXY header are needed.
    Incomplete,
    /// A complete PROXY header.
    Complete {
        /// The source address in the PROXY header.
        source: ProxySource,
        /// The size of the PROXY header; the bytes after it were sent by the client.
        len: usize,
    },
    /// There is no PROXY header, or a malformed one; the connection must be closed.
    Invalid,
}

impl ProxyHeader {
    /// Parses a PROXY header of version 1 or 2.
    ///
    /// At most 107 bytes are needed for version 1, and at most 4,112 for version 2. TLVs are
    /// skipped. Datagram families are treated as invalid.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_http::listen::{ProxyHeader, ProxySource};
    ///
    /// let header = ProxyHeader::parse(b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\nGET /");
    /// let client = ProxySource::Client("192.0.2.1:4711".parse()?);
    /// assert_eq!(header, ProxyHeader::Complete { source: client, len: 40 });
    /// # Ok::<_, std::net::AddrParseError>(())
    /// ```
    pub fn parse(bytes: &[u8]) -> Self {
        let result = if begins(bytes, V2_SIGNATURE) {
            parse_v2(bytes)
        } else if begins(bytes, V1_SIGNATURE) {
            parse_v1(bytes)
        } else {
            None
        };
        result.unwrap_or(Self::Invalid)
    }
}

/// Reads a PROXY header, and returns its source address and the bytes that followed the header.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<(ProxySource, BytesMut)> {
    let mut buffer = BytesMut::with_capacity(256);
    loop {
        if stream.read_buf(&mut buffer).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match ProxyHeader::parse(&buffer) {
            ProxyHeader::Complete { source, len } => {
                return Ok((source, buffer.split_off(len.min(buffer.len()))));
            }
            ProxyHeader::Incomplete => {}
            ProxyHeader::Invalid => {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    "the connection does not start with a PROXY header",
                ));
            }
        }
    }
}

/// Returns `true` if the bytes start with a signature or are the start of a signature.
fn begins(bytes: &[u8], signature: &[u8]) -> bool {
    let len = bytes.len().min(signature.len());
    bytes.get(..len) == signature.get(..len)
}

fn parse_v1(bytes: &[u8]) -> Option<ProxyHeader> {
    let head = bytes.get(..bytes.len().min(MAX_V1))?;
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        return (bytes.len() < MAX_V1).then_some(ProxyHeader::Incomplete);
    };
    let line = head.get(..end)?.strip_suffix(b"\r")?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.strip_prefix("PROXY ")?.split(' ');
    let source = match words.next()? {
        "TCP4" => ProxySource::Client(v1_client::<Ipv4Addr>(words)?),
        "TCP6" => ProxySource::Client(v1_client::<Ipv6Addr>(words)?),
        // The rest of the line must be ignored (section 2.1).
        "UNKNOWN" => ProxySource::Unknown,
        _ => return None,
    };
    Some(ProxyHeader::Complete {
        source,
        len: end + 1,
    })
}

fn v1_client<'w, A>(mut words: impl Iterator<Item = &'w str>) -> Option<SocketAddr>
where
    A: std::str::FromStr + Into<IpAddr>,
{
    let client = words.next()?.parse::<A>().ok()?.into();
    words.next()?.parse::<A>().ok()?;
    let port = v1_port(words.next()?)?;
    v1_port(words.next()?)?;
    words
        .next()
        .is_none()
        .then(|| SocketAddr::new(client, port))
}

/// Parses a port in a version 1 header, which has no sign and no leading zero (section 2.1).
fn v1_port(word: &str) -> Option<u16> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = word == "0" || !word.starts_with('0');
    (is_plain && is_short).then(|| word.parse().ok())?
}

fn parse_v2(bytes: &[u8]) -> Option<ProxyHeader> {
    let Some((&[version_and_command, family, high, low], rest)) = bytes
        .get(V2_SIGNATURE.len()..)
        .and_then(<[u8]>::split_first_chunk)
    else {
        return Some(ProxyHeader::Incomplete);
    };
    let payload_len = usize::from(u16::from_be_bytes([high, low]));
    let len = V2_SIGNATURE.len() + 4 + payload_len;
    if len > MAX_V2 || version_and_command >> 4 != 2 {
        return None;
    }
    // Section 2.2: the commands are LOCAL and PROXY; connections with other commands must be
    // dropped.
    let is_local = match version_and_command & 0xf {
        0 => true,
        1 => false,
        _ => return None,
    };
    let Some(payload) = rest.get(..payload_len) else {
        return Some(ProxyHeader::Incomplete);
    };
    let source = if is_local {
        ProxySource::Local
    } else {
        v2_source(family, payload)?
    };
    Some(ProxyHeader::Complete { source, len })
}

/// Returns the source address in a version 2 header; the payload contains two addresses, then two
/// ports.
fn v2_source(family: u8, payload: &[u8]) -> Option<ProxySource> {
    let (client, ports): (IpAddr, &[u8]) = match family {
        0x11 => {
            let (client, rest) = payload.split_first_chunk::<4>()?;
            (Ipv4Addr::from(*client).into(), rest.get(4..)?)
        }
        0x21 => {
            let (client, rest) = payload.split_first_chunk::<16>()?;
            (Ipv6Addr::from(*client).into(), rest.get(16..)?)
        }
        // The family is unspecified (0x00) or Unix sockets (0x31, two paths of 108 bytes), so there
        // is no client address.
        0x00 => return Some(ProxySource::Unknown),
        0x31 => return (payload.len() >= 216).then_some(ProxySource::Unknown),
        _ => return None,
    };
    let (port, rest) = ports.split_first_chunk::<2>()?;
    (rest.len() >= 2)
        .then(|| ProxySource::Client(SocketAddr::new(client, u16::from_be_bytes(*port))))
}

#[cfg(test)]
mod tests;
