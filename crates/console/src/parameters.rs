//! Validates the query parameters of the API: unknown parameters are rejected, to expose typos.

use axum::{
    extract::{Query, Request},
    http::{StatusCode, Uri},
    middleware::{Next, from_fn},
    response::IntoResponse as _,
    routing::MethodRouter,
};
use robot_detection_site_robot::spelling::nearest;

use super::{problem::Problem, state::AdminState};

/// Maximum number of characters of an unknown parameter's name that the error message contains.
const MAX_NAME_CHARS: usize = 60;

/// Refuses requests with query parameters other than the given parameters.
pub(super) fn with_parameters(
    names: &'static [&'static str],
    route: MethodRouter<AdminState>,
) -> MethodRouter<AdminState> {
    route.route_layer(from_fn(
        async move |request: Request, next: Next| match refusal(names, request.uri()) {
            Some(problem) => problem.into_response(),
            None => next.run(request).await,
        },
    ))
}

fn refusal(names: &[&str], uri: &Uri) -> Option<Problem> {
    let told = match Query::<Vec<(String, String)>>::try_from_uri(uri) {
        Ok(Query(pairs)) => {
            let mut keys = pairs.into_iter().map(|(key, _)| key);
            keys.find(|key| !names.contains(&&**key))
                .map(|key| unknown(names, &key))?
        }
        Err(rejection) => rejection.body_text(),
    };
    let status = StatusCode::BAD_REQUEST;
    Some(Problem::new(status, "unknown_parameter", told))
}

fn unknown(names: &[&str], key: &str) -> String {
    // The name comes from the client and may be of any length.
    let cut: String = key.chars().take(MAX_NAME_CHARS).collect();
    let no_such = format!("Unknown parameter {cut:?}");
    if names.is_empty() {
        return format!("{no_such}; this URL accepts no parameters.");
    }
    match nearest(&cut, names.iter().copied()) {
        Some(name) => format!("{no_such}; did you mean {name}?"),
        None => format!("{no_such}; this URL accepts {}.", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &[&str], uri: &str) -> Option<String> {
        refusal(names, &uri.parse().unwrap()).map(|problem| problem.message)
    }

    #[test]
    fn known_parameter_is_accepted_with_any_value() {
        for uri in ["/", "/?", "/?q", "/?q=", "/?&q=%00&q=%ff", "/?%71=a"] {
            assert_eq!(told(&["q"], uri), None, "{uri}");
        }
    }

    #[test]
    fn unknown_name_is_reported_truncated() {
        let long = format!("/?{}", "a".repeat(10_000));
        assert!(told(&["q"], &long).unwrap().len() < 200);
        let message = told(&["q", "page"], "/?Page=1").unwrap();
        assert_eq!(message, "Unknown parameter \"Page\"; did you mean page?");
    }
}
