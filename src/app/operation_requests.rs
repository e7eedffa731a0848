//! Which requests are for operations, where these have no listener of their own.

use std::net::IpAddr;

use axum::http::{Request, header, uri::Authority};

use crate::assembly::OPERATION_PATHS;
use crate::listen::ClientAddr;

/// Returns `true` if a request is for operations and comes straight from this machine.
///
/// A proxy on the same machine may pass requests on without a word of it; the
/// host that its visitors ask for is not this machine's own name.
pub(super) fn is_operation<B>(request: &Request<B>, client: ClientAddr) -> bool {
    OPERATION_PATHS.contains(&request.uri().path())
        && client.direct
        && client.peer.ip().to_canonical().is_loopback()
        && !request.headers().contains_key(header::VIA)
        && asks_for_this_machine(request)
}

fn asks_for_this_machine<B>(request: &Request<B>) -> bool {
    let header = request.headers().get(header::HOST);
    let authority = match request.uri().authority() {
        Some(authority) => Some(authority.clone()),
        None => header.and_then(|host| Authority::try_from(host.as_bytes()).ok()),
    };
    authority.is_some_and(|authority| {
        let host = authority.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse::<IpAddr>()
                .is_ok_and(|ip| ip.to_canonical().is_loopback())
    })
}
