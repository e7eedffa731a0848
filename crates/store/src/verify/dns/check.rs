//! A check of the resolvers: whether they answer, and how fast.

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

/// Port of a resolver that the system names without one.
const DNS_PORT: u16 = 53;

/// Addresses of public resolvers, of three operators, and the names that they have had for years.
const NAMED: [([u8; 4], &str); 3] = [
    ([1, 1, 1, 1], "one.one.one.one."),
    ([8, 8, 8, 8], "dns.google."),
    ([9, 9, 9, 9], "dns9.quad9.net."),
];

/// Result of the check of one resolver.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResolverCheck {
    /// The resolver.
    pub server: SocketAddr,
    /// Time until it answered, or was given up.
    pub took: Duration,
    /// Why its answer is of no use, if it is not.
    pub error: Option<&'static str>,
    /// `true` if it gave none of three addresses the name that each is known to have.
    pub is_without_names: bool,
}

/// Error of resolvers that the system should name, and does not.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the system names no resolver: {reason}")]
pub struct NoResolver {
    reason: String,
}

/// Queries each resolver of the settings, or each of the system's.
///
/// It is that for the name servers of the root, which every resolver knows, and who
/// answers is asked for the names of addresses that have some.
///
/// # Errors
///
/// Fails where the settings name no resolver, and the system's cannot be read.
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

/// Returns `true` if a resolver gives an address the name that it is known to have.
///
/// A resolver with a wildcard, or without reverse zones, does not.
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

/// Returns the resolvers that the system names, each once.
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
        return Err(no_resolver("its configuration has none".to_owned()));
    }
    Ok(servers)
}
