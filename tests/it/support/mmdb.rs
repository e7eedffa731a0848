//! Writes geographic databases in the `MaxMind` format, version 2.0.

use std::{collections::HashMap, net::IpAddr};

use ipnet::IpNet;
use serde_json::{Value, json};

/// Target of a bit of an address.
#[derive(Clone, Copy)]
enum Next {
    Nothing,
    Node(usize),
    /// Offset among the records.
    Record(usize),
}

/// Returns a database of IPv6 and IPv4 with a record for each network.
pub(crate) fn mmdb(kind: &str, records: &[(&str, Value)]) -> Vec<u8> {
    let mut tree = vec![[Next::Nothing; 2]];
    let (mut data, mut known) = (Vec::new(), HashMap::new());
    for (network, record) in records {
        let at = *known.entry(record.to_string()).or_insert_with(|| {
            let at = data.len();
            write(&mut data, record);
            at
        });
        insert(&mut tree, network.parse().unwrap(), at);
    }
    let nodes = tree.len();
    let mut file = Vec::new();
    for next in tree.iter().flatten() {
        let number = match next {
            Next::Nothing => nodes,
            Next::Node(node) => *node,
            Next::Record(at) => nodes + 16 + at,
        };
        file.extend_from_slice(&u32::try_from(number).unwrap().to_be_bytes()[1..]);
    }
    file.extend_from_slice(&[0; 16]);
    file.extend_from_slice(&data);
    file.extend_from_slice(b"\xab\xcd\xefMaxMind.com");
    let metadata = json!({
        "binary_format_major_version": 2, "binary_format_minor_version": 0,
        "build_epoch": 1_795_132_800, "database_type": kind,
        "description": {"en": "made by a test"}, "ip_version": 6, "languages": ["en"],
        "node_count": nodes, "record_size": 24,
    });
    write(&mut file, &metadata);
    file
}

fn insert(tree: &mut Vec<[Next; 2]>, network: IpNet, record: usize) {
    // IPv4 addresses are those of `::/96`.
    let (bits, length) = match (network.network(), network.prefix_len()) {
        (IpAddr::V4(start), length) => (u128::from(start.to_bits()), length + 96),
        (IpAddr::V6(start), length) => (start.to_bits(), length),
    };
    let mut node = 0;
    for depth in 0..length {
        let bit = usize::from(bits >> (127 - depth) & 1 == 1);
        if depth + 1 == length {
            tree[node][bit] = Next::Record(record);
            return;
        }
        node = if let Next::Node(next) = tree[node][bit] {
            next
        } else {
            tree.push([Next::Nothing; 2]);
            tree[node][bit] = Next::Node(tree.len() - 1);
            tree.len() - 1
        };
    }
}

fn write(to: &mut Vec<u8>, value: &Value) {
    write_member(to, "", value);
}

/// Writes the value of a member; those of the metadata have their own types.
fn write_member(to: &mut Vec<u8>, name: &str, value: &Value) {
    match value {
        Value::String(text) => {
            control(to, 2, text.len());
            to.extend_from_slice(text.as_bytes());
        }
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            let (kind, bytes) = match name {
                "build_epoch" => (9, number.to_be_bytes().to_vec()),
                "ip_version"
                | "record_size"
                | "binary_format_major_version"
                | "binary_format_minor_version" => {
                    (5, u16::try_from(number).unwrap().to_be_bytes().to_vec())
                }
                _ => (6, u32::try_from(number).unwrap().to_be_bytes().to_vec()),
            };
            control(to, kind, bytes.len());
            to.extend_from_slice(&bytes);
        }
        Value::Object(members) => {
            control(to, 7, members.len());
            for (name, member) in members {
                write(to, &Value::String(name.clone()));
                write_member(to, name, member);
            }
        }
        Value::Array(items) => {
            control(to, 11, items.len());
            for item in items {
                write(to, item);
            }
        }
        other => panic!("unsupported value in a record: {other}"),
    }
}

/// Writes the type and size of the next value.
fn control(to: &mut Vec<u8>, kind: u8, size: usize) {
    let short = u8::try_from(size.min(29)).unwrap();
    if kind < 8 {
        to.push(kind << 5 | short);
    } else {
        to.extend_from_slice(&[short, kind - 7]);
    }
    if size >= 29 {
        to.push(u8::try_from(size - 29).unwrap());
    }
}
