//! Who answers for /robots.txt.

use crate::app;

use super::{check::Check, run::Subject};

/// Says who answers for /robots.txt, and what the upstream's is like.
pub(super) async fn robots_txt(subject: &Subject<'_>) -> Vec<Check> {
    let name = "robots.txt";
    // What is wrong is told with the configuration.
    let Ok(plan) = app::robots_txt(subject.loaded) else {
        return Vec::new();
    };
    let answers = format!("answered by {}", plan.who_answers(None));
    let upstream = plan
        .check_upstream()
        .await
        .into_iter()
        .map(|found| match found {
            Ok(text) => Check::new(name, Ok(text)),
            // An upstream that is down is told of as a failure already.
            Err(text) => Check::doubt(name, text),
        });
    [Check::new(name, Ok(answers))]
        .into_iter()
        .chain(upstream)
        .collect()
}
