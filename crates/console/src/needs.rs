//! What of this process needs somebody, beside its traffic and its registry.

use super::{
    CERTIFICATE_DAYS, certificate_sentences, heavens_in_need, page::encode, problem::Problem,
    state::AdminState,
};

/// Sentence about something that needs somebody.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) text: String,
    /// Page where it is done, from the top of the router; empty: none.
    pub(super) link: String,
}

/// Returns what certificates, proxies in front and robot heavens need; nothing where all is well.
///
/// While the database is away nothing is known of the heavens, and pages tell of that by themselves.
pub(super) async fn needs(state: &AdminState) -> Result<Vec<Need>, Problem> {
    let certificates = state.operations().certificates.load();
    let told = certificate_sentences(&certificates, CERTIFICATE_DAYS, state.now_ms());
    let told = told.into_iter().chain(state.operations().notices.load());
    let told = told.map(|text| Need {
        text,
        link: String::new(),
    });
    let heavens = match heavens_in_need(state.operations()).await {
        Err(error) if error.absence().is_some() => Vec::new(),
        heavens => heavens?,
    };
    let heavens = heavens.into_iter().map(|(site, text)| Need {
        text,
        link: format!("site-robot?site={}", encode(&site)),
    });
    Ok(told.chain(heavens).collect())
}
