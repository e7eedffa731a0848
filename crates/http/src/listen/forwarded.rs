//! Parsing of the `Forwarded` header (RFC 7239).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One hop in a `Forwarded` header.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Element {
    /// The address of the hop, or `None` for `unknown` and obfuscated names (RFC 7239 §6.2, §6.3).
    pub(super) node: Option<IpAddr>,
    /// Whether the hop received the request over HTTPS, if specified (RFC 7239 §5.4).
    pub(super) https: Option<bool>,
}

/// Parses one line of a `Forwarded` header; returns `None` if the line violates the grammar of RFC
/// 7239 §4.
pub(super) fn parse(line: &[u8]) -> Option<Vec<Element>> {
    let mut parser = Parser { rest: line };
    let mut elements = Vec::new();
    loop {
        parser.skip_space();
        match parser.rest.first() {
            None => return Some(elements),
            // Lists may have empty elements (RFC 9110 §5.6.1.2).
            Some(b',') => parser.bump(),
            Some(_) => {
                elements.push(parser.element()?);
                if !matches!(parser.rest.first(), None | Some(b',')) {
                    return None;
                }
            }
        }
    }
}

/// Parses a node such as `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or
/// `[2001:db8::1]:80`.
pub(super) fn parse_node(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let addr = if let Some(bracketed) = text.strip_prefix('[') {
        let (addr, port) = bracketed.split_once(']')?;
        is_port_suffix(port)
            .then(|| addr.parse::<Ipv6Addr>().ok())??
            .into()
    } else if let Ok(addr) = text.parse::<IpAddr>() {
        addr
    } else {
        let (addr, port) = text.split_once(':')?;
        is_port(port)
            .then(|| addr.parse::<Ipv4Addr>().ok())??
            .into()
    };
    Some(addr.to_canonical())
}

fn is_port_suffix(suffix: &str) -> bool {
    suffix.is_empty() || suffix.strip_prefix(':').is_some_and(is_port)
}

/// Returns `true` if a port has at most five digits or is obfuscated (RFC 7239 §6).
fn is_port(port: &str) -> bool {
    let is_obfuscating = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match port.strip_prefix('_') {
        Some(name) => !name.is_empty() && name.bytes().all(is_obfuscating),
        // Parsing a number would also accept a sign and any number of zeros.
        None => {
            port.len() <= 5
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && port.parse::<u16>().is_ok()
        }
    }
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl Parser<'_> {
    fn element(&mut self) -> Option<Element> {
        let mut element = Element::default();
        let (mut seen_for, mut seen_proto) = (false, false);
        loop {
            self.skip_space();
            if !matches!(self.rest.first(), None | Some(b';' | b',')) {
                let (name, value) = self.pair()?;
                if name.eq_ignore_ascii_case(b"for") {
                    // Each parameter may occur only once in an element (RFC 7239 §4).
                    if std::mem::replace(&mut seen_for, true) {
                        return None;
                    }
                    element.node = parse_node(&value);
                } else if name.eq_ignore_ascii_case(b"proto") {
                    if std::mem::replace(&mut seen_proto, true) {
                        return None;
                    }
                    element.https = Some(value.eq_ignore_ascii_case(b"https"));
                }
                self.skip_space();
            }
            if self.rest.first() != Some(&b';') {
                return Some(element);
            }
            self.bump();
        }
    }

    fn pair(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let name = self.token()?;
        if self.rest.first() != Some(&b'=') {
            return None;
        }
        self.bump();
        let value = if self.rest.first() == Some(&b'"') {
            self.quoted()?
        } else {
            self.token()?
        };
        Some((name, value))
    }

    fn token(&mut self) -> Option<Vec<u8>> {
        let len = self
            .rest
            .iter()
            .position(|byte| !is_token(*byte))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        (!token.is_empty()).then(|| token.to_vec())
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let mut bytes = self.rest.iter().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(value);
                }
                // A quoted pair (RFC 9110 §5.6.4).
                b'\\' => value.push(*bytes.next()?.1),
                _ => value.push(*byte),
            }
        }
        None
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t') = self.rest.first() {
            self.bump();
        }
    }

    fn bump(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }
}

/// Returns `true` if a byte is allowed in a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! nodes {
        ($($name:ident: $line:expr => $expected:expr;)*) => {$(
            #[test]
            fn $name() {
                let nodes = parse($line.as_bytes()).map(|elements| {
                    elements
                        .iter()
                        .map(|element| element.node.map_or("-".to_owned(), |node| node.to_string()))
                        .collect::<Vec<_>>()
                        .join(" ")
                });
                let expected: Option<&str> = $expected;
                assert_eq!(nodes.as_deref(), expected);
            }
        )*};
    }

    // The first five lines are the examples of RFC 7239 §4 and §7.1.
    nodes! {
        an_obfuscated_name_is_no_address: r#"for="_gazonk""# => Some("-");
        names_are_case_insensitive_and_ipv6_has_a_port: r#"For="[2001:db8:cafe::17]:4711""# => Some("2001:db8:cafe::17");
        parameters_are_parted_by_semicolons: "for=192.0.2.60;proto=http;by=203.0.113.43" => Some("192.0.2.60");
        elements_are_parted_by_commas: "for=192.0.2.43, for=198.51.100.17" => Some("192.0.2.43 198.51.100.17");
        spaces_after_the_comma_are_free: r#"for=192.0.2.43,for="[2001:db8:cafe::17]",for=unknown"# => Some("192.0.2.43 2001:db8:cafe::17 -");
        a_quoted_ipv4_has_a_port: r#"for="192.0.2.43:47011""# => Some("192.0.2.43");
        a_port_can_be_obfuscated: r#"for="192.0.2.43:_p-1""# => Some("192.0.2.43");
        escapes_are_undone: r#"for="192.0.2\.43""# => Some("192.0.2.43");
        a_comma_in_quotes_parts_nothing: r#"host="a,for=192.0.2.9";for=192.0.2.1"# => Some("192.0.2.1");
        a_mapped_address_is_ipv4: r#"for="[::ffff:192.0.2.1]""# => Some("192.0.2.1");
        an_element_without_for_is_an_unknown_hop: "proto=https" => Some("-");
        an_empty_line_has_no_elements: "" => Some("");
        empty_members_are_skipped: ", ,for=192.0.2.1,," => Some("192.0.2.1");
        an_unquoted_ipv6_breaks_the_line: "for=[::1]" => None;
        an_open_quote_breaks_the_line: r#"for="192.0.2.1"# => None;
        two_addresses_in_one_element_break_the_line: "for=192.0.2.1;for=192.0.2.2" => None;
        a_bare_address_breaks_the_line: "192.0.2.1" => None;
        a_space_around_the_equals_sign_breaks_the_line: "for = 192.0.2.1" => None;
        a_port_too_large_is_no_address: r#"for="192.0.2.43:65536""# => Some("-");
        a_port_of_six_digits_is_no_address: r#"for="192.0.2.43:000080""# => Some("-");
        an_obfuscated_port_is_of_letters_digits_and_three_signs: r#"for="192.0.2.43:_a.B_9-""# => Some("192.0.2.43");
        an_obfuscated_port_without_a_name_is_no_address: r#"for="192.0.2.43:_""# => Some("-");
        an_obfuscated_port_with_another_sign_is_no_address: r#"for="192.0.2.43:_a!", for="[2001:db8::1]:_a~""# => Some("- -");
        bytes_after_a_quote_break_the_line: r#"for="192.0.2.1"x"# => None;
    }

    #[test]
    fn proto_is_parsed_for_each_element() {
        let elements =
            parse(b"for=192.0.2.1;proto=HTTPS, for=192.0.2.2;proto=http, for=_a").unwrap();
        let protos: Vec<_> = elements.iter().map(|element| element.https).collect();
        assert_eq!(protos, [Some(true), Some(false), None]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(line: Vec<u8>) {
            let _ = parse(&line);
            let _ = parse_node(&line);
        }
    }
}
