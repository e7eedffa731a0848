//! Where a request comes from, as far as the server knows.

use std::net::{IpAddr, SocketAddr};

use axum::{extract::ConnectInfo, http::Extensions};

/// Finds the address of a client in what the server has put into its request.
///
/// axum puts `ConnectInfo` there, a listener of ours what it knows of the client.
pub(in crate::app) fn client(extensions: &Extensions) -> Option<IpAddr> {
    #[cfg(feature = "proxy")]
    if let Some(known) = extensions.get::<crate::listen::ClientAddr>() {
        return Some(known.client);
    }
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map(|ConnectInfo(peer)| peer.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axum_tells_the_address_of_the_client() {
        let mut extensions = Extensions::new();
        assert_eq!(client(&extensions), None);
        let peer = SocketAddr::from(([192, 0, 2, 1], 4711));
        extensions.insert(ConnectInfo(peer));
        assert_eq!(client(&extensions), Some(peer.ip()));
    }
}
