//! The stages of a decision, in order.
//!
//! Each stage has its own file, which contains its state and its [`Stage`] implementation, and a
//! line in the list below.

mod canonical;
mod disposition;
mod identification;
mod in_place;
mod markdown;
mod own;
#[cfg(feature = "verify")]
mod own_robot;
mod robots_txt;
mod rules;
mod stage;
mod suspects;
mod traps;
mod verdicts;

use http::Request;

use crate::clock::Clock;
use crate::policy::{Enforcer, Visitor};

pub use canonical::CanonicalRedirects;
pub(super) use disposition::Disposition;
#[cfg(feature = "axum")]
pub use identification::NotARobot;
pub use identification::{Identification, ListedRobot};
pub(super) use in_place::forbid_caching;
pub use in_place::{
    NoCopies, ServedDirectly, add_direct_page_headers, is_navigation, rewrite_to_heaven,
};
pub(super) use markdown::Form;
pub use markdown::{MarkdownPages, asks_for_markdown, prefers_markdown};
pub use own::INTERNAL_PAGE;
pub(super) use own::OWN_ROBOT_HEADER;
#[cfg(feature = "verify")]
pub use own_robot::SiteRobotKey;
pub(super) use stage::{Addresses, ReceivedRequest, RequestState, Requester, Stage};
pub(super) use suspects::ExpectedPersonHeader;
pub use suspects::{ConfirmedRelease, PERSON_HEADER_DURATION, People, PersonRequest};
pub use traps::Traps;
pub use verdicts::{ClaimFinding, ClaimedRequest, Client, Pending, VerdictFuture, Verdicts};

/// Creates a field for each stage, and calls the stages in the order of the list.
macro_rules! stages {
    ($($(#[$documentation:meta])* $name:ident: $stage:ty,)*) => {
        /// All stages, with their state.
        #[derive(Clone, Default)]
        pub(super) struct Stages {
            $($(#[$documentation])* pub(super) $name: $stage,)*
        }

        impl Stage for Stages {
            fn needs_sender(&self) -> bool {
                false $(|| self.$name.needs_sender())*
            }

            fn own<B>(&self, request: &Request<B>, clock: &Clock) -> Option<&'static str> {
                None $(.or_else(|| self.$name.own(request, clock)))*
            }

            fn examine<B>(&self, received: &ReceivedRequest<'_, B>, case: &mut RequestState<'_>) {
                $(self.$name.examine(received, case);)*
            }

            fn decide<B>(&self, received: &ReceivedRequest<'_, B>, requester: Requester<'_>, case: &mut RequestState<'_>) {
                $(self.$name.decide(received, requester, case);)*
            }

            fn ready<B>(&self, request: &mut Request<B>, visitor: Option<Visitor<'_>>, case: &mut RequestState<'_>) {
                $(self.$name.ready(request, visitor, case);)*
            }
        }
    };
}

stages! {
    /// The stage for the program's own requests, which are not visits.
    own: own::InternalRequests,
    /// The stage that detects suspects among human visitors and handles their confirmations.
    suspects: suspects::Suspects,
    /// The stage for trap paths, which only robots request.
    traps: traps::TrapStage,
    /// The stage for the decisions and rate limits of rules.
    rules: rules::Rules,
    /// The stage that determines the verdicts on claims.
    verdicts: verdicts::VerdictSource,
    /// The stage that enforces robots.txt.
    robots_txt: Enforcer,
    /// The stage for rules that would affect human visitors but are not confirmed for human
    /// visitors.
    unconfirmed: rules::Unconfirmed,
    /// The stage that serves heaven pages directly.
    copies: in_place::Copies,
    /// The stage that redirects robots to canonical URLs.
    canonical: Option<CanonicalRedirects>,
    /// The stage that identifies robots to the application and the upstream.
    identification: identification::IdentificationHeaders,
    /// The stage that serves pages as Markdown.
    markdown: markdown::MarkdownSource,
}
