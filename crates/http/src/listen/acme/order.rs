//! A certificate order, from the account to the certificate.

use std::{error::Error as StdError, io, time::Duration};

use instant_acme::{
    Account, AuthorizationHandle, AuthorizationStatus, ChallengeType, Error, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::crypto::CryptoProvider;
use tracing::info;

use super::{
    super::certificate::CertificateError,
    cache::Cache,
    challenge::{ChallengeGuard, Challenges},
    client::AcmeClient,
    settings::AcmeSettings,
};

/// The policy for polling the state of an order at the authority.
const POLL_POLICY: RetryPolicy = RetryPolicy::new().timeout(Duration::from_mins(2));
/// The maximum number of characters that are logged of a message from an authority.
const MAX_TEXT_CHARS: usize = 600;

/// The reason for a failed certificate order.
#[derive(Debug, thiserror::Error)]
pub(super) enum OrderError {
    #[error("{}", explain(.0))]
    Acme(#[from] Error),
    #[error("the authority does not offer validation by TLS-ALPN-01")]
    NoChallenge,
    #[error("the authority did not accept the proof: {}", clean(.0))]
    Refused(String),
    #[error("the cache directory is not writable, so no certificate was ordered: {0}")]
    Cache(io::Error),
    #[error("the account file is invalid ({0}); remove it to create a new account")]
    Account(serde_json::Error),
    #[error("could not store the certificate: {0}")]
    NotKept(io::Error),
    #[error("the certificate issued by the authority is unusable: {0}")]
    Useless(CertificateError),
    #[error("the authority issued a certificate for different names")]
    OtherNames,
    #[error("no certificate was issued within {0:?}")]
    TooLong(Duration),
    #[error("{0}")]
    Inner(Box<dyn StdError + Send + Sync>),
}

impl OrderError {
    /// Returns `true` if the certificate authority does not recognise the account (RFC 8555 §6.7).
    pub(super) fn is_unknown_account(&self) -> bool {
        self.has_type("accountDoesNotExist")
    }

    /// Returns `true` if the authority refused the order because of its rate limit (RFC 8555 §6.6).
    pub(super) fn is_rate_limited(&self) -> bool {
        self.has_type("rateLimited")
    }

    fn has_type(&self, name: &str) -> bool {
        let Self::Acme(Error::Api(problem)) = self else {
            return false;
        };
        let kind = problem.r#type.as_deref().unwrap_or_default();
        kind.strip_prefix("urn:ietf:params:acme:error:") == Some(name)
    }
}

/// Loads the cached ACME account, or creates a new account.
pub(super) async fn account(
    settings: &AcmeSettings,
    cache: &Cache,
    http: AcmeClient,
) -> Result<Account, OrderError> {
    let builder = Account::builder_with_http(Box::new(http));
    if let Some(kept) = cache.account().map_err(OrderError::Cache)? {
        let kept = serde_json::from_slice(&kept).map_err(OrderError::Account)?;
        return Ok(builder.from_credentials(kept).await?);
    }
    let contacts: Vec<&str> = settings.contacts.iter().map(String::as_str).collect();
    let new = NewAccount {
        contact: &contacts,
        terms_of_service_agreed: settings.agree_to_terms,
        only_return_existing: false,
    };
    let directory = settings.directory.clone();
    let (account, credentials) = builder.create(&new, directory, None).await?;
    let credentials = serde_json::to_vec(&credentials).map_err(OrderError::Account)?;
    cache
        .save_account(&credentials)
        .map_err(OrderError::NotKept)?;
    info!("created an account at {}", settings.directory);
    Ok(account)
}

/// Orders a certificate, and returns its key and chain in PEM format.
pub(super) async fn order(
    account: &Account,
    host: &str,
    challenges: &Challenges,
    provider: &CryptoProvider,
) -> Result<String, OrderError> {
    let identifiers = [Identifier::Dns(host.to_owned())];
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await?;
    let answers = prove(&mut order, host, challenges, provider).await?;
    let decided = order.poll_ready(&POLL_POLICY).await;
    // After the authority's decision, the proofs are not requested again.
    drop(answers);
    match decided {
        Ok(OrderStatus::Ready) => {}
        Ok(_) | Err(Error::Api(_)) => return Err(refusal(&mut order, decided.err()).await),
        Err(error) => return Err(error.into()),
    }
    let (key, request) = key_and_request(host).map_err(|error| OrderError::Inner(error.into()))?;
    order.finalize_csr(&request).await?;
    let chain = order.poll_certificate(&POLL_POLICY).await?;
    Ok(format!("{}{chain}", key.serialize_pem()))
}

/// Prepares the answers to an order's challenges, and asks the authority to validate the host.
async fn prove<'c>(
    order: &mut Order,
    host: &str,
    challenges: &'c Challenges,
    provider: &CryptoProvider,
) -> Result<Vec<ChallengeGuard<'c>>, OrderError> {
    let mut answers = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization: AuthorizationHandle<'_> = authorization?;
        // An authority may reuse a recent validation (RFC 8555 §7.1.3).
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let mut challenge = authorization
            .challenge(ChallengeType::TlsAlpn01)
            .ok_or(OrderError::NoChallenge)?;
        let digest = challenge.key_authorization().digest();
        let answer = challenges.prepare_response(host, digest.as_ref(), provider);
        answers.push(answer.map_err(OrderError::Inner)?);
        challenge.set_ready().await?;
    }
    Ok(answers)
}

/// Returns the reason why an order was refused, which the authority reports in the challenge (RFC
/// 8555 §8).
async fn refusal(order: &mut Order, error: Option<Error>) -> OrderError {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else {
            break;
        };
        let mut errors = state
            .challenges
            .iter()
            .filter_map(|found| found.error.as_ref());
        if let Some(problem) = errors.next() {
            return OrderError::Refused(problem.to_string());
        }
    }
    error.map_or_else(
        || OrderError::Refused("no reason given".to_owned()),
        OrderError::Acme,
    )
}

fn key_and_request(host: &str) -> Result<(KeyPair, Vec<u8>), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([host.to_owned()])?;
    // By default, rcgen sets a common name that is not a name of this host.
    params.distinguished_name = DistinguishedName::new();
    let request = params.serialize_request(&key)?.der().to_vec();
    Ok((key, request))
}

/// Returns the text of an error and its causes on one line; the actual cause is often the last.
fn explain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = match error {
        Error::Other(error) => error.source(),
        error => error.source(),
    };
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    clean(&text)
}

/// Makes text from the certificate authority safe for the log.
fn clean(text: &str) -> String {
    let chars = text.chars().take(MAX_TEXT_CHARS);
    chars
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(kind: &str, detail: &str) -> OrderError {
        let json = serde_json::json!({
            "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": detail
        });
        OrderError::Acme(Error::Api(serde_json::from_value(json).unwrap()))
    }

    #[test]
    fn text_of_an_authority_is_short_and_on_one_line() {
        let text = problem("malformed", "a\r\nforged line\u{1b}[31m").to_string();
        assert!(!text.contains(['\r', '\n', '\u{1b}']), "{text:?}");
        assert!(text.contains("forged line"), "{text}");
        let long = problem("malformed", &"x".repeat(10_000)).to_string();
        assert_eq!(long.len(), MAX_TEXT_CHARS);
    }

    #[test]
    fn unknown_account_error_is_recognised() {
        assert!(problem("accountDoesNotExist", "").is_unknown_account());
        assert!(!problem("rateLimited", "").is_unknown_account());
        assert!(problem("rateLimited", "").is_rate_limited());
        assert!(!OrderError::NoChallenge.is_rate_limited());
    }
}
