//! A resolver that knows no addresses but public ones.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::is_public;

/// Error of a name or URL that leads to no public address.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it has no public address")]
pub(super) struct NotPublic;

/// The system's resolver, without the addresses that are not public.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|it| is_public(it.ip())).collect();
            if public.is_empty() {
                return Err(NotPublic.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_a_private_address_resolves_to_nothing() {
        let name: Name = "localhost".parse().unwrap();
        let error = PublicResolver.resolve(name).await.err().unwrap();
        assert_eq!(error.to_string(), "it has no public address");
    }
}
