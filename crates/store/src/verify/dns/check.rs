//! Checks the availability and speed of DNS resolvers.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use hickory_resolver::{
    proto::rr::{Name, RecordType},
    system_conf::read_system_conf,
};
use tokio::time::Instant;

use super::{
    DnsSettings,
    host::{DnsAnswer, Names},
    resolver::Resolver,
};

/// The port of a system resolver if no port is configured.
const DNS_PORT: u16 = 53;

/// Addresses of public resolvers run by three operators, with their long-established names.
const NAMED: [([u8; 4], &str); 3] = [
    ([1, 1, 1, 1], "one.one.one.one."),
    ([8, 8, 8, 8], "dns.google."),
    ([9, 9, 9, 9], "dns9.quad9.net."),
];

/// The result of checking one resolver.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResolverCheck {
    /// The address of the resolver.
    pub server: SocketAddr,
    /// The time until the resolver responded or failed.
    pub took: Duration,
    /// The reason why the resolver's response is unusable; `None` if the response is usable.
    pub error: Option<&'static str>,
    /// Whether the resolver returned none of the known names of three well-known addresses.
    pub is_without_names: bool,
}

/// The error returned if the system has no usable resolver configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the system has no configured resolver: {reason}")]
pub struct NoResolver {
    reason: String,
}

/// Queries each configured resolver, or each of the system's resolvers if none are configured.
///
/// Each resolver is queried for the root name servers and, if it responds, for the names of
/// well-known addresses.
///
/// # Errors
///
/// Returns an error if the settings contain no resolver and the system's resolvers cannot be
/// determined.
pub async fn check_resolvers(settings: &DnsSettings) -> Result<Vec<ResolverCheck>, NoResolver> {
    let servers = if settings.servers.is_empty() {
        of_system()?
    } else {
        settings.servers.clone()
    };
    let mut checks = Vec::with_capacity(servers.len());
    for server in servers {
        let settings = DnsSettings {
            servers: vec![server],
            ..settings.clone()
        };
        let began = Instant::now();
        let resolver = Resolver::new(settings);
        let answered = resolver.records(&Name::root(), RecordType::NS).await;
        let took = began.elapsed();
        let error = match answered.answer {
            DnsAnswer::Records(_) | DnsAnswer::Nothing => None,
            DnsAnswer::Failed(why) => Some(why),
        };
        checks.push(ResolverCheck {
            server,
            took,
            error,
            is_without_names: error.is_none() && !knows_names(&resolver).await,
        });
    }
    Ok(checks)
}

/// Returns `true` if a resolver returns the known name of any of the well-known addresses.
///
/// A resolver that uses a wildcard, or that has no reverse zones, does not return these names.
pub(super) async fn knows_names(resolver: &Resolver) -> bool {
    for (address, known) in NAMED {
        let names = resolver.names(IpAddr::from(address)).await;
        if let DnsAnswer::Records(Names { first, .. }) = names.answer
            && first
                .iter()
                .any(|name| name.to_ascii().eq_ignore_ascii_case(known))
        {
            return true;
        }
    }
    false
}

/// Returns the resolvers of the system, without duplicates.
fn of_system() -> Result<Vec<SocketAddr>, NoResolver> {
    let no_resolver = |reason: String| NoResolver { reason };
    let (config, _) = read_system_conf().map_err(|error| no_resolver(error.to_string()))?;
    let mut servers: Vec<SocketAddr> = Vec::new();
    for server in config.name_servers() {
        let port = server.connections.first().map(|first| first.port);
        let server = (server.ip, port.unwrap_or(DNS_PORT));
        let server = SocketAddr::from((IpAddr::to_canonical(&server.0), server.1));
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    if servers.is_empty() {
        return Err(no_resolver(
            "the configuration lists no resolver".to_owned(),
        ));
    }
    Ok(servers)
}
